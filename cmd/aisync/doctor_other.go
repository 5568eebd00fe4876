//go:build !linux

package main

// cannotExchange knows nothing here: APFS, which macOS uses, swaps files.
func cannotExchange(string) string { return "" }

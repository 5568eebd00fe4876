//go:build !linux

package task

func renameNew(from, to string) error { return linkNew(from, to) }

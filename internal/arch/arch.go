// Package arch tests the rules of the source tree: allowed imports, file and
// package sizes, no registration in init. It has no code. See rules in
// arch_test.go.
package arch

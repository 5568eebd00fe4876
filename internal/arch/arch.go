// Package arch holds the rules of the house as tests: who may import whom, how
// long a file may be, that nothing registers itself. It has no code of its own.
// Start reading at rules in arch_test.go.
package arch

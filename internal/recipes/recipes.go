// Package recipes tests the recipes of CONTRIBUTING.md: it follows each in a
// copy of the module, to its last command. It has no code. See recipes_test.go.
package recipes

// Package recipes holds the test that the recipes of CONTRIBUTING.md work: each
// is followed in a copy of the module, to its last command. It has no code of
// its own. Start reading at recipes_test.go.
package recipes

// Package readme tests the documents: it runs the commands in them and compares
// the output. It has no code. See readme_test.go.
package readme

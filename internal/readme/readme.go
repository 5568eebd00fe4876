// Package readme holds the test that the documents of the house tell the
// truth: what they show as typed is run, and must print what they show. It has
// no code of its own. Start reading at readme_test.go.
package readme

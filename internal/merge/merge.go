// Package merge edits leaves of documents that belong to other programs: JSON
// with or without comments, TOML, YAML, and marked or plain lines of text. It goes
// from bytes to bytes, keeps every byte that it does not own, and touches no
// file system. Call Read and Edit, with keys that key.go makes.
//
// formats.go lists the formats, one package each; package leaf holds what they
// share, and how a leaf is named.
package merge

import (
	"aisync.dev/aisync/internal/merge/json"
	"aisync.dev/aisync/internal/merge/leaf"
)

// What Read and Edit take and return.
type (
	Value  = leaf.Value  // a JSON text
	Leaf   = leaf.Leaf   // one leaf of a document
	Op     = leaf.Op     // sets or removes one leaf
	Result = leaf.Result // an edited document
	Error  = leaf.Error  // what is wrong with a document, and where
	Rules  = json.Rules  // what stands for more than a plain value in a kind of document
)

// Read returns the leaves of keys that are there, with canonical values; a key
// that is not there is not in the map. It fails with *Error where doc is
// invalid or has another shape than a key asks for.
func Read(format Format, doc []byte, keys []string) (map[string]Leaf, error) {
	f, err := find(format)
	if err != nil {
		return nil, err
	}
	return leaf.Read(f, doc, keys)
}

// Edit makes doc hold, or not hold, the leaves of ops and keeps every other
// byte; see leaf.Edit for what made is and what is guaranteed. On an error
// nothing is changed: *Error where doc is at fault.
func Edit(format Format, doc []byte, ops []Op, made []string) (Result, error) {
	f, err := find(format)
	if err != nil {
		return Result{}, err
	}
	return leaf.Edit(f, doc, ops, made)
}

// Flatten returns the leaves that a fragment of JSON asks for, in its order.
func Flatten(fragment []byte, rules Rules) ([]Leaf, error) { return json.Flatten(fragment, rules) }

// Canonical returns v in the one spelling that equal values share. Take
// fingerprints of it, not of v.
func Canonical(v Value) (Value, error) { return leaf.Canonical(v) }

// Equal reports whether a and b are the same JSON value. What is not JSON
// equals nothing.
func Equal(a, b Value) bool { return leaf.Equal(a, b) }

// TextValue is the Value of a block that holds s. Line ends at the end of s do
// not count.
func TextValue(s string) Value { return leaf.TextValue(s) }

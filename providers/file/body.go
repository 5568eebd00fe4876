// Package file is the provider of everything that aisync keeps in a file: the
// whole text, its first content, or single keys, lines and blocks of a file
// that others write too. It never writes what it does not own. Start reading at
// Whole, Value and Block, then observe.go and build.go.
package file

import (
	"encoding/json"
	"fmt"
	"io/fs"
	"slices"
	"strings"
	"sync"

	"aisync.dev/aisync/internal/merge"
	"aisync.dev/aisync/reconcile"
	"aisync.dev/aisync/reconcile/fsys"
)

// content is a Body for the key "" or reconcile.Seed.
type content interface {
	reconcile.Body
	bytes() ([]byte, error)
	executable() bool
}

// Executable reports whether b is a whole file that its owner must be able to
// execute.
func Executable(b reconcile.Body) bool {
	if c, ok := b.(content); ok {
		return c.executable()
	}
	return executes(b.Fingerprint()) // sometimes only the fingerprint is known
}

// Text returns the text of a body that stands for a whole file.
func Text(b reconcile.Body) (text []byte, ok bool) {
	c, ok := b.(content)
	if !ok {
		return nil, false
	}
	text, err := c.bytes()
	return text, err == nil
}

// Whole is a whole file, or its first content. Of mode only the owner's
// executable bit counts.
func Whole(b []byte, mode fs.FileMode) reconcile.Body {
	return wholeBody{b, isExecutable(mode)}
}

type wholeBody struct {
	b    []byte
	exec bool
}

func (w wholeBody) bytes() ([]byte, error) { return w.b, nil }
func (w wholeBody) executable() bool       { return w.exec }
func (w wholeBody) Fingerprint() reconcile.Fingerprint {
	return tokenOf(fsys.Digest(w.b), w.exec)
}
func (w wholeBody) Redacted() json.RawMessage { return redactedContent(w.Fingerprint()) }

// FromSource is a whole file, or its first content, that is read only when it
// is written or shown. path is physical and may lie anywhere. digest is that of
// the bytes after transform; a nil transform changes nothing. Other bytes are
// an error that wraps reconcile.ErrStale.
func FromSource(path string, digest reconcile.Fingerprint, mode fs.FileMode, transform func([]byte) []byte) reconcile.Body {
	plain, _, _ := strings.Cut(string(digest), "+")
	return sourceBody{path: path, digest: plain, exec: isExecutable(mode), transform: transform}
}

// WithPast adds to a body of FromSource what its source held before, newest
// first. past is called only for a file that was not recorded, or whose
// recorded text is no longer known.
func WithPast(b reconcile.Body, past func() [][]byte) reconcile.Body {
	s, ok := b.(sourceBody)
	if !ok {
		return b
	}
	s.past = past
	return s
}

// Elsewhere marks a body of FromSource whose source does not lie beside the spec
// that asks for it, where an import puts what it takes: a file with the present
// or a former text of that source counts as made from it.
func Elsewhere(b reconcile.Body) reconcile.Body {
	s, ok := b.(sourceBody)
	if !ok {
		return b
	}
	s.elsewhere = true
	return s
}

// SourceOf returns the file that a body of FromSource reads, and its transform;
// ok is false for other bodies.
func SourceOf(b reconcile.Body) (path string, transform func([]byte) []byte, ok bool) {
	s, ok := b.(sourceBody)
	if ok && s.transform == nil {
		s.transform = func(b []byte) []byte { return b }
	}
	return s.path, s.transform, ok
}

type sourceBody struct {
	path      string
	digest    string
	exec      bool
	transform func([]byte) []byte
	past      func() [][]byte
	parts     int // how many trailing parts of the target's path belong to the bundle; 0 means 1
	elsewhere bool
}

// earlier returns the source's former contents, newest first, each transformed
// and as it was: old installers copied it unchanged.
func (s sourceBody) earlier() [][]byte {
	if s.past == nil {
		return nil
	}
	all := s.past()
	if s.transform == nil {
		return all
	}
	var out [][]byte
	for _, b := range all {
		out = append(out, s.transform(b), b)
	}
	return out
}

func (s sourceBody) bytes() ([]byte, error) {
	b, _, err := fsys.ReadSource(s.path, nil)
	if err != nil {
		return nil, fmt.Errorf("read source: %w", err)
	}
	if s.transform != nil {
		b = s.transform(b)
	}
	if fsys.Digest(b) != s.digest {
		return nil, fmt.Errorf("source %s %w; run the command again", s.path, reconcile.ErrStale)
	}
	return b, nil
}

// Held implements reconcile.Sourced.
func (s sourceBody) Held(f reconcile.Fingerprint) bool {
	digest, _, _ := strings.Cut(string(f), "+")
	return digest == s.digest || slices.ContainsFunc(s.earlier(), func(b []byte) bool { return fsys.Digest(b) == digest })
}

func (s sourceBody) executable() bool                   { return s.exec }
func (s sourceBody) Fingerprint() reconcile.Fingerprint { return tokenOf(s.digest, s.exec) }
func (s sourceBody) Redacted() json.RawMessage          { return redactedContent(s.Fingerprint()) }

// member is a Body for a key of package merge.
type member struct {
	v      merge.Value
	head   string
	style  merge.Format
	fields *Fields                      // nil: all of the value is aisync's
	print  func() reconcile.Fingerprint // fingerprint of v, computed once: a block may be the text of many rules
}

func newMember(m member) member {
	m.print = sync.OnceValue(func() reconcile.Fingerprint { return valueFingerprint(m.v) })
	return m
}

// Value is a value, a set member or a hook in a json, jsonc, toml or yaml file.
// v is JSON text; a new value is written with the order of its keys.
func Value(v merge.Value) reconcile.Body { return newMember(member{v: v}) }

// ValueOf returns the value that b writes into a file; ok is false for other
// bodies, and for secrets.
func ValueOf(b reconcile.Body) (v merge.Value, ok bool) {
	m, ok := b.(member)
	return m.v, ok
}

// Line is a line of text, spelled by its key. header is written above the first
// line that has it; "" is none.
func Line(header string) reconcile.Body {
	return newMember(member{v: merge.Value("true"), head: header})
}

// Block is text between two marker lines. style is the form of the markers:
// merge.Text, Markdown or Slashes; "" derives it from the file's name.
func Block(style merge.Format, text string) reconcile.Body {
	return newMember(member{v: merge.TextValue(text), style: style})
}

func (m member) Fingerprint() reconcile.Fingerprint { return m.print() }
func (m member) Redacted() json.RawMessage          { return redact(m.v) }

// RedactedAt is Redacted for the value of a leaf, whose key may name a secret.
func (m member) RedactedAt(key reconcile.LeafKey) json.RawMessage {
	return redactLeaf(string(key), m.v)
}

// valueFingerprint is equal for equal values, whatever their spelling.
func valueFingerprint(v merge.Value) reconcile.Fingerprint {
	c, err := merge.Canonical(v)
	if err != nil {
		c = v // not JSON: merge.Edit refuses it and says why
	}
	return reconcile.Fingerprint(fsys.Digest(c))
}

// tokenOf is the fingerprint of a whole file. It leaves out the mode bits that
// a umask sets, so that two people agree.
func tokenOf(digest string, exec bool) reconcile.Fingerprint {
	if exec {
		return reconcile.Fingerprint(digest + "+x")
	}
	return reconcile.Fingerprint(digest)
}

// executes reports whether token is that of an executable file.
func executes(token reconcile.Fingerprint) bool { return strings.HasSuffix(string(token), "+x") }

func isExecutable(mode fs.FileMode) bool { return mode&0o100 != 0 }

func redactedContent(f reconcile.Fingerprint) json.RawMessage {
	digest, _, exec := strings.Cut(string(f), "+")
	b, _ := json.Marshal(struct {
		Digest     string `json:"digest"`
		Executable bool   `json:"executable,omitempty"`
	}{digest, exec}) // a string and a bool: cannot fail
	return b
}

// Package file is the provider of everything that aisync keeps in a file: the
// whole of it, its first content, or single keys, lines and blocks in a file
// that is otherwise somebody else's. It never writes what it does not own.
// Start reading at the bodies below, then observe.go and build.go.
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

// Executable reports whether b is a whole file that its owner shall be able to
// execute.
func Executable(b reconcile.Body) bool {
	if c, ok := b.(content); ok {
		return c.executable()
	}
	return executes(b.Fingerprint()) // which may be all that is known of it
}

// Text is what b makes a file hold, where b is about the whole of it.
func Text(b reconcile.Body) (text []byte, ok bool) {
	c, ok := b.(content)
	if !ok {
		return nil, false
	}
	text, err := c.bytes()
	return text, err == nil
}

// Whole is the whole of a file, or its first content. Of mode only the bit
// that lets the owner execute it counts.
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

// FromSource is the whole of a file, or its first content, that is read only
// when it is written or shown. path is physical and may be anywhere; digest is
// that of the bytes that transform makes of the source, or of the source
// itself where transform is nil. Bytes that are not those when they are read
// are an error that wraps reconcile.ErrStale.
func FromSource(path string, digest reconcile.Fingerprint, mode fs.FileMode, transform func([]byte) []byte) reconcile.Body {
	plain, _, _ := strings.Cut(string(digest), "+")
	return sourceBody{path: path, digest: plain, exec: isExecutable(mode), transform: transform}
}

// WithPast is a body of FromSource with what its source held before, newest
// first. It is asked only where a file is there that nobody recorded, or where
// what was recorded is known no more.
func WithPast(b reconcile.Body, past func() [][]byte) reconcile.Body {
	s, ok := b.(sourceBody)
	if !ok {
		return b
	}
	s.past = past
	return s
}

// Elsewhere is a body of FromSource whose source does not lie beside the spec
// that asks for it, where an import puts what it takes over: a file that is as
// that source has or had it was made from it.
func Elsewhere(b reconcile.Body) reconcile.Body {
	s, ok := b.(sourceBody)
	if !ok {
		return b
	}
	s.elsewhere = true
	return s
}

// SourceOf returns the file that a body of FromSource is read from, and what is
// made of it; ok is false for other bodies.
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
	parts     int // of the target's path that are the bundle's own; 0: 1
	elsewhere bool
}

// earlier is what the source came to before, newest first, in the form of now
// and as it was: installers of old copied it as it was.
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
	v     merge.Value
	head  string
	style merge.Format
	ours  func(merge.Value) merge.Value // nil: only an equal value is the same
	print func() reconcile.Fingerprint  // of v, once: a block may be the text of many rules
}

func newMember(m member) member {
	m.print = sync.OnceValue(func() reconcile.Fingerprint { return valueFingerprint(m.v) })
	return m
}

// Value is a value, a set member or a hook in a json, jsonc, toml or yaml file. v is
// JSON text; the order of its keys is that in which a new value is written.
func Value(v merge.Value) reconcile.Body { return newMember(member{v: v}) }

// ValueOf is the value that b makes a part of a file hold; ok is false for
// other bodies, and for secrets.
func ValueOf(b reconcile.Body) (v merge.Value, ok bool) {
	m, ok := b.(member)
	return m.v, ok
}

// Meaning is Value for a value that others may spell otherwise: what is there
// counts as ours makes it. ours leaves alone what it does not know, and what is
// in our form already.
func Meaning(v merge.Value, ours func(merge.Value) merge.Value) reconcile.Body {
	return newMember(member{v: v, ours: ours})
}

// Line is a line of text, which its key spells. Where it is added, header
// stands above it, once for all lines of that header; "" is none.
func Line(header string) reconcile.Body {
	return newMember(member{v: merge.Value("true"), head: header})
}

// Block is text between two marker lines. style is how they are written:
// merge.Text, Markdown or Slashes; "" goes by the file's name.
func Block(style merge.Format, text string) reconcile.Body {
	return newMember(member{v: merge.TextValue(text), style: style})
}

func (m member) Fingerprint() reconcile.Fingerprint { return m.print() }
func (m member) Redacted() json.RawMessage          { return redact(m.v) }

// valueFingerprint is the same for equal values, however they are spelled.
func valueFingerprint(v merge.Value) reconcile.Fingerprint {
	c, err := merge.Canonical(v)
	if err != nil {
		c = v // not JSON: merge.Edit refuses it and says why
	}
	return reconcile.Fingerprint(fsys.Digest(c))
}

// tokenOf is the fingerprint of a whole file. The bits of mode that come from a
// umask are not part of it, so that two people agree.
func tokenOf(digest string, exec bool) reconcile.Fingerprint {
	if exec {
		return reconcile.Fingerprint(digest + "+x")
	}
	return reconcile.Fingerprint(digest)
}

// executes reports whether token is of a file that can be executed.
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

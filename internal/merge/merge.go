// Package merge edits leaves of documents that belong to somebody else: JSON
// with or without comments, TOML, YAML, and marked or plain lines of text. It goes
// from bytes to bytes, keeps every byte that it does not own, and touches no
// file system. Start reading at Edit, then key.go for what a leaf is called.
package merge

import (
	"encoding/json"
	"fmt"
	"path"
	"slices"
	"strings"

	"aisync.dev/aisync/internal/merge/yamltree"
)

// Format is how leaves are kept in a document.
type Format string

const (
	JSON     Format = "json"     // comments and trailing commas of the user are kept, never introduced
	JSONC    Format = "jsonc"    // the same: programs differ in what they read, not in what is kept
	TOML     Format = "toml"     // 1.0, and what go-toml reads of 1.1
	YAML     Format = "yaml"     // one document; what has an anchor, an alias or a tag is left alone
	Text     Format = "text"     // whole lines, and blocks between "# …" markers
	Markdown Format = "markdown" // the same, blocks between "<!-- … -->" markers
	Slashes  Format = "slashes"  // the same, blocks between "// …" markers
)

// maxSize bounds a document: nothing that a person configures comes near it,
// and positions in TOML are 32 bits wide.
const maxSize = 64 << 20

// FormatOf guesses from a file's name; Text where it does not know.
func FormatOf(name string) Format {
	switch strings.ToLower(path.Ext(name)) {
	case ".json":
		return JSON
	case ".jsonc":
		return JSONC
	case ".toml":
		return TOML
	case ".yaml", ".yml":
		return YAML
	case ".md", ".markdown", ".mdc", ".html":
		return Markdown
	case ".js", ".ts", ".go", ".cue", ".c", ".rs":
		return Slashes
	}
	return Text
}

// Value is a JSON text: of a JSON, TOML or YAML value itself, the member of a set, a
// whole hook object, the string that a block holds, or true for a line.
type Value = json.RawMessage

// Leaf is one leaf of a document. Line is where it starts there, from 1. Raw
// is its value as it is written there, "" where it is not written in one piece.
type Leaf struct {
	Key   string
	Value Value
	Line  int
	Raw   string
}

// Text returns what a block holds, its lines separated by "\n".
func (l Leaf) Text() string {
	var s string
	_ = json.Unmarshal(l.Value, &s) // not a string: no text
	return s
}

// TextValue is the Value of a block that holds s. Line ends are stored as
// "\n"; those at the end of s do not count.
func TextValue(s string) Value { return quote(normalText(s)) }

// Op sets one leaf, or removes it where Value is nil.
type Op struct {
	Key    string
	Value  Value
	Header string // of a line: the header line that its group stands under, "" none
	Raw    string // Leaf.Raw of an earlier Read: how to write Value where another value is, if it says the same
}

// Result is an edited document.
type Result struct {
	// Doc is the document, the same bytes where nothing had to change. It is
	// empty where everything was removed from a document that was made here:
	// its file may go.
	Doc     []byte
	Changed bool
	// Made names, for each Op, what had to be made around its leaf. Keep it
	// beside the leaf and hand it back to later edits of the document.
	Made [][]string
}

// Read returns the leaves of keys that are there, with canonical values; a key
// that is not there is not in the map. It fails with *Error where doc is
// invalid or has another shape than a key asks for.
func Read(format Format, doc []byte, keys []string) (map[string]Leaf, error) {
	ks, err := parseKeys(format, keys)
	if err != nil {
		return nil, err
	}
	if err := checkDocument(doc); err != nil {
		return nil, err
	}
	switch format {
	case JSON, JSONC:
		return readJSON(doc, ks)
	case TOML:
		return readTOML(doc, ks)
	case YAML:
		return readYAML(doc, ks)
	default:
		return readText(format, doc, ks)
	}
}

// Edit makes doc hold, or not hold, the leaves of ops and keeps every other
// byte. An absent document is an empty one. On an error nothing is changed:
// *Error where doc is at fault.
//
// made is everything that earlier edits of this document reported in
// Result.Made, of whichever leaf and owner; a container that stands in it is
// removed when its last leaf goes, in whatever order leaves go. With nothing
// else changed in between, removing what was added gives back the same bytes.
// Editing twice is editing once.
func Edit(format Format, doc []byte, ops []Op, made []string) (Result, error) {
	keys := make([]string, len(ops))
	for i, op := range ops {
		keys[i] = op.Key
	}
	ks, err := parseKeys(format, keys)
	if err != nil {
		return Result{}, err
	}
	if err := checkDocument(doc); err != nil {
		return Result{}, err
	}
	if err := checkOps(ks, ops); err != nil {
		return Result{}, err
	}
	notes, err := parseNotes(made)
	if err != nil {
		return Result{}, err
	}
	ed := edit{doc: doc, notes: notes}
	switch format {
	case JSON, JSONC:
		ed.apply = jsonOp
	case TOML:
		ed.apply = tomlOp
	case YAML:
		ed.apply = yamlOp
	default:
		ed.apply = textOp(format)
	}
	return ed.run(format, ks, ops)
}

// edit is one Edit under way.
type edit struct {
	doc   []byte
	notes notes
	apply func(*edit, key, Op) ([]byte, error)
	json  *jsonDoc // doc as it was last parsed
	toml  *tomlDoc
	yaml  *yamltree.Doc
}

func (e *edit) run(format Format, ks []key, ops []Op) (Result, error) {
	old := e.doc
	for i, op := range ops {
		bom, rest := cutBOM(e.doc)
		e.doc = rest
		next, err := e.apply(e, ks[i], op)
		if err != nil {
			return Result{}, err
		}
		e.doc = append(slices.Clone(bom), next...)
	}
	res := Result{Doc: old, Made: make([][]string, len(ops))}
	if string(e.doc) != string(old) {
		res.Doc, res.Changed = e.doc, true
		if err := e.check(format, ks, ops); err != nil {
			return Result{}, err
		}
	}
	for i, op := range ops {
		if op.Value != nil {
			res.Made[i] = e.notes.around(ks[i], op)
		}
	}
	return res, nil
}

// check reads the result again: what cannot be read back must not be written.
func (e *edit) check(format Format, ks []key, ops []Op) error {
	if len(e.doc) == 0 {
		return nil
	}
	keys := make([]string, len(ks))
	for i := range ks {
		keys[i] = ks[i].String()
	}
	got, err := Read(format, e.doc, keys)
	if err != nil {
		return fmt.Errorf("edit %s document: the result does not read back, so nothing was changed: %w", format, err)
	}
	for i, op := range ops {
		leaf, there := got[keys[i]]
		if there != (op.Value != nil) || there && !Equal(leaf.Value, ks[i].want(op.Value)) {
			return fmt.Errorf("edit %s document: leaf %s does not read back, so nothing was changed", format, keys[i])
		}
	}
	return nil
}

// checkOps refuses edits that cannot be true together.
func checkOps(ks []key, ops []Op) error {
	values := map[string]bool{}
	seen := map[string]bool{}
	for i, k := range ks {
		if seen[k.String()] {
			return fmt.Errorf("edit leaf %s: it is asked for twice", k)
		}
		seen[k.String()] = true
		if k.kind == valueKey {
			values[Pointer(k.path...)] = true
		}
		if ops[i].Value != nil {
			if err := k.checkValue(ops[i].Value); err != nil {
				return err
			}
		}
	}
	for _, k := range ks {
		n := len(k.path)
		if k.kind != valueKey {
			n++
		}
		for i := 1; i < n; i++ {
			if p := Pointer(k.path[:i]...); values[p] {
				return fmt.Errorf("edit leaf %s: it lies within leaf %s of the same edit; ask for one of them", k, p)
			}
		}
	}
	return nil
}

package leaf

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
)

// Notes are what an edit had to make around leaves, as told in Result.Made:
//
//	/mcpServers                        this object, array, table or TOML header was made
//	/hooks/Stop#{"matcher":"…"}        this group of hooks was made
//	inner " " /permissions/allow       this container was there and empty, with that white space in it
//	document "\n"                      the document was there only as that white space, or not at all
//	header "# --- x ---"               this header line was made
//	empty " {}" /extensions            this YAML entry was there with that after its colon, which is nothing
//	blank                              a blank line was put after the first keys of a TOML document
type Notes []Note

// Note is one of Notes.
type Note struct {
	Word string // "" for a container that was made
	Text string
	At   string // pointer of the container, "" for the document
}

// The words of notes.
const (
	InnerNote    = "inner"
	DocumentNote = "document"
	HeaderNote   = "header"
	BlankNote    = "blank"
	EmptyNote    = "empty"
)

func (n Note) written() string {
	switch n.Word {
	case "":
		return n.At
	case InnerNote, EmptyNote:
		return n.Word + " " + string(Quote(n.Text)) + " " + n.At
	case BlankNote:
		return n.Word
	}
	return n.Word + " " + string(Quote(n.Text))
}

func parseNotes(f Format, made []string) (Notes, error) {
	var ns Notes
	for _, s := range made {
		n, err := parseNote(s)
		if err == nil && f.CheckNote != nil {
			err = f.CheckNote(n)
		}
		if err != nil {
			return nil, fmt.Errorf("recorded container %q: %w", s, err)
		}
		ns.Add(n)
	}
	return ns, nil
}

func parseNote(s string) (Note, error) {
	if strings.HasPrefix(s, "/") {
		return Note{At: s}, nil
	}
	word, rest, _ := strings.Cut(s, " ")
	n := Note{Word: word}
	switch word {
	case BlankNote:
		return n, nil
	case InnerNote, DocumentNote, HeaderNote, EmptyNote:
		dec := json.NewDecoder(strings.NewReader(rest))
		if err := dec.Decode(&n.Text); err != nil {
			return n, fmt.Errorf("want a string after %q: %w", word, err)
		}
		n.At = strings.TrimPrefix(rest[dec.InputOffset():], " ")
		if word != HeaderNote && word != EmptyNote && strings.Trim(n.Text, " \t\r\n") != "" {
			return n, fmt.Errorf("only white space can be put back")
		}
		return n, nil
	}
	return n, fmt.Errorf("unknown; the record was written by another version")
}

// Add adds n unless it is there.
func (ns *Notes) Add(n Note) {
	if !slices.Contains(*ns, n) {
		*ns = append(*ns, n)
	}
}

// AddInner notes that the container at a place was there and empty, with the
// white space tail in it, unless it was made or that is noted already.
func (ns *Notes) AddInner(tail, at string) {
	if _, known := ns.Text(InnerNote, at); !known && !ns.Made(at) {
		ns.Add(Note{InnerNote, tail, at})
	}
}

// Made reports whether the container at a place was made by an edit.
func (ns *Notes) Made(at string) bool { return slices.Contains(*ns, Note{At: at}) }

// Text returns what the note of word at a place says.
func (ns *Notes) Text(word, at string) (string, bool) {
	for _, n := range *ns {
		if n.Word == word && n.At == at {
			return n.Text, true
		}
	}
	return "", false
}

// around returns the notes of everything that encloses the leaf k.
func (ns *Notes) around(k Key, op Op) []string {
	enclosing := map[string]bool{"": true}
	for i := 1; i < len(k.Path) || i == len(k.Path) && k.Kind != KindValue; i++ {
		enclosing[Pointer(k.Path[:i]...)] = true
	}
	if k.Kind == KindHook {
		enclosing[HookGroup(k)] = true
	}
	var out []string
	for _, n := range *ns {
		switch {
		case n.Word == HeaderNote:
			// A line without a header may end up in the last group.
			if n.Text == op.Header || k.Kind == KindLine && op.Header == "" {
				out = append(out, n.written())
			}
		case n.Word == BlankNote && len(k.Path) != 1:
		case enclosing[n.At]:
			out = append(out, n.written())
		}
	}
	slices.Sort(out)
	return out
}

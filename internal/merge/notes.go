package merge

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
)

// notes are what an edit had to make around leaves, as told in Result.Made:
//
//	/mcpServers                        this object, array, table or TOML header was made
//	/hooks/Stop#{"matcher":"…"}        this group of hooks was made
//	inner " " /permissions/allow       this container was there and empty, with that white space in it
//	document "\n"                      the document was there only as that white space, or not at all
//	header "# --- x ---"               this header line was made
//	empty " {}" /extensions            this YAML entry was there with that after its colon, which is nothing
//	blank                              a blank line was put after the first keys of a TOML document
type notes []note

type note struct{ word, text, at string } // word "" for a container that was made

const (
	innerNote    = "inner"
	documentNote = "document"
	headerNote   = "header"
	blankNote    = "blank"
	emptyNote    = "empty"
)

func (n note) String() string {
	switch n.word {
	case "":
		return n.at
	case innerNote, emptyNote:
		return n.word + " " + string(quote(n.text)) + " " + n.at
	case blankNote:
		return n.word
	}
	return n.word + " " + string(quote(n.text))
}

func parseNotes(made []string) (notes, error) {
	var ns notes
	for _, s := range made {
		n, err := parseNote(s)
		if err != nil {
			return nil, fmt.Errorf("recorded container %q: %w", s, err)
		}
		ns.add(n)
	}
	return ns, nil
}

func parseNote(s string) (note, error) {
	if strings.HasPrefix(s, "/") {
		return note{at: s}, nil
	}
	word, rest, _ := strings.Cut(s, " ")
	n := note{word: word}
	switch word {
	case blankNote:
		return n, nil
	case innerNote, documentNote, headerNote, emptyNote:
		dec := json.NewDecoder(strings.NewReader(rest))
		if err := dec.Decode(&n.text); err != nil {
			return n, fmt.Errorf("want a string after %q: %w", word, err)
		}
		n.at = strings.TrimPrefix(rest[dec.InputOffset():], " ")
		if word == emptyNote && !emptyYAML(n.text) {
			return n, fmt.Errorf("only what says nothing can be put back")
		}
		if word != headerNote && word != emptyNote && strings.Trim(n.text, " \t\r\n") != "" {
			return n, fmt.Errorf("only white space can be put back")
		}
		return n, nil
	}
	return n, fmt.Errorf("unknown; the record was written by another version")
}

func (ns *notes) add(n note) {
	if !slices.Contains(*ns, n) {
		*ns = append(*ns, n)
	}
}

func (ns notes) made(at string) bool { return slices.Contains(ns, note{at: at}) }

// text returns what the note of word at a place says.
func (ns notes) text(word, at string) (string, bool) {
	for _, n := range ns {
		if n.word == word && n.at == at {
			return n.text, true
		}
	}
	return "", false
}

// around returns the notes of everything that encloses the leaf k.
func (ns notes) around(k key, op Op) []string {
	enclosing := map[string]bool{"": true}
	for i := 1; i < len(k.path) || i == len(k.path) && k.kind != valueKey; i++ {
		enclosing[Pointer(k.path[:i]...)] = true
	}
	if k.kind == hookKey {
		enclosing[Pointer(k.path...)+"#"+k.hook.group()] = true
	}
	var out []string
	for _, n := range ns {
		switch {
		case n.word == headerNote:
			// A line without a header may end up in the last group.
			if n.text == op.Header || k.kind == lineKey && op.Header == "" {
				out = append(out, n.String())
			}
		case n.word == blankNote && len(k.path) != 1:
		case enclosing[n.at]:
			out = append(out, n.String())
		}
	}
	slices.Sort(out)
	return out
}

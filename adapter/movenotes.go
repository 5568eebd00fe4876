package adapter

import (
	"bytes"
	"fmt"
	"slices"

	"aisync.dev/aisync/adapter/render"
	"aisync.dev/aisync/schema/spec"
)

// Move is how a project's own notes come to the file that every program reads:
// From's text goes to To, and From becomes a link to it.
type Move struct {
	From, To string
	Text     []byte   // of To afterwards
	Equal    []string // further files of the same text, which become links too
}

// MoveNotes returns the move for a project's notes; nil where no program of the
// catalog has notes apart from the common file. It is an error if two files hold
// different notes.
func MoveNotes(n Notes, catalog []spec.Runtime) (*Move, error) {
	var m *Move
	for i := range catalog {
		p := place{rt: catalog[i], scope: catalog[i].Project}
		if p.scope.Imports == "" || len(p.scope.Instructions) == 0 {
			continue
		}
		from, to := p.scope.Instructions[0], p.common()
		here := n[from]
		if len(n.own(from)) == 0 || here.Link != "" {
			continue
		}
		if m != nil {
			switch {
			case m.From == from || slices.Contains(m.Equal, from):
			case bytes.Equal(n.own(from), n.own(m.From)):
				m.Equal = append(m.Equal, from)
			default:
				return nil, fmt.Errorf("%s and %s hold different notes; put them together in one of them, remove the other, and call this again", m.From, from)
			}
			continue
		}
		there := n[to]
		if own := n.own(to); len(own) > 0 && !bytes.Equal(own, n.own(from)) {
			return nil, fmt.Errorf("%s and %s hold different notes; put them together in %s, remove %s, and call this again", from, to, to, from)
		}
		text := render.WithoutLine(here.Text, p.scope.Imports)
		if len(n.own(to)) > 0 { // the same text is there already
			text = there.Text
		} else if len(bytes.TrimSpace(there.Text)) > 0 {
			text = append(append(bytes.TrimRight(text, "\r\n"), "\n\n"...), there.Text...)
		}
		m = &Move{From: from, To: to, Text: text}
	}
	return m, nil
}

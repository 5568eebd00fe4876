package stack

import (
	"aisync.dev/aisync/app/pin"
	"aisync.dev/aisync/reconcile"
)

// pinNote returns a note of package pin with what to do about it.
func pinNote(n pin.Note) reconcile.Note {
	out := reconcile.Note{Warning: true, Text: n.Text}
	switch n.Kind {
	case pin.OtherCatalog:
		out.Text += ": aisync lock --update catalog"
		return out
	case pin.TooLarge:
		out.Text += "; aisync models fit " + n.Model + " says what would; fit: \"ignore\" silences this"
	case pin.TooLargeTogether:
		out.Text += "; aisync models fit says what would"
	}
	out.Origin = []reconcile.Position{reconcile.Position(n.Pos)}
	return out
}

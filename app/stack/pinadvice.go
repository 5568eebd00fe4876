package stack

import (
	"errors"
	"fmt"

	"aisync.dev/aisync/app/pin"
	"aisync.dev/aisync/internal/advice"
	"aisync.dev/aisync/internal/shellquote"
	"aisync.dev/aisync/reconcile"
)

// AdvisePin adds to an error of package pin what to type next. Other errors stay
// as they are.
func AdvisePin(err error) error {
	var e *pin.Error
	switch {
	case errors.Is(err, pin.ErrNotFetched):
		return advice.Command(err, "aisync lock")
	case !errors.As(err, &e):
		return err
	}
	switch e.Reason {
	case pin.NotPinned:
		return advice.Command(err, "aisync lock")
	case pin.Unfit:
		return advice.Command(err, "aisync lock --update "+e.ID)
	case pin.Gone:
		return advice.Command(err, "aisync lock --update "+shellquote.Terminal(e.ID)+", and look at what moved")
	case pin.Changed:
		return advice.Command(err, "aisync lock --update "+e.ID+", if the change is right")
	case pin.HubDown:
		return advice.Command(err, "aisync lock again, when the hub can be reached")
	case pin.ManagerFailed:
		return advice.Command(err, "aisync lock again, when that is mended")
	case pin.NotWritable:
		return fmt.Errorf("%w: run aisync lock in a copy that is, and bring aisync.lock along", err)
	}
	return err
}

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

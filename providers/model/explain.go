package model

import (
	"context"
	"fmt"
	"strings"

	"aisync.dev/aisync/internal/advice"
	"aisync.dev/aisync/reconcile"
)

// Explain implements reconcile.Provider.
func (Provider) Explain(_ context.Context, r reconcile.ReadEnv, c reconcile.Change) []reconcile.Line {
	var lines []reconcile.Line
	say := func(op byte, format string, args ...any) {
		lines = append(lines, reconcile.Line{Op: op, Text: fmt.Sprintf(format, args...)})
	}
	for _, l := range c.Leaves {
		f := lookAt(r.FS, c.Target, l.Key)
		if l.Want == nil {
			switch l.Action {
			case reconcile.Delete, reconcile.PutBack:
				say('-', "%s; the bytes stay in the store, and %s", f.note.Path, advice.GC)
			case reconcile.Release:
				say(' ', "%s stays as it is", f.note.Path)
			}
			if f.note.Aside != "" && l.Writes() {
				say('+', "%s comes back", f.note.Aside)
			}
			continue
		}
		a, err := artifact(*l.Want)
		if err != nil || l.Action == reconcile.None || l.Action == reconcile.Unclear {
			continue
		}
		quant := a.Quant
		if a.Reason != "" {
			quant += ": " + a.Reason
		}
		if a.License != "" {
			quant += ", license " + a.License
		}
		switch {
		case a.Open != "":
			say('+', "%s, %s: %s", a.Open, a.Quant, advice.FoundByLock)
		case a.SHA256 == "":
			say('+', "%s, %s (digest not pinned yet)", a.Path, quant)
		case l.Action == reconcile.Accept && f.live == a.Fingerprint():
			say(' ', "%s is there, as it was verified", a.Path)
		case l.Action == reconcile.Accept:
			say(' ', "%s is there with the right size, and will be verified (%d bytes to read)", a.Path, a.Size)
		case f.moved:
			say('~', "%s becomes %s", f.note.Path, a.Path)
		case f.presence == reconcile.Present && l.Rel.Live:
			say('~', "%s is not the wanted file; what is there is renamed, not deleted", a.Path)
			say('+', "%s, %s, %d bytes, %d of them to fetch", a.Path, quant, a.Size, f.fetch)
		default:
			say('+', "%s, %s, %d bytes, %d of them to fetch", a.Path, quant, a.Size, f.fetch)
		}
		if len(a.Mirrors) > 0 && f.fetch > 0 && a.SHA256 != "" {
			say(' ', "from %s by its digest, else from where the spec says", strings.Join(a.Mirrors, ", "))
		}
	}
	return lines
}

package file

import (
	"encoding/json"
	"slices"

	"aisync.dev/aisync/internal/merge"
	"aisync.dev/aisync/reconcile"
)

// note is LeafRecord.Private of a member: what was created for it, and so may
// go with it. It holds no path and no time, because a project's lock carries
// it.
type note struct {
	Made  []string     `json:"made,omitempty"`  // containers, in the words of package merge
	File  bool         `json:"file,omitempty"`  // the file itself
	Style merge.Format `json:"style,omitempty"` // marker style of a block, where the file's name does not tell

	Fields []string `json:"fields,omitempty"` // of an object that others write into too: aisync's
}

func (n note) raw() json.RawMessage {
	if len(n.Made) == 0 && !n.File && n.Style == "" && len(n.Fields) == 0 {
		return nil
	}
	b, _ := json.Marshal(n) // strings and a bool: cannot fail
	return b
}

// noteOf returns the note beside l. An unreadable note counts as none: the leaf
// is still removed, its containers stay.
func noteOf(l reconcile.LeafRecord) note {
	var n note
	_ = json.Unmarshal(l.Private, &n)
	return n
}

// notesOf joins the notes of all leaves of t, of every owner: any of them may
// be the last to go.
func notesOf(t reconcile.Target) note {
	var all note
	for _, l := range slices.Concat(t.Last, t.Others) {
		n := noteOf(l)
		all.Made = append(all.Made, n.Made...)
		all.File = all.File || n.File
	}
	slices.Sort(all.Made)
	all.Made = slices.Compact(all.Made)
	return all
}

package cli

import (
	"aisync.dev/aisync/cmd/aisync/quick"
	"aisync.dev/aisync/reconcile"
)

// ViewVersion is the format_version of the JSON documents of the commands.
const ViewVersion = quick.FormatVersion

// EventDoc is one line of apply --json; see docs/json.md.
type EventDoc struct {
	Type    string            `json:"type"` // "start", "progress", "done", "failed", "skipped"
	Address reconcile.Address `json:"address"`
	Action  reconcile.Action  `json:"action,omitempty"`
	Done    int64             `json:"done_bytes,omitempty"`
	Total   int64             `json:"total_bytes,omitempty"`
	Error   string            `json:"error,omitempty"`
}

// EventLine converts an event of the engine.
func EventLine(e reconcile.Event) EventDoc {
	d := EventDoc{Type: e.Kind, Address: e.Address, Action: e.Action, Done: e.Done, Total: e.Total}
	if e.Err != nil {
		d.Error = e.Err.Error()
	}
	return d
}

// ResultDoc is the last line of apply --json.
type ResultDoc struct {
	Type          string              `json:"type"` // "result"
	FormatVersion string              `json:"format_version"`
	ID            string              `json:"id"` // for aisync rollback; "" when nothing was written
	Done          []reconcile.Address `json:"done"`
	Failed        []problemDoc        `json:"failed"`
	Skipped       []problemDoc        `json:"skipped"`
	LeftOut       []string            `json:"left_out"` // what was asked for and is not available now, in words
	Error         string              `json:"error,omitempty"`
}

type problemDoc struct {
	Address reconcile.Address `json:"address"`
	Error   string            `json:"error"`
	Hint    string            `json:"hint,omitempty"`
}

// ResultLine converts the result of an apply, what it left out beforehand and the error
// that ended it.
func ResultLine(r reconcile.Result, leftOut []error, err error) ResultDoc {
	d := ResultDoc{Type: "result", FormatVersion: ViewVersion, ID: r.ID, Done: OrEmpty(r.Done), Failed: problems(r.Failed), Skipped: problems(r.Skipped), LeftOut: []string{}}
	for _, e := range leftOut {
		d.LeftOut = append(d.LeftOut, e.Error())
	}
	if err != nil {
		d.Error = err.Error()
	}
	return d
}

func problems(list []reconcile.Problem) []problemDoc {
	out := []problemDoc{}
	for _, p := range list {
		out = append(out, problemDoc{p.Address, p.Err.Error(), p.Hint})
	}
	return out
}

// OrEmpty returns list, or an empty list for nil, which JSON shows as [].
func OrEmpty[T any](list []T) []T {
	if list == nil {
		return []T{}
	}
	return list
}

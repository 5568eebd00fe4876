package main

import (
	"aisync.dev/aisync/cmd/aisync/quick"
	"aisync.dev/aisync/reconcile"
)

// viewVersion is the format_version of the JSON documents that are made here.
const viewVersion = quick.FormatVersion

// eventDoc is one line of apply --json; see docs/json.md.
type eventDoc struct {
	Type    string            `json:"type"` // "start", "progress", "done", "failed", "skipped"
	Address reconcile.Address `json:"address"`
	Action  reconcile.Action  `json:"action,omitempty"`
	Done    int64             `json:"done_bytes,omitempty"`
	Total   int64             `json:"total_bytes,omitempty"`
	Error   string            `json:"error,omitempty"`
}

func eventLine(e reconcile.Event) eventDoc {
	d := eventDoc{Type: e.Kind, Address: e.Address, Action: e.Action, Done: e.Done, Total: e.Total}
	if e.Err != nil {
		d.Error = e.Err.Error()
	}
	return d
}

// resultDoc is the last line of apply --json.
type resultDoc struct {
	Type          string              `json:"type"` // "result"
	FormatVersion string              `json:"format_version"`
	ID            string              `json:"id"` // for aisync rollback; "" when nothing was written
	Done          []reconcile.Address `json:"done"`
	Failed        []problemDoc        `json:"failed"`
	Skipped       []problemDoc        `json:"skipped"`
	Error         string              `json:"error,omitempty"`
}

type problemDoc struct {
	Address reconcile.Address `json:"address"`
	Error   string            `json:"error"`
	Hint    string            `json:"hint,omitempty"`
}

func resultLine(r reconcile.Result, err error) resultDoc {
	d := resultDoc{Type: "result", FormatVersion: viewVersion, ID: r.ID, Done: orEmpty(r.Done), Failed: problems(r.Failed), Skipped: problems(r.Skipped)}
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

// orEmpty makes a missing list an empty one: JSON readers want [].
func orEmpty[T any](list []T) []T {
	if list == nil {
		return []T{}
	}
	return list
}

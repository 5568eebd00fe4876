package reconcile

import "slices"

// Summary counts what a plan holds.
type Summary struct {
	Create      int   `json:"create"`
	Update      int   `json:"update"`
	Delete      int   `json:"delete"`
	Accept      int   `json:"accept"`  // recorded only
	Release     int   `json:"release"` // forgotten, left in place
	Conflict    int   `json:"conflict"`
	Unknown     int   `json:"unknown"`
	Unsupported int   `json:"unsupported"`
	Unchanged   int   `json:"unchanged"`
	Drift       int   `json:"drift"`
	Pending     int   `json:"pending"`
	FetchBytes  int64 `json:"fetch_bytes"`
}

// Summary counts p's changes.
func (p *Plan) Summary() Summary {
	s := Summary{Unsupported: len(p.Unsupported), Conflict: len(p.Conflicts)}
	for _, c := range p.Changes {
		switch c.Action {
		case Create:
			s.Create++
		case Update, PutBack:
			s.Update++
		case Delete:
			s.Delete++
		case Accept:
			s.Accept++
		case Release:
			s.Release++
		case Clash:
			s.Conflict++
		case Unclear:
			s.Unknown++
		default:
			s.Unchanged++
		}
		if c.Drift() {
			s.Drift++
		}
		if c.Pending() {
			s.Pending++
		}
		if c.Writes() {
			s.FetchBytes += c.Before.Fetch
		}
	}
	return s
}

// Empty reports whether an apply of p would do nothing and nothing is undecided.
func (p *Plan) Empty() bool {
	return len(p.Conflicts) == 0 && !slices.ContainsFunc(p.Changes, func(c Change) bool { return c.Action != None })
}

// Undecided returns the changes without a choice.
func (p *Plan) Undecided() []Change {
	var out []Change
	for _, c := range p.Changes {
		if c.Action == Clash && c.undecided() {
			out = append(out, c)
		}
	}
	return out
}

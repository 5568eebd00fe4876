package contextreport

import (
	"errors"
	"slices"
	"sort"

	"aisync.dev/aisync/adapter/loads"
	"aisync.dev/aisync/schema/spec"
)

// largest is how many files an excess names.
const largest = 3

// Excess is a budget of a spec that a program exceeds at its start.
type Excess struct {
	Budget  spec.ContextBudget
	Tokens  int       // at the start, estimated
	Largest []Portion // the files with the most of it, the largest first
}

// Portion is how much of what a program loads comes from one file.
type Portion struct {
	Path   string
	Bytes  int
	Tokens int // estimated
	Copies int // how often the program takes it
	Origin string
}

// Exceeded returns the budgets that do not hold where programs are started in
// q.Start. A budget of a program of which nothing is known is left out, see
// Unchecked.
func (q Question) Exceeded(budgets []spec.ContextBudget) ([]Excess, error) {
	var out []Excess
	for _, b := range budgets {
		result, err := q.atStart(b.Runtime)
		if errors.Is(err, loads.ErrUnknown) {
			continue
		} else if err != nil {
			return nil, err
		}
		bytes := 0
		for _, i := range result.Items {
			bytes += i.Start * i.Bytes
		}
		if n := tokens(bytes); n > b.Max {
			out = append(out, Excess{b, n, q.largest(result)})
		}
	}
	return out, nil
}

// Unchecked returns the budgets of programs of which nothing is known, with the
// reason for each.
func (q Question) Unchecked(budgets []spec.ContextBudget) (list []spec.ContextBudget, why []string) {
	for _, b := range budgets {
		if i := slices.IndexFunc(q.Catalog, func(r spec.Runtime) bool { return r.ID == b.Runtime }); i >= 0 && q.Catalog[i].Loads == nil {
			list, why = append(list, b), append(why, unknown(q.Catalog[i]))
		}
	}
	return list, why
}

func (q Question) atStart(id string) (loads.Result, error) {
	i := slices.IndexFunc(q.Catalog, func(r spec.Runtime) bool { return r.ID == id })
	if i < 0 {
		return loads.Result{}, loads.ErrUnknown
	}
	return loads.Loads(q.Catalog[i], q.Machine, q.Start)
}

// largest returns the files that a program has most of at its start.
func (q Question) largest(result loads.Result) []Portion {
	at := map[string]int{}
	var out []Portion
	for _, i := range result.Items {
		had := map[string]bool{}
		for _, f := range i.From {
			if f.After != "" || i.Bytes == 0 || i.Start == 0 {
				continue
			}
			n, there := at[f.Real]
			if !there {
				n, at[f.Real] = len(out), len(out)
				out = append(out, Portion{Path: f.Real, Origin: q.origin(f.Real)})
			}
			out[n].Bytes += i.Bytes
			if had[f.Real] || out[n].Copies == 0 {
				out[n].Copies++
			}
			had[f.Real] = true
		}
	}
	for i := range out {
		out[i].Tokens = tokens(out[i].Bytes)
	}
	sort.SliceStable(out, func(i, j int) bool { return out[i].Bytes > out[j].Bytes })
	return out[:min(largest, len(out))]
}

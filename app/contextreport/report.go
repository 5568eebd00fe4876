// Package contextreport says what agent programs have in their context in a
// project: at their start and after they have read a file, in order, with bytes
// and an estimate of tokens, what they have twice, and what they never have. It
// turns answers of adapter/loads into one document, for people and as JSON; it
// reads through the machine that it is given, and writes nothing. Call New.
package contextreport

import (
	"errors"
	"slices"
	"sort"

	"aisync.dev/aisync/adapter/loads"
	"aisync.dev/aisync/internal/secret"
	"aisync.dev/aisync/schema/spec"
)

// FormatVersion is that of the JSON form, see docs/json.md.
const FormatVersion = "1.0"

// BytesPerToken is how a text's tokens are estimated: it is about right for
// English prose with code in all of today's tokenizers, and wrong by a factor of
// two for other scripts. Spec.Runtime.FirstRequest counts in the same way.
const BytesPerToken = 4

// Question is what a report is about.
type Question struct {
	Catalog []spec.Runtime
	Only    []string // ids of the programs that are reported; none: all that the catalog knows the loading of
	Machine loads.Machine
	Start   string                   // the folder in which programs are started, absolute
	Touched []string                 // the files that they read, absolute; none: the start only
	Origin  func(path string) string // names the rule and the line of a spec that a file was made from, "" for a person's; nil: not known
	Model   *Model                   // the one that takes the prompt in; nil: no seconds are given
	Budgets []spec.ContextBudget
}

// Report is the answer.
type Report struct {
	FormatVersion string    `json:"format_version"`
	Start         string    `json:"start"`
	Touched       []string  `json:"touched,omitempty"`
	Model         *Model    `json:"model,omitempty"`
	Programs      []Program `json:"programs"`
}

// Model is how fast a model takes a prompt in, as it was measured on this
// machine.
type Model struct {
	ID              string  `json:"id"`
	TokensPerSecond float64 `json:"tokens_per_second,omitempty"`
	PromptTokens    int     `json:"prompt_tokens,omitempty"` // of the prompt that was measured
	By              string  `json:"endpoint,omitempty"`
	Unknown         string  `json:"unknown,omitempty"` // why it was not measured
	Fix             string  `json:"fix,omitempty"`     // what to do then
}

// seconds is how long m takes for so many tokens; 0: not known.
func (m *Model) seconds(tokens int) float64 {
	if m == nil || m.TokensPerSecond <= 0 {
		return 0
	}
	return float64(tokens) / m.TokensPerSecond
}

// Program is what one program has.
type Program struct {
	ID           string   `json:"runtime"`
	Name         string   `json:"name,omitempty"`
	Unknown      string   `json:"unknown,omitempty"` // why nothing is known; the rest is empty then
	Top          string   `json:"top,omitempty"`
	Limit        int64    `json:"limit_bytes,omitempty"`          // that it takes of some of its texts, all in all
	FirstRequest int64    `json:"first_request_tokens,omitempty"` // what it sends without any of this, as measured
	FirstSeconds float64  `json:"first_request_seconds,omitempty"`
	AtStart      Sum      `json:"at_start"`
	AfterRead    Sum      `json:"after_read"`        // all in all, the start among it
	Loaded       []Entry  `json:"loaded"`            // in the program's order
	Later        []Entry  `json:"later"`             // on a path, on request, by hand
	Twice        []Entry  `json:"twice"`             // those of Loaded that the program has more than once
	Never        []Never  `json:"never"`             // files in its places that it does not take
	Others       []Other  `json:"others"`            // texts that other programs have here and this one has not
	Budgets      []Budget `json:"budgets,omitempty"` // of the specs

	Duplicates []Duplicate `json:"duplicates,omitempty"` // with copies within longer texts, earlier and edited versions: see FindDuplicates
}

// Budget is the most that a program shall load at its start.
type Budget struct {
	Tokens int    `json:"max_tokens"`
	Over   int    `json:"over_by_tokens,omitempty"`
	Origin string `json:"origin"`
}

// Sum is how much reaches the model.
type Sum struct {
	Bytes   int     `json:"bytes"`
	Tokens  int     `json:"tokens"` // estimated
	Seconds float64 `json:"seconds,omitempty"`
}

// Entry is one item.
type Entry struct {
	Kind    loads.Kind `json:"kind"`
	Name    string     `json:"name"`
	When    loads.When `json:"when"`
	Paths   []string   `json:"paths,omitempty"`
	Digest  string     `json:"digest"`
	Start   int        `json:"copies_at_start"`
	Total   int        `json:"copies"`
	Bytes   int        `json:"bytes"`  // of one copy
	Tokens  int        `json:"tokens"` // of one copy, estimated
	Later   int        `json:"bytes_on_request,omitempty"`
	Cut     int        `json:"bytes_cut,omitempty"`
	CutLine int        `json:"cut_from_line,omitempty"` // of its file
	Broken  string     `json:"broken_front_matter,omitempty"`
	From    []Source   `json:"from"`
}

// Source is where a copy comes from.
type Source struct {
	Path   string   `json:"path"`
	Real   string   `json:"links_to,omitempty"`
	Via    []string `json:"imported_by,omitempty"` // the nearest last
	Why    string   `json:"why"`
	Origin string   `json:"origin,omitempty"`
}

// Never is a file that a program does not take.
type Never struct {
	Kind   loads.Kind   `json:"kind"`
	Path   string       `json:"path"`
	Reason loads.Reason `json:"reason"`
	Says   string       `json:"says"`
	Origin string       `json:"origin,omitempty"`
}

// Other is a text that only other programs have.
type Other struct {
	Kind   loads.Kind `json:"kind"`
	Name   string     `json:"name"`
	Path   string     `json:"path"`
	By     []string   `json:"loaded_by"`
	Origin string     `json:"origin,omitempty"`
}

// New asks every program of the catalog, and reports on those of q.Only. A
// program of which nothing is known is reported as that.
func New(q Question) (Report, error) {
	r := Report{FormatVersion: FormatVersion, Start: q.Start, Touched: q.Touched, Model: q.Model, Programs: []Program{}}
	var known []loads.Result
	for _, rt := range q.Catalog {
		wanted := slices.Contains(q.Only, rt.ID)
		result, err := loads.Loads(rt, q.Machine, q.Start, q.Touched...)
		switch {
		case errors.Is(err, loads.ErrUnknown):
			if wanted {
				r.Programs = append(r.Programs, Program{ID: rt.ID, Name: rt.DisplayName, Unknown: unknown(rt)})
			}
			continue
		case err != nil:
			return Report{}, err
		}
		known = append(known, result)
		if wanted || len(q.Only) == 0 {
			r.Programs = append(r.Programs, q.program(rt, result))
		}
	}
	for i := range r.Programs {
		if p := &r.Programs[i]; p.Unknown == "" {
			p.Others = q.others(p.ID, known)
		}
	}
	return r, nil
}

func unknown(rt spec.Runtime) string {
	if rt.Local {
		return "another program drives it, and loads what that program loads"
	}
	return "its entry in the catalog does not say what it loads"
}

func (q Question) program(rt spec.Runtime, result loads.Result) Program {
	p := Program{
		ID: rt.ID, Name: rt.DisplayName, Top: result.Top, Limit: max(result.Limit, 0), FirstRequest: rt.FirstRequest, FirstSeconds: q.Model.seconds(int(rt.FirstRequest)),
		Loaded: []Entry{}, Later: []Entry{}, Twice: []Entry{}, Never: []Never{}, Others: []Other{},
	}
	var start, total int
	for _, i := range result.Items {
		e := q.entry(i)
		if i.Total == 0 || i.When == loads.Manual {
			p.Later = append(p.Later, e)
			continue
		}
		p.Loaded = append(p.Loaded, e)
		start, total = start+i.Start*i.Bytes, total+i.Total*i.Bytes
		if i.Total > 1 {
			p.Twice = append(p.Twice, e)
		}
	}
	p.AtStart, p.AfterRead = q.sum(start), q.sum(total)
	for _, b := range q.Budgets {
		if b.Runtime == p.ID {
			p.Budgets = append(p.Budgets, Budget{b.Max, max(p.AtStart.Tokens-b.Max, 0), b.Pos.String()})
		}
	}
	for _, n := range result.Never {
		p.Never = append(p.Never, Never{n.Kind, n.Path, n.Reason, n.Says, q.origin(n.Path)})
	}
	return p
}

func (q Question) entry(i loads.Item) Entry {
	e := Entry{
		Kind: i.Kind, Name: secret.Show(i.Name), When: i.When, Paths: i.Paths, Digest: i.Digest, Start: i.Start, Total: i.Total,
		Bytes: i.Bytes, Tokens: tokens(i.Bytes), Later: i.Later, Cut: i.Cut, CutLine: i.CutLine, Broken: i.Broken, From: []Source{},
	}
	for _, f := range i.From {
		s := Source{Path: f.Path, Via: f.Via, Why: f.Why, Origin: q.origin(f.Real)}
		if f.Real != f.Path {
			s.Real = f.Real
		}
		e.From = append(e.From, s)
	}
	return e
}

func (q Question) sum(bytes int) Sum {
	s := Sum{Bytes: bytes, Tokens: tokens(bytes)}
	s.Seconds = q.Model.seconds(s.Tokens)
	return s
}

func tokens(bytes int) int { return (bytes + BytesPerToken - 1) / BytesPerToken }

func (q Question) origin(path string) string {
	if q.Origin == nil {
		return ""
	}
	return q.Origin(path)
}

// CutText is a file of which a program does not take the end.
type CutText struct {
	Path  string
	Bytes int // that are missing
	Line  int // from which on
}

// CutTexts returns the files of which p does not take the end.
func (p Program) CutTexts() []CutText {
	var out []CutText
	for _, e := range p.Loaded {
		if e.Cut > 0 && len(e.From) > 0 {
			out = append(out, CutText{e.From[0].Path, e.Cut, e.CutLine})
		}
	}
	return out
}

// others are the texts and skills that programs other than id have, and that id
// has nothing of: neither the same content, nor a skill of that name.
func (q Question) others(id string, results []loads.Result) []Other {
	type key struct {
		kind loads.Kind
		text string
	}
	has := map[key]bool{}
	same := func(i loads.Item) key {
		if i.Kind == loads.Skill {
			return key{i.Kind, i.Name}
		}
		return key{"", i.Digest}
	}
	texts := func(i loads.Item) bool { return i.Kind == loads.Note || i.Kind == loads.Rule || i.Kind == loads.Skill }
	taken := map[string]bool{} // files, for what another program cuts off
	cut := map[string]bool{}   // those of which this one takes a part
	for _, r := range results {
		for _, i := range r.Items {
			if r.Program == id {
				has[same(i)] = true
				for _, f := range i.From {
					taken[f.Real], cut[f.Real] = true, cut[f.Real] || i.Cut > 0
				}
			}
		}
	}
	at := map[key]int{}
	out := []Other{}
	for _, r := range results {
		for _, i := range r.Items {
			if k := same(i); texts(i) && !has[k] && len(i.From) > 0 && !(i.Cut > 0 && taken[i.From[0].Real]) && !cut[i.From[0].Real] {
				n, there := at[k]
				if !there {
					n, at[k] = len(out), len(out)
					out = append(out, Other{Kind: i.Kind, Name: secret.Show(i.Name), Path: i.From[0].Real, Origin: q.origin(i.From[0].Real)})
				}
				if !slices.Contains(out[n].By, r.Program) {
					out[n].By = append(out[n].By, r.Program)
				}
			}
		}
	}
	sort.SliceStable(out, func(a, b int) bool { return out[a].Path < out[b].Path })
	return out
}

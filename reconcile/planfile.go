package reconcile

import (
	"encoding/json"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"strings"

	"golang.org/x/sync/errgroup"

	"aisync.dev/aisync/internal/advice"
	"aisync.dev/aisync/reconcile/fsys"
)

// PlanFormat is the version of plans as JSON: the minor number grows with
// additions, the major one with anything that breaks a reader.
const PlanFormat = "2.1"

// ErrStalePlan means that a plan made now would differ from the plan file.
var ErrStalePlan = errors.New("plan is stale")

// PlanMeta is what a plan was made from and where.
type PlanMeta struct {
	Version       string   `json:"aisync_version"`
	Host          string   `json:"host"`
	Lineage       string   `json:"lineage"` // of the state folder; "" before its first apply
	SpecDigest    string   `json:"spec_digest"`
	LockDigest    string   `json:"lock_digest"`
	CatalogDigest string   `json:"catalog_digest"`
	Scope         string   `json:"scope"`
	Targets       []string `json:"targets,omitempty"`
	Excludes      []string `json:"excludes,omitempty"`
	Choice        Choice   `json:"choice"`
	EffectsDigest string   `json:"effects_digest"` // of the effects that need an answer
}

// PlanDoc is a plan as JSON, for programs and for plan files. It holds
// fingerprints and redacted values, never a body.
type PlanDoc struct {
	FormatVersion string        `json:"format_version"`
	Meta          PlanMeta      `json:"meta"`
	Changes       []ChangeDoc   `json:"changes"` // what an apply would do
	Drift         []ChangeDoc   `json:"drift"`   // what was changed since the last apply
	Conflicts     []Conflict    `json:"conflicts"`
	Unsupported   []Unsupported `json:"unsupported"`
	Notes         []Note        `json:"notes"`
	Summary       Summary       `json:"summary"`
}

// ChangeDoc is one change as JSON.
type ChangeDoc struct {
	Address Address     `json:"address"`
	Kind    string      `json:"kind"`
	Owners  []string    `json:"owners"` // "host", "project"
	Action  Action      `json:"action"`
	Meaning string      `json:"meaning"`
	Skill   Address     `json:"skill,omitempty"` // pattern of the skill's files that the target is one of
	Drift   bool        `json:"drift"`
	Pending bool        `json:"pending"`
	Before  Fingerprint `json:"before"`
	Fetch   int64       `json:"fetch_bytes,omitempty"`
	Origin  []Position  `json:"origin"`
	Leaves  []LeafDoc   `json:"leaves"`
	Lines   []Line      `json:"lines,omitempty"`
}

// LeafDoc is one leaf of a change as JSON.
type LeafDoc struct {
	Key     LeafKey         `json:"key"`
	Action  Action          `json:"action"`
	Meaning string          `json:"meaning,omitempty"`
	Reason  string          `json:"reason,omitempty"`
	Before  Fingerprint     `json:"before"`
	Want    Fingerprint     `json:"want"`
	Value   json.RawMessage `json:"value,omitempty"` // redacted
	Origin  []Position      `json:"origin,omitempty"`
}

// Doc renders p. explain may be nil, and is called by several goroutines.
func (p *Plan) Doc(m PlanMeta, explain func(Change) []Line) PlanDoc {
	d := PlanDoc{
		FormatVersion: PlanFormat, Meta: m, Changes: []ChangeDoc{}, Drift: []ChangeDoc{},
		Conflicts: orEmpty(p.Conflicts), Unsupported: orEmpty(p.Unsupported), Notes: orEmpty(p.Notes), Summary: p.Summary(),
	}
	changes := slices.DeleteFunc(slices.Clone(p.Changes), func(c Change) bool { return c.Action == None })
	lines := explained(changes, explain)
	for i, c := range changes {
		row := c.doc()
		row.Lines = lines[i]
		d.Changes = append(d.Changes, row)
		if c.Drift() {
			d.Drift = append(d.Drift, row)
		}
	}
	return d
}

// explained returns the lines of each of changes. A few changes are explained one
// after the other.
func explained(changes []Change, explain func(Change) []Line) [][]Line {
	lines := make([][]Line, len(changes))
	if explain == nil {
		return lines
	}
	const chunk = 32
	var g errgroup.Group
	g.SetLimit(runtime.GOMAXPROCS(0))
	for start := 0; start < len(changes); start += chunk {
		g.Go(func() (err error) {
			defer fsys.Caught(&err)
			for i := start; i < min(start+chunk, len(changes)); i++ {
				lines[i] = explain(changes[i])
			}
			return nil
		})
	}
	if err := g.Wait(); err != nil { // a bug, as it would be in this goroutine
		panic(err)
	}
	return lines
}

func orEmpty[T any](s []T) []T {
	if s == nil {
		return []T{}
	}
	return s
}

func (c Change) doc() ChangeDoc {
	addr := c.Target.Resource.Address
	d := ChangeDoc{
		Address: addr, Kind: addr.Kind(), Owners: c.ownerWords(), Action: c.Action, Meaning: c.Meaning(), Drift: c.Drift(), Pending: c.Pending(),
		Before: c.Before.Token, Origin: orEmpty(c.Origin()), Leaves: []LeafDoc{},
	}
	if c.Writes() {
		d.Fetch = c.Before.Fetch
	}
	for _, l := range c.Leaves {
		if l.Action == None {
			continue
		}
		x := LeafDoc{Key: l.Key, Action: l.Action, Meaning: l.Meaning, Before: c.Before.Live[l.Key]}
		if l.Want != nil {
			x.Want, x.Value, x.Origin, x.Reason = l.Want.Body.Fingerprint(), l.Want.Body.Redacted(), l.Want.Origin, l.Want.Reason
			if named, ok := l.Want.Body.(interface{ RedactedAt(LeafKey) json.RawMessage }); ok {
				x.Value = named.RedactedAt(l.Key)
			}
		}
		d.Leaves = append(d.Leaves, x)
	}
	return d
}

// ownerWords names the owners of c without a machine's paths.
func (c Change) ownerWords() []string {
	words := []string{}
	add := func(o Owner) {
		w := "project"
		if o == HostOwner {
			w = "host"
		}
		if !slices.Contains(words, w) {
			words = append(words, w)
		}
	}
	for _, l := range c.Leaves {
		if l.Want != nil {
			for _, o := range l.Want.Owners {
				add(o)
			}
		}
	}
	if len(words) == 0 {
		for _, o := range c.Owners {
			add(o)
		}
	}
	slices.Sort(words)
	return words
}

// Meaning describes c: the meanings of its leaves, the gravest first.
func (c Change) Meaning() string {
	var words []string
	for _, a := range []Action{Unclear, Clash, Update, PutBack, Create, Delete, Accept, Release} {
		for _, l := range c.Leaves {
			if l.Action == a && l.Meaning != "" && !slices.Contains(words, l.Meaning) {
				words = append(words, l.Meaning)
			}
		}
	}
	if len(words) > 2 {
		words = append(words[:2], "…")
	}
	if same := c.Target.SameAs(); same != "" && len(words) > 0 {
		words = append(words, same)
	}
	return strings.Join(words, "; ")
}

// ReadPlan reads a plan file's bytes; file names it in errors.
func ReadPlan(file string, b []byte) (PlanDoc, error) {
	var d PlanDoc
	if err := json.Unmarshal(b, &d); err != nil {
		return d, advice.New(fmt.Errorf("%s: not a plan file: %v", file, err), advice.MakePlan(file))
	}
	major, _, _ := strings.Cut(PlanFormat, ".")
	if got, _, _ := strings.Cut(d.FormatVersion, "."); got != major {
		return d, advice.New(fmt.Errorf("%s: %w: its format is %q and this aisync reads %s.x", file, ErrStalePlan, d.FormatVersion, major), advice.MakeNewPlan(file))
	}
	return d, nil
}

// Check compares a plan file with a plan made now, and returns an error that
// wraps ErrStalePlan and names the differences, if there are any.
func (d PlanDoc) Check(p *Plan, m PlanMeta) error {
	var why []string
	differs := func(what, then, now string) {
		if then != now {
			why = append(why, fmt.Sprintf("%s was %s, now %s", what, orNone(then), orNone(now)))
		}
	}
	differs("the host", d.Meta.Host, m.Host)
	differs("the state folder", d.Meta.Lineage, m.Lineage)
	differs("the program", d.Meta.Version, m.Version)
	differs("the catalog", short(d.Meta.CatalogDigest), short(m.CatalogDigest))
	differs("the spec", short(d.Meta.SpecDigest), short(m.SpecDigest))
	differs("what waits for your yes", short(d.Meta.EffectsDigest), short(m.EffectsDigest))
	differs("the lock", short(d.Meta.LockDigest), short(m.LockDigest))
	whole := len(why) // a difference of the whole plan comes first
	then, now := d.rows(), p.Doc(m, nil).rows()
	for a, row := range then {
		if now[a] != row {
			why = append(why, string(a)+" changed")
		}
	}
	for a := range now {
		if _, ok := then[a]; !ok {
			why = append(why, string(a)+" is new")
		}
	}
	if len(why) == 0 {
		return nil
	}
	slices.Sort(why[whole:])
	if n := len(why); n > 5 {
		why = append(why[:5], fmt.Sprintf("and %d more", n-5))
	}
	return fmt.Errorf("%w: %s; %s", ErrStalePlan, strings.Join(why, "; "), advice.PlanAgain)
}

// rows is the part of a plan that must be equal.
func (d PlanDoc) rows() map[Address]string {
	out := map[Address]string{}
	for _, c := range d.Changes {
		row := string(c.Action) + string(c.Before)
		for _, l := range c.Leaves {
			row += fmt.Sprintf("|%s %s %s %s", l.Key, l.Action, l.Before, l.Want)
		}
		out[c.Address] = row
	}
	return out
}

func orNone(s string) string {
	if s == "" {
		return "none"
	}
	return s
}

func short(digest string) string {
	if len(digest) > 19 {
		return digest[:19]
	}
	return digest
}

// lineDoc is a Line as JSON, with its sign as text.
type lineDoc struct {
	Op   string `json:"op"`
	Text string `json:"text"`
}

// MarshalJSON implements json.Marshaler.
func (l Line) MarshalJSON() ([]byte, error) { return json.Marshal(lineDoc{string(rune(l.Op)), l.Text}) }

// UnmarshalJSON implements json.Unmarshaler.
func (l *Line) UnmarshalJSON(b []byte) error {
	var d lineDoc
	if err := json.Unmarshal(b, &d); err != nil {
		return err
	}
	if len(d.Op) != 1 {
		return fmt.Errorf("a line of a plan has the sign %q; want one character", d.Op)
	}
	l.Op, l.Text = d.Op[0], d.Text
	return nil
}

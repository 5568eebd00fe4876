// Package detect reports, from evidence, which agent program the caller runs in
// and what that program can do. Only this package reads the programs' markers.
// It changes nothing, never fails and never waits; without evidence the answer
// is Unknown, which means polling. Call Detect.
package detect

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"aisync.dev/aisync/agents/process"
	"aisync.dev/aisync/agents/roster"
	"aisync.dev/aisync/catalog"
	"aisync.dev/aisync/schema/spec"
)

// Unknown is the runtime when the evidence does not decide.
const Unknown = "unknown"

// Surroundings are the inputs of a detection.
type Surroundings struct {
	Getenv    func(string) string
	Workspace string // folder whose files are the weakest evidence; "": none
	Processes process.Table
	Runtimes  []spec.Runtime // the catalog's runtimes, sorted by ID
}

// Evidence is one sign and the runtime that it points to.
type Evidence struct {
	Kind    string `json:"kind"` // word, marker, process, file
	What    string `json:"what"`
	Runtime string `json:"runtime"`
	Weight  string `json:"weight"` // certain, high, medium, low
}

// Result describes the runtime that the caller runs in.
type Result struct {
	Runtime      string            `json:"runtime"`
	Confidence   string            `json:"confidence"` // certain, high, medium, low, none
	Evidence     []Evidence        `json:"evidence"`   // the deciding one first
	SessionID    *string           `json:"session_id"` // null does not mean that hooks are missing
	AgentID      string            `json:"agent_id,omitempty"`
	Capabilities Capabilities      `json:"capabilities"`
	Startup      Startup           `json:"startup"`
	GUPP         string            `json:"gupp_strategy"`
	Stall        int               `json:"stall_threshold_seconds"`
	Nudge        int               `json:"nudge_interval_seconds"`
	Warnings     []string          `json:"warnings"`
	Profile      string            `json:"profile"` // observed; hal with --compat
	Hooks        map[string]string `json:"hook_events,omitempty"`
}

// Capabilities say what a runtime can do.
type Capabilities struct {
	Hooks      string `json:"hooks"`      // yes, partial, no
	HookLevel  string `json:"hook_level"` // native, wrapper, manual
	Forks      bool   `json:"context_fork"`
	SessionVar string `json:"session_variable,omitempty"`
	NudgeBy    string `json:"nudge"`
	MCP        bool   `json:"mcp"`
	Subagents  bool   `json:"subagents"`
}

// Startup describes how an agent gets its first work.
type Startup struct {
	Strategy string              `json:"strategy"`
	Commands map[string][]string `json:"commands,omitempty"` // by role, * any other
}

// Detect weighs all evidence, strongest first: an explicit word; a variable that
// the runtime sets (of several, the one whose process is the nearest ancestor,
// because nested programs inherit variables); the nearest ancestor process; then
// files, the weakest, because aisync writes them itself.
func Detect(s Surroundings) Result {
	d := detector{Surroundings: s}
	chosen := d.explicit()
	d.ancestors()
	if chosen == "" {
		d.markers()
		d.files()
		chosen = d.decide()
	} else if len(d.near) > 0 && d.near[0] != chosen {
		d.warn("%s was set, but the nearest parent agent program is %s: one agent may run inside the other", d.evidence[0].What, d.near[0])
	}
	r := d.result(chosen, "observed")
	rt, ok := find(s.Runtimes, chosen)
	if !ok {
		return d.override(r)
	}
	c := catalog.Completed(rt)
	r.describe(c, c.Coordination)
	for _, name := range rt.Session.IDVars {
		if v := s.Getenv(name); v != "" && r.SessionID == nil {
			r.SessionID = &v
		}
	}
	return d.override(r)
}

type detector struct {
	Surroundings
	evidence []Evidence
	warnings []string
	near     []string // runtimes of the ancestor processes, nearest first
}

func find(runtimes []spec.Runtime, name string) (spec.Runtime, bool) {
	i := slices.IndexFunc(runtimes, func(r spec.Runtime) bool { return r.ID == name || slices.Contains(r.Aliases, name) })
	if i < 0 {
		return spec.Runtime{}, false
	}
	return runtimes[i], true
}

func (d *detector) warn(format string, args ...any) {
	d.warnings = append(d.warnings, fmt.Sprintf(format, args...))
}

func (d *detector) add(kind, what, runtime, weight string) {
	d.evidence = append(d.evidence, Evidence{kind, what, runtime, weight})
}

// explicit returns the runtime that a variable names explicitly, or "".
func (d *detector) explicit() string {
	for _, name := range []string{"GT_RUNTIME", "AI_RUNTIME"} {
		word := strings.ToLower(strings.TrimSpace(d.Getenv(name)))
		if word == "" {
			continue
		}
		rt, ok := find(d.Runtimes, word)
		switch {
		case ok:
			d.add("word", name+"="+word, rt.ID, "certain")
			return rt.ID
		case name == "GT_RUNTIME":
			d.warn("GT_RUNTIME=%q is an unknown runtime; see: aisync runtimes ls", word)
			d.add("word", name+"="+word, Unknown, "certain")
			return Unknown
		}
		// The launcher sets a model's alias for a local runtime.
		d.warn("AI_RUNTIME=%q is an unknown runtime", word)
	}
	return ""
}

var weights = map[string]string{"proof": "high", "strong": "medium", "weak": "low"}

func (d *detector) markers() {
	for _, rt := range d.Runtimes {
		for _, m := range rt.Detect.Markers {
			v := d.Getenv(m.Name)
			if v == "" || m.Value != "" && v != m.Value || !strings.HasPrefix(v, m.Prefix) {
				continue
			}
			d.add("marker", m.Name, rt.ID, weights[m.Strength])
		}
	}
}

// limit bounds reading the process table or the workspace. Both can hang: on a
// process that the kernel has locked, or a network disk that is gone.
const limit = time.Second

// bounded calls look, which may fail or hang, and adds what it saw. It abandons a
// call that exceeds limit.
func (d *detector) bounded(what string, look func(*detector)) {
	seen := make(chan detector, 1)
	go func() {
		l := detector{Surroundings: d.Surroundings}
		defer func() {
			if p := recover(); p != nil {
				l = detector{}
				l.warn("cannot read %s: %v", what, p)
			}
			seen <- l
		}()
		look(&l)
	}()
	select {
	case l := <-seen:
		d.evidence = append(d.evidence, l.evidence...)
		d.warnings = append(d.warnings, l.warnings...)
		d.near = append(d.near, l.near...)
	case <-time.After(limit):
		d.warn("%s did not answer within %s", what, limit)
	}
}

func (d *detector) ancestors() {
	if d.Processes == nil {
		return
	}
	d.bounded("the table of processes", func(l *detector) {
		if _, err := l.Processes.Read(l.Processes.Self()); err != nil {
			l.warn("cannot read the process table: %v", err)
		}
		for _, p := range process.Ancestors(l.Processes, l.Processes.Self()) {
			if id := roster.Match(p, l.Runtimes); id != "" && !slices.Contains(l.near, id) {
				l.near = append(l.near, id)
				l.add("process", fmt.Sprintf("%s (pid %d)", p.Comm, p.PID), id, "medium")
			}
		}
	})
}

func (d *detector) files() {
	if d.Workspace == "" {
		return
	}
	d.bounded("the workspace "+d.Workspace, func(l *detector) {
		for _, rt := range l.Runtimes {
			for _, name := range rt.Detect.Files {
				_, err := os.Lstat(path.Join(l.Workspace, name))
				switch {
				case err == nil:
					l.add("file", name, rt.ID, "low")
				case !errors.Is(err, fs.ErrNotExist) && !errors.Is(err, syscall.ENOTDIR):
					l.warn("cannot read %s: %v", name, err)
				}
			}
		}
	})
}

// decide chooses, and puts the evidence that decided first.
func (d *detector) decide() string {
	best := -1
	rank := func(e Evidence) int {
		n := map[string]int{"high": 300, "medium": 200, "low": 100}[e.Weight]
		if e.Kind == "file" {
			n = 10 // less than any other: aisync writes these files itself
		}
		// Of nested programs the innermost wins, whatever variables it
		// inherited.
		if i := slices.Index(d.near, e.Runtime); i >= 0 && e.Kind != "file" {
			n += 90 - min(i, 8)*10
			if i == 0 && e.Weight != "low" {
				n += 300
			}
		}
		return n
	}
	for i, e := range d.evidence {
		if best < 0 || rank(e) > rank(d.evidence[best]) {
			best = i
		}
	}
	if best < 0 {
		return Unknown
	}
	chosen := d.evidence[best]
	if chosen.Kind == "file" && slices.ContainsFunc(d.evidence, func(e Evidence) bool { return e.Runtime != chosen.Runtime }) {
		d.warn("files point to several runtimes, so none is chosen; set AI_RUNTIME")
		return Unknown
	}
	d.evidence = append([]Evidence{chosen}, slices.Delete(d.evidence, best, best+1)...)
	for _, e := range d.evidence {
		if e.Runtime != chosen.Runtime && e.Weight == "high" {
			d.warn("%s points to %s: one agent runs inside the other", e.What, e.Runtime)
			break
		}
	}
	return chosen.Runtime
}

func (d *detector) result(chosen, profile string) Result {
	r := Result{Runtime: chosen, Confidence: "none", Evidence: d.evidence, Warnings: d.warnings, Profile: profile, AgentID: d.Getenv("AI_AGENT_ID")}
	if chosen != Unknown && len(d.evidence) > 0 {
		r.Confidence = d.evidence[0].Weight
	}
	r.describe(spec.Runtime{Hooks: "manual"}, catalog.Unknown())
	return r
}

// describe copies what the catalog knows about a runtime.
func (r *Result) describe(rt spec.Runtime, c spec.Coordination) {
	r.Capabilities = Capabilities{c.Events, rt.Hooks, c.Forks, c.SessionVar, c.NudgeBy, rt.MCPSupport, rt.Subagents}
	r.Startup = Startup{c.Startup, c.StartupCommands}
	r.GUPP, r.Stall, r.Nudge = c.GUPP, c.Stall, c.Nudge
	r.Hooks = map[string]string{}
	for _, e := range rt.HookEvents {
		r.Hooks[e.Event] = e.Level
	}
}

// strategies are the GUPP strategies. The HAL's type has three of them, its
// table four.
var strategies = []string{"hook_injection", "startup_fallback", "prompt_preamble", "polling"}

// StallAfter returns the time without a sign of life after which an agent of a
// program counts as stalled: the operator's, else the catalog's.
func StallAfter(rt spec.Runtime, getenv func(string) string) time.Duration {
	d := detector{Surroundings: Surroundings{Getenv: getenv}}
	r := Result{Runtime: rt.ID}
	r.describe(rt, catalog.Completed(rt).Coordination)
	return time.Duration(d.override(r).Stall) * time.Second
}

// override applies the operator's variables. None of them adds hooks.
func (d *detector) override(r Result) Result {
	seconds := func(name string, to *int) {
		text := strings.TrimSpace(d.Getenv(name))
		if text == "" {
			return
		}
		if n, err := strconv.Atoi(text); err == nil && n > 0 {
			*to = n
			return
		}
		r.Warnings = append(r.Warnings, fmt.Sprintf("%s=%q is not a positive number of seconds; keeping %d", name, text, *to))
	}
	seconds("GT_STALL_THRESHOLD", &r.Stall)
	seconds("GT_NUDGE_INTERVAL", &r.Nudge)
	if r.Nudge >= r.Stall {
		r.Warnings = append(r.Warnings, fmt.Sprintf("the nudge interval of %d s is longer than the stall threshold of %d s", r.Nudge, r.Stall))
	}
	switch want := strings.TrimSpace(d.Getenv("GT_GUPP_STRATEGY")); {
	case want == "":
	case !slices.Contains(strategies, want):
		r.Warnings = append(r.Warnings, fmt.Sprintf("GT_GUPP_STRATEGY=%q is not one of %s; keeping %s", want, strings.Join(strategies, ", "), r.GUPP))
	case want == "startup_fallback" && r.Runtime == Unknown:
		r.Warnings = append(r.Warnings, fmt.Sprintf("GT_GUPP_STRATEGY=%s: the runtime is unknown, and so is how it starts; keeping %s", want, r.GUPP))
	case want == "hook_injection" && (r.Capabilities.Hooks == "no" || r.GUPP != want && r.Startup.Strategy != want):
		r.Warnings = append(r.Warnings, fmt.Sprintf("GT_GUPP_STRATEGY=hook_injection: %s has no hooks to inject with; keeping %s", r.Runtime, r.GUPP))
	default:
		r.GUPP = want
	}
	if r.Evidence == nil {
		r.Evidence = []Evidence{}
	}
	if r.Warnings == nil {
		r.Warnings = []string{}
	}
	return r
}

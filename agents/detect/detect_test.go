package detect

import (
	"cmp"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"aisync.dev/aisync/agents/process"
	"aisync.dev/aisync/agents/process/processtest"
	"aisync.dev/aisync/catalog"
	"aisync.dev/aisync/schema/spec"
)

// in is a place to run in: variables, the programs above us from the outermost
// to the nearest, files of the workspace.
type in struct {
	env   map[string]string
	above []string
	files []string
}

func (i in) surroundings(t testing.TB) Surroundings {
	t.Helper()
	dir := t.TempDir()
	for _, name := range i.files {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, nil, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	ps := []processtest.P{{PID: 1, Args: []string{"init"}}}
	for n, line := range append(slices.Clone(i.above), "aisync detect") {
		ps = append(ps, processtest.P{PID: n + 2, Parent: n + 1, Args: strings.Fields(line)})
	}
	return Surroundings{
		Getenv: func(name string) string { return i.env[name] }, Workspace: dir,
		Processes: process.At(processtest.Table(t, ps...), len(ps)), Runtimes: catalog.Runtimes(),
	}
}

type vars = map[string]string

func TestDetectSeesEveryCatalogMarker(t *testing.T) {
	confidence := map[string]string{"proof": "high", "strong": "medium", "weak": "low"}
	for _, rt := range catalog.Runtimes() {
		for _, m := range rt.Detect.Markers {
			value := cmp.Or(m.Value, m.Prefix+"x")
			r := Detect(in{env: vars{m.Name: value}}.surroundings(t))
			if r.Runtime != rt.ID || r.Confidence != confidence[m.Strength] || r.Evidence[0].What != m.Name {
				t.Errorf("%s=%s: %s (%s), want %s", m.Name, value, r.Runtime, r.Confidence, rt.ID)
			}
			for _, other := range []string{"", "0x"} {
				if other != "" && m.Value == "" && m.Prefix == "" {
					continue // any value is the marker's
				}
				if r := Detect(in{env: vars{m.Name: other}}.surroundings(t)); r.Runtime != Unknown {
					t.Errorf("%s=%q: %s", m.Name, other, r.Runtime)
				}
			}
		}
		for _, name := range rt.Detect.Processes {
			if r := Detect(in{above: []string{name, "bash"}}.surroundings(t)); r.Runtime != rt.ID || r.Confidence != "medium" {
				t.Errorf("below %s: %s (%s)", name, r.Runtime, r.Confidence)
			}
		}
		for _, file := range rt.Detect.Files {
			if r := Detect(in{files: []string{file}}.surroundings(t)); r.Runtime != rt.ID || r.Confidence != "low" {
				t.Errorf("beside %s: %s (%s)", file, r.Runtime, r.Confidence)
			}
		}
		for _, name := range rt.Session.IDVars {
			r := Detect(in{env: vars{"AI_RUNTIME": rt.ID, name: "s-1"}}.surroundings(t))
			if r.SessionID == nil || *r.SessionID != "s-1" {
				t.Errorf("%s: no session id of %s", rt.ID, name)
			}
		}
	}
}

func TestDetectOrdersEvidence(t *testing.T) {
	claude := vars{"CLAUDECODE": "1", "CLAUDE_CODE_SESSION_ID": "s"}
	with := func(env vars, more ...string) vars {
		out := vars{}
		for k, v := range env {
			out[k] = v
		}
		for i := 0; i < len(more); i += 2 {
			out[more[i]] = more[i+1]
		}
		return out
	}
	for name, c := range map[string]struct {
		in         in
		want       string
		confidence string
	}{
		"nothing":                           {in{}, Unknown, "none"},
		"a word":                            {in{env: vars{"AI_RUNTIME": "codex"}}, "codex", "certain"},
		"a word against all else":           {in{env: with(claude, "AI_RUNTIME", "codex"), above: []string{"claude"}}, "codex", "certain"},
		"an operator's before ours":         {in{env: vars{"GT_RUNTIME": "gemini", "AI_RUNTIME": "codex"}}, "gemini", "certain"},
		"in capitals, with blanks":          {in{env: vars{"GT_RUNTIME": " Claude "}}, "claude", "certain"},
		"by another id of it":               {in{env: vars{"GT_RUNTIME": "claude-code"}}, "claude", "certain"},
		"an operator's that is none":        {in{env: with(claude, "GT_RUNTIME", "hal9000")}, Unknown, "none"},
		"ours that is none":                 {in{env: with(claude, "AI_RUNTIME", "local-qwen30b")}, "claude", "high"},
		"an empty word":                     {in{env: with(claude, "GT_RUNTIME", "", "AI_RUNTIME", " ")}, "claude", "high"},
		"markers before processes":          {in{env: claude, above: []string{"bash"}}, "claude", "high"},
		"codex inside claude":               {in{env: with(claude, "CODEX_THREAD_ID", "t"), above: []string{"claude", "bash", "codex", "bash"}}, "codex", "high"},
		"claude inside codex":               {in{env: with(claude, "CODEX_THREAD_ID", "t"), above: []string{"codex", "bash", "claude", "bash"}}, "claude", "high"},
		"one without markers inside":        {in{env: claude, above: []string{"claude", "bash", "aider"}}, "aider", "medium"},
		"three of them":                     {in{env: with(claude, "CODEX_THREAD_ID", "t", "PI_CODING_AGENT", "true"), above: []string{"codex", "claude", "sh", "node /lib/@mariozechner/pi-coding-agent/dist/cli.js"}}, "pi", "high"},
		"a fork and what it was made of":    {in{env: vars{"QWEN_CODE": "1", "GEMINI_CLI": "1"}}, "qwen", "high"},
		"a terminal of an editor":           {in{env: with(claude, "CURSOR_TRACE_ID", "t")}, "claude", "high"},
		"a value that two have":             {in{env: vars{"AI_AGENT": "pi"}}, "pi", "high"},
		"an unknown value":                  {in{env: vars{"AI_AGENT": "someone"}}, Unknown, "none"},
		"files are the weakest":             {in{above: []string{"codex"}, files: []string{".claude/settings.json"}}, "codex", "medium"},
		"files of several":                  {in{files: []string{".claude/settings.json", ".codex/config.toml"}}, Unknown, "none"},
		"a program that only has that name": {in{above: []string{"vim claude", "sh claude-notes.sh", "bash -lc claude"}}, Unknown, "none"},
		"a process that was not above us":   {in{env: vars{"OPENCODE": "1"}, above: []string{"opencode"}}, "opencode", "medium"},
	} {
		t.Run(name, func(t *testing.T) {
			if r := Detect(c.in.surroundings(t)); r.Runtime != c.want || r.Confidence != c.confidence {
				t.Errorf("%s (%s), want %s (%s)\n%+v", r.Runtime, r.Confidence, c.want, c.confidence, r.Evidence)
			}
		})
	}
}

func TestDetectReportsNestedRuntimes(t *testing.T) {
	for name, i := range map[string]in{
		"a word":  {env: vars{"AI_RUNTIME": "claude"}, above: []string{"claude", "codex"}},
		"markers": {env: vars{"CLAUDECODE": "1", "CODEX_THREAD_ID": "t"}, above: []string{"claude", "codex"}},
	} {
		if r := Detect(i.surroundings(t)); !strings.Contains(strings.Join(r.Warnings, "\n"), "inside the other") {
			t.Errorf("%s: %q", name, r.Warnings)
		}
	}
}

// What is unknown has an answer to every question: no hooks, polling.
func TestUnknownRuntimePolls(t *testing.T) {
	for _, r := range []Result{Detect(in{}.surroundings(t)), Compat(in{}.surroundings(t)), Detect(Surroundings{Getenv: func(string) string { return "" }})} {
		c := r.Capabilities
		if r.Runtime != Unknown || c.Hooks != "no" || c.HookLevel != "manual" || c.Forks || c.NudgeBy != "filesystem" || r.SessionID != nil ||
			r.Startup.Strategy != "polling" || len(r.Startup.Commands) != 0 || r.GUPP != "polling" || r.Stall != 300 || r.Nudge != 120 ||
			r.Evidence == nil || r.Warnings == nil {
			t.Errorf("%+v", r)
		}
	}
}

func TestOverridesAddNoHooks(t *testing.T) {
	for name, c := range map[string]struct {
		runtime, variable, value string
		gupp                     string
		stall, nudge             int
		warned                   bool
	}{
		"nothing":                     {"claude", "", "", "hook_injection", 120, 30, false},
		"a threshold":                 {"claude", "GT_STALL_THRESHOLD", "240", "hook_injection", 240, 30, false},
		"an interval":                 {"claude", "GT_NUDGE_INTERVAL", " 45 ", "hook_injection", 120, 45, false},
		"no number":                   {"claude", "GT_STALL_THRESHOLD", "4m", "hook_injection", 120, 30, true},
		"zero":                        {"claude", "GT_NUDGE_INTERVAL", "0", "hook_injection", 120, 30, true},
		"less":                        {"claude", "GT_NUDGE_INTERVAL", "-5", "hook_injection", 120, 30, true},
		"more than a number":          {"claude", "GT_STALL_THRESHOLD", "99999999999999999999", "hook_injection", 120, 30, true},
		"a nudge after the stall":     {"claude", "GT_NUDGE_INTERVAL", "500", "hook_injection", 120, 500, true},
		"polling for one with hooks":  {"claude", "GT_GUPP_STRATEGY", "polling", "polling", 120, 30, false},
		"a preamble":                  {"claude", "GT_GUPP_STRATEGY", "prompt_preamble", "prompt_preamble", 120, 30, false},
		"a strategy that is none":     {"claude", "GT_GUPP_STRATEGY", "hope", "hook_injection", 120, 30, true},
		"hooks for one without":       {"aider", "GT_GUPP_STRATEGY", "hook_injection", "", 0, 0, true},
		"hooks for one that has them": {"codex", "GT_GUPP_STRATEGY", "hook_injection", "hook_injection", 180, 60, false},
		"hooks for no runtime":        {"none", "GT_GUPP_STRATEGY", "hook_injection", "polling", 300, 120, true},
		"a command for no runtime":    {"none", "GT_GUPP_STRATEGY", "startup_fallback", "polling", 300, 120, true},
		"figures for no runtime":      {"none", "GT_STALL_THRESHOLD", "400", "polling", 400, 120, false},
	} {
		t.Run(name, func(t *testing.T) {
			env := vars{"AI_RUNTIME": c.runtime, c.variable: c.value}
			if c.runtime == "none" {
				delete(env, "AI_RUNTIME")
			}
			plain := Detect(in{env: vars{"AI_RUNTIME": env["AI_RUNTIME"]}}.surroundings(t))
			r := Detect(in{env: env}.surroundings(t))
			if want := cmp.Or(c.gupp, plain.GUPP); r.GUPP != want || r.GUPP == "hook_injection" && r.Capabilities.Hooks == "no" {
				t.Errorf("gupp %s, want %s", r.GUPP, want)
			}
			if r.Stall != cmp.Or(c.stall, plain.Stall) || r.Nudge != cmp.Or(c.nudge, plain.Nudge) || (len(r.Warnings) > len(plain.Warnings)) != c.warned {
				t.Errorf("%d, %d, %q", r.Stall, r.Nudge, r.Warnings)
			}
		})
	}
}

// stuck is a process table that never answers; broken is one that fails.
type stuck struct{ process.Table }

func (stuck) Read(int) (process.Process, error) { select {} }

type broken struct{ process.Table }

func (broken) Read(int) (process.Process, error) { panic("no such table") }

func TestDetectNeverFailsOrHangs(t *testing.T) {
	closed := t.TempDir()
	if err := os.WriteFile(filepath.Join(closed, ".claude"), nil, 0o644); err != nil { // a file where a folder should be
		t.Fatal(err)
	}
	base := in{}.surroundings(t)
	for name, change := range map[string]func(*Surroundings){
		"a table that stands still":   func(s *Surroundings) { s.Processes = stuck{s.Processes} },
		"a table that breaks":         func(s *Surroundings) { s.Processes = broken{s.Processes} },
		"no table":                    func(s *Surroundings) { s.Processes = process.At("/missing", 1) },
		"nil":                         func(s *Surroundings) { s.Processes = nil },
		"a workspace that is gone":    func(s *Surroundings) { s.Workspace = "/missing/workspace" },
		"a workspace that is a file":  func(s *Surroundings) { s.Workspace = filepath.Join(closed, ".claude") },
		"a folder that is a file":     func(s *Surroundings) { s.Workspace = closed },
		"a name that is none":         func(s *Surroundings) { s.Workspace = "a\x00b" },
		"no runtimes":                 func(s *Surroundings) { s.Runtimes = nil },
		"a workspace of great length": func(s *Surroundings) { s.Workspace = "/" + strings.Repeat("x/", 5000) },
	} {
		t.Run(name, func(t *testing.T) {
			s := base
			change(&s)
			began := time.Now()
			if r := Detect(s); r.Runtime != Unknown || r.GUPP != "polling" {
				t.Errorf("%+v", r)
			}
			if r := Compat(s); r.Runtime != Unknown || r.GUPP != "polling" {
				t.Errorf("compat: %+v", r)
			}
			if d := time.Since(began); d > time.Minute {
				t.Errorf("took %s", d)
			}
		})
	}
}

// The table of the HAL, cell by cell.
func TestCompatUsesHALTable(t *testing.T) {
	for _, c := range []struct {
		runtime, hooks string
		forks          bool
		sessionVar     string
		startup, gupp  string
		stall, nudge   int
		nudgeBy, prime string
	}{
		{"claude", "yes", true, "CLAUDE_SESSION_ID", "hook_injection", "hook_injection", 120, 30, "filesystem", ""},
		{"codex", "no", false, "GT_SESSION_ID", "startup_fallback", "startup_fallback", 180, 60, "filesystem", "gt prime"},
		{"gemini", "no", false, "GT_SESSION_ID", "polling", "polling", 300, 120, "filesystem", "gt prime"},
		{"cursor", "partial", true, "", "polling", "prompt_preamble", 120, 30, "limited", ""},
		{"unknown", "no", false, "", "polling", "polling", 300, 120, "filesystem", ""},
	} {
		r := Compat(in{env: vars{"GT_RUNTIME": c.runtime, "CLAUDE_SESSION_ID": "of-claude", "GT_SESSION_ID": "of-gt"}}.surroundings(t))
		got := r.Capabilities
		if r.Runtime != c.runtime || r.Profile != "hal" || got.Hooks != c.hooks || got.Forks != c.forks || got.SessionVar != c.sessionVar ||
			r.Startup.Strategy != c.startup || r.GUPP != c.gupp || r.Stall != c.stall || r.Nudge != c.nudge || got.NudgeBy != c.nudgeBy {
			t.Errorf("%s: %+v", c.runtime, r)
		}
		if prime := strings.Join(r.Startup.Commands["*"], " "); !strings.HasPrefix(prime, c.prime) || c.prime == "" && prime != "" {
			t.Errorf("%s starts with %q", c.runtime, prime)
		}
		want := map[string]string{"CLAUDE_SESSION_ID": "of-claude", "GT_SESSION_ID": "of-gt"}[c.sessionVar]
		if (r.SessionID == nil) != (want == "") || r.SessionID != nil && *r.SessionID != want {
			t.Errorf("%s: session %v, want %q", c.runtime, r.SessionID, want)
		}
	}
}

func TestCompatFollowsTheCascade(t *testing.T) {
	settings := []string{".claude/settings.json"}
	for name, c := range map[string]struct {
		in   in
		want string
	}{
		"1: a word":                        {in{env: vars{"GT_RUNTIME": "codex", "CLAUDE_SESSION_ID": "s"}, files: settings, above: []string{"gemini"}}, "codex"},
		"1: any other value":               {in{env: vars{"GT_RUNTIME": "opencode", "CLAUDE_SESSION_ID": "s"}, files: settings}, Unknown},
		"1: to the letter":                 {in{env: vars{"GT_RUNTIME": "Claude"}}, Unknown},
		"1: not set":                       {in{env: vars{"GT_RUNTIME": "", "CLAUDE_SESSION_ID": "s"}}, "claude"},
		"1: ours is none of its":           {in{env: vars{"AI_RUNTIME": "codex"}}, Unknown},
		"2: a session of claude's":         {in{env: vars{"CLAUDE_SESSION_ID": "s"}, above: []string{"codex"}}, "claude"},
		"2: an empty one":                  {in{env: vars{"CLAUDE_SESSION_ID": ""}, above: []string{"codex"}}, "codex"},
		"2: other markers are none of its": {in{env: vars{"CODEX_THREAD_ID": "t", "CLAUDECODE": "1"}}, Unknown},
		"3: settings before processes":     {in{files: settings, above: []string{"codex"}}, "claude"},
		"3: other files are none of its":   {in{files: []string{".codex/config.toml", ".gemini/settings.json"}}, Unknown},
		"4: a process, claude":             {in{above: []string{"claude", "bash"}}, "claude"},
		"4: a process, codex":              {in{above: []string{"codex"}}, "codex"},
		"4: a process, gemini":             {in{above: []string{"node /usr/bin/gemini"}}, "gemini"},
		"4: a process, cursor":             {in{above: []string{"cursor"}}, "cursor"},
		"4: the nearest":                   {in{above: []string{"claude", "bash", "codex"}}, "codex"},
		"4: others are none of its":        {in{above: []string{"opencode", "cursor-agent"}}, Unknown},
		"5: nothing":                       {in{}, Unknown},
	} {
		t.Run(name, func(t *testing.T) {
			if r := Compat(c.in.surroundings(t)); r.Runtime != c.want {
				t.Errorf("%s, want %s: %+v", r.Runtime, c.want, r.Evidence)
			}
		})
	}
	for value, want := range map[string]int{"240": 240, "x": 300} {
		if r := Compat(in{env: vars{"GT_RUNTIME": "gemini", "GT_STALL_THRESHOLD": value}}.surroundings(t)); r.Stall != want {
			t.Errorf("%s: %d", value, r.Stall)
		}
	}
	if r := Compat(in{env: vars{"GT_RUNTIME": "codex", "GT_GUPP_STRATEGY": "hook_injection"}}.surroundings(t)); r.GUPP != "startup_fallback" || len(r.Warnings) != 1 {
		t.Errorf("hooks appeared on codex: %s, %q", r.GUPP, r.Warnings)
	}
}

func BenchmarkDetect(b *testing.B) {
	i := in{env: vars{"CLAUDECODE": "1"}, files: []string{".claude/settings.json"}}
	for n := range 8 {
		i.above = append(i.above, fmt.Sprintf("program-%d", n))
	}
	s := i.surroundings(b)
	for b.Loop() {
		if r := Detect(s); r.Runtime != "claude" {
			b.Fatal(r)
		}
	}
}

func TestStallAfter(t *testing.T) {
	all := catalog.Runtimes()
	codex := all[slices.IndexFunc(all, func(r spec.Runtime) bool { return r.ID == "codex" })]
	for set, want := range map[string]time.Duration{"": 3 * time.Minute, "240": 4 * time.Minute, "-1": 3 * time.Minute, "soon": 3 * time.Minute} {
		if got := StallAfter(codex, func(name string) string { return map[string]string{"GT_STALL_THRESHOLD": set}[name] }); got != want {
			t.Errorf("%q: %s, want %s", set, got, want)
		}
	}
	if got := StallAfter(spec.Runtime{ID: "own"}, func(string) string { return "" }); got != 5*time.Minute {
		t.Errorf("a runtime that is not described: %s", got)
	}
}

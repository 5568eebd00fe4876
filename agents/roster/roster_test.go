package roster

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"aisync.dev/aisync/agents/process"
	"aisync.dev/aisync/agents/process/processtest"
	"aisync.dev/aisync/catalog"
	"aisync.dev/aisync/schema/spec"
)

type p = processtest.P

// others is who is in /app for process 50.
func others(t *testing.T, ps ...p) Roster {
	t.Helper()
	r, err := Others(process.At(processtest.Table(t, ps...), 50), "/app", catalog.Runtimes())
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func pids(as []Agent) []int {
	out := []int{}
	for _, a := range as {
		out = append(out, a.PID)
	}
	return out
}

func TestRosterMembership(t *testing.T) {
	me := p{PID: 50, Parent: 1, Args: []string{"agent-roster"}, Cwd: "/app"}
	for name, c := range map[string]struct {
		ps   []p
		want []int
	}{
		"no process":                          {nil, []int{}},
		"one at the root":                     {[]p{{PID: 7, Args: []string{"claude"}, Cwd: "/app"}}, []int{7}},
		"one in a folder":                     {[]p{{PID: 7, Args: []string{"claude"}, Cwd: "/app/src/x"}}, []int{7}},
		"one in a folder that went":           {[]p{{PID: 7, Args: []string{"claude"}, Cwd: "/app (deleted)"}}, []int{7}},
		"another project's":                   {[]p{{PID: 7, Args: []string{"claude"}, Cwd: "/app-2"}, {PID: 8, Args: []string{"codex"}, Cwd: "/"}}, []int{}},
		"a program of another name":           {[]p{{PID: 7, Args: []string{"vim", "claude"}, Cwd: "/app"}, {PID: 8, Args: []string{"sh", "claude-notes.sh"}, Cwd: "/app"}}, []int{}},
		"a text for a shell":                  {[]p{{PID: 7, Args: []string{"bash", "-lc", "claude"}, Cwd: "/app"}}, []int{}},
		"one that has ended":                  {[]p{{PID: 7, Args: []string{"claude"}, Cwd: "/app", State: "Z"}}, []int{}},
		"one that is stopped":                 {[]p{{PID: 7, Args: []string{"claude"}, Cwd: "/app", State: "T"}}, []int{7}},
		"a script that node runs":             {[]p{{PID: 7, Args: []string{"node", "/lib/node_modules/@google/gemini-cli/dist/index.js"}, Cwd: "/app"}}, []int{7}},
		"a module that python runs":           {[]p{{PID: 7, Args: []string{"python3", "-m", "aider"}, Cwd: "/app"}}, []int{7}},
		"a renamed program":                   {[]p{{PID: 7, Args: []string{"my-agent"}, Exe: "/opt/claude", Cwd: "/app"}}, []int{7}},
		"a wrapper and its program":           {[]p{{PID: 7, Args: []string{"node", "/usr/bin/codex"}, Cwd: "/app"}, {PID: 8, Parent: 7, Args: []string{"/vendor/codex"}, Cwd: "/app"}, {PID: 9, Parent: 8, Args: []string{"/vendor/codex"}, Cwd: "/app"}}, []int{7}},
		"one through another's shell":         {[]p{{PID: 7, Args: []string{"claude"}, Cwd: "/app"}, {PID: 8, Parent: 7, Args: []string{"bash", "-c", "codex exec x"}, Cwd: "/app"}, {PID: 9, Parent: 8, Args: []string{"codex", "exec", "x"}, Cwd: "/app"}}, []int{7, 9}},
		"one that an agent elsewhere started": {[]p{{PID: 7, Args: []string{"pi"}, Cwd: "/else"}, {PID: 8, Parent: 7, Args: []string{"claude"}, Cwd: "/app"}}, []int{8}},
		"goose and the other goose":           {[]p{{PID: 7, Args: []string{"goose", "session"}, Cwd: "/app"}, {PID: 8, Args: []string{"goose", "-dir", "db", "up"}, Cwd: "/app"}, {PID: 9, Args: []string{"goose"}, Cwd: "/app"}}, []int{7, 9}},
		"agent of cursor and others":          {[]p{{PID: 7, Args: []string{"/home/me/.local/bin/agent", "/home/me/.local/share/cursor-agent/versions/1/index.js"}, Exe: "/home/me/.local/share/cursor-agent/versions/1/node", Cwd: "/app"}, {PID: 8, Args: []string{"agent"}, Cwd: "/app"}, {PID: 9, Args: []string{"ssh-agent"}, Cwd: "/app"}}, []int{7}},
		"the oldest first":                    {[]p{{PID: 9, Start: 700, Args: []string{"pi"}, Cwd: "/app"}, {PID: 30000, Start: 600, Args: []string{"qwen"}, Cwd: "/app"}}, []int{30000, 9}},
		"of one age in the order of numbers":  {[]p{{PID: 100, Start: 5, Args: []string{"pi"}, Cwd: "/app"}, {PID: 9, Start: 5, Args: []string{"qwen"}, Cwd: "/app"}}, []int{9, 100}},
	} {
		t.Run(name, func(t *testing.T) {
			if got := pids(others(t, append(c.ps, me)...).Agents); !slices.Equal(got, c.want) {
				t.Errorf("%v, want %v", got, c.want)
			}
		})
	}
}

func TestRosterExcludesCaller(t *testing.T) {
	got := others(t,
		p{PID: 1, Args: []string{"init"}, Cwd: "/"},
		p{PID: 10, Parent: 1, Args: []string{"claude"}, Cwd: "/app"}, // started the one that asks
		p{PID: 20, Parent: 10, Args: []string{"bash", "-c", "codex exec x"}, Cwd: "/app"},
		p{PID: 30, Parent: 20, Args: []string{"node", "/usr/bin/codex"}, Cwd: "/app"},      // the one that asks: wrapper
		p{PID: 40, Parent: 30, Args: []string{"/vendor/codex", "exec"}, Cwd: "/app"},       // and program
		p{PID: 41, Parent: 40, Args: []string{"/vendor/codex", "mcp-server"}, Cwd: "/app"}, // its own server
		p{PID: 42, Parent: 40, Args: []string{"bash", "-c", "pi -p x"}, Cwd: "/app"},
		p{PID: 43, Parent: 42, Args: []string{"pi", "-p", "x"}, Cwd: "/app"}, // which it has told to work beside it
		p{PID: 45, Parent: 40, Args: []string{"bash", "-c", "agent-roster"}, Cwd: "/app"},
		p{PID: 50, Parent: 45, Args: []string{"agent-roster"}, Cwd: "/app"},
	)
	if want := []int{43}; !slices.Equal(pids(got.Agents), want) {
		t.Errorf("%v, want %v", pids(got.Agents), want)
	}
}

func TestIDsComeFromTheEnvironment(t *testing.T) {
	r := others(t,
		p{PID: 7, Args: []string{"claude"}, Cwd: "/app", Env: []string{"AI_AGENT_ID= helper-1f3a ", "AI_HELPER=1"}},
		p{PID: 8, Args: []string{"claude"}, Cwd: "/app"}, p{PID: 50, Args: []string{"agent-roster"}, Cwd: "/app"})
	if a := r.Agents[0]; a.ID != "helper-1f3a" || !a.Known || !a.Helper || a.Runtime != "claude" || a.Start != 7 {
		t.Errorf("%+v", a)
	}
	if a := r.Agents[1]; a.ID != "" || !a.Known || a.Helper {
		t.Errorf("%+v", a)
	}
}

// vanishing is a table whose processes end while they are looked at: 7 before
// its folder is read, 8 after it, 9 after everything but its environment.
type vanishing struct{ process.Table }

func (v vanishing) Cwd(pid int) (string, error) {
	if pid == 7 {
		return "", process.ErrGone
	}
	return v.Table.Cwd(pid)
}

func (v vanishing) Read(pid int) (process.Process, error) {
	if pid == 8 {
		return process.Process{}, process.ErrGone
	}
	return v.Table.Read(pid)
}

func (v vanishing) Env(pid int) (map[string]string, error) { return nil, process.ErrGone }

func TestRosterToleratesEndingProcesses(t *testing.T) {
	var ps []p
	for _, pid := range []int{7, 8, 9} {
		ps = append(ps, p{PID: pid, Args: []string{"claude"}, Cwd: "/app"})
	}
	r, err := Others(vanishing{process.At(processtest.Table(t, ps...), 0)}, "/app", catalog.Runtimes())
	if err != nil || !slices.Equal(pids(r.Agents), []int{9}) || r.Agents[0].Known {
		t.Errorf("%+v, %v", r, err)
	}
}

// Folders that come and go under the scan, as those of /proc do.
func TestRosterToleratesChangingTable(t *testing.T) {
	dir := processtest.Table(t, p{PID: 5, Args: []string{"claude"}, Cwd: "/app"})
	stop, done := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(done)
		for n := 0; ; n++ {
			select {
			case <-stop:
				return
			default:
			}
			pid := 1000 + n%20
			processtest.Add(t, dir, p{PID: pid, Args: []string{"claude"}, Cwd: "/app"})
			_ = os.RemoveAll(filepath.Join(dir, strconv.Itoa(pid)))
		}
	}()
	defer func() { close(stop); <-done }()
	for end := time.Now().Add(200 * time.Millisecond); time.Now().Before(end); {
		r, err := Others(process.At(dir, 0), "/app", catalog.Runtimes())
		if err != nil || !slices.Contains(pids(r.Agents), 5) {
			t.Fatalf("%+v, %v", r, err)
		}
	}
}

func TestUnreadableTableIsAnError(t *testing.T) {
	if r, err := Others(process.At(filepath.Join(t.TempDir(), "none"), 0), "/app", catalog.Runtimes()); err == nil {
		t.Errorf("%+v", r)
	}
	if r, err := Others(process.At(t.TempDir(), 50), "/app", catalog.Runtimes()); err == nil {
		t.Errorf("of a /proc that is not mounted: %+v", r)
	}
}

// Every runtime of the catalog is seen by the name of its command, and by the
// script of its package where it has one.
func TestRosterSeesEveryCatalogRuntime(t *testing.T) {
	for _, rt := range catalog.Runtimes() {
		for _, name := range rt.Detect.Processes {
			if got := Match(process.Process{Comm: name[:min(15, len(name))], Args: []string{"/usr/bin/" + name}}, catalog.Runtimes()); got != rt.ID {
				t.Errorf("%s: %q", name, got)
			}
		}
		for _, part := range rt.Detect.Scripts {
			script := "/usr/lib/node_modules/" + part
			if !strings.HasSuffix(script, ".py") {
				script += "cli.js"
			}
			if got := Match(process.Process{Comm: "node", Args: []string{"node", script}}, catalog.Runtimes()); got != rt.ID {
				t.Errorf("%s: %q", script, got)
			}
		}
	}
}

func BenchmarkThousandProcesses(b *testing.B) {
	for _, where := range []string{"/else", "/app"} {
		b.Run("in "+where, func(b *testing.B) {
			ps := []p{{PID: 50, Parent: 1, Args: []string{"agent-roster"}, Cwd: "/app"}}
			for n := range 1000 {
				ps = append(ps, p{PID: 100 + n, Parent: 1, Args: []string{fmt.Sprintf("program-%d", n), "-x"}, Cwd: where})
			}
			table := process.At(processtest.Table(b, ps...), 50)
			for b.Loop() {
				if r, err := Others(table, "/app", catalog.Runtimes()); err != nil || len(r.Agents) > 0 {
					b.Fatalf("%+v, %v", r, err)
				}
			}
		})
	}
}

// A process that an entry and the one that it extends could both have started is the
// latter's, whatever their order.
func TestMatchPrefersExtendedEntry(t *testing.T) {
	all := []spec.Runtime{
		{ID: "a", Extends: "b", Detect: spec.Detect{Processes: []string{"b", "own"}}},
		{ID: "b", Detect: spec.Detect{Processes: []string{"b"}}},
	}
	for name, want := range map[string]string{"b": "b", "own": "a", "other": ""} {
		if got := Match(process.Process{Comm: name}, all); got != want {
			t.Errorf("%s is %q, want %q", name, got, want)
		}
	}
}

package start

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"aisync.dev/aisync/agents/confine"
	"aisync.dev/aisync/agents/launch"
	"aisync.dev/aisync/agents/run"
	"aisync.dev/aisync/agents/sandbox"
	"aisync.dev/aisync/agents/supervise"
	"aisync.dev/aisync/agents/worker"
	"aisync.dev/aisync/schema/spec"
)

// confining is a host that has a sandbox and an endpoint, which gemini cannot use.
func confining(t *testing.T, change func(*Sandbox, *run.Config)) *Workers {
	box := Sandbox{
		Box: sandbox.Box{Way: sandbox.Namespaces, Show: []string{"/data"}}, Path: "/bin", NetworkField: "tasks: network: true for host pearl in host.cue",
		Program: func(id string) (confine.Program, error) {
			if id == "gemini" {
				return confine.Program{}, errors.New("it accepts only its vendor's server")
			}
			return confine.Program{Runtime: chosen(t, id).Runtime, Path: "/opt/" + id, Show: []string{"/opt"}, Endpoint: "http://pearl:8081/v1", Set: func(url string) (confine.Setting, error) {
				return confine.Setting{Environment: map[string]string{"URL": url}, Files: map[string][]byte{".x": []byte(url)}}, nil
			}}, nil
		},
	}
	config := run.Config{Adapters: map[string]run.Adapter{"gemini": {Enabled: true}, "claude": {Enabled: true}}}
	if change != nil {
		change(&box, &config)
	}
	return &Workers{
		Runtime: func(word string) (Chosen, error) {
			c := chosen(t, word)
			return Chosen{Choice: c, Program: launch.Program{Runtime: c.Runtime}}, errors.New("no network, which does not matter there")
		},
		Config: func() (run.Config, error) { return config, nil }, Sandbox: func() Sandbox { return box },
		Look: machine("tmux", "").Look, Agent: func(string, bool) []string { t.Error("it starts outside"); return nil },
	}
}

func TestUnconfinableTasksAreRefused(t *testing.T) {
	yes := true
	task := func(change func(*spec.RunTask)) spec.RunTask {
		t := spec.RunTask{ID: "t", Sandbox: true, Worktree: &yes, Command: []string{"make"}}
		change(&t)
		return t
	}
	for name, c := range map[string]struct {
		task   spec.RunTask
		change func(*Sandbox, *run.Config)
		want   string // "": it is confined
	}{
		"a command":            {task(func(*spec.RunTask) {}), nil, ""},
		"its evidence":         {task(func(t *spec.RunTask) { t.Evidence = []string{"command:tests", "output"} }), nil, ""},
		"an agent":             {task(func(t *spec.RunTask) { t.Command, t.Adapter = nil, "claude" }), nil, ""},
		"an agent that says":   {task(func(t *spec.RunTask) { t.Command, t.Adapter, t.Evidence = nil, "claude", []string{"output"} }), nil, ""},
		"tmux":                 {task(func(t *spec.RunTask) { t.Substrate = worker.Tmux }), nil, "tmux, whose windows"},
		"the workspace":        {task(func(t *spec.RunTask) { t.Worktree = nil }), nil, "needs a separate work tree"},
		"an artifact":          {task(func(t *spec.RunTask) { t.Evidence = []string{"artifact:x"} }), nil, "cannot add the evidence artifact:x"},
		"an agent's command":   {task(func(t *spec.RunTask) { t.Command, t.Adapter, t.Evidence = nil, "claude", []string{"command:x"} }), nil, "cannot add the evidence command:x"},
		"its PATH":             {task(func(t *spec.RunTask) { t.Env = map[string]string{"PATH": "/home/me/.ssh"} }), nil, "its env has PATH"},
		"no way":               {task(func(*spec.RunTask) {}), func(b *Sandbox, _ *run.Config) { b.Err = sandbox.ErrNone }, "no sandbox on this machine"},
		"a network":            {task(func(t *spec.RunTask) { t.Network = true }), nil, "which this host allows to no worker"},
		"a network, allowed":   {task(func(t *spec.RunTask) { t.Network = true }), func(b *Sandbox, _ *run.Config) { b.Network = true }, ""},
		"a vendor's server":    {task(func(t *spec.RunTask) { t.Command, t.Adapter = nil, "gemini" }), nil, "gemini cannot work in a sandbox"},
		"by the run's setting": {spec.RunTask{ID: "t", Command: []string{"make"}}, func(_ *Sandbox, c *run.Config) { c.Settings.Sandbox = true }, "needs a separate work tree"},
	} {
		p, err := confining(t, c.change).Plan(run.Task{RunTask: c.task}, state("", ""))
		var no *supervise.Refused
		switch {
		case c.want == "" && (err != nil || p.Confined == nil || p.Substrate != worker.Process):
			t.Errorf("%s: %+v, %v", name, p, err)
		case c.want != "" && (!errors.As(err, &no) || !strings.Contains(no.Why, c.want) || no.Next == ""):
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestConfinedAgentHasItsOwnHome(t *testing.T) {
	st := state("", "")
	st.Policy.Settings.Sandbox, st.Policy.Settings.Worktrees = true, true
	task := run.Task{RunTask: spec.RunTask{ID: "t", Adapter: "claude", Goal: "greet", Env: map[string]string{"LD_PRELOAD": "evil.so"}}}
	for network, url := range map[bool]string{false: "http://127.0.0.1:11400/v1", true: "http://pearl:8081/v1"} {
		task.Network = network
		p, err := confining(t, func(b *Sandbox, _ *run.Config) { b.Network = true }).Plan(task, st)
		if err != nil {
			t.Fatal(err)
		}
		b := p.Confined
		if got := strings.Join(p.Command, " "); !strings.HasPrefix(got, "/opt/claude --dangerously-skip-permissions -p You are a worker of the run r1") ||
			!strings.Contains(got, "aisync commits what you leave when you end") || strings.Contains(got, "aisync run") || strings.Contains(got, "There is no network") == network {
			t.Errorf("the command is %s", got)
		}
		if !slices.Equal(p.Env, []string{"PATH=/bin"}) { // the keeper is outside
			t.Errorf("the keeper gets %q", p.Env)
		}
		if !slices.Equal(b.Env, []string{"IS_SANDBOX=1", "URL=" + url, "LD_PRELOAD=evil.so"}) || string(b.Files[".x"]) != url || b.Endpoint != "http://pearl:8081/v1" {
			t.Errorf("the sandbox is %+v", b)
		}
		if !slices.Equal(b.Box.Show, []string{"/data", "/opt"}) || b.Box.Network != network {
			t.Errorf("it shows %q, network %v", b.Box.Show, b.Box.Network)
		}
	}
}

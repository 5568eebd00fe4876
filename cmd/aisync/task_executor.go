package main

import (
	"bufio"
	"cmp"
	"context"
	"errors"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"aisync.dev/aisync/adapter"
	"aisync.dev/aisync/agents/launch"
	"aisync.dev/aisync/agents/task"
	"aisync.dev/aisync/agents/task/executor"
	"aisync.dev/aisync/agents/task/sandbox"
	"aisync.dev/aisync/agents/worktree"
	"aisync.dev/aisync/app/doctor/endpoint"
	"aisync.dev/aisync/schema/spec"
)

// taskExecutor is what does the steps of tasks that say in words what to
// change: by name, or whoever fits each task. repo is what no program may see
// of where the tasks are from.
func (a *app) taskExecutor(ctx context.Context, name, repo string) (task.Executor, error) {
	s, index, p, err := a.specFor(ctx, repo)
	if err != nil {
		return nil, err
	}
	h := s.Host
	if h == nil {
		h = &spec.Host{}
	}
	hide := []string{repo}
	if r, err := worktree.Open(ctx, repo); err == nil { // else no task is carried out
		hide = append(hide, r.Common())
	}
	c := executor.Choice{Only: name, Program: func(name string) bool {
		_, err := launch.LookPath(name, a.env.Get("PATH"))
		return err == nil
	}}
	runtimes := index.Runtimes()
	server, err := adapter.Host{Spec: h, Runtimes: runtimes, Models: index.Models(), Absent: a.unserved(p, h)}.Server()
	nobody := ""
	if err != nil {
		nobody = err.Error() + ", so there is no model to ask; name a service: aisync add service"
	}
	if nobody == "" && a.g.offline && !endpoint.Loopback(server.URL) {
		nobody = "service " + server.Name + " is not on this machine, and this is offline"
	}
	endpoint := executor.Candidate{Name: executor.EndpointName, Missing: nobody, Unfit: executor.TooComplex, Executor: executor.Endpoint{URL: server.URL, Model: server.Model, Context: server.Context}}
	if nobody == "" && !slices.Contains(server.APIs, "chat") {
		endpoint.Missing = "service " + server.Name + " does not speak chat completions"
	}
	c.Candidates = []executor.Candidate{
		endpoint,
	}
	slices.SortStableFunc(runtimes, func(x, y spec.Runtime) int { return cmp.Compare(preference(x.ID, h), preference(y.ID, h)) })
	show := sandbox.Toolchains(p.Physical(p.Home), a.env.Get("PATH"))
	for _, rt := range runtimes {
		if rt.Local || rt.Command == "" {
			continue // it is driven by others
		}
		one := a.taskRuntime(rt, server, nobody, show, hide)
		if one.Missing == "" && slices.ContainsFunc(h.Runtimes, func(u spec.RuntimeUse) bool { return u.ID == rt.ID && u.Endpoint != nil && !u.Endpoint.On }) {
			one.Missing = "the spec has endpoint: false for it, and tasks are done with the host's endpoint"
		}
		c.Candidates = append(c.Candidates, one)
	}
	if name != "" {
		if rt, ok := index.Find(name); ok {
			c.Only = rt.ID
		}
		var known []string
		for _, one := range c.Candidates {
			known = append(known, one.Name)
		}
		if !slices.Contains(known, c.Only) {
			return nil, unknown("executor", name, known)
		}
	}
	return c, nil
}

// preference sorts runtimes: opencode, those of the host, the others.
func preference(id string, h *spec.Host) int {
	if id == "opencode" {
		return -1
	}
	if i := slices.IndexFunc(h.Runtimes, func(u spec.RuntimeUse) bool { return u.ID == id }); i >= 0 {
		return i
	}
	return len(h.Runtimes)
}

// taskRuntime is a runtime that does tasks with the model of a server.
func (a *app) taskRuntime(rt spec.Runtime, server adapter.Server, nobody string, show, hide []string) executor.Candidate {
	one := executor.Candidate{Name: rt.ID, Tools: slices.Sorted(maps.Keys(rt.Tools)), Missing: nobody}
	program, err := launch.LookPath(rt.Command, a.env.Get("PATH"))
	switch {
	case errors.Is(err, launch.ErrMissing), errors.Is(err, exec.ErrNotFound):
		one.Missing = "not installed"
	case err != nil:
		one.Missing = err.Error()
	case len(rt.Launch.Headless) == 0:
		one.Missing = "it has no form that answers one prompt and ends"
	case one.Missing == "" && len(rt.APIs) > 0 && !slices.ContainsFunc(rt.APIs, func(api string) bool { return slices.Contains(server.APIs, api) }):
		one.Missing = "service " + server.Name + " does not speak what it speaks: " + strings.Join(rt.APIs, ", ")
	}
	if one.Missing == "" {
		if _, err := adapter.AloneAt(rt, server.URL, server.Model, server.Context); err != nil {
			one.Missing = err.Error()
		}
	}
	one.Executor = executor.Program{
		Runtime: rt, Path: program, Show: append(a.foldersOf(program), show...), Hide: hide, Endpoint: server.URL,
		Set: func(url string) (executor.Setting, error) {
			alone, err := adapter.AloneAt(rt, url, server.Model, server.Context)
			return executor.Setting{Args: alone.Args, Environment: alone.Environment, Files: alone.Files}, err
		},
	}
	return one
}

// foldersOf are what a program needs to see to be run: where it lies, with the
// packages of npm around it, and what interprets it.
func (a *app) foldersOf(program string) (out []string) {
	for range 2 { // the program, then what interprets it
		if program == "" {
			break
		}
		out = append(out, filepath.Dir(program))
		real, err := filepath.EvalSymlinks(program)
		if err != nil {
			break
		}
		if before, _, ok := strings.Cut(real, "/node_modules/"); ok {
			out = append(out, filepath.Join(before, "node_modules"))
		} else {
			out = append(out, filepath.Dir(real))
		}
		program, _ = launch.LookPath(interpreter(real), a.env.Get("PATH"))
	}
	return out
}

// interpreter is the program of a script's first line, "" for what has none.
func interpreter(script string) string {
	f, err := os.Open(script)
	if err != nil {
		return ""
	}
	defer f.Close()
	line, err := bufio.NewReaderSize(f, 256).ReadSlice('\n')
	words := strings.Fields(strings.TrimPrefix(string(line), "#!"))
	if err != nil || !strings.HasPrefix(string(line), "#!") || len(words) == 0 {
		return ""
	}
	if filepath.Base(words[0]) == "env" && len(words) > 1 {
		for _, w := range words[1:] {
			if !strings.HasPrefix(w, "-") && !strings.Contains(w, "=") {
				return w
			}
		}
	}
	return words[0]
}

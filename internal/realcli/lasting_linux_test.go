package realcli

import (
	"bytes"
	"slices"
	"testing"

	"aisync.dev/aisync/internal/fakemodel"
)

// What a host's spec adds to every launch reaches the real programs: an argument and
// a variable that holds a secret are in the requests of a run's worker, and of a
// program that an editor starts.
func TestLastingLaunchReachesPrograms(t *testing.T) {
	needPrograms(t)
	for id, c := range map[string]struct {
		spec string
		want []string // in the body of one request
	}{
		"claude": {
			`{args: ["--append-system-prompt", "` + mark("lasting", "argument") + `"], env: CLAUDE_CODE_EXTRA_BODY: {env: "EXTRA"}}`,
			[]string{mark("lasting", "argument"), mark("lasting", "variable")},
		},
		"codex": {`{args: ["-c", "developer_instructions=` + mark("lasting", "argument") + `"]}`, []string{mark("lasting", "argument")}},
	} {
		t.Run(id, func(t *testing.T) {
			w, env := runWorld(t, id)
			env = append(env, `EXTRA={"metadata": {"user_id": "`+mark("lasting", "variable")+`"}}`)
			w.trusts(id)
			has := func(how string) {
				t.Helper()
				requests := w.model.Take()
				for _, want := range c.want {
					if !slices.ContainsFunc(requests, func(r fakemodel.Request) bool { return bytes.Contains(r.Body, []byte(want)) }) {
						t.Errorf("%s: no request of %s has %s", how, id, want)
					}
				}
			}
			graph := `{"schemaVersion": 1, "worktrees": true, "tasks": [{"id": "a", "adapter": "` + id + `", "substrate": "process", "goal": "look", "evidence": ["output"]}]}`
			w.write(w.project, "graph.json", graph)
			ask := func(how string) {
				t.Helper()
				w.model.Take()
				switch how {
				case "a worker":
					w.run(w.project, env, "aisync", "run", "start", "--goal", "look", "--graph", "graph.json")
					t.Log(w.try(w.project, env, "aisync", "run", "supervise").out)
				default:
					t.Log(w.try(w.project, env, slices.Concat([]string{"aisync", "acp", "--"}, lookUp(t, id).ask("Look."))...).out)
				}
			}
			ask("without")
			if got := w.model.Take(); len(got) == 0 || slices.ContainsFunc(got, func(r fakemodel.Request) bool { return bytes.Contains(r.Body, []byte(c.want[0])) }) {
				t.Fatalf("without the spec's words: %d requests, and one has them", len(got))
			}
			w.write(w.home, ".config/aisync/lasting.cue", "package aisync\n\nhosts: here: runtimes: "+id+": "+c.spec+"\n")
			for _, how := range []string{"a worker", "an editor's program"} {
				ask(how)
				has(how)
			}
		})
	}
}

package main

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
)

// work fills a project with tasks and runs that have bad names, as a commit may bring
// them, and shows all of them.
func (w hostileWorld) work(t *testing.T, try func(...string)) {
	t.Helper()
	put := func(name, text string) {
		must(t, os.MkdirAll(filepath.Dir(filepath.Join(w.project, name)), 0o755))
		must(t, os.WriteFile(filepath.Join(w.project, name), []byte(text), 0o644))
	}
	q := strconv.QuoteToASCII("x" + evil) // as JSON and YAML both read it, but for \x and \a
	q = strings.NewReplacer(`\x`, `\u00`, `\a`, `\u0007`).Replace(q)
	glob := strings.NewReplacer("[", "", "]", "").Replace(q)
	task := func(id, more string) string {
		return `version: "1"` + "\nmetadata: {id: " + id + ", created_by: " + q + ", source: " + q + "}\ngoal: " + q + "\nscope: {allowed_write_globs: [" + glob + ", src/**], allowed_read_globs: [" + glob + "]}\n" +
			"constraints: {denylisted_commands: [" + glob + "]}\nsteps:\n- {id: one, action: edit, file: src/a, instructions: " + q + "}\n- {id: two, action: run, command: " + q + ", description: " + q + "}\n" +
			"verify: [" + q + "]\nassumptions: [" + q + "]\n" + more
	}
	const queue = "tasks/queue/core"
	put("tasks/queue/q"+evil+"/lost.yaml", task("lost", ""))
	put(queue+"/plain.yaml", task("plain", ""))
	put(queue+"/waits.yaml", task("waits", "dependencies: {requires_completed: [plain, none]}\n"))
	put(queue+"/named.yaml", task(q, "")) // no id at all
	put(queue+"/broken"+evil+".yaml", "goal: "+evil)
	put(queue+"/running/held@h"+evil+".1.2.yaml", task("held", ""))
	put(queue+"/running/sits@host.1.2.yaml", task("sits", ""))
	put(queue+"/failed/over.yaml", task("over", ""))
	put("tasks/inbox/new.yaml", task("new", ""))
	put("tasks/inbox/x"+evil+".yaml", task("other", q+": 1\n"))
	put("tasks/runs/over/report.md", "# over: "+strings.ReplaceAll(evil, "\n", "")+"\n")
	put("tasks/runs/over/report.json", `{"task_id": `+q+`}`)
	put("tasks/runs/over/run.log", strings.ReplaceAll(evil, "\n", ""))
	for _, args := range [][]string{{"init", "-q", "-b", "main"}, {"-c", "user.name=x", "-c", "user.email=x", "commit", "-q", "--allow-empty", "-m", "x" + evil}} {
		git := exec.Command("git", append([]string{"-C", w.project}, args...)...)
		git.Env = []string{"HOME=" + t.TempDir(), "PATH=" + os.Getenv("PATH"), "GIT_CONFIG_NOSYSTEM=1"}
		if out, err := git.CombinedOutput(); err != nil {
			t.Fatalf("git: %v %s", err, out)
		}
	}
	// Before a task's command --project is the queue's, and so is the global one.
	at := func(args ...string) []string { return append(append([]string{"task"}, args...), "--repo", w.project) }
	ofCore := func(args ...string) []string { return at(append(args, "--project", "core")...) }
	for _, args := range [][]string{
		at("list", "--project", ""), ofCore("list"), at("list", "--project", evil), at("show", "plain"), at("show", "waits"), at("show", "sits"), at("show", "new"), at("show", "broken"), at("show", evil),
		at("validate"), at("validate", filepath.Join(w.project, queue, "plain.yaml"), evil), ofCore("next"), at("next", "--project", evil), at("graph", "--project", ""), at("graph", "--project", "", "--format", "dot"),
		at("report", "over"), at("report", "over", "--log"), at("report", evil), at("report", "plain"), ofCore("approve", "new"), at("approve", "new", "--project", evil), at("retry", "over"), at("approve", "--all", "--yes"), ofCore("approve", "--all"),
		at("import", filepath.Join(w.project, queue, "plain.yaml")), at("new", evil, "--goal", evil), ofCore("run-once", "--dry-run"), {"who"}, {"doctor"},
	} {
		try(args...)
	}
	if _, out, errs := w.say(t, at("show", "plain")...); strings.Count(out, "all is well") < 12 {
		t.Errorf("of what a person approves not all is shown\n%s%s", out, errs)
	}

	try("run", "list")
	try("run", "init")
	try("run", "init")
	graph := filepath.Join(t.TempDir(), "graph")
	must(t, os.WriteFile(graph, []byte(`{"schemaVersion": 1, "tasks": [{"id": "a", "title": `+q+`, "goal": `+q+`}, {"id": "b", "title": "MARK", "goal": "MARK", "dependsOn": ["a"], "evidence": ["command"]}]}`), 0o600))
	in := func(args ...string) string {
		t.Helper()
		code, out, errs := w.say(t, args...)
		if code != 0 {
			t.Fatalf("%s: exit %d\n%s%s", args, code, out, errs)
		}
		return strings.TrimSpace(out)
	}
	in("run", "start", "--id", "one", "--goal", evil, "--graph", graph, "--accept", evil, "--objective", evil)
	in("run", "start", "--id", "two", "--goal", "MARK", "--graph", graph, "--accept", "MARK", "--objective", "MARK")
	for _, id := range []string{"one", "two"} {
		in("run", "worker", "register", "w1", "--run", id, "--agent", "MARK"+evil, "--branch", "MARK"+evil)
		in("run", "worker", "register", "w2", "--run", id, "--worktree", w.project)
		token := in("run", "claim", "a", "--worker", "w1", "--run", id)
		in("run", "evidence", "add", "--run", id, "--token", token, "--command", "MARK"+evil, "--exit-code", "0")
		in("run", "evidence", "add", "--run", id, "--token", token, "--artifact", filepath.Join(w.project, "tasks/inbox/x"+evil+".yaml"))
		try("run", "worker", "fail", "--run", id, "--token", token, "--reason", "MARK"+evil)
		in("run", "claim", "a", "--worker", "w1", "--run", id)
		in("run", "worker", "retain", "w2", "--run", id, "--reason", "MARK"+evil)
	}
	w.forge(t, "two", func(line string) string {
		return strings.NewReplacer("MARK", q[1:len(q)-1], `"adapter":"manual"`, `"adapter":`+q, `"setting":"`, `"setting":"`+q[1:len(q)-1]).Replace(line)
	})
	put(".ilchul/evaluations/x"+evil+".json", "{"+evil)
	put(".ilchul/runs/x"+evil+"/events.jsonl", evil)
	put(".ilchul/runs/torn/events.jsonl", evil+"\n"+evil)
	put(".kapi/x"+evil, "")
	for _, id := range []string{"one", "two"} {
		in("run", "show", id)
		for _, args := range [][]string{
			{"run", "status", id}, {"run", "approve", id}, {"run", "show", id}, {"run", "events", id}, {"run", "evidence", id}, {"run", "evidence", id, "--verify"}, {"run", "report", id}, {"run", "worker", "list", "--run", id},
			{"run", "claim", "b", "--worker", "w1", "--run", id}, {"run", "claim", evil, "--worker", evil, "--run", id}, {"run", "worker", "done", "--run", id, "--token", evil}, {"run", "stop", evil, "--run", id, "--reason", evil}, {"run", "stop", "w1", "--run", id, "--reason", evil}, {"run", "cleanup", "--safe", "--dry-run", id}, {"run", "recover", id},
		} {
			try(args...)
		}
	}
	for _, args := range [][]string{
		{"run", "list"}, {"run", "status", "torn"}, {"run", "events", "torn"}, {"run", "recover", "torn", "--dry-run"}, {"run", "show", evil}, {"run", "status"}, {"run", "report", "torn"}, {"run", "cleanup", "--safe", "--dry-run"},
		{"run", "start", "--goal", "x", "--adapter", evil}, {"run", "start", "--goal", "x", "--depth", evil}, {"run", "start", "--goal", "x", "--evaluator", evil}, {"run", "start", "--goal", "x", "--graph", evil}, {"run", "worker", "register", evil}, {"run", "finish", "one", "--as", "cancelled", "--reason", evil},
		{"who"}, {"roster"}, {"doctor"},
	} {
		try(args...)
	}
}

// forge writes the events of a run anew, with a chain of checksums that is
// right: they prove that a file is whole, not who wrote it.
func (w hostileWorld) forge(t *testing.T, id string, change func(line string) string) {
	t.Helper()
	name := filepath.Join(w.project, ".ilchul/runs", id, "events.jsonl")
	text, err := os.ReadFile(name)
	must(t, err)
	sum := func(prev, body string) string {
		h := sha256.Sum256([]byte(prev + body))
		return hex.EncodeToString(h[:16])
	}
	prev := sum(strings.Repeat("\x00", 32), "ilchul run "+id)
	var out bytes.Buffer
	for line := range strings.Lines(string(text)) {
		body, _, ok := strings.Cut(line, `,"sum":"`)
		if !ok {
			t.Fatalf("no sum in %s", line)
		}
		body = change(body)
		prev = sum(prev, body)
		out.WriteString(body + `,"sum":"` + prev + "\"}\n")
	}
	if bytes.Equal(out.Bytes(), text) {
		t.Fatal("nothing was forged")
	}
	must(t, os.WriteFile(name, out.Bytes(), 0o600))
	must(t, os.Remove(filepath.Join(filepath.Dir(name), "checkpoint.jsonl")))
}

package main

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"aisync.dev/aisync/hosts"
)

// The section of docs/fleet.md about a team is one session, with two homes, the
// repository of a base and a folder of reports; -update writes what the commands print.
// ssh and exit change the machine.
func TestTeamWalkthrough(t *testing.T) {
	b, err := os.ReadFile(fleetPage)
	must(t, err)
	doc := string(b)
	from, to := section(t, doc, "## A team")
	top := t.TempDir()
	spec := func(name string) []byte {
		m := regexp.MustCompile("(?ms)^```cue " + regexp.QuoteMeta(name) + "\n(.*?)^```$").FindStringSubmatch(doc[from:to])
		if m == nil {
			t.Fatalf("the page shows no %s", name)
		}
		return []byte(m[1])
	}
	recorded, ok := hosts.Recorded("velox")
	if !ok {
		t.Fatal("no recorded facts")
	}
	recorded.Programs = map[string]string{"claude": "/usr/bin/claude"}
	for _, host := range []string{"anna", "berta"} {
		recorded.Hostname = host
		facts, err := json.Marshal(recorded)
		must(t, err)
		at := filepath.Join(top, host, ".config", "aisync")
		must(t, os.MkdirAll(at, 0o755))
		must(t, os.WriteFile(filepath.Join(top, host+".json"), facts, 0o644))
		must(t, os.WriteFile(filepath.Join(at, "me.cue"), spec("me.cue"), 0o644))
	}
	base := filepath.Join(top, "anna", "base")
	must(t, os.MkdirAll(filepath.Join(base, "house", "agent-rules"), 0o755))
	must(t, os.MkdirAll(filepath.Join(top, "reports"), 0o755))
	must(t, os.WriteFile(filepath.Join(base, "team.cue"), spec("team.cue"), 0o644))
	must(t, os.WriteFile(filepath.Join(base, "house", "agent-rules", "commits.md"), []byte("# Commits\n\nSay why.\n"), 0o644))
	server := filepath.Join(top, "servers", "acme", "base.git")
	config := filepath.Join(top, "gitconfig")
	must(t, os.WriteFile(config, []byte("[url \"file://"+filepath.Join(top, "servers")+"/\"]\n\tinsteadOf = https://github.com/\n[user]\n\tname = anna\n\temail = anna@localhost\n[init]\n\tdefaultBranch = main\n"), 0o644))
	env := []string{"PATH=" + os.Getenv("PATH"), "LANG=C.UTF-8", "TZ=UTC", "TERM=dumb", quickRaceExit, "GIT_CONFIG_NOSYSTEM=1", "GIT_CONFIG_GLOBAL=" + config}
	setUp := exec.Command("sh", "-ec", "git init -q; git add .; git commit -q -m 'the base of the team'; git init -q --bare "+server+"; git remote add origin "+server+"; git push -q -u origin main")
	setUp.Dir, setUp.Env = base, env
	if out, err := setUp.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}

	host := "anna"
	types := func(command string) string {
		switch command {
		case "ssh berta":
			host = "berta"
			return ""
		case "exit":
			host = "anna"
			return ""
		}
		cmd := exec.Command("sh", "-c", strings.ReplaceAll(command, "/srv/reports", filepath.Join(top, "reports")))
		cmd.Dir = filepath.Join(top, host)
		cmd.Env = append([]string{"HOME=" + cmd.Dir, "AISYNC_CLI_ARGS=--facts " + filepath.Join(top, host+".json")}, env...)
		out, _ := cmd.CombinedOutput() // some fail on purpose: what they print is compared
		return string(out)
	}
	settled := func(text string) string {
		text = strings.ReplaceAll(text, filepath.Join(top, "reports"), "/srv/reports")
		for _, h := range []string{"anna", "berta"} {
			text = strings.ReplaceAll(text, filepath.Join(top, h), "/home/me")
		}
		return varyingTeam.settle(text)
	}
	is, commands := walked(doc[from:to], types, settled)
	asOnPage(t, fleetPage, doc, doc[:from]+is+doc[to:])
	if commands < 5 {
		t.Errorf("only %d commands were found", commands)
	}
}

// What varies from run to run in the section about a team.
var varyingTeam = append(unsteady{
	{regexp.MustCompile(`\b\d+[smh] ago +`), "1m ago  "}, // in a table, whose columns are as wide as that
	{regexp.MustCompile(`\bREPORT +`), "REPORT  "},
	{regexp.MustCompile(`\bversion v[0-9.]+`), "version v0.1.0"},
	{regexp.MustCompile(`\bdevel `), "v0.1.0"}, // of a test
	{regexp.MustCompile(`\bof \d{4}-\d\d-\d\d\b`), "of 2026-02-02"},
}, varyingFleet...)

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

// What varies from run to run, as docs/fleet.md has it.
var varyingFleet = unsteady{
	{regexp.MustCompile(`\b[0-9a-f]{12}\b`), "4f1c2d8a9be0"},
	{regexp.MustCompile(`\b\d+[smh] ago`), "1m ago"},
	{regexp.MustCompile(`\b\d{8}T\d{6}\.\d+Z-[0-9a-f]{6}\b`), "20260202T100000.123Z-1a2b3c"},
	{regexp.MustCompile(`\bin [0-9.]+ ?m?s\b`), "in 0.1 s"},
}

// The section of docs/fleet.md about two laptops is one session, with two homes and a
// repository; -update writes what the commands print. ssh and exit change the laptop.
func TestTwoLaptopsWalkthrough(t *testing.T) {
	b, err := os.ReadFile(fleetPage)
	must(t, err)
	doc := string(b)
	from, to := section(t, doc, "## Two laptops")
	top := t.TempDir()
	spec := regexp.MustCompile("(?ms)^```cue machines.cue\n(.*?)^```$").FindStringSubmatch(doc[from:to])
	if spec == nil {
		t.Fatal("the page shows no spec")
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
		must(t, os.MkdirAll(filepath.Join(top, host), 0o755))
		must(t, os.WriteFile(filepath.Join(top, host+".json"), facts, 0o644))
	}
	config := filepath.Join(top, "anna", ".config", "aisync")
	for name, text := range map[string]string{
		"machines.cue":                   spec[1],
		"bundle/agent-rules/commits.md":  "# Commits\n\nSay why.\n",
		"cue.mod/module.cue":             "module: \"example.org/machines\"\n",
		"../../../servers/machines.git/": "",
	} {
		at := filepath.Join(config, name)
		must(t, os.MkdirAll(filepath.Dir(at), 0o755))
		if !strings.HasSuffix(name, "/") {
			must(t, os.WriteFile(at, []byte(text), 0o644))
		}
	}
	server := filepath.Join(top, "servers", "machines.git")
	if out, err := exec.Command("git", "init", "-q", "--bare", "-b", "main", server).CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}

	host, dirs := "anna", map[string]string{"anna": filepath.Join(top, "anna"), "berta": filepath.Join(top, "berta")}
	types := func(command string) string {
		switch command {
		case "hostname":
			return host + "\n"
		case "ssh berta":
			host = "berta"
			return ""
		case "exit":
			host = "anna"
			return ""
		}
		cmd := exec.Command("sh", "-c", strings.ReplaceAll(command, "/srv/git/machines.git", server)+"; rc=$?; pwd >&3; exit $rc")
		cmd.Dir = dirs[host]
		cmd.Env = []string{"HOME=" + filepath.Join(top, host), "PATH=" + os.Getenv("PATH"), "LANG=C.UTF-8", "TZ=UTC", "TERM=dumb", quickRaceExit, "GIT_CONFIG_NOSYSTEM=1",
			"GIT_AUTHOR_NAME=" + host, "GIT_AUTHOR_EMAIL=me@localhost", "GIT_COMMITTER_NAME=" + host, "GIT_COMMITTER_EMAIL=me@localhost",
			"AISYNC_CLI_ARGS=--facts " + filepath.Join(top, host+".json")}
		at, err := os.CreateTemp(top, "pwd")
		must(t, err)
		cmd.ExtraFiles = []*os.File{at}
		out, _ := cmd.CombinedOutput() // the last one shall fail: what it prints is compared
		dir, err := os.ReadFile(at.Name())
		must(t, err)
		must(t, at.Close())
		dirs[host] = strings.TrimSpace(string(dir))
		return string(out)
	}
	settled := func(text string) string {
		text = strings.ReplaceAll(text, server, "/srv/git/machines.git")
		for _, h := range []string{"anna", "berta"} {
			text = strings.ReplaceAll(text, filepath.Join(top, h), "/home/me")
		}
		return varyingFleet.settle(text)
	}
	is, commands := walked(doc[from:to], types, settled)
	asOnPage(t, fleetPage, doc, doc[:from]+is+doc[to:])
	if commands < 20 {
		t.Errorf("only %d commands were found", commands)
	}
}

// fleetPage is the page about many projects and many machines. Each section with walks
// is a session of its own.
const fleetPage = "../../docs/fleet.md"

// section returns where the section with a heading begins and ends in a page.
func section(t *testing.T, doc, heading string) (from, to int) {
	t.Helper()
	from = strings.Index(doc, "\n"+heading+"\n")
	if from < 0 {
		t.Fatalf("the page has no %s", heading)
	}
	from++
	if to = strings.Index(doc[from:], "\n## "); to < 0 {
		return from, len(doc)
	}
	return from, from + to
}

func TestManyProjectsPageIsTrue(t *testing.T) {
	b, err := os.ReadFile(fleetPage)
	must(t, err)
	doc := string(b)
	home := filepath.Join(memoryDir(t), "home")
	must(t, os.MkdirAll(home, 0o755))
	home, err = filepath.EvalSymlinks(home)
	must(t, err)
	bin := filepath.Join(filepath.Dir(home), "bin")
	must(t, os.MkdirAll(bin, 0o755))
	self, err := os.Executable()
	must(t, err)
	for _, name := range []string{"aisync", "claude", "notes-mcp"} {
		to := self
		if name != "aisync" {
			to = "/bin/true"
		}
		must(t, os.Symlink(to, filepath.Join(bin, name)))
	}
	env := []string{"HOME=" + home, "PATH=" + bin + ":" + os.Getenv("PATH"), "LANG=C.UTF-8", "GIT_CONFIG_NOSYSTEM=1", "GIT_CONFIG_GLOBAL=/dev/null", quickRaceExit,
		"GIT_AUTHOR_NAME=Dana", "GIT_AUTHOR_EMAIL=dana@example.org", "GIT_COMMITTER_NAME=Dana", "GIT_COMMITTER_EMAIL=dana@example.org",
		"AISYNC_CLI_ARGS=--host laptop"}
	types := func(command string) string {
		cmd := exec.Command("sh", "-c", command)
		cmd.Dir, cmd.Env = home, env
		out, _ := cmd.CombinedOutput() // the page shows what it says
		return string(out)
	}
	put := func(name, text string) {
		name = filepath.Join(home, name)
		must(t, os.MkdirAll(filepath.Dir(name), 0o755))
		must(t, os.WriteFile(name, []byte(text), 0o644))
	}
	put(".config/aisync/host.cue", "package aisync\n\nhosts: laptop: {\n\troots: [\"~/code\"]\n\truntimes: claude: {}\n}\n")
	put("rules/languages/house/common/rules/commits.md", "# Commits\n\nSay why.\n")
	put("rules/languages/house/common/rules/tests.md", "# Tests\n\nRun the tests before you say that it works.\n")
	for _, p := range []string{"api", "web/shop", "web/blog", "old"} {
		put("code/"+p+"/README.md", "# "+p+"\n")
		if p == "old" {
			put("code/old/.claude/rules/style.md", "# Style\n\nShort words.\n")
		} else {
			put("code/"+p+"/aisync.cue", "package aisync\n\nproject: {\n\tname: \""+filepath.Base(p)+"\"\n\truntimes: [\"claude\"]\n\tsources: rules: \""+strings.Repeat("../", strings.Count(p, "/")+2)+"rules\"\n\tbundles: [\"rules//house\"]\n}\n")
		}
		types("cd code/" + p + " && git init -q -b main . && git add -A && git commit -q -m first")
	}
	if said := types("aisync apply --all --yes --commit"); !strings.Contains(said, "Applied in 3 projects") {
		t.Fatal(said)
	}
	settled := unsteady{
		{regexp.MustCompile(`committed as [0-9a-f]+`), "committed as 1a2b3c4"},
		{regexp.MustCompile(`[0-9]{8}T[0-9.]+Z-[0-9a-f]{6}`), "20260102T030405.678Z-9abcde"},
		{regexp.MustCompile(regexp.QuoteMeta(home)), "/home/dana"},
	}.settle
	from, to := section(t, doc, "## Many projects")
	is, commands := walked(doc[from:to], types, settled)
	asOnPage(t, fleetPage, doc, doc[:from]+is+doc[to:])
	if commands < 15 {
		t.Errorf("only %d commands were found", commands)
	}
}

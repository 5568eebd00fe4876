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
	const page = "../../docs/fleet.md"
	b, err := os.ReadFile(page)
	must(t, err)
	before, rest, ok := strings.Cut(string(b), "\n## Two laptops\n")
	if !ok {
		t.Fatal("the page has no such section")
	}
	section, after := rest, ""
	if at := strings.Index(rest, "\n## "); at >= 0 {
		section, after = rest[:at], rest[at:]
	}
	top := t.TempDir()
	spec := regexp.MustCompile("(?ms)^```cue machines.cue\n(.*?)^```$").FindStringSubmatch(section)
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
	is, commands := walked(section, types, settled)
	asOnPage(t, page, string(b), before+"\n## Two laptops\n"+is+after)
	if commands < 20 {
		t.Errorf("only %d commands were found", commands)
	}
}

package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

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
	is := doc[:from] + walked(t, fleetPage, doc[from:to], types, settled) + doc[to:]
	asOnPage(t, fleetPage, doc, is)
}

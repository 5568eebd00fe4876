package main

import (
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/tools/txtar"
)

const aSkill = "---\nname: pdf\ndescription: d\n---\n# PDF\n"

// badSource is what a stranger publishes, and what becomes of it.
type badSource struct {
	name  string
	files string            // as txtar
	links map[string]string // below the source, to their targets
	add   string            // "": skill SOURCE
	code  int
	says  string
	not   []string // what the project must not have after an apply, where the source is taken
}

// front is the case of a skill with other front matter than its author meant.
func front(name, text, says string) badSource {
	return badSource{name: "front matter: " + name, files: "-- skills/pdf/SKILL.md --\n" + text, code: 0, says: says}
}

// badSources makes the cases, some of which are large: each command of each test would
// make those of a variable.
func badSources() []badSource {
	return []badSource{
		{name: "skills that differ in case", files: "-- skills/a/pdf/SKILL.md --\n" + aSkill + "-- skills/b/PDF/SKILL.md --\n" + aSkill, code: 1, says: "duplicate skill"},
		{name: "files that differ in case", files: "-- skills/pdf/SKILL.md --\n" + aSkill + "-- skills/pdf/Ref.md --\nx\n-- skills/pdf/ref.md --\nx\n", code: 1, says: "differ only in case"},
		{name: "a file that is a link out", files: "-- skills/pdf/SKILL.md --\n" + aSkill, links: map[string]string{"skills/pdf/key.md": "../../../outside/secret"}, code: 1, says: "links out of the source"},
		{name: "a file that is an absolute link", files: "-- skills/pdf/SKILL.md --\n" + aSkill, links: map[string]string{"skills/pdf/key.md": "/etc/passwd"}, code: 1, says: "links out of the source"},
		{name: "a skill that is a link out", files: "-- skills/pdf/SKILL.md --\n" + aSkill, links: map[string]string{"skills/other": "../../outside/skill"}, code: 0, not: []string{".claude/skills/other"}},
		{name: "a SKILL.md that is a link out", links: map[string]string{"skills/pdf/SKILL.md": "../../../outside/skill/SKILL.md"}, code: 1, says: "links out of the source"},
		{name: "a folder of skills that is a link out", links: map[string]string{"skills": "../outside"}, code: 1, says: "out of the source"},
		{name: "a manifest that is a link out", files: "-- skills/pdf/SKILL.md --\n" + aSkill, links: map[string]string{".claude-plugin/plugin.json": "../../outside/plugin.json"}, code: 1, says: "links out of the source"},
		{name: "servers that are a link out", files: "-- skills/pdf/SKILL.md --\n" + aSkill, links: map[string]string{".mcp.json": "../outside/mcp.json"}, code: 1, says: "links out of the source"},
		{name: "hooks that are a link out", files: "-- skills/pdf/SKILL.md --\n" + aSkill, links: map[string]string{"hooks/hooks.json": "../../outside/hooks.json"}, code: 1, says: "links out of the source"},
		{name: "a folder name with a line break", files: "-- skills/pdf/SKILL.md --\n" + aSkill, links: map[string]string{"skills/a\nb/SKILL.md": "../pdf/SKILL.md"}, code: 1, says: "cannot be seen"},
		{name: "a folder name with a control character", files: "-- skills/pdf/SKILL.md --\n" + aSkill, links: map[string]string{"skills/a\x1b[2Jb/SKILL.md": "../pdf/SKILL.md"}, code: 1, says: "cannot be seen"},
		{name: "a folder name with a backslash", files: "-- skills/pdf/SKILL.md --\n" + aSkill, links: map[string]string{`skills/x\..\y/SKILL.md`: "../pdf/SKILL.md"}, code: 1, says: "backslash"},

		{name: "plugin.json: skills above", files: "-- .claude-plugin/plugin.json --\n{\"name\": \"p\", \"skills\": \"../outside\"}\n", code: 1, says: "leads out of the plugin"},
		{name: "plugin.json: an absolute path", files: "-- .claude-plugin/plugin.json --\n{\"name\": \"p\", \"agents\": [\"/etc\"]}\n", code: 1, says: "leads out of the plugin"},
		{name: "plugin.json: a home", files: "-- .claude-plugin/plugin.json --\n{\"name\": \"p\", \"commands\": [\"~/x\"]}\n", code: 1, says: "leads out of the plugin"},
		{name: "plugin.json: backslashes", files: "-- .claude-plugin/plugin.json --\n{\"name\": \"p\", \"commands\": [\"a\\\\..\\\\..\\\\x\"]}\n", code: 1, says: "leads out of the plugin"},
		{name: "plugin.json: hooks above", files: "-- .claude-plugin/plugin.json --\n{\"name\": \"p\", \"hooks\": \"./a/../../h.json\"}\n", code: 1, says: "leads out of the plugin"},
		{name: "plugin.json: servers above", files: "-- .claude-plugin/plugin.json --\n{\"name\": \"p\", \"mcpServers\": \"../.mcp.json\"}\n", code: 1, says: "leads out of the plugin"},
		{name: "plugin.json: skills through a link out", files: "-- .claude-plugin/plugin.json --\n{\"name\": \"p\", \"skills\": \"./more\"}\n", links: map[string]string{"more": "../outside"}, code: 1, says: "out of the source"},
		{name: "plugin.json: a name that is a path", add: "plugin p@SOURCE", files: "-- .claude-plugin/marketplace.json --\n{\"plugins\": [{\"name\": \"p\", \"source\": \"./\"}]}\n-- .claude-plugin/plugin.json --\n{\"name\": \"../../p\"}\n-- hooks/hooks.json --\n{\"hooks\": {\"Stop\": [{\"hooks\": [{\"command\": \"${CLAUDE_PLUGIN_ROOT}/run\"}]}]}}\n-- run --\n#!/bin/sh\n", code: 0, says: "brings a hook", not: []string{"p", ".claude/p"}},
		{name: "plugin.json: of a later version", files: "-- .claude-plugin/plugin.json --\n{\"manifestVersion\": 99, \"name\": \"p\", \"new\": {\"a\": [1]}}\n-- skills/pdf/SKILL.md --\n" + aSkill, code: 0},
		{name: "plugin.json: fields of a later shape", files: "-- .claude-plugin/plugin.json --\n{\"name\": \"p\", \"skills\": {\"v2\": [\"./x\"]}}\n-- skills/pdf/SKILL.md --\n" + aSkill, code: 1, says: "want a path or a list of paths"},
		{name: "bundle.json: of a later version", files: "-- bundle.json --\n{\"scope\": \"applies-to\", \"version\": 99}\n-- skills/pdf/SKILL.md --\n" + aSkill, code: 1, says: "version"},
		{name: "hooks.json: fields of a later shape", add: "plugin p@SOURCE", files: "-- .claude-plugin/marketplace.json --\n{\"plugins\": [{\"name\": \"p\", \"source\": \"./\"}]}\n-- hooks/hooks.json --\n{\"version\": 99, \"hooks\": {\"Stop\": {\"run\": \"x\"}}}\n-- skills/pdf/SKILL.md --\n" + aSkill, code: 1, says: "hooks.json:1: "},
		{name: "hooks.json: a file of another plugin", add: "plugin p@SOURCE", files: "-- .claude-plugin/marketplace.json --\n{\"plugins\": [{\"name\": \"p\", \"source\": \"./\"}]}\n-- .claude-plugin/plugin.json --\n{\"name\": \"p\"}\n-- hooks/hooks.json --\n{\"hooks\": {\"Stop\": [{\"hooks\": [{\"command\": \"${CLAUDE_PLUGIN_ROOT}/../other/run\"}]}]}}\n-- skills/pdf/SKILL.md --\n" + aSkill, code: 0, says: "leads out of the plugin", not: []string{".claude/hooks", ".claude/settings.json"}},
		{name: ".mcp.json: a file of another plugin", add: "plugin p@SOURCE", files: "-- .claude-plugin/marketplace.json --\n{\"plugins\": [{\"name\": \"p\", \"source\": \"./\"}]}\n-- .mcp.json --\n{\"mcpServers\": {\"x\": {\"command\": \"${CLAUDE_PLUGIN_ROOT}/../other/run\"}}}\n-- skills/pdf/SKILL.md --\n" + aSkill, code: 0, says: "by its folder", not: []string{".mcp.json"}},
		{name: ".mcp.json: of a later shape", add: "plugin p@SOURCE", files: "-- .claude-plugin/marketplace.json --\n{\"plugins\": [{\"name\": \"p\", \"source\": \"./\"}]}\n-- .mcp.json --\n{\"mcpServers\": [{\"name\": \"x\"}]}\n-- skills/pdf/SKILL.md --\n" + aSkill, code: 1, says: ".mcp.json"},

		{name: "marketplace.json: a plugin above", add: "plugin a@SOURCE", files: "-- .claude-plugin/marketplace.json --\n{\"plugins\": [{\"name\": \"a\", \"source\": \"../outside\"}]}\n", code: 1, says: "leads out of the plugin"},
		{name: "marketplace.json: an absolute path", add: "plugin a@SOURCE", files: "-- .claude-plugin/marketplace.json --\n{\"plugins\": [{\"name\": \"a\", \"source\": \"/etc\"}]}\n", code: 1, says: "leads out of the plugin"},
		{name: "marketplace.json: a root above", add: "plugin a@SOURCE", files: "-- .claude-plugin/marketplace.json --\n{\"metadata\": {\"pluginRoot\": \"..\"}, \"plugins\": [{\"name\": \"a\", \"source\": \"outside\"}]}\n", code: 1, says: "leads out of the plugin"},
		{name: "marketplace.json: a path in a repository", add: "plugin a@SOURCE", files: "-- .claude-plugin/marketplace.json --\n{\"plugins\": [{\"name\": \"a\", \"source\": {\"source\": \"git-subdir\", \"url\": \"o/r\", \"path\": \"x/../..\"}}]}\n", code: 1, says: "leads out of the plugin"},
		{name: "marketplace.json: a program as address", add: "plugin a@SOURCE", files: "-- .claude-plugin/marketplace.json --\n{\"plugins\": [{\"name\": \"a\", \"source\": {\"source\": \"url\", \"url\": \"ext::sh -c touch% x\"}}]}\n", code: 1, says: "no address of a repository"},
		{name: "marketplace.json: a plugin that is a link out", add: "plugin a@SOURCE", files: "-- .claude-plugin/marketplace.json --\n{\"plugins\": [{\"name\": \"a\", \"source\": \"./plugins/a\"}]}\n", links: map[string]string{"plugins/a": "../../outside"}, code: 1, says: "out of the source"},
		{name: "marketplace.json: skills of another plugin", add: "plugin a@SOURCE", files: "-- .claude-plugin/marketplace.json --\n{\"plugins\": [{\"name\": \"a\", \"source\": \"./plugins/a\", \"skills\": [\"../b/skills/pdf\"]}]}\n-- plugins/b/skills/pdf/SKILL.md --\n" + aSkill, code: 1, says: "leads out of the plugin"},
		{name: "marketplace.json: itself", add: "plugin a@SOURCE", files: "-- .claude-plugin/marketplace.json --\n{\"plugins\": [{\"name\": \"a\", \"source\": \"./\"}]}\n", code: 1, says: "yields nothing"},
		{name: "marketplace.json: a kind of a later version", add: "plugin a@SOURCE", files: "-- .claude-plugin/marketplace.json --\n{\"version\": 99, \"plugins\": [{\"name\": \"a\", \"source\": {\"source\": \"quantum\"}}]}\n", code: 1, says: "which aisync does not fetch"},
		{name: "marketplace.json: a list of a later shape", add: "plugin a@SOURCE", files: "-- .claude-plugin/marketplace.json --\n{\"plugins\": {\"a\": \"./a\"}}\n", code: 1, says: "marketplace.json:1: "},

		front("unclosed", "---\nname: pdf\n# PDF\n", "does not end"),
		front("tabs", "---\nname:\tpdf\n\tdescription: d\n---\n# PDF\n", "front matter"),
		front("duplicate keys", "---\nname: pdf\nname: docx\ndescription: d\n---\n", "already defined"),
		front("binary", "---\nname: \x00\x01\xff\n---\n", "front matter"),
		front("a bomb of aliases", "---\na: &a [x, x, x, x, x, x, x, x, x]\n"+aliases()+"name: *j\n---\n", "excessive aliasing"),
		front("an alias of itself", "---\na: &a [*a]\nname: pdf\ndescription: d\n---\n", "contains itself"),
		front("very deep", "---\nname: "+strings.Repeat("[", 20_000)+"\n---\n", "front matter"),
		front("of another type", "---\n- name\n---\n", "front matter"),
		{name: "front matter: a byte order mark and CRLF", files: "-- skills/pdf/SKILL.md --\n\ufeff---\r\nname: pdf\r\ndescription: d\r\n---\r\n# PDF\r\n", code: 0},
		{name: "front matter: huge", files: "-- skills/pdf/SKILL.md --\n---\nname: pdf\ndescription: d\nx: |\n" + strings.Repeat("  xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx\n", 700_000) + "---\n", code: 1, says: "too large"},
	}
}

// aliases is nine keys, each nine times the one before.
func aliases() string {
	var out strings.Builder
	for c := byte('b'); c <= 'j'; c++ {
		fmt.Fprintf(&out, "%c: &%c [%s]\n", c, c, strings.TrimSuffix(strings.Repeat(fmt.Sprintf("*%c, ", c-1), 9), ", "))
	}
	return out.String()
}

// What a source of strangers names wrongly is refused with the reason, and then
// neither the spec, nor the project, nor the home has anything of it.
func TestBadSourcesAreRefusedAndNothingIsWritten(t *testing.T) {
	for _, c := range badSources() {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			work := t.TempDir()
			project, home, source := filepath.Join(work, "project"), filepath.Join(work, "home"), filepath.Join(work, "source")
			spec := "package aisync\n\nproject: {\n\tname: \"p\"\n\truntimes: [\"claude\"]\n}\n"
			outside := "-- outside/secret --\nSECRET\n-- outside/skill/SKILL.md --\n" + aSkill + "-- outside/plugin.json --\n{\"name\": \"o\"}\n-- outside/mcp.json --\n{\"mcpServers\": {\"x\": {\"command\": \"x\"}}}\n-- outside/hooks.json --\n{\"hooks\": {\"Stop\": [{\"hooks\": [{\"command\": \"x\"}]}]}}\n"
			put(t, work, outside+"-- project/aisync.cue --\n"+spec+"-- home/x --\n")
			put(t, source, c.files)
			must(t, os.MkdirAll(source, 0o755))
			for at, to := range c.links {
				must(t, os.MkdirAll(filepath.Dir(filepath.Join(source, at)), 0o755))
				must(t, os.Symlink(to, filepath.Join(source, at)))
			}
			before := listed(t, work)
			add := strings.ReplaceAll(c.add, "SOURCE", source)
			if add == "" {
				add = "skill " + source
			}
			code, out := runAt(t, project, home, append([]string{"add"}, append(strings.Fields(add), "--scope", "project")...)...)
			if code != c.code || !strings.Contains(out, c.says) {
				t.Errorf("add: %d, want %d with %q\n%.2000s", code, c.code, c.says, out)
			}
			if c.code != 0 {
				if after := listed(t, work); after != before {
					t.Errorf("add wrote:\n%s\nbefore:\n%s", after, before)
				}
				if b, err := os.ReadFile(filepath.Join(project, "aisync.cue")); err != nil || string(b) != spec {
					t.Errorf("the spec changed: %v\n%s", err, b)
				}
				return
			}
			if code, out := runAt(t, project, home, "apply", "--scope", "project", "--yes", "--trust"); code != 0 {
				t.Errorf("apply: %d\n%.2000s", code, out)
			}
			for _, name := range append(c.not, ".claude/skills/pdf/key.md") {
				if _, err := os.Lstat(filepath.Join(project, name)); err == nil {
					t.Errorf("%s was written", name)
				}
			}
			if strings.Contains(listed(t, project), "SECRET") {
				t.Error("text of outside was written")
			}
		})
	}
}

// Skills of two sources that are one on some file systems, or for some program, are
// refused by the plan, and nothing is written.
func TestSkillsOfTwoSourcesThatCollideAreRefused(t *testing.T) {
	for name, c := range map[string]struct {
		second string
		code   int
		says   string
	}{
		"the same name":     {"-- two/skills/pdf/SKILL.md --\n---\nname: pdf\ndescription: other\n---\n", 1, "bring different files .claude/skills/pdf/SKILL.md"},
		"another case":      {"-- two/skills/PDF/SKILL.md --\n" + aSkill, 4, "The spec contradicts itself"},
		"a file of another": {"-- two/skills/pdf/REF.md --\nother\n-- two/skills/pdf/SKILL.md --\n" + aSkill, 4, "The spec contradicts itself"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			work := t.TempDir()
			put(t, work, "-- one/skills/pdf/SKILL.md --\n"+aSkill+"-- one/skills/pdf/ref.md --\none\n"+c.second+`-- project/aisync.cue --
package aisync

project: {
	name: "p"
	runtimes: ["claude", "codex", "opencode"]
	sources: {one: "../one", two: "../two"}
	bundles: ["one//.", "two//."]
}
-- home/x --
`)
			before := listed(t, work)
			code, out := runAt(t, filepath.Join(work, "project"), filepath.Join(work, "home"), "apply", "--scope", "project", "--yes", "--trust")
			if code != c.code || !strings.Contains(out, c.says) {
				t.Errorf("apply: %d\n%s", code, out)
			}
			if after := listed(t, work); after != before {
				t.Errorf("apply wrote:\n%s\nbefore:\n%s", after, before)
			}
		})
	}
}

// Two marketplaces that name each other as a plugin, and one that names itself, end
// with an error: aisync follows the word of a marketplace once.
func TestMarketplacesThatNameEachOtherAreRefused(t *testing.T) {
	work := t.TempDir()
	project, home, repos := filepath.Join(work, "project"), filepath.Join(work, "home"), filepath.Join(work, "repos")
	put(t, work, "-- project/aisync.cue --\npackage aisync\n\nproject: {\n\tname: \"p\"\n\truntimes: [\"claude\"]\n}\n"+
		"-- home/.gitconfig --\n[url \"file://"+repos+"/\"]\n\tinsteadOf = https://github.com/\n")
	for repo, names := range map[string]string{"o/a": "o/b", "o/b": "o/a", "o/self": "o/self"} {
		dir := filepath.Join(repos, repo+".git")
		put(t, dir, "-- .claude-plugin/marketplace.json --\n{\"plugins\": [{\"name\": \"next\", \"source\": {\"source\": \"github\", \"repo\": \""+names+"\"}}]}\n")
		for _, args := range [][]string{{"init", "-q"}, {"add", "-A"}, {"-c", "user.name=t", "-c", "user.email=t@localhost", "commit", "-q", "-m", "x"}} {
			git := exec.Command("git", append([]string{"-C", dir}, args...)...)
			git.Env = append(os.Environ(), "GIT_CONFIG_NOSYSTEM=1", "GIT_CONFIG_GLOBAL=/dev/null")
			if out, err := git.CombinedOutput(); err != nil {
				t.Fatalf("git: %v\n%s", err, out)
			}
		}
	}
	before := listed(t, project)
	for _, market := range []string{"o/a", "o/b", "o/self"} {
		code, out := runAt(t, project, home, "add", "plugin", "next@"+market, "--scope", "project")
		if code != 1 || !strings.Contains(out, "yields nothing") {
			t.Errorf("%s: %d\n%s", market, code, out)
		}
	}
	if after := listed(t, project); after != before {
		t.Errorf("add wrote:\n%s\nbefore:\n%s", after, before)
	}
}

// put writes the files of text below dir.
func put(t *testing.T, dir, text string) {
	t.Helper()
	for _, f := range txtar.Parse([]byte(text)).Files {
		name := filepath.Join(dir, f.Name)
		must(t, os.MkdirAll(filepath.Dir(name), 0o755))
		must(t, os.WriteFile(name, f.Data, 0o644))
	}
}

// listed names what lies below dir, without aisync's own cache and state.
func listed(t *testing.T, dir string) string {
	t.Helper()
	var out strings.Builder
	must(t, filepath.WalkDir(dir, func(p string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() && (d.Name() == ".cache" || d.Name() == ".local") {
			return fs.SkipDir
		}
		fmt.Fprintf(&out, "%q\n", p)
		return nil
	}))
	return out.String()
}

// runAt runs aisync in dir and returns its exit code and output.
func runAt(t *testing.T, dir, home string, args ...string) (int, string) {
	t.Helper()
	cmd := exec.Command("aisync", args...)
	cmd.Dir = dir
	cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + home, "GIT_CONFIG_NOSYSTEM=1"}
	out, err := cmd.CombinedOutput()
	if cmd.ProcessState == nil {
		t.Fatal(err)
	}
	return cmd.ProcessState.ExitCode(), string(out)
}

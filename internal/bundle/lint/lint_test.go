package lint

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"golang.org/x/tools/txtar"

	"aisync.dev/aisync/catalog"
)

// write makes a folder of an archive. "NAME +x" is executable; in texts <CR>
// is \r, <BOM> a byte order mark, and <NONL> at the end takes the line end away;
// <~> breaks up what scanners of this repository would take for real.
func write(t *testing.T, archive string) string {
	t.Helper()
	dir := t.TempDir()
	for _, f := range txtar.Parse([]byte(archive)).Files {
		name, exec := strings.CutSuffix(f.Name, " +x")
		text := strings.NewReplacer("<CR>", "\r", "<BOM>", "\uFEFF", "<NONL>\n", "", "<NUL>", "\x00", "<~>", "", "<ZWSP>", "\u200b", "<ES>", "\u0455").Replace(string(f.Data))
		mode := os.FileMode(0o644)
		if exec {
			mode = 0o755
		}
		p := filepath.Join(dir, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(p), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(p, []byte(text), mode); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

func check(t *testing.T, dir string) []string {
	t.Helper()
	findings, err := Dir(dir)
	if err != nil {
		t.Fatal(err)
	}
	var out []string
	for _, f := range findings {
		out = append(out, fmt.Sprintf("%s:%d: %s: %s (%s)", f.File, f.Line, f.Level, f.Text, f.Check))
	}
	return out
}

func TestEveryFindingNamesFileLineAndCheck(t *testing.T) {
	archives, err := filepath.Glob("testdata/*.txtar")
	if err != nil || len(archives) == 0 {
		t.Fatal(archives, err)
	}
	said := map[string]bool{}
	for _, name := range archives {
		t.Run(strings.TrimSuffix(filepath.Base(name), ".txtar"), func(t *testing.T) {
			text, err := os.ReadFile(name)
			if err != nil {
				t.Fatal(err)
			}
			want := strings.Split(strings.ReplaceAll(strings.TrimSpace(string(txtar.Parse(text).Comment)), "<~>", ""), "\n")
			if want[0] == "" {
				want = nil
			}
			got := check(t, write(t, string(text)))
			for _, g := range got {
				if !slices.Contains(want, g) {
					t.Errorf("found     %s", g)
				}
				said[g[strings.LastIndex(g, "(")+1:len(g)-1]] = true
			}
			for _, w := range want {
				if !slices.Contains(got, w) {
					t.Errorf("not found %s", w)
				}
			}
		})
	}
	for _, c := range Checks {
		if !said[c.Name] {
			t.Errorf("no archive in testdata shows what the check %s finds", c.Name)
		}
	}
}

// Of a project, lint looks at what agents read there, and at nothing else.
func TestProjectIsCheckedForWhatAgentsRead(t *testing.T) {
	hidden := "Tidy.<ZWSP><ZWSP>\n"
	got := check(t, write(t, strings.Join([]string{"-- aisync.cue --", "package aisync", "-- AGENTS.md --", hidden, "-- sub/CLAUDE.md --", hidden, "-- .claude/skills/tidy/SKILL.md --", hidden,
		"-- .mcp.json --", `{"a": "\u200b\u200b"}`, "-- src/a.md --", hidden, "-- node_modules/x/AGENTS.md --", hidden, "-- docs/AGENTS.txt --", hidden}, "\n")))
	var files []string
	for _, g := range got {
		files = append(files, g[:strings.IndexByte(g, ':')])
	}
	if want := []string{".claude/skills/tidy/SKILL.md", ".mcp.json", "AGENTS.md", "sub/CLAUDE.md"}; !slices.Equal(files, want) {
		t.Errorf("got %q\nwant findings in %q", got, want)
	}
	dir := write(t, "-- AGENTS.md --\nTidy.\n")
	other := write(t, "-- secret.md --\n"+hidden)
	if err := os.Symlink(filepath.Join(other, "secret.md"), filepath.Join(dir, "CLAUDE.md")); err != nil {
		t.Fatal(err)
	}
	if got := check(t, dir); len(got) != 0 {
		t.Errorf("a link out of the project was followed: %q", got)
	}
}

func TestNonSourceIsReported(t *testing.T) {
	dir := t.TempDir()
	if _, err := Dir(filepath.Join(dir, "none")); err == nil || !strings.Contains(err.Error(), "no such folder") {
		t.Error(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "notes.txt"), []byte("x\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	if got := check(t, dir); len(got) != 1 || !strings.Contains(got[0], "holds nothing that would be installed") {
		t.Error(got)
	}
}

func TestALinkOutOfTheSourceIsAnError(t *testing.T) {
	dir := write(t, "-- agent-rules/a.md --\n# A\n\nApplies to: `**/*`\n")
	if err := os.Symlink("/etc/hostname", filepath.Join(dir, "agent-rules/b.md")); err != nil {
		t.Fatal(err)
	}
	if got := check(t, dir); len(got) != 1 || !strings.Contains(got[0], "links out of the source") {
		t.Error(got)
	}
}

func TestASecretIsNotRepeated(t *testing.T) {
	key := "AKIA" + "IOSFODNN7QWERTYU"
	for _, f := range check(t, write(t, "-- agent-rules/a.md --\n# A\n\nApplies to: `**/*`\n"+key+"\n")) {
		if strings.Contains(f, key) || !strings.Contains(f, "agent-rules/a.md:4: error: looks like an AWS access key") {
			t.Error(f)
		}
	}
}

func TestTheSampleSourceHasNothingToMend(t *testing.T) {
	for _, f := range check(t, filepath.Join("..", "..", "..", "golden", "contract", "rulesets")) {
		if !strings.Contains(f, ` warning: "Applies to:" is prose: `) {
			t.Error(f)
		}
	}
}

func TestOurOwnBundlesHaveNothingToMend(t *testing.T) {
	dir := t.TempDir()
	if err := os.CopyFS(dir, catalog.Bundles()); err != nil {
		t.Fatal(err)
	}
	err := filepath.WalkDir(dir, func(p string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		text, err := os.ReadFile(p)
		mode := fs.FileMode(0o644)
		if strings.HasPrefix(string(text), "#!") { // as they are installed
			mode = 0o755
		}
		return errors.Join(err, os.Chmod(p, mode))
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range check(t, dir) {
		t.Error(f)
	}
}

package gather

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/tools/txtar"

	"aisync.dev/aisync/schema/spec"
)

var update = flag.Bool("update", false, "write what is wanted in testdata anew")

// Each file of testdata is a folder, and at its end, as want, what comes of it.
// Its comment may name origins, runtimes, "home", "share", and links as "from ->
// to".
func TestGatherGolden(t *testing.T) {
	names, err := filepath.Glob("testdata/*.txtar")
	if err != nil || len(names) < 5 {
		t.Fatal(names, err)
	}
	for _, name := range names {
		t.Run(strings.TrimSuffix(filepath.Base(name), ".txtar"), func(t *testing.T) {
			ar, err := txtar.ParseFile(name)
			if err != nil {
				t.Fatal(err)
			}
			dir := t.TempDir()
			for _, f := range ar.Files[:len(ar.Files)-1] {
				write(t, filepath.Join(dir, f.Name), f.Data)
			}
			o := Options{Name: "app"}
			for line := range strings.Lines(string(ar.Comment)) {
				line = strings.TrimSpace(line)
				if from, to, ok := strings.Cut(line, " -> "); ok {
					if err := os.Symlink(to, filepath.Join(dir, from)); err != nil {
						t.Fatal(err)
					}
				} else if line == "home" {
					o.Home = true
				} else if line == "share" {
					o.Share = true
				} else if ids, ok := strings.CutPrefix(line, "runtimes: "); ok {
					o.Runtimes = strings.Split(ids, " ")
				} else if from, ok := strings.CutPrefix(line, "from: "); ok {
					o.From = append(o.From, Origin(from))
				}
			}
			before := tree(t, dir)
			r, err := From(dir, o)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(before, tree(t, dir)); diff != "" {
				t.Errorf("the folder has changed:\n%s", diff)
			}
			if strings.Contains(picture(r), "sesame") {
				t.Errorf("a secret is taken over:\n%s", picture(r))
			}
			want := &ar.Files[len(ar.Files)-1]
			got := picture(r)
			if *update {
				want.Data = []byte(got)
				if err := os.WriteFile(name, txtar.Format(ar), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			if diff := cmp.Diff(string(want.Data), got); want.Name != "want" || diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
		})
	}
}

func write(t *testing.T, name string, data []byte) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
		t.Fatal(err)
	}
	mode := os.FileMode(0o644)
	if strings.HasSuffix(name, ".sh") {
		mode = 0o755
	}
	if err := os.WriteFile(name, data, mode); err != nil {
		t.Fatal(err)
	}
}

// tree is every regular file below dir with its text.
func tree(t *testing.T, dir string) map[string]string {
	t.Helper()
	out := map[string]string{}
	err := filepath.WalkDir(dir, func(p string, d os.DirEntry, err error) error {
		if err == nil && d.Type().IsRegular() {
			var text []byte
			text, err = os.ReadFile(p)
			out[p] = string(text)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// picture is a result as a person would read it.
func picture(r *Result) string {
	var b strings.Builder
	fmt.Fprintf(&b, "from %v, runtimes %v\n", r.From, r.Runtimes)
	for _, t := range r.Taken {
		fmt.Fprintf(&b, "%s: %s => %s", t.What, t.From, t.To)
		if t.Note != "" {
			fmt.Fprintf(&b, " (%s)", t.Note)
		}
		b.WriteString("\n")
	}
	for _, k := range r.Kept {
		fmt.Fprintf(&b, "kept: %s (%s)\n", k.Path, k.Why)
	}
	for _, u := range r.Unclaimed {
		fmt.Fprintf(&b, "unclaimed: %s\n", u)
	}
	for _, s := range r.Servers {
		fmt.Fprintf(&b, "server %s: %q %q %q", s.Name, s.Command, s.Args, s.URL)
		for _, v := range append(s.Env, s.Headers...) {
			if v.Secret != nil {
				fmt.Fprintf(&b, " %s={env %s}", v.Name, v.Secret.Env)
			} else {
				fmt.Fprintf(&b, " %s=%q", v.Name, v.Value)
			}
		}
		rest := s.MCPServer
		rest.Name, rest.Command, rest.Args, rest.URL, rest.Env, rest.Headers = "", "", nil, "", nil, nil
		if !reflect.DeepEqual(rest, spec.MCPServer{}) {
			fmt.Fprintf(&b, " sse=%v cwd=%q start=%v call=%v disabled=%v allow=%v deny=%v client=%q scopes=%v for %v", rest.SSE, rest.Cwd, rest.Start, rest.Call, rest.Disabled, rest.Allow, rest.Deny, rest.ClientID, rest.Scopes, rest.Runtimes)
		}
		b.WriteString("\n")
	}
	for _, f := range r.Files {
		fmt.Fprintf(&b, "== %s %o\n%s", f.Path, f.Mode, f.Text)
		if !strings.HasSuffix(string(f.Text), "\n") {
			b.WriteString("\\no line break\n")
		}
	}
	return b.String()
}

func TestAnOriginThatIsUnknownIsRefused(t *testing.T) {
	if _, err := From(t.TempDir(), Options{From: []Origin{"clawd"}}); err == nil {
		t.Error("no error")
	}
	if _, err := From(filepath.Join(t.TempDir(), "nowhere"), Options{}); err == nil {
		t.Error("no error for a folder that is not there")
	}
}

// A link must not bring files of other places into a bundle that is shared.
func TestNothingOutsideTheFolderIsRead(t *testing.T) {
	dir, outside := t.TempDir(), t.TempDir()
	write(t, filepath.Join(outside, "secret.md"), []byte("open sesame"))
	write(t, filepath.Join(dir, ".claude/rules/a.md"), []byte("# A\n"))
	for link, to := range map[string]string{
		".claude/rules/out.md": filepath.Join(outside, "secret.md"),
		".claude/rules/up":     outside,
		"CLAUDE.md":            filepath.Join(outside, "secret.md"),
		".claude/commands":     outside,
		".mcp.json":            filepath.Join(outside, "secret.md"),
	} {
		if err := os.Symlink(to, filepath.Join(dir, link)); err != nil {
			t.Fatal(err)
		}
	}
	r, err := From(dir, Options{Name: "app"})
	if err != nil {
		t.Fatal(err)
	}
	if got := picture(r); strings.Contains(got, "sesame") || len(r.Files) != 1 || len(r.Kept) != 5 {
		t.Error(got)
	}
}

// A .claude that is a link elsewhere, as dotfile managers make it.
func TestAFolderThatIsALinkOutIsKeptAside(t *testing.T) {
	dir, outside := t.TempDir(), t.TempDir()
	write(t, filepath.Join(outside, "rules/a.md"), []byte("open sesame"))
	write(t, filepath.Join(dir, "AGENTS.md"), []byte("# A\n"))
	write(t, filepath.Join(dir, ".cursor"), []byte("a file where a folder is looked for"))
	if err := os.Symlink(outside, filepath.Join(dir, ".claude")); err != nil {
		t.Fatal(err)
	}
	r, err := From(dir, Options{Name: "app"})
	if err != nil {
		t.Fatal(err)
	}
	if len(r.Files) != 0 || len(r.Kept) != 2 || r.Kept[0].Path != ".claude" {
		t.Error(picture(r))
	}
}

// A file that may not be read does not keep the rest from coming in.
func TestFileWithoutPermissionIsNamed(t *testing.T) {
	g := &gatherer{out: &Result{}}
	for range 2 {
		g.fail(&os.PathError{Op: "open", Path: ".claude/rules/locked.md", Err: os.ErrPermission})
	}
	if g.err != nil || len(g.out.Kept) != 1 || g.out.Kept[0].Path != ".claude/rules/locked.md" {
		t.Error(g.err, picture(g.out))
	}
}

// What aisync's records own is left out, entry by entry where it shares a file.
func TestOwnFilesAndEntriesAreLeftOut(t *testing.T) {
	dir := t.TempDir()
	for name, text := range map[string]string{
		".claude/rules/ours.md": "# Ours\n", ".claude/rules/mine.md": "# Mine\n", ".claude/hooks/ours.sh": "#!/bin/sh\n",
		".claude/settings.json": `{"model": "opus", "permissions": {"allow": ["Bash(make)", "Bash(go test)"]}, "env": {"OURS": "1"}}`,
		".mcp.json":             `{"mcpServers": {"ours": {"command": "o"}, "mine": {"command": "m"}}}`,
		"AGENTS.md":             "<!-- aisync:begin rules -->\n# Rules\n<!-- aisync:end rules -->\n",
	} {
		write(t, filepath.Join(dir, name), []byte(text))
	}
	ours := map[string]bool{
		".claude/rules/ours.md ": true, ".claude/hooks/ours.sh ": true, ".claude/settings.json /env/OURS": true,
		`.claude/settings.json /permissions/allow#"Bash(go test)"`: true, ".mcp.json /mcpServers/ours/command": true,
	}
	r, err := From(dir, Options{Name: "app", Ours: func(name, pointer string) bool { return ours[name+" "+pointer] }})
	if err != nil {
		t.Fatal(err)
	}
	got := picture(r)
	if strings.Contains(strings.ToLower(got), "ours") || strings.Contains(got, "go test") || !strings.Contains(got, "server mine") || len(r.Files) != 2 || len(r.Kept) != 0 {
		t.Error(got)
	}
}

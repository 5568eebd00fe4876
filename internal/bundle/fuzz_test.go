package bundle

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/tools/txtar"

	"aisync.dev/aisync/schema/spec"
)

// Whatever lies in a source, each of its parts is read or refused; what could
// be installed lies in it and is written below where it goes, and two readers
// see the same.
func FuzzTree(f *testing.F) {
	f.Add([]byte("-- agent-rules/a.md --\n---\nglobs: \"*.go\"\n---\n# A\n-- languages/go/claude/rules/go.md --\n# Go\n-- languages/go/claude/settings.json --\n{\"permissions\": {\"allow\": [\"a\"]}}\n-- skills/s/SKILL.md --\n---\nname: s\n---\n../agent-rules/a.md\n"))
	f.Add([]byte("-- hooks/settings-snippet.json --\n{\"hooks\": {\"PreToolUse\": [{\"matcher\": \"Bash\", \"hooks\": [{\"type\": \"command\", \"command\": \"hooks/a.sh\"}]}]}}\n-- hooks/a.sh --\n#!/bin/sh\n-- teams/us/runtimes/claude/rules/us.md --\n# Us\n-- s/SKILL.md --\n"))
	f.Add([]byte("-- mcp.json --\n{\"mcpServers\": {\"a\": {\"command\": \"b\"}}}\n-- permissions.json --\n{\"allow\": 3}\n-- commands/A.md --\na\n-- commands/a.md --\nb\n-- .aiignore --\n*\n-- runtimes/r/runtime.cue --\npackage aisync\n"))
	f.Fuzz(func(t *testing.T, archive []byte) {
		dir := t.TempDir()
		for i, x := range txtar.Parse(archive).Files {
			name := filepath.FromSlash(x.Name)
			if i == 32 || !filepath.IsLocal(name) || strings.Contains(name, ".git") {
				return
			}
			at := filepath.Join(dir, name)
			if os.MkdirAll(filepath.Dir(at), 0o755) != nil || os.WriteFile(at, x.Data, 0o644) != nil {
				return
			}
		}
		read := func() (files []File, digest string, err error) {
			tree, err := new(Sources).Open(context.Background(), spec.Source{Name: "src", URL: dir})
			if err != nil {
				return nil, "", err
			}
			for _, name := range tree.Languages() {
				_, _ = tree.Language(name)
			}
			for _, name := range tree.Teams() {
				_, _ = tree.Team(name)
			}
			_, _ = tree.Skills()
			_, _ = tree.Hooks()
			_, _ = tree.Recognize([]string{"a.md", "go.md"})
			if files, err = tree.Files(); err != nil {
				return nil, "", err
			}
			digest, err = tree.Digest()
			return files, digest, err
		}
		files, digest, err := read()
		_, again, err2 := read()
		if (err == nil) != (err2 == nil) || digest != again {
			t.Fatalf("%s, %v; then %s, %v", digest, err, again, err2)
		}
		for _, x := range files {
			if !filepath.IsLocal(x.Rel) || !filepath.IsLocal(x.Src) || !strings.HasPrefix(x.Path, dir+string(filepath.Separator)) {
				t.Fatalf("%q of %q lies in %q", x.Rel, x.Src, x.Path)
			}
		}
	})
}

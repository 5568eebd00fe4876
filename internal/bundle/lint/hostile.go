package lint

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"aisync.dev/aisync/catalog"
	"aisync.dev/aisync/internal/hostiletext"
	"aisync.dev/aisync/internal/regular"
	"aisync.dev/aisync/internal/secret"
)

// hostileChecks are the rules of package hostiletext, a check each.
func hostileChecks() []Check {
	var out []Check
	for _, r := range hostiletext.Rules {
		out = append(out, Check{r.ID, "no " + strings.TrimPrefix(strings.TrimPrefix(r.Doc, "a "), "an "), func(s *source, say func(Finding)) {
			for _, f := range s.hostile() {
				if f.Check == r.ID {
					say(f)
				}
			}
		}})
	}
	return out
}

// scan looks for text that attacks its reader in the files of s, and in those of
// its folder that agent programs read by themselves.
func (s *source) scan() []Finding {
	s.addRead()
	var out []Finding
	for _, f := range s.files {
		if f.binary {
			continue
		}
		for _, x := range hostiletext.Scan(f.name, f.text) {
			rule, _ := hostiletext.RuleOf(x.Rule)
			level := Error
			if x.Rule == hostiletext.PipeToShell {
				level = Warning // installers are started in this way, for want of a better one
			}
			out = append(out, Finding{File: f.name, Line: x.Line, Level: level, Check: x.Rule, Text: fmt.Sprintf("%s: \"%s\"; %s", x.Says, secret.MaskText(x.Excerpt), rule.Do)})
		}
	}
	return out
}

// maxWalked bounds the folders and files of a project that are looked through.
const maxWalked = 200_000

// addRead adds to s the files that agent programs read by themselves: those of a
// project, and in a source those for work on the source.
func (s *source) addRead() {
	known := map[string]bool{}
	for _, f := range s.files {
		known[f.name] = true
	}
	real, err := filepath.EvalSymlinks(s.dir)
	if err != nil {
		return
	}
	walked := 0
	_ = filepath.WalkDir(s.dir, func(p string, d fs.DirEntry, err error) error {
		rel, _ := filepath.Rel(s.dir, p)
		name := filepath.ToSlash(rel)
		if walked++; walked > maxWalked {
			return filepath.SkipAll
		}
		if err != nil {
			return nil // a folder that cannot be listed holds nothing that an agent could read
		}
		if d.IsDir() {
			if d.Name() == ".git" || d.Name() == "node_modules" || d.Name() == "__pycache__" {
				return filepath.SkipDir
			}
			return nil
		}
		if known[name] || !readByAgents(name) || !inside(real, p) {
			return nil
		}
		text, err := regular.Read(p, maxSize)
		if err == nil && bytes.IndexByte(text[:min(len(text), 8000)], 0) < 0 {
			s.files = append(s.files, file{name: name, text: text})
		}
		return nil
	})
}

// agentPlaces are the files and folders of a project that programs read.
var agentPlaces = sync.OnceValue(func() map[string]bool {
	out := map[string]bool{".cursorrules": true, ".windsurfrules": true, ".clinerules": true}
	for _, rt := range catalog.Runtimes() {
		p := rt.Project
		names := slices.Concat([]string{p.Dir, p.Rules, p.RulesBlock, p.Skills, p.Hooks}, p.RulesAlso, p.SkillsAlso, p.Instructions, p.Follows)
		if p.Settings != nil {
			names = append(names, p.Settings.Path)
		}
		if p.MCP != nil {
			names = append(names, p.MCP.Path)
		}
		for _, o := range p.Obeys {
			names = append(names, o.Files...)
		}
		for _, n := range names {
			if n, _, _ = strings.Cut(n, "*"); n != "" {
				out[path.Clean(n)] = true
			}
		}
	}
	delete(out, ".")
	return out
})

// readByAgents reports whether a program reads the file name, in the folder or in
// one below.
func readByAgents(name string) bool {
	parts := strings.Split(name, "/")
	for i := range parts {
		for j := i + 1; j <= len(parts); j++ {
			if agentPlaces()[strings.Join(parts[i:j], "/")] {
				return true
			}
		}
	}
	return false
}

// isProject reports whether dir is no bundle source, but a project with a spec or
// with files that agents read.
func isProject(dir string) (bool, error) {
	entries, err := os.ReadDir(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil // an error of readSource
	}
	if err != nil {
		return false, err
	}
	project := false
	for _, e := range entries {
		switch n := e.Name(); {
		case e.IsDir() && slices.Contains([]string{"languages", "teams", "agent-rules", "claude-rules", "skills", "hooks"}, n):
			return false, nil
		case n == "aisync.cue", readByAgents(n):
			project = true
		case e.IsDir():
			if _, err := os.Stat(filepath.Join(dir, n, "SKILL.md")); err == nil {
				return false, nil
			}
		}
	}
	return project, nil
}

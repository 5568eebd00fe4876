// Package lint checks a bundle source for its author: it finds what would
// trouble a reader of the bundle, or a program that loads it. Of a project it
// checks what agents read there. It reads files and changes none. Call Dir.
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
	"sort"
	"strings"
	"sync"

	"aisync.dev/aisync/reconcile/fsys"
)

// Level is the severity of a finding.
type Level string

const (
	Error   Level = "error"   // something does not work, or not as it seems
	Warning Level = "warning" // something to improve
)

// Finding is one thing to fix.
type Finding struct {
	File  string `json:"file"` // slash-separated, within the source
	Line  int    `json:"line"` // from 1; 0: the whole file
	Level Level  `json:"level"`
	Check string `json:"check"` // its name in Checks
	Text  string `json:"text"`
}

// Check is one kind of finding.
type Check struct {
	Name, Doc string
	run       func(*source, func(Finding))
}

// Checks are all checks. The last are the rules of package hostiletext.
var Checks = append([]Check{
	{"read", "the source can be read as bundles: its JSON, its links, its layout", checkRead},
	{"heading", "rules and instruction files start with a heading", checkHeadings},
	{"applies-to", "a line \"Applies to:\" limits its rule, where it is meant to", checkAppliesTo},
	{"patterns", "the patterns of rules can be read, and name the same files for every program", checkPatterns},
	{"front-matter", "front matter can be read, and says what programs find a skill, command or subagent by", checkFrontMatter},
	{"exec", "what is run is executable, and nothing else", checkExec},
	{"shebang", "a program says what runs it, in a way that works", checkShebangs},
	{"links", "links between files, and the files that hooks call, are there", checkLinks},
	{"duplicate-hook", "a hook is called once for an event", checkHooks},
	{"twice", "no name is read twice by one program, on no file system", checkNames},
	{"secret", "nothing looks like a secret", checkSecrets},
	{"text", "text is UTF-8 with \\n at its lines' ends, and of a size that programs read", checkText},
}, hostileChecks()...)

// ignoreMark on a line suppresses its findings.
const ignoreMark = "aisync-lint: ignore"

// maxFiles bounds a source; a larger folder is probably not a bundle.
const maxFiles = 20_000

// source is all files to check, read once.
type source struct {
	dir   string // absolute
	files []file // sorted by name
	names map[string]bool

	hostile func() []Finding // what attacks its reader, in all that agents may read
}

// file is one file of the source.
type file struct {
	name   string // slash-separated, within the source
	text   []byte
	exec   bool
	binary bool
}

// Dir checks the bundle source in dir, or what agents read in the project dir, and
// returns the findings, sorted by file and line. The error means that the folder
// cannot be read at all.
func Dir(dir string) ([]Finding, error) {
	checks := Checks
	project, err := isProject(dir)
	if err != nil {
		return nil, err
	}
	s := &source{dir: dir}
	if project {
		checks = hostileChecks()
		s.hostile = sync.OnceValue(s.scan)
	} else if s, err = readSource(dir); err != nil {
		return nil, err
	}
	var out []Finding
	for _, c := range checks {
		c.run(s, func(f Finding) {
			f.Check = c.Name
			if !s.meant(f) && !slices.Contains(out, f) {
				out = append(out, f)
			}
		})
	}
	sort.SliceStable(out, func(i, j int) bool {
		a, b := out[i], out[j]
		return a.File < b.File || a.File == b.File && a.Line < b.Line
	})
	return out, nil
}

func readSource(dir string) (*source, error) {
	dir, err := filepath.Abs(dir)
	if err != nil {
		return nil, err
	}
	real, err := filepath.EvalSymlinks(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("no such folder: %s", dir)
	}
	if err != nil {
		return nil, err
	}
	s := &source{dir: dir, names: map[string]bool{}}
	s.hostile = sync.OnceValue(s.scan)
	var bits fsys.Bits
	err = filepath.WalkDir(dir, func(p string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		rel, _ := filepath.Rel(dir, p)
		name := filepath.ToSlash(rel)
		if d.IsDir() {
			if rel != "." && (d.Name()[0] == '.' || d.Name() == "node_modules" || d.Name() == "__pycache__") {
				return filepath.SkipDir
			}
			s.names[name] = true
			return nil
		}
		s.names[name] = true
		info, err := os.Stat(p)
		if err != nil || !info.Mode().IsRegular() || d.Name()[0] == '.' || !inside(real, p) {
			return nil // a link that dangles or leads out, a socket: reported by the check "read"
		}
		if len(s.files) == maxFiles {
			return fmt.Errorf("%s holds more than %d files; is it a bundle source? name the folder with languages/, skills/ or agent-rules/", dir, maxFiles)
		}
		f := file{name: name}
		if info.Size() > maxSize {
			f.binary = true // too large to examine: reported by the check "text"
		} else if f.text, err = os.ReadFile(p); err != nil {
			return err
		}
		f.exec = bits.OfSource(p, f.text, info.Mode())&0o100 != 0
		f.binary = f.binary || bytes.IndexByte(f.text[:min(len(f.text), 8000)], 0) >= 0
		s.files = append(s.files, f)
		return nil
	})
	sort.Slice(s.files, func(i, j int) bool { return s.files[i].name < s.files[j].name })
	return s, err
}

// inside reports whether p, links resolved, lies in root.
func inside(root, p string) bool {
	to, err := filepath.EvalSymlinks(p)
	if err != nil {
		return false
	}
	rel, err := filepath.Rel(root, to)
	return err == nil && filepath.IsLocal(rel)
}

// meant reports whether the line of f suppresses findings.
func (s *source) meant(f Finding) bool {
	i := slices.IndexFunc(s.files, func(x file) bool { return x.name == f.File })
	return i >= 0 && f.Line > 0 && strings.Contains(lineAt(s.files[i].text, f.Line), ignoreMark)
}

func lineAt(text []byte, n int) string {
	for range n - 1 {
		i := bytes.IndexByte(text, '\n')
		if i < 0 {
			return ""
		}
		text = text[i+1:]
	}
	line, _, _ := bytes.Cut(text, []byte("\n"))
	return string(line)
}

// lineOf is the line of offset.
func lineOf(text []byte, offset int) int {
	return 1 + bytes.Count(text[:min(max(offset, 0), len(text))], []byte("\n"))
}

// use is the purpose of a bundle's file, judged by its place.
type use int

const (
	other   use = iota
	rule        // Markdown that agents load
	seed        // CLAUDE.md, AGENTS.md: the first content of an instruction file
	skill       // a SKILL.md
	inSkill     // a file beside it
	command
	agent
	hook    // a program that an agent program runs
	gitHook // one that git runs
	hookList
	settings
)

// use returns the purpose of a file.
func (s *source) use(name string) use {
	base, dir := path.Base(name), path.Dir(name)
	parts := strings.Split(dir, "/")
	in := func(folder string) bool { return slices.Contains(parts, folder) }
	switch {
	case strings.EqualFold(base, "README.md"):
		return other
	case base == "SKILL.md":
		return skill
	case s.inSkill(name):
		return inSkill
	case base == "hooks.json" || base == "settings-snippet.json":
		return hookList
	case base == "settings.json":
		return settings
	case in("githooks"):
		return gitHook
	case in("hooks"):
		return hook
	case !strings.HasSuffix(base, ".md"):
		return other
	case parts[0] == "agent-rules" || parts[0] == "claude-rules" || in("rules"):
		return rule
	case in("commands"):
		return command
	case in("agents"):
		return agent
	case len(parts) > 1 && base == strings.ToUpper(strings.TrimSuffix(base, ".md"))+".md":
		return seed
	}
	return other
}

// inSkill reports whether name lies in a folder with a SKILL.md.
func (s *source) inSkill(name string) bool {
	for dir := path.Dir(name); dir != "."; dir = path.Dir(dir) {
		if s.names[dir+"/SKILL.md"] {
			return true
		}
	}
	return false
}

// each calls look for every file with one of uses.
func (s *source) each(look func(file, use), uses ...use) {
	for _, f := range s.files {
		if u := s.use(f.name); slices.Contains(uses, u) && !f.binary {
			look(f, u)
		}
	}
}

// Package gathertest has projects in the shapes that people's repositories have,
// for tests of import: notes, links between them, rules, skills, servers, settings
// of one program or of many. Each is a txtar file below testdata, whose first
// lines name the shape. Call Projects.
package gathertest

import (
	"bytes"
	"embed"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/txtar"
)

//go:embed testdata/*.txtar
var files embed.FS

// Project is a project that people could have.
type Project struct {
	Name  string
	Shape string // a sentence
	files []txtar.File
}

// Projects returns all projects, sorted by name.
func Projects(t testing.TB) []Project {
	t.Helper()
	list, err := fs.Glob(files, "testdata/*.txtar")
	if err != nil {
		t.Fatal(err)
	}
	var out []Project
	for _, name := range list {
		b, err := files.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, Parse(strings.TrimSuffix(filepath.Base(name), ".txtar"), b))
	}
	return out
}

// Parse returns the project of a txtar text. "NAME -> TARGET" is a link, "~/NAME"
// lies in the home, "NAME (crlf)" has such line ends, a text that begins with #! is
// a program, and a name that ends in / is an empty folder.
func Parse(name string, text []byte) Project {
	a := txtar.Parse(text)
	return Project{Name: name, Shape: strings.TrimSpace(string(a.Comment)), files: a.Files}
}

// Unpack writes p into the folders project and home. With change it writes what
// that returns for a file's name and text.
func (p Project) Unpack(t testing.TB, project, home string, change func(name string, text []byte) []byte) {
	t.Helper()
	for _, f := range p.files {
		name, target, link := strings.Cut(f.Name, " -> ")
		name, crlf := strings.CutSuffix(name, " (crlf)")
		at := filepath.Join(project, name)
		if rel, ok := strings.CutPrefix(name, "~/"); ok {
			at = filepath.Join(home, rel)
		}
		text := f.Data
		if change != nil {
			text = change(name, text)
		}
		if crlf {
			text = bytes.ReplaceAll(text, []byte("\n"), []byte("\r\n"))
		}
		mode := fs.FileMode(0o644)
		if bytes.HasPrefix(text, []byte("#!")) {
			mode = 0o755
		}
		err := os.MkdirAll(filepath.Dir(at), 0o755)
		switch {
		case err != nil:
		case link:
			err = os.Symlink(target, at)
		case strings.HasSuffix(name, "/"):
			err = os.MkdirAll(at, 0o755)
		default:
			err = os.WriteFile(at, text, mode)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
}

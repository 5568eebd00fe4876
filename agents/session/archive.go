package session

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"aisync.dev/aisync/agents/identity"
	"aisync.dev/aisync/agents/project"
)

// Archive moves the context to .ai/sessions under the time, the id and a few
// words, and returns the new path; it replaces nothing. A crash leaves the
// context in one place or in both, never in none; the next Archive of it
// finishes the move.
func (c Context) Archive(words string, now time.Time) (string, error) {
	info, err := os.Lstat(c.Path)
	if errors.Is(err, fs.ErrNotExist) {
		return "", fmt.Errorf("no context of %s to archive: %s", c.Name(), c.Path)
	}
	if err != nil {
		return "", err
	}
	if !info.Mode().IsRegular() {
		return "", fmt.Errorf("%s: %w", c.Path, ErrLink)
	}
	if c.ID == "" {
		id, err := Copied(c.Root)
		if err != nil {
			return "", err
		}
		if id != "" {
			return "", fmt.Errorf("%s is a copy of the context of %s, not the primary's", c.Path, id)
		}
	}
	return c.archive(words, now)
}

func (c Context) archive(words string, now time.Time) (string, error) {
	dir := filepath.Join(c.Root, project.Sessions)
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return "", fmt.Errorf("make %s: %w", project.Sessions, err)
	}
	if twin, ok := c.archived(dir); ok { // a crash between the two steps
		return twin, os.Remove(c.Path)
	}
	name := now.Format("2006-01-02-15-04")
	if c.ID != "" {
		name += "-" + identity.FileName(c.ID)
	}
	if slug := Slug(words); slug != "" {
		name += "-" + slug
	}
	to, err := unused(dir, name, func(to string) error {
		err := os.Link(c.Path, to)
		if err == nil || errors.Is(err, fs.ErrExist) {
			return err
		}
		// Another file system, or one without links: copy in one step.
		text, err := os.ReadFile(c.Path)
		if err != nil {
			return err
		}
		made, err := publish(to, string(text))
		if err == nil && !made {
			err = fs.ErrExist
		}
		return err
	})
	if err != nil {
		return "", fmt.Errorf("archive %s: %w", c.Path, err)
	}
	return to, os.Remove(c.Path)
}

// unused calls put with dir/name.org, and with a numbered name while the file
// exists.
func unused(dir, name string, put func(to string) error) (string, error) {
	for n := 1; ; n++ {
		to := filepath.Join(dir, name+".org")
		if n > 1 {
			to = filepath.Join(dir, fmt.Sprintf("%s-%d.org", name, n))
		}
		if err := put(to); !errors.Is(err, fs.ErrExist) {
			return to, err
		}
	}
}

// archived returns the archive that a crash left together with the context: the
// same file, or one with the same id and bytes.
func (c Context) archived(dir string) (string, bool) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return "", false
	}
	info, err := os.Lstat(c.Path)
	if err != nil {
		return "", false
	}
	for _, e := range entries {
		other, err := e.Info()
		if err != nil || !other.Mode().IsRegular() || other.Size() != info.Size() {
			continue
		}
		path := filepath.Join(dir, e.Name())
		if os.SameFile(info, other) || c.ID != "" && strings.Contains(e.Name(), identity.FileName(c.ID)) && same(c.Path, path) {
			return path, true
		}
	}
	return "", false
}

func same(a, b string) bool {
	one, err1 := os.ReadFile(a)
	two, err2 := os.ReadFile(b)
	return err1 == nil && err2 == nil && bytes.Equal(one, two)
}

// Slug returns words as part of a file name: at most 40 characters of lower case
// letters and digits, words separated by hyphens.
func Slug(words string) string {
	slug := identity.Sanitize(words, "")
	if strings.HasPrefix(slug, "-") || slug == "" {
		return strings.Trim(slug, "-")
	}
	if len(slug) > 40 {
		slug = slug[:40]
		if i := strings.LastIndexByte(slug, '-'); i > 20 {
			slug = slug[:i]
		}
	}
	return strings.Trim(slug, "-_")
}

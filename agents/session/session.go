// Package session keeps the live contexts of a project's agents: one file an
// agent, .ai/session-context.d/<id>.org, and the primary's
// .ai/session-context.org, which an agent with an id never writes. It asks the
// roster who is alive and starts nothing. Start reading at Of.
package session

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"aisync.dev/aisync/agents/identity"
	"aisync.dev/aisync/agents/project"
)

// Context is the live file of one agent. The zero ID is the primary's.
type Context struct {
	Root string // of the project, without links
	ID   string
	Path string // absolute
}

// ErrLink says that a link stands where a context should be.
var ErrLink = errors.New("is a link")

// Of resolves whose context is meant: that of the agent that the environment
// names, or the primary's. An id that could not be a file's name is made one,
// in a way that keeps two ids apart.
func Of(root string, getenv func(string) string) (Context, error) {
	id := strings.TrimSpace(getenv(identity.VarID))
	if set := getenv(identity.VarContext); set != "" {
		path := set
		if !filepath.IsAbs(path) {
			path = filepath.Join(root, path)
		}
		path = filepath.Clean(path)
		base, isOrg := strings.CutSuffix(filepath.Base(path), ".org")
		if !isOrg || !under(filepath.Join(root, project.Contexts), filepath.Dir(path)) {
			return Context{}, fmt.Errorf("%s=%s does not name a file of %s; it is what `ai` sets: unset it, or set %s alone",
				identity.VarContext, set, filepath.Join(root, project.Contexts), identity.VarID)
		}
		if id == "" {
			id = base
		}
		return Context{root, id, path}, nil
	}
	if id == "" {
		return Context{root, "", filepath.Join(root, project.Singleton)}, nil
	}
	return ByID(root, id), nil
}

// under reports whether two paths are one folder, links resolved.
func under(want, dir string) bool {
	if want == dir {
		return true
	}
	real, err := filepath.EvalSymlinks(dir)
	return err == nil && real == want
}

// ByID is the context of an agent with an id; "" is the primary.
func ByID(root, id string) Context {
	if id == "" {
		return Context{root, "", filepath.Join(root, project.Singleton)}
	}
	return Context{root, id, filepath.Join(root, project.Contexts, FileName(id)+".org")}
}

// FileName is the name that an id has as a file: itself, or where it cannot be
// one, something like it with a digest.
func FileName(id string) string {
	if identity.Valid(id) {
		return id
	}
	sum := sha256.Sum256([]byte(id))
	name := identity.Sanitize(id, "agent")
	return name[:min(len(name), identity.MaxLength-9)] + "-" + hex.EncodeToString(sum[:])[:8]
}

// Helper reports whether the context is a helper's.
func (c Context) Helper() bool { return identity.IsHelper(c.ID) }

// Name is what messages call the agent.
func (c Context) Name() string {
	if c.ID == "" {
		return "primary"
	}
	return c.ID
}

// Meta is what the header of a context says.
type Meta struct {
	Runtime, Model, Host string
	Role                 string // primary, agent, helper
	PID                  int    // of the agent's process; 0 not known
	Begun                uint64 // when that began: with PID it names the process for good
	Started              time.Time
}

// Start makes the context with its header where it is not there, and reports
// whether it made it. A second call changes nothing. The primary first takes
// away the read-only copy that an old tool may have been given under its name,
// and refuses a link there.
func (c Context) Start(m Meta) (made bool, err error) {
	if c.ID == "" {
		if err := c.dropCopy(); err != nil {
			return false, err
		}
	}
	if info, err := os.Lstat(c.Path); err == nil {
		if !info.Mode().IsRegular() {
			return false, fmt.Errorf("%s %w or no file; a context is never one: move it away", c.Path, ErrLink)
		}
		return false, nil
	}
	if err := os.MkdirAll(filepath.Dir(c.Path), 0o755); err != nil {
		return false, fmt.Errorf("make the folder of contexts: %w", err)
	}
	proc := ""
	if m.PID != 0 {
		proc = fmt.Sprintf("%d %d", m.PID, m.Begun)
	}
	var b strings.Builder
	b.WriteString("#+TITLE: Session context\n")
	for _, line := range [][2]string{
		{"AGENT_ID", c.ID}, {"RUNTIME", m.Runtime}, {"MODEL", m.Model}, {"HOST", m.Host}, {"ROLE", m.Role}, {"PROCESS", proc},
		{"STARTED", m.Started.Format("2006-01-02T15:04:05-07:00")},
	} {
		if line[1] != "" {
			fmt.Fprintf(&b, "#+%s: %s\n", line[0], oneLine(line[1]))
		}
	}
	b.WriteString("\n* Summary\n\n* Journal\n")
	return publish(c.Path, b.String())
}

func oneLine(s string) string { return strings.Join(strings.Fields(s), " ") }

// publish makes a file with its content in one step. It reports false where
// there is one already.
func publish(path, text string) (bool, error) {
	temp, err := os.CreateTemp(filepath.Dir(path), ".context-*")
	if err != nil {
		return false, fmt.Errorf("make %s: %w", path, err)
	}
	defer os.Remove(temp.Name())
	_, err = temp.WriteString(text)
	err = errors.Join(err, temp.Chmod(0o644), temp.Sync(), temp.Close())
	if err != nil {
		return false, fmt.Errorf("make %s: %w", path, err)
	}
	switch err := os.Link(temp.Name(), path); {
	case errors.Is(err, fs.ErrExist):
		return false, nil
	case err != nil:
		return false, fmt.Errorf("make %s: %w", path, err)
	}
	return true, nil
}

// copyMark is the first line of the copy that an old tool may be given.
const copyMark = "#+AISYNC_COPY_OF: "

// Copied returns the id of the agent whose context is copied under the
// singleton's name; "" where the singleton is missing or is the primary's own.
func Copied(root string) (string, error) {
	path := filepath.Join(root, project.Singleton)
	info, err := os.Lstat(path)
	if errors.Is(err, fs.ErrNotExist) {
		return "", nil
	}
	if err != nil {
		return "", err
	}
	if !info.Mode().IsRegular() {
		return "", fmt.Errorf("%s %w or no file; a context is never one: move it away", path, ErrLink)
	}
	text, err := os.ReadFile(path)
	if err != nil {
		return "", fmt.Errorf("read %s: %w", path, err)
	}
	first, _, _ := strings.Cut(string(text), "\n")
	id, _ := strings.CutPrefix(first, copyMark)
	if id == first {
		return "", nil
	}
	return strings.TrimSpace(id), nil
}

// DropCopy takes away the copy that an old tool was given, before a primary
// starts. What is there and is no copy stays; a link is refused.
func DropCopy(root string) error { return Context{Root: root}.dropCopy() }

func (c Context) dropCopy() error {
	switch id, err := Copied(c.Root); {
	case err != nil:
		return err
	case id == "":
		return nil
	}
	if err := os.Remove(filepath.Join(c.Root, project.Singleton)); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("remove the copy %s: %w", project.Singleton, err)
	}
	return nil
}

// SyncCopy gives old tools a read-only copy of a context under the singleton's
// name while exactly one agent with an id is there and no primary, and takes it
// away otherwise. An agent with an id never writes that name: for one (writes
// false) a copy that is out of date only goes.
func SyncCopy(root string, writes bool) error {
	ids, err := IDs(root)
	if err != nil {
		return err
	}
	copied, err := Copied(root)
	if err != nil {
		return err
	}
	singleton := filepath.Join(root, project.Singleton)
	if _, err := os.Lstat(singleton); err == nil && copied == "" {
		return nil // the primary's own
	}
	if len(ids) != 1 || !writes {
		if copied == "" || len(ids) == 1 && ids[0] == copied {
			return nil
		}
		return Context{Root: root}.dropCopy()
	}
	text, err := os.ReadFile(ByID(root, ids[0]).Path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	temp := filepath.Join(root, ".ai", ".session-context.copy")
	if err := os.WriteFile(temp, []byte(copyMark+ids[0]+"\n"+string(text)), 0o444); err != nil {
		return fmt.Errorf("copy the context of %s: %w", ids[0], err)
	}
	return os.Rename(temp, singleton)
}

// IDs lists the agents that have a context with an id, sorted.
func IDs(root string) ([]string, error) {
	entries, err := os.ReadDir(filepath.Join(root, project.Contexts))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("read %s: %w", project.Contexts, err)
	}
	var ids []string
	for _, e := range entries {
		if id, ok := strings.CutSuffix(e.Name(), ".org"); ok && e.Type().IsRegular() && identity.Valid(id) {
			ids = append(ids, id)
		}
	}
	slices.Sort(ids)
	return ids, nil
}

// Archive moves the context to .ai/sessions under the time, the id and a few
// words, and returns where to; nothing that is there is replaced. A crash
// leaves the context in one place or in both, never in none; the next Archive
// of it ends what was begun.
func (c Context) Archive(words string, now time.Time) (string, error) {
	info, err := os.Lstat(c.Path)
	if errors.Is(err, fs.ErrNotExist) {
		return "", fmt.Errorf("there is no context of %s to archive: %s", c.Name(), c.Path)
	}
	if err != nil {
		return "", err
	}
	if !info.Mode().IsRegular() {
		return "", fmt.Errorf("%s %w or no file", c.Path, ErrLink)
	}
	if c.ID == "" {
		if id, err := Copied(c.Root); err != nil || id != "" {
			return "", errors.Join(err, fmt.Errorf("%s is a copy of the context of %s, not the primary's", c.Path, id))
		}
	}
	dir := filepath.Join(c.Root, project.Sessions)
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return "", fmt.Errorf("make %s: %w", project.Sessions, err)
	}
	if twin, ok := archived(dir, info); ok { // a crash between the two steps
		return twin, os.Remove(c.Path)
	}
	name := now.Format("2006-01-02-15-04")
	if c.ID != "" {
		name += "-" + FileName(c.ID)
	}
	if slug := Slug(words); slug != "" {
		name += "-" + slug
	}
	for n := 1; ; n++ {
		to := filepath.Join(dir, name+".org")
		if n > 1 {
			to = filepath.Join(dir, fmt.Sprintf("%s-%d.org", name, n))
		}
		switch err := os.Link(c.Path, to); {
		case err == nil:
			return to, os.Remove(c.Path)
		case !errors.Is(err, fs.ErrExist):
			return "", fmt.Errorf("archive %s: %w", c.Path, err)
		}
	}
}

// archived finds the name in dir that is the same file.
func archived(dir string, info fs.FileInfo) (string, bool) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return "", false
	}
	for _, e := range entries {
		if other, err := e.Info(); err == nil && os.SameFile(info, other) {
			return filepath.Join(dir, e.Name()), true
		}
	}
	return "", false
}

// Slug makes a few words part of a file's name: at most 40 characters of lower
// case letters and digits, words parted by hyphens.
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

package edit

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"aisync.dev/aisync/adapter"
	"aisync.dev/aisync/app/stack"
	"aisync.dev/aisync/cmd/aisync/internal/cli"
	"aisync.dev/aisync/internal/advice"
	"aisync.dev/aisync/internal/gitrepo"
	"aisync.dev/aisync/internal/shellquote"
	"aisync.dev/aisync/reconcile/fsys"
)

// notesMove finds out whether this project's notes are to move to the file that
// every program reads. Unasked it offers that to a person at a terminal, where
// the runtimes that are added would not read them.
func (e *Editing) notesMove(added []string, asked bool) (*adapter.Move, error) {
	if e.Scope != stack.ScopeProject {
		if asked {
			return nil, cli.Usagef("--move-notes moves the notes of a project; call it in one, without --scope host")
		}
		return nil, nil
	}
	runtimes := e.index.Runtimes()
	notes, err := adapter.ReadNotes(e.Places.Project, runtimes)
	if err != nil {
		return nil, err
	}
	m, err := adapter.MoveNotes(notes, runtimes)
	switch {
	case asked && err != nil:
		return nil, err
	case err != nil || m == nil:
		if asked {
			e.Notes = append(e.Notes, "no notes to move: each file of notes is empty, missing, or a link")
		}
		return nil, nil
	case asked:
		return m, nil
	}
	blind := slices.DeleteFunc(slices.Clone(added), func(id string) bool {
		rt, ok := e.index.Runtime(id)
		return !ok || adapter.ReadsNotes(notes, rt, runtimes, m.From)
	})
	if len(blind) == 0 {
		return nil, nil
	}
	if e.Flags.DryRun || e.App.Flags.JSON || !e.App.Terminal() {
		e.Notes = append(e.Notes, fmt.Sprintf("%s does not read %s, the notes of this project; to move them to %s, where every program reads them: aisync add runtime %s --move-notes",
			strings.Join(blind, ", "), m.From, m.To, blind[0]))
		return nil, nil
	}
	yes, err := e.App.Ask(fmt.Sprintf("%s does not read %s, the notes of this project. Move them to %s, where every program reads them, and leave a link?", strings.Join(blind, ", "), m.From, m.To))
	if err != nil || !yes {
		return nil, err
	}
	return m, nil
}

// moveNotes writes the common file first and puts links in the places of the
// others then, so that a kill in between leaves two equal texts.
func (e *Editing) moveNotes(m *adapter.Move) error {
	what := fmt.Sprintf("moved the notes of %s to %s and left a link; to undo it before the next apply: %s", m.From, m.To,
		shellquote.Join([]string{"mv", "-f", filepath.Join(e.Places.Project, m.To), filepath.Join(e.Places.Project, m.From)}))
	if e.Flags.DryRun {
		e.Notes = append(e.Notes, fmt.Sprintf("would move the notes of %s to %s and leave a link", m.From, m.To))
		return nil
	}
	p := e.Places
	disk, err := fsys.New(fsys.Options{Tag: "notes", Home: fsys.LogicalPath(p.Physical(p.Home)), UID: p.UID, GID: p.GID, Chown: p.Chown})
	if err != nil {
		return err
	}
	at := func(name string) (fsys.LogicalPath, fsys.Expect, []byte, error) {
		full := filepath.Join(p.Project, filepath.FromSlash(name))
		text, err := os.ReadFile(full)
		if os.IsNotExist(err) {
			return fsys.LogicalPath(full), fsys.Expect{Absent: true}, nil, nil
		}
		return fsys.LogicalPath(full), fsys.Expect{Digest: fsys.Digest(text)}, text, err
	}
	to, expect, there, err := at(m.To)
	if err == nil && (expect.Absent || !bytes.Equal(there, m.Text)) {
		err = disk.Replace(to, fsys.Content{Bytes: m.Text, Mode: 0o644}, expect, nil)
	}
	if err != nil {
		return fmt.Errorf("move the notes to %s: %w", m.To, err)
	}
	for _, name := range append([]string{m.From}, m.Equal...) {
		from, expect, _, err := at(name)
		if err == nil && gitrepo.NoLinks(p.Project) {
			err = disk.Replace(from, fsys.Content{Bytes: []byte("@" + adapter.Beside(name, m.To) + "\n")}, expect, nil)
		} else if err == nil {
			err = disk.Symlink(from, adapter.Beside(name, m.To), expect, nil)
		}
		if err != nil {
			return advice.New(fmt.Errorf("%s holds the notes now, but %s could not become a link: %w", m.To, name, err), "remove "+name+" by hand")
		}
	}
	e.Notes = append(e.Notes, what)
	return disk.Flush()
}

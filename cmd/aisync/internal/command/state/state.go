// Package state provides the command state: what aisync knows of a machine, packed for
// one that takes its place.
package state

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"aisync.dev/aisync/app/stack"
	"aisync.dev/aisync/app/stack/place"
	"aisync.dev/aisync/app/statearchive"
	"aisync.dev/aisync/cmd/aisync/internal/cli"
	"aisync.dev/aisync/internal/advice"
	"aisync.dev/aisync/internal/quantity"
	"aisync.dev/aisync/internal/shellquote"
	"aisync.dev/aisync/internal/termtext"
)

// archiveDoc is state export --json and state import --json; see docs/json.md.
type archiveDoc struct {
	FormatVersion string `json:"format_version"`
	File          string `json:"file"`
	statearchive.Head
	statearchive.Summary
}

// Command builds the command state.
func Command(a *cli.App) *cobra.Command {
	cmd := cli.GroupCommand("state", "move what aisync knows of this machine to another",
		`aisync keeps a state on each machine: what it made and what was there before, each
apply, and your answers about effects. These commands move it to a machine that takes
this one's place, so that rollback and destroy work there as here.`, "  $ aisync state export old-laptop.zip\n  $ aisync state import old-laptop.zip")
	cmd.AddCommand(exportCommand(a), importCommand(a))
	return cmd
}

func exportCommand(a *cli.App) *cobra.Command {
	return &cobra.Command{
		Use:   "export FILE",
		Short: "pack the state of this machine into a file",
		Long: `Packs records, applies, backups of what was replaced, answers about effects and
reports of nights into FILE, a .zip that only you can read. It finishes an apply
that was interrupted. The file holds the former contents of files and the key of
fingerprints of secrets: keep it private, and delete it when it has served.

Not in it: models, keys of services, logs, the spec, and files of programs.`,
		Example:     "  $ aisync state export old-laptop.zip",
		Annotations: map[string]string{"effect": "writes"},
		Args:        cli.ExactArgs(1, "the file"),
		RunE:        func(cmd *cobra.Command, args []string) error { return export(cmd.Context(), a, args[0]) },
	}
}

func importCommand(a *cli.App) *cobra.Command {
	return &cobra.Command{
		Use:   "import FILE",
		Short: "take over the state that another machine exported",
		Long: `Unpacks FILE on a machine that has no state yet, or refuses: a state that is there
is never replaced or mixed. The home must have the same path as on the other machine,
as records name full paths. Take the spec and your files over first; aisync plan
then shows what is missing or different here.`,
		Example:     "  $ aisync state import old-laptop.zip && aisync plan",
		Annotations: map[string]string{"effect": "writes"},
		Args:        cli.ExactArgs(1, "the file"),
		RunE:        func(cmd *cobra.Command, args []string) error { return imported(cmd.Context(), a, args[0]) },
	}
}

func export(ctx context.Context, a *cli.App, file string) (err error) {
	s, err := a.Held(ctx, stack.ScopeHost, 0, "aisync state export", stack.HoldRecords)
	if err != nil {
		return err
	}
	defer s.Release()
	dir := s.Places.Physical(s.Places.State)
	if found, err := statearchive.Present(dir); err != nil || len(found) == 0 {
		return errors.Join(err, errors.New("this machine has no state yet: nothing was applied here"))
	}
	out, err := os.OpenFile(file, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if errors.Is(err, fs.ErrExist) {
		return fmt.Errorf("%s exists, and is left as it is: name another file", termtext.Safe(file))
	}
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			_ = os.Remove(file)
		}
	}()
	f, err := s.Facts()
	if err != nil {
		return errors.Join(err, out.Close())
	}
	head := statearchive.Head{Aisync: cli.VersionText(), Host: f.Hostname, Home: string(s.Places.Home), Made: time.Now().UTC()}
	sum, err := statearchive.Pack(out, dir, head)
	if err = errors.Join(err, out.Sync(), out.Close()); err != nil {
		return fmt.Errorf("pack the state into %s: %w", termtext.Safe(file), err)
	}
	if a.Flags.JSON {
		head.FormatVersion = statearchive.Version
		return a.WriteJSON(archiveDoc{cli.ViewVersion, file, head, sum})
	}
	a.Printf("Packed %s into %s.\n", text(sum), termtext.Safe(file))
	a.Hint("It holds former contents of your files: keep it private. Models, keys of services, the spec and the files of programs are not in it.\nOn the other machine: aisync state import %s", shellquote.Terminal(filepath.Base(file)))
	return nil
}

// text counts what an archive has, in words.
func text(s statearchive.Summary) string {
	return fmt.Sprintf("%s of the host and of projects, %s of applies, %s", quantity.Count(s.Records, "record file"), quantity.Count(s.Applies, "journal"), quantity.Bytes(s.Bytes))
}

func imported(ctx context.Context, a *cli.App, file string) error {
	in, err := os.Open(file)
	if err != nil {
		return err
	}
	defer in.Close()
	s, err := a.Held(ctx, stack.ScopeHost, 0, "aisync state import", stack.Hold)
	if err != nil {
		return err
	}
	defer s.Release()
	p := s.Places
	dir := p.Physical(p.State)
	found, err := statearchive.Present(dir)
	if err != nil {
		return err
	}
	if len(found) > 0 {
		at := p.Anywhere(dir)
		return advice.New(fmt.Errorf("this machine has a state already, in %s (%s); nothing was written", at, strings.Join(found, ", ")), "to give that one up, move it away: mv "+at+" "+at+".before")
	}
	temp, err := os.MkdirTemp(dir, ".import-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(temp)
	info, err := in.Stat()
	if err != nil {
		return err
	}
	head, sum, err := statearchive.Unpack(in, info.Size(), temp, func(h statearchive.Head) error { return fits(h, p) })
	if err != nil {
		return fmt.Errorf("%s: %w; nothing was changed", termtext.Safe(file), err)
	}
	unpacked := *s.Machine
	unpacked.Places.State = p.State.Join(filepath.Base(temp))
	if _, err := stack.LookAtRecords(ctx, &unpacked, stack.ScopeHost); err != nil {
		return fmt.Errorf("%s was made by aisync %s, and this one cannot read its state: %w; nothing was changed", termtext.Safe(file), termtext.Safe(head.Aisync), err)
	}
	if err := give(p, temp); err != nil {
		return err
	}
	if err := statearchive.Move(temp, dir); err != nil {
		return err
	}
	if a.Flags.JSON {
		return a.WriteJSON(archiveDoc{cli.ViewVersion, file, head, sum})
	}
	a.Printf("Took over the state of %s, of %s: %s.\n", termtext.Safe(head.Host), head.Made.Local().Format("2006-01-02 15:04"), text(sum))
	a.Hint("next: aisync plan, which shows what is missing or different here")
	return nil
}

// fits returns why the state of h cannot be that of this machine.
func fits(h statearchive.Head, p place.Places) error {
	if h.Home == string(p.Home) {
		return nil
	}
	return fmt.Errorf("it is of a home at %s, and this one is %s, while records name full paths; without it, aisync apply adopts what is the same here", termtext.Safe(h.Home), p.Home)
}

// give gives what lies below dir to the person that root works for.
func give(p place.Places, dir string) error {
	if !p.Chown {
		return nil
	}
	return filepath.WalkDir(dir, func(at string, _ fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		return os.Lchown(at, p.UID, p.GID)
	})
}

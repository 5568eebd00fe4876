package apply

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"aisync.dev/aisync/app/stack"
	"aisync.dev/aisync/cmd/aisync/internal/cli"
	"aisync.dev/aisync/cmd/aisync/internal/view"
	"aisync.dev/aisync/internal/quantity"
	"aisync.dev/aisync/internal/termtext"
	"aisync.dev/aisync/reconcile"
	"aisync.dev/aisync/schema"
)

// pruneFlags holds the flags of prune.
type pruneFlags struct {
	cli.ApplyFlags
	age time.Duration
	cap int64
}

// The defaults of --backup-age and --backup-cap.
const (
	backupAge = 90 * 24 * time.Hour
	backupCap = 1 << 30 // bytes
)

// PruneCommand builds the command prune.
func PruneCommand(a *cli.App) *cobra.Command {
	f := pruneFlags{age: backupAge, cap: backupCap}
	cmd := &cobra.Command{
		Use:   "prune",
		Short: "remove leftovers of deleted projects, unknown hosts, old backups",
		Long: `Uninstalls what deleted projects left outside of their folder (trust entries,
keys in settings), drops the pins of hosts that no spec names, and removes old
backups. It never removes a backup that a rollback or an uninstall still needs.
It lists what would go and asks.`,
		Example:     "  $ aisync prune --dry-run",
		Annotations: map[string]string{"effect": "writes"},
		Args:        cli.NoArgs,
		RunE:        func(cmd *cobra.Command, _ []string) error { return prune(cmd.Context(), a, f) },
	}
	f.Register(cmd)
	fs := cmd.Flags()
	fs.DurationVar(&f.age, "backup-age", f.age, "remove backups older than `TIME`")
	fs.Int64Var(&f.cap, "backup-cap", f.cap, "remove the oldest backups until at most `BYTES` are left")
	return cmd
}

func prune(ctx context.Context, a *cli.App, f pruneFlags) error {
	w, err := a.Held(ctx, stack.ScopeHost, f.ApplyFlags.LockTimeout, "aisync prune", stack.HoldRecords)
	if err != nil {
		return err
	}
	defer w.Release()
	found := false
	owners, err := w.Store.Owners()
	if err != nil {
		return err
	}
	for _, o := range owners {
		gone, err := vanished(o)
		if err != nil {
			return err
		}
		if gone {
			found = true
			if err := pruneProject(ctx, a, o, f); err != nil {
				return err
			}
		}
	}
	hosts, err := pruneHosts(ctx, a, w, f)
	if err != nil {
		return err
	}
	backups, err := pruneBackups(a, w, f)
	if err != nil {
		return err
	}
	if !found && !hosts && !backups {
		a.Printf("Nothing to prune.\n")
	}
	return nil
}

// vanished reports whether o is a project whose folder does not exist. A folder that
// cannot be read counts as existing.
func vanished(o reconcile.Owner) (bool, error) {
	dir := o.ProjectDir()
	if dir == "" {
		return false, nil
	}
	_, err := os.Stat(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return true, nil
	}
	return false, nil
}

// pruneProject uninstalls what the deleted project o left. An empty temporary folder
// stands in for its folder.
func pruneProject(ctx context.Context, a *cli.App, o reconcile.Owner, f pruneFlags) error {
	empty, err := os.MkdirTemp("", "aisync-gone-")
	if err != nil {
		return fmt.Errorf("prune %s: %w", o, err)
	}
	defer os.RemoveAll(empty)
	m, err := a.Target(stack.ScopeHost)
	if err != nil {
		return err
	}
	w, err := stack.GoneProject(m, o, empty)
	if err != nil {
		return err
	}
	p, err := w.Engine.Plan(ctx, w.ReadEnv(), w.Store, reconcile.Input{Owners: w.Owners})
	if err != nil {
		return err
	}
	for i := range p.Changes {
		if c := &p.Changes[i]; c.Action == reconcile.Unclear {
			forget(c)
		}
	}
	if !a.Flags.JSON {
		a.Printf("%s is gone\n", termtext.Safe(o.ProjectDir()))
		text := view.NewPlanText(a, w.View, "aisync prune", cli.DiffShort)
		text.Host, text.Project = "Left on this machine", "Was in the project"
		text.Render(a.Out, view.PlanOf(p, reconcile.PlanMeta{}, w.Explain(ctx)))
	}
	if f.DryRun {
		return nil
	}
	if err := a.Confirm(f.Yes, "Uninstall its leftovers?"); err != nil {
		return err
	}
	return CarryOut(ctx, a, w, p, f.ApplyFlags, reconcile.ApplyOptions{Command: "prune"})
}

// forget reduces c, whose target is gone with its project, to a change of records.
func forget(c *reconcile.Change) {
	c.Action, c.Next = reconcile.Release, nil
	for i := range c.Leaves {
		c.Leaves[i].Decision = reconcile.Decision{Action: reconcile.Release, Pending: true, Meaning: "gone with its project"}
	}
}

// pruneHosts drops pins of hosts that no spec names any more.
func pruneHosts(ctx context.Context, a *cli.App, w *stack.Session, f pruneFlags) (bool, error) {
	known := map[string]bool{}
	var gone []string
	for _, pin := range w.HostLock.Lock.Pins() {
		if _, asked := known[pin.Host]; pin.Host == "" || asked {
			continue
		}
		_, err := w.LoadHost(ctx, pin.Host)
		if known[pin.Host] = err == nil; err != nil {
			gone = append(gone, pin.Host)
		}
	}
	if len(gone) == 0 {
		return false, nil
	}
	if s, err := w.LoadSpec(ctx, schema.Options{}); err != nil || s.Host == nil {
		a.Say("aisync: pins of other hosts are kept: cannot read the specs: %v", err)
		return false, nil
	}
	for _, name := range gone {
		a.Printf("no spec names host %s: its pins go\n", termtext.Safe(name))
	}
	if f.DryRun {
		return true, nil
	}
	if err := a.Confirm(f.Yes, "Drop the pins of "+quantity.Count(len(gone), "host")+"?"); err != nil {
		return true, err
	}
	w.HostLock.Lock.Unpin(func(p reconcile.Pin) bool { return p.Host == "" || known[p.Host] })
	return true, w.SavePins()
}

// pruneBackups removes backups that no record needs and that are old or too many.
func pruneBackups(a *cli.App, w *stack.Session, f pruneFlags) (bool, error) {
	needed := map[string]bool{}
	owners, err := w.Store.Owners()
	if err != nil {
		return false, err
	}
	for _, o := range owners {
		for _, rec := range w.Store.Records(o) {
			for _, l := range rec.Leaves {
				digest, _, _ := strings.Cut(string(l.Prior), "+") // after it: the mode
				needed[digest] = true
			}
		}
	}
	dir := w.Store.Dir()
	old, size, err := dir.SweepBackups(nil, needed, time.Now(), f.age, f.cap)
	if err != nil || len(old) == 0 {
		return false, err
	}
	a.Printf("%s, %s, that no record needs\n", quantity.Count(len(old), "old backup"), quantity.Bytes(size))
	if f.DryRun {
		return true, nil
	}
	if err := a.Confirm(f.Yes, "Remove them?"); err != nil {
		return true, err
	}
	if _, _, err := dir.SweepBackups(w.FS, needed, time.Now(), f.age, f.cap); err != nil {
		return true, err
	}
	return true, w.FS.Flush()
}

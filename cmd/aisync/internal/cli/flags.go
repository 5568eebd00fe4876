package cli

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"aisync.dev/aisync/app/stack"
	"aisync.dev/aisync/reconcile"
)

// ApplyFlags holds the flags of apply and of the commands that end in an apply:
// adopt, rollback, destroy, prune.
type ApplyFlags struct {
	Yes, KeepGoing, Trust bool
	DryRun                bool
	Accept                []string // IDs of flagged texts
	Waiting               int      // undecided effects that the apply leaves out
	Diff                  string
	Parallel              int
	LockTimeout           time.Duration
}

// Register adds the flags common to all commands that apply.
func (f *ApplyFlags) Register(cmd *cobra.Command) {
	fs := cmd.Flags()
	fs.BoolVarP(&f.Yes, "yes", "y", false, "do not ask")
	fs.BoolVarP(&f.DryRun, "dry-run", "n", false, "show what would change, and change nothing")
	fs.StringVar(&f.Diff, "diff", string(DiffShort), "`HOW` much of each difference to show: short, full, none")
	fs.IntVar(&f.Parallel, "parallel", 8, "make up to `N` changes at once")
	fs.DurationVar(&f.LockTimeout, "lock-timeout", 0, "wait up to `TIME` for another apply to end, such as 30s")
}

// TransferFlags registers --limit-rate and --connections.
func TransferFlags(fs *pflag.FlagSet, t *stack.Transfer) {
	fs.Var((*byteRate)(&t.LimitRate), "limit-rate", "limit all downloads together to `RATE` bytes per second, such as 20M or 500k")
	fs.IntVar(&t.Connections, "connections", 0, "download each file over up to `N` connections; 0: as many as make it faster, up to 16")
}

// CheckTransfer returns a usage error for an impossible number of connections.
func CheckTransfer(t stack.Transfer) error {
	if t.Connections < 0 || t.Connections > 64 {
		return Usagef("--connections %d: want 0 to 64", t.Connections)
	}
	return nil
}

// byteRate is a number of bytes per second; 0 is unlimited.
type byteRate int64

func (r *byteRate) String() string {
	if *r == 0 {
		return ""
	}
	return strconv.FormatInt(int64(*r), 10)
}

func (r *byteRate) Type() string { return "RATE" }

// Set reads a number with k, M or G for powers of 1000.
func (r *byteRate) Set(text string) error {
	units := map[string]float64{"": 1, "k": 1e3, "m": 1e6, "g": 1e9}
	digits := strings.TrimRight(text, "kKmMgG")
	n, err := strconv.ParseFloat(digits, 64)
	unit, ok := units[strings.ToLower(text[len(digits):])]
	if err != nil || !ok || !(n*unit >= 1 && n*unit < 1e15) {
		return fmt.Errorf("invalid rate %q: want bytes per second, such as 20M or 500k", text)
	}
	*r = byteRate(n * unit)
	return nil
}

// DiffMode is how much of a difference is shown.
type DiffMode string

const (
	DiffShort DiffMode = "short" // the first lines; of a new file only its length
	DiffFull  DiffMode = "full"
	DiffNone  DiffMode = "none"
)

// ParseDiffMode reads the value of --diff.
func ParseDiffMode(s string) (DiffMode, error) {
	switch m := DiffMode(s); m {
	case DiffShort, DiffFull, DiffNone:
		return m, nil
	}
	return "", Usagef("--diff %q: want short, full or none", s)
}

// ScopeFlag registers --scope with s as its default.
func ScopeFlag(s *stack.Scope, cmd *cobra.Command) {
	cmd.Flags().StringVar((*string)(s), "scope", string(*s), "work on `WHICH` part: all, host, project")
}

// ChoiceFlags registers the flags that decide conflicts.
func ChoiceFlags(cmd *cobra.Command, c *reconcile.Choice) {
	f := cmd.Flags()
	f.BoolVar(&c.Force, "force", false, "replace files that aisync did not make or that were edited (a backup is kept)")
	f.BoolVar(&c.Restore, "restore", false, "undo edits made since the last apply (a backup is kept)")
	f.BoolVar(&c.Adopt, "adopt", false, "keep what is there, and remember that decision")
	f.BoolVar(&c.TakeOver, "take-over", false, "make aisync's own what its sources have or had, and remove duplicates of that (a backup is kept)")
	f.BoolVar(&c.Merge, "merge", false, "merge the edit with the spec's change where both can stand")
}

// NarrowFlags registers --target and --exclude.
func NarrowFlags(cmd *cobra.Command, targets, excludes *[]string) {
	cmd.Flags().StringArrayVar(targets, "target", nil, "only this `ADDRESS` or pattern, and its dependencies; may be repeated")
	cmd.Flags().StringArrayVar(excludes, "exclude", nil, "leave out this `ADDRESS` or pattern, and what depends on it; may be repeated")
}

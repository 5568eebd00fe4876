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

// ApplyFlags are what apply and its relatives (adopt, rollback, destroy) take.
type ApplyFlags struct {
	Yes, KeepGoing, Trust bool
	Waiting               int // effects that are still undecided while the rest is done
	Diff                  string
	Parallel              int
	LockTimeout           time.Duration
}

// Register adds the flags that every command which applies has.
func (f *ApplyFlags) Register(cmd *cobra.Command) {
	fs := cmd.Flags()
	fs.BoolVarP(&f.Yes, "yes", "y", false, "do not ask")
	fs.StringVar(&f.Diff, "diff", string(DiffShort), "`HOW` much of differences: short, full, none")
	fs.IntVar(&f.Parallel, "parallel", 8, "make up to `N` changes at once")
	fs.DurationVar(&f.LockTimeout, "lock-timeout", 0, "wait up to `TIME` for another apply to end, such as 30s")
}

// TransferFlags registers --limit-rate and --connections.
func TransferFlags(fs *pflag.FlagSet, t *stack.Transfer) {
	fs.Var((*byteRate)(&t.LimitRate), "limit-rate", "fetch at most `RATE` bytes a second in all, such as 20M or 500k")
	fs.IntVar(&t.Connections, "connections", 4, "fetch a file in up to `N` ranges at once")
}

func CheckTransfer(t stack.Transfer) error {
	if t.Connections < 1 || t.Connections > 64 {
		return Usagef("--connections %d: want 1 to 64", t.Connections)
	}
	return nil
}

// byteRate is a number of bytes a second; 0 is no limit.
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
		return fmt.Errorf("%q is no rate; want bytes a second, such as 20M or 500k", text)
	}
	*r = byteRate(n * unit)
	return nil
}

// DiffMode says how much of a difference is shown.
type DiffMode string

const (
	DiffShort DiffMode = "short" // cut after DiffLines; new files by their length only
	DiffFull  DiffMode = "full"
	DiffNone  DiffMode = "none"
)

func ParseDiffMode(s string) (DiffMode, error) {
	switch m := DiffMode(s); m {
	case DiffShort, DiffFull, DiffNone:
		return m, nil
	}
	return "", Usagef("--diff %q: want short, full or none", s)
}

// ScopeFlag registers --scope with s as its default.
func ScopeFlag(s *stack.Scope, cmd *cobra.Command) {
	cmd.Flags().StringVar((*string)(s), "scope", string(*s), "`WHICH` part: all, host, project")
}

// ChoiceFlags are the decisions of a person about what nobody decided.
func ChoiceFlags(cmd *cobra.Command, c *reconcile.Choice) {
	f := cmd.Flags()
	f.BoolVar(&c.Force, "force", false, "write ours over what is somebody else's or was edited (a backup is kept)")
	f.BoolVar(&c.Restore, "restore", false, "put back what was edited since the last apply (a backup is kept)")
	f.BoolVar(&c.Adopt, "adopt", false, "keep what is there, and remember that ours was refused")
	f.BoolVar(&c.Merge, "merge", false, "bring their change and ours together where both can stand")
}

// NarrowFlags are --target and --exclude.
func NarrowFlags(cmd *cobra.Command, targets, excludes *[]string) {
	cmd.Flags().StringArrayVar(targets, "target", nil, "only this `ADDRESS` or pattern, and what it depends on; may be repeated")
	cmd.Flags().StringArrayVar(excludes, "exclude", nil, "not this `ADDRESS` or pattern, nor what depends on it; may be repeated")
}

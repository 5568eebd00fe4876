package task

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"aisync.dev/aisync/schema/spec"
)

// Night is the result of one night's work on the queues of several repositories.
type Night struct {
	Began, Ended time.Time
	Queues       []NightQueue
}

// NightQueue is the result of one queue, or of a repository that could not be
// opened, where Queue is "".
type NightQueue struct {
	Repo, Queue string
	Reports     []*Report
	Err         error
}

// Shift says how to work the queues of a night.
type Shift struct {
	Open   func(repo spec.Named) (Queue, error)
	Runner func(context.Context, Queue) (Runner, error)
	Until  time.Time // no task begins later; zero: no limit
	Now    func() time.Time
}

// Work works all queues of n in turn. An error of one does not stop the others;
// the returned error is that of ctx.
func (s Shift) Work(ctx context.Context, n spec.Nightly) (Night, error) {
	out := Night{Began: s.Now()}
	left := n.Max
	for _, repo := range n.Repos {
		var names []string
		q, err := s.Open(repo)
		if err == nil {
			names, err = q.Projects()
		}
		if err != nil {
			out.Queues = append(out.Queues, NightQueue{Repo: repo.Value, Err: err})
			continue
		}
		for _, name := range names {
			if n.Max > 0 && left == 0 {
				break
			}
			one := NightQueue{Repo: repo.Value, Queue: name}
			r, err := s.Runner(ctx, q)
			if err == nil {
				one.Reports, err = r.Run(ctx, name, left, s.Until)
			}
			if !Idle(err) {
				one.Err = err
			}
			if n.Max > 0 {
				left -= len(one.Reports)
			}
			out.Queues = append(out.Queues, one)
		}
	}
	out.Ended = s.Now()
	return out, ctx.Err()
}

// Idle reports whether an error of a Runner only means that there is nothing to
// do now.
func Idle(err error) bool { return errors.Is(err, ErrNone) && !errors.Is(err, ErrUnable) }

// OK reports whether every queue was worked and no task failed.
func (n Night) OK() bool {
	for _, q := range n.Queues {
		if q.Err != nil {
			return false
		}
		for _, r := range q.Reports {
			if !r.OK() {
				return false
			}
		}
	}
	return true
}

// Text returns the night's report for people.
func (n Night) Text() string {
	var b strings.Builder
	fmt.Fprintf(&b, "The night from %s to %s\n", n.Began.Local().Format("2006-01-02 15:04"), n.Ended.Local().Format("15:04"))
	for _, q := range n.Queues {
		fmt.Fprintf(&b, "\n%s", q.Repo)
		if q.Queue != "" {
			fmt.Fprintf(&b, ", queue %s", q.Queue)
		}
		b.WriteString(": ")
		switch {
		case len(q.Reports) > 0:
			b.WriteString(Summary(q.Reports))
		case q.Err == nil:
			b.WriteString("nothing to do\n")
		default:
			b.WriteString("nothing was done\n")
		}
		if q.Err != nil {
			for line := range strings.Lines(nightLines(q.Err)) {
				fmt.Fprintf(&b, "  %s\n", strings.TrimRight(line, "\n"))
			}
		}
	}
	return b.String()
}

// Write stores the night's text in dir, in a file named for its time.
func (n Night) Write(dir string) error {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return fmt.Errorf("write down the night: %w", err)
	}
	name := filepath.Join(dir, n.Began.UTC().Format("20060102-150405.000")+".txt")
	if err := os.WriteFile(name, []byte(n.Text()), 0o600); err != nil {
		return fmt.Errorf("write down the night: %w", err)
	}
	return nil
}

// LastNight returns the text of the last night in dir; "" for none.
func LastNight(dir string) (string, error) {
	all, err := filepath.Glob(filepath.Join(dir, "*.txt")) // sorted, and so by time
	if err != nil || len(all) == 0 {
		return "", err
	}
	text, err := os.ReadFile(all[len(all)-1])
	return string(text), err
}

package run

import (
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"time"

	"aisync.dev/aisync/agents/clock"
	"aisync.dev/aisync/internal/filelock"
)

const lockFile = ".lock"

// ErrBusy reports that another process holds the lock of a run or of the store.
var ErrBusy = errors.New("another process holds the lock")

// patience bounds the wait for a lock. Its holder appends a few lines; only a
// stopped process holds it longer.
const patience = 30 * time.Second

// Change is one change of a run, made under its lock.
type Change struct {
	State *State       // as of the last event, including those of this change; invalid after it
	Now   clock.Moment // the time of all its events
	id    string
	dir   string // the workspace
	lines []byte
	last  sum
	size  int64 // of the events before this change
	calm  bool  // only heartbeats: a loss of power may lose them
}

// Change runs do while no other process changes the run, and then appends the
// events that it added in one write. If do fails, nothing is written. A crash
// leaves all of the events, none, or a prefix that is a legal run; a torn last
// line waits for an explicit recovery.
//
// The cost grows with the run's tasks and workers, and not with the number of
// events.
func (r *Run) Change(do func(*Change) error) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	held, err := r.exclusive()
	if err != nil {
		return err
	}
	defer held.Close()
	s := r.cache
	r.cache = nil
	if s == nil {
		s = r.startState()
	}
	err = r.load(s, s.AsOf.Seq == 0, nil)
	if r.unfinished(err) {
		_, s, err = r.recoverLocked()
	}
	if err != nil {
		return err
	}
	before := s.AsOf.Seq
	c := &Change{State: s, Now: r.Now(), id: r.ID, dir: r.Workspace(), size: s.AsOf.Offset, calm: true}
	copy(c.last[:], s.AsOf.Sum)
	if err := do(c); err != nil {
		return err
	}
	if len(c.lines) == 0 {
		r.cache = s
		return nil
	}
	due := before/stride != s.AsOf.Seq/stride || !c.calm && len(s.Tasks)+len(s.Workers) <= small
	if err := r.append(held, c.lines, c.size, !c.calm || due); err != nil {
		return err
	}
	r.cache = s
	if due {
		r.project(s)
	}
	return nil
}

// The files derived from the events are rewritten after every change except
// heartbeats in a run of up to small tasks and workers, and in any run after
// every stride events: an append reads at most that many.
const (
	stride = 64
	small  = 1000
)

// Add judges e as the next event and, if no rule forbids it, adds it to the
// change. It sets Seq and At. A refusal is a *Refusal.
func (c *Change) Add(e Event) error {
	e.Seq, e.At = c.State.AsOf.Seq+1, c.Now
	lines, s, err := appendLine(c.lines, e, c.last)
	if err != nil {
		return err
	}
	if err := c.State.apply(e); err != nil {
		return err
	}
	c.State.AsOf = AsOf{Seq: e.Seq, Offset: c.size + int64(len(lines)), Sum: string(s[:])}
	c.lines, c.last = lines, s
	c.calm = c.calm && e.Type == WorkerHeartbeat
	return nil
}

// add is Add with data.
func (c *Change) add(e Event, data any) (err error) {
	if e.Data, err = pack(data); err != nil {
		return err
	}
	return c.Add(e)
}

// token returns the token of a claim that is the next event. Its number grows
// with every claim of the run; the rest cannot be guessed.
func (c *Change) token() string {
	var b [8]byte
	rand.Read(b[:]) // never fails
	return fmt.Sprintf("%d-%s", c.State.AsOf.Seq+1, hex.EncodeToString(b[:]))
}

// append appends lines to the events. It undoes a partial write, so that a full
// disk leaves no torn line.
func (r *Run) append(held *os.File, lines []byte, size int64, synced bool) error {
	if err := r.store.callHook("append", eventsFile); err != nil {
		return err
	}
	f, err := r.root.OpenFile(eventsFile, os.O_WRONLY|os.O_APPEND, 0)
	if err != nil {
		return fmt.Errorf("append to %s: %w", eventsFile, err)
	}
	in := intent{writing, size, size + int64(len(lines)), r.Now().Boot}
	if err = in.write(held); err == nil {
		_, err = f.Write(lines)
	}
	if err == nil && synced && !r.store.opts.unsynced {
		err = f.Sync()
	}
	if err != nil {
		err = errors.Join(err, f.Truncate(size))
	} else {
		in.state = written
		err = in.write(held)
	}
	if err = errors.Join(err, f.Close()); err != nil {
		return fmt.Errorf("append to %s: %w", eventsFile, err)
	}
	return r.store.callHook("appended", eventsFile)
}

// intent is the lock file's record of the last append: the range that it writes,
// and whether it finished. The kernel may stop a killed process between two
// pages of one write; the intent distinguishes the resulting line, which was
// never acknowledged, from damage.
type intent struct {
	state    string
	from, to int64
	boot     string
}

const (
	writing    = "writing"
	written    = "written"
	intentForm = "%-8s %20d %20d %-20s\n" // of fixed length, so that one write replaces it
)

func (i intent) write(held *os.File) error {
	_, err := held.WriteAt(fmt.Appendf(nil, intentForm, i.state, i.from, i.to, i.boot), 0)
	return err
}

// unfinished reports whether err is the torn end of a killed append: one that
// recorded its intent on this boot of this machine, and never its end. After a
// loss of power it is damage.
func (r *Run) unfinished(err error) bool {
	var d *Damage
	if !errors.As(err, &d) || !d.Torn {
		return false
	}
	text, readErr := read(r.root, lockFile)
	var i intent
	if _, scanErr := fmt.Sscan(string(text), &i.state, &i.from, &i.to, &i.boot); readErr != nil || scanErr != nil {
		return false
	}
	info, statErr := r.root.Stat(eventsFile)
	return statErr == nil && i.state == writing && i.boot == r.Now().Boot && i.from <= d.Offset && d.Offset < info.Size() && info.Size() < i.to
}

// exclusive takes the run's lock; closing it releases it.
func (r *Run) exclusive() (*os.File, error) { return lock(r.root, filelock.Exclusive) }

// shared waits for a change of the run to end. Before the first change there is
// no lock, and none is made.
func (r *Run) shared() (*os.File, error) { return lock(r.root, filelock.Shared) }

// lock takes the lock file of a folder; a shared lock only where the file
// exists.
func lock(root *os.Root, how filelock.Kind) (*os.File, error) {
	flags := os.O_RDWR | os.O_CREATE
	if how == filelock.Shared {
		flags = os.O_RDONLY
	}
	f, err := root.OpenFile(lockFile, flags, 0o600)
	if how == filelock.Shared && (errors.Is(err, fs.ErrNotExist) || errors.Is(err, fs.ErrPermission)) {
		return nil, nil // Close of a nil file does nothing
	}
	if err != nil {
		return nil, fmt.Errorf("open the lock of %s: %w", root.Name(), err)
	}
	err = filelock.WaitFor(patience, f, how)
	if errors.Is(err, filelock.ErrBusy) {
		f.Close()
		return nil, fmt.Errorf("%w: %s for %s already", ErrBusy, root.Name(), patience)
	}
	if err != nil {
		f.Close()
		return nil, fmt.Errorf("lock %s: %w", root.Name(), err)
	}
	return f, nil
}

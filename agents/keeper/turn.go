package keeper

import (
	"cmp"
	"errors"
	"io/fs"
	"os"
	"path"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"aisync.dev/aisync/agents/process"
)

// Beside the records lie SEAT.turn, while the agent of a seat is in a turn, and
// SEAT.stall, once it was reported as stalled. The time of the first is that of the
// last hook, and its content the seconds after which the agent counts as stalled.
const (
	turnEnding  = ".turn"
	stallEnding = ".stall"
)

// WitnessCommand is the argument with which a keeper calls its program where an
// agent has stalled: PROGRAM WitnessCommand ROOT SEAT.
const WitnessCommand = "__stalled"

// Turn is a turn of an agent that has not ended.
type Turn struct {
	Last  time.Time     // its last sign of life
	Limit time.Duration // beyond which it counts as stalled
}

// Stalled reports whether the turn shows no sign of life for too long.
func (t Turn) Stalled(now time.Time) bool { return now.Sub(t.Last) >= t.Limit }

func beside(root, seat, ending string) string { return path.Join(root, Dir, seat+ending) }

// Moves records a sign of life of the agent of a seat, which is in a turn. A stall
// ends with it.
func Moves(root, seat string, limit time.Duration) error {
	file, now := beside(root, seat, turnEnding), time.Now()
	seconds := strconv.Itoa(int(limit.Seconds())) + "\n"
	if was, err := readSmall(file); err != nil || was != seconds {
		if err := os.MkdirAll(path.Dir(file), 0o755); err != nil {
			return err
		}
		if err := writeSmall(file, seconds); err != nil {
			return err
		}
	} else if err := os.Chtimes(file, now, now); err != nil {
		return err
	}
	return gone(os.Remove(beside(root, seat, stallEnding)))
}

// Rests records that the turn of the agent of a seat is over: it waits for a prompt.
func Rests(root, seat string) error {
	return errors.Join(gone(os.Remove(beside(root, seat, turnEnding))), gone(os.Remove(beside(root, seat, stallEnding))))
}

func gone(err error) error {
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}

// TurnOf returns the turn of the agent of a seat; false where it is in none.
func TurnOf(root, seat string) (Turn, bool) {
	file := beside(root, seat, turnEnding)
	info, err := os.Lstat(file)
	if err != nil || !info.Mode().IsRegular() {
		return Turn{}, false
	}
	text, err := readSmall(file)
	seconds, bad := strconv.Atoi(strings.TrimSpace(text))
	if err != nil || bad != nil || seconds <= 0 {
		return Turn{}, false
	}
	return Turn{info.ModTime(), time.Duration(seconds) * time.Second}, true
}

// Stall is a report that an agent has stalled.
type Stall struct {
	Since time.Time // its last sign of life
	Why   string
}

// StallOf returns what was reported of a turn; false if nothing was.
func StallOf(root, seat string, t Turn) (Stall, bool) {
	text, err := readSmall(beside(root, seat, stallEnding))
	since, why, ok := strings.Cut(text, "\n")
	if err != nil || !ok || since != stamp(t) {
		return Stall{}, false
	}
	return Stall{t.Last, strings.TrimSuffix(why, "\n")}, true
}

// Report records that a turn has stalled, and why; false where that was done.
func Report(root, seat string, t Turn, why string) (first bool, err error) {
	if _, done := StallOf(root, seat, t); done {
		return false, nil
	}
	return true, writeSmall(beside(root, seat, stallEnding), stamp(t)+"\n"+why+"\n")
}

func stamp(t Turn) string { return strconv.FormatInt(t.Last.UnixNano(), 10) }

// writeSmall makes a file of this package anew: what lies in its place, such as a link
// of a repository, is removed and not followed.
func writeSmall(file, text string) error {
	if err := gone(os.Remove(file)); err != nil {
		return err
	}
	f, err := os.OpenFile(file, os.O_WRONLY|os.O_CREATE|os.O_EXCL|unix.O_NOFOLLOW, 0o644)
	if err != nil {
		return err
	}
	_, err = f.WriteString(text)
	return errors.Join(err, f.Close())
}

// readSmall reads a file of this package; it follows no link and waits for no pipe.
func readSmall(file string) (string, error) {
	f, err := os.OpenFile(file, os.O_RDONLY|unix.O_NOFOLLOW|unix.O_NONBLOCK, 0)
	if err != nil {
		return "", err
	}
	defer f.Close()
	buf := make([]byte, 4096)
	n, err := f.Read(buf)
	if n > 0 {
		err = nil
	}
	return string(buf[:n]), err
}

// lookEvery is how often a keeper looks whether a turn has begun. It looks at the end
// of a turn's limit besides.
const lookEvery = 10 * time.Second

// searchPath returns where the program of a process finds others: the witness needs
// tmux, and a keeper has no environment.
func searchPath(pid int) string {
	env, _ := process.System().Env(pid)
	return cmp.Or(env["PATH"], "/usr/local/bin:/usr/bin:/bin")
}

// watch is what a keeper knows of the turns of its agent.
type watch struct {
	seat  string
	pid   int       // of the agent's program
	asked time.Time // when the witness was called last
	last  time.Time // of which sign of life
}

// next returns how long there is nothing to look at.
func (w *watch) next(root string, now time.Time) time.Duration {
	if w.seat == "" {
		return renewal
	}
	t, ok := TurnOf(root, w.seat)
	if _, reported := StallOf(root, w.seat, t); !ok || reported {
		return lookEvery
	}
	return min(max(w.due(t).Sub(now), 0)+10*time.Millisecond, lookEvery)
}

// due is when a turn is to be reported if it shows no further sign of life.
func (w *watch) due(t Turn) time.Time {
	if w.last.Equal(t.Last) { // it was looked at: a command may run, or the window prints
		return w.asked.Add(t.Limit)
	}
	return t.Last.Add(t.Limit)
}

// look calls the witness where a turn has stalled. It does not wait for it.
func (w *watch) look(root string, now time.Time) {
	if w.seat == "" {
		return
	}
	t, ok := TurnOf(root, w.seat)
	if _, reported := StallOf(root, w.seat, t); !ok || reported || now.Before(w.due(t)) {
		return
	}
	w.asked, w.last = now, t.Last
	program, err := os.Executable()
	if err != nil {
		return
	}
	if p, err := spawn([]string{"PATH=" + searchPath(w.pid)}, program, WitnessCommand, root, w.seat); err == nil {
		go func() { _, _ = p.Wait() }()
	}
}

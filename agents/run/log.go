package run

import (
	"bufio"
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"sync"
)

const eventsFile = "events.jsonl"

// wholeLimit is the size up to which a read of a run checks all of its events:
// about 20,000. Above it, reading begins after the checkpoint.
const wholeLimit = 4 << 20

// Damage is a place where events are unreadable. Until a recovery, events after
// it are ignored, and no event is appended.
type Damage struct {
	Run, Path string
	Line      int64 // of the file, and the number of the event expected there
	Offset    int64
	Why       string
	Torn      bool   // only an incomplete last line
	Next      string // what to do, instead of a recovery
}

// Error implements error.
func (d *Damage) Error() string {
	return fmt.Sprintf("%s:%d: (byte %d) %s", d.Path, d.Line, d.Offset, d.Why)
}

// Hint returns the command that examines and repairs it.
func (d *Damage) Hint() string { return cmp.Or(d.Next, "run: aisync run recover "+d.Run) }

func (r *Run) damage(at AsOf, torn bool, format string, args ...any) *Damage {
	d := &Damage{Run: r.ID, Path: filepath.Join(r.Path, eventsFile), Line: at.Seq + 1, Offset: at.Offset, Why: fmt.Sprintf(format, args...), Torn: torn}
	if r.store.bare {
		d.Next = "move " + d.Path + " away: it holds only the attempts of this task"
	}
	return d
}

// initialState returns the state before the first event.
func (r *Run) initialState() *State {
	first := firstSum(r.ID)
	s := &State{ID: r.ID, AsOf: AsOf{Sum: string(first[:])}}
	s.index()
	return s
}

// readers hold one line each. A list of 300 short runs would otherwise clear 300
// buffers of that size.
var readers = sync.Pool{New: func() any { return bufio.NewReaderSize(nil, maxLine) }}

// follow reads the lines of events after s.AsOf and applies them to s. It passes
// every event to each, if there is one; Data is valid only during the call.
// Memory does not grow with the number of lines.
func (r *Run) follow(events io.ReaderAt, s *State, each func(Event) error) error {
	in := readers.Get().(*bufio.Reader)
	defer readers.Put(in)
	in.Reset(io.NewSectionReader(events, s.AsOf.Offset, 1<<62))
	var d decoder
	var prev sum
	copy(prev[:], s.AsOf.Sum)
	at := s.AsOf
	defer func() {
		at.Sum = string(prev[:])
		s.AsOf = at
	}()
	for {
		line, err := in.ReadSlice('\n')
		switch {
		case errors.Is(err, io.EOF) && len(line) == 0:
			return nil
		case errors.Is(err, io.EOF):
			return r.damage(at, true, "the line is incomplete: its writer was killed")
		case errors.Is(err, bufio.ErrBufferFull):
			return r.damage(at, false, "the line is longer than %d kB", maxLine>>10)
		case err != nil:
			return fmt.Errorf("read %s: %w", eventsFile, err)
		}
		e, sum, err := d.line(line[:len(line)-1], prev)
		if err != nil {
			return r.damage(at, false, "%v", err)
		}
		if e.Seq != at.Seq+1 {
			return r.damage(at, false, "event %d in place of event %d", e.Seq, at.Seq+1)
		}
		if err := s.apply(e); err != nil {
			return r.damage(at, false, "event %d is not allowed here: %v", e.Seq, err)
		}
		prev = sum
		at.Seq, at.Offset = e.Seq, at.Offset+int64(len(line))
		if each != nil {
			if err := each(e); err != nil {
				return err
			}
		}
	}
}

// hasLineEnd reports whether the line that ends at s.AsOf is still there: then the
// lines before it need no second read.
func hasLineEnd(events io.ReaderAt, at AsOf) bool {
	if at.Offset < int64(tailSize)+1 || len(at.Sum) != sumSize {
		return false
	}
	tail := make([]byte, tailSize+1)
	if _, err := events.ReadAt(tail, at.Offset-int64(len(tail))); err != nil {
		return false
	}
	return bytes.Equal(tail[sumField:sumField+sumSize], []byte(at.Sum)) && tail[tailSize] == '\n'
}

// open opens the events for reading.
func (r *Run) open() (*os.File, error) {
	f, err := r.root.Open(eventsFile)
	if err != nil {
		return nil, fmt.Errorf("run %s: read %s: %w", r.ID, eventsFile, err)
	}
	if info, err := f.Stat(); err != nil || !info.Mode().IsRegular() {
		f.Close()
		return nil, fmt.Errorf("run %s: %s is not a regular file", r.ID, eventsFile)
	}
	return f, nil
}

// load brings s up to the last event. It writes nothing. With a *Damage, s is
// the run up to there. If compare is set, a state that began with the first
// event is compared with the checkpoint; one that began at the checkpoint needs
// no comparison.
func (r *Run) load(s *State, compare bool, each func(Event) error) error {
	f, err := r.open()
	if err != nil {
		return err
	}
	defer f.Close()
	if s.AsOf.Seq > 0 && !hasLineEnd(f, s.AsOf) {
		if each != nil {
			return r.damage(AsOf{Seq: s.AsOf.Seq - 1, Offset: s.AsOf.Offset}, false, "event %d changed while the events were read", s.AsOf.Seq)
		}
		*s, compare = *r.initialState(), true
	}
	if err := r.follow(f, s, each); err != nil || !compare {
		return err
	}
	return r.checkCheckpoint(f, s, r.checkpoint())
}

// startState returns the initial state that needs the fewest events: the checkpoint's,
// or the one before the first event.
func (r *Run) startState() *State {
	if cp := r.checkpoint(); cp != nil {
		return cp
	}
	return r.initialState()
}

// checkCheckpoint fails if the checkpoint has seen events that are gone: cut off at the
// end of a line, or rewritten. The chain of checksums alone cannot detect that.
func (r *Run) checkCheckpoint(events *os.File, s, cp *State) error {
	switch {
	case s.AsOf.Seq == 0:
		return r.damage(s.AsOf, false, "no events: a run begins with one")
	case cp == nil, cp.Recovered < s.Recovered: // a recovery has cut off what the checkpoint saw
		return nil
	case cp.AsOf.Seq > s.AsOf.Seq:
		return r.damage(s.AsOf, false, "the file ends at event %d, but had event %d: its end was cut off", s.AsOf.Seq, cp.AsOf.Seq)
	case !hasLineEnd(events, cp.AsOf):
		return r.damage(AsOf{Seq: cp.AsOf.Seq - 1, Offset: cp.AsOf.Offset}, false, "event %d differs from the checkpoint's: the file was rewritten", cp.AsOf.Seq)
	}
	return nil
}

// State reads the run as it is now. It writes nothing, not even a lock. It fails
// with a *Damage where the events are not sound.
func (r *Run) State() (*State, error) {
	if info, err := r.root.Stat(eventsFile); err == nil && info.Size() > wholeLimit {
		return r.readConsistent(r.startState(), nil)
	}
	return r.readConsistent(r.initialState(), nil)
}

// Replay reads all events from the first, passes each to each (Data is valid
// only during the call), and returns the state after the last. It writes
// nothing.
func (r *Run) Replay(each func(Event) error) (*State, error) {
	return r.readConsistent(r.initialState(), each)
}

// readConsistent reads without a lock. Damage may be a write in progress: then it waits
// for the writer and continues from there.
func (r *Run) readConsistent(s *State, each func(Event) error) (*State, error) {
	compare := s.AsOf.Seq == 0
	err := r.load(s, compare, each)
	var d *Damage
	if errors.As(err, &d) {
		held, lockErr := r.shared()
		if lockErr != nil {
			return nil, lockErr
		}
		defer held.Close()
		err = r.load(s, compare, each)
		if r.unfinished(err) { // the next change removes it
			return s, nil
		}
	}
	if err != nil {
		return nil, err
	}
	return s, nil
}

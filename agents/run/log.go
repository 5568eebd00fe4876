package run

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"sync"
)

const eventsFile = "events.jsonl"

// wholeLimit is the size up to which a look at a run reads and checks all of
// its events: about 20,000. Above it, it begins behind the checkpoint.
const wholeLimit = 4 << 20

// Damage is a place where events cannot be read. Nothing behind it is believed,
// and nothing is appended, until a recovery.
type Damage struct {
	Run, Path string
	Line      int64 // of the file, which is also the number of the event that should stand there
	Offset    int64
	Why       string
	Torn      bool // nothing but a last line without its end
	Next      string
}

// Error says where and why.
func (d *Damage) Error() string {
	return fmt.Sprintf("%s:%d: (byte %d) %s", d.Path, d.Line, d.Offset, d.Why)
}

// Hint is the command that looks at it and mends it.
func (d *Damage) Hint() string { return "run: aisync run recover " + d.Run }

func (r *Run) damage(at AsOf, torn bool, format string, args ...any) *Damage {
	return &Damage{Run: r.ID, Path: filepath.Join(r.Path, eventsFile), Line: at.Seq + 1, Offset: at.Offset, Why: fmt.Sprintf(format, args...), Torn: torn}
}

// fresh is the state before the first event.
func (r *Run) fresh() *State {
	first := firstSum(r.ID)
	s := &State{ID: r.ID, AsOf: AsOf{Sum: string(first[:])}}
	s.index()
	return s
}

// readers hold one line each. A list of 300 short runs would otherwise clear
// 300 buffers of that size.
var readers = sync.Pool{New: func() any { return bufio.NewReaderSize(nil, maxLine) }}

// follow reads the lines of events behind s.AsOf and makes s what it is after
// them. each, if there is one, is given every event; its Data does not outlive
// the call. Memory does not grow with the number of lines.
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
			return r.damage(at, true, "the line has no end: its writer was stopped in the middle")
		case errors.Is(err, bufio.ErrBufferFull):
			return r.damage(at, false, "the line is longer than %d kB", maxLine>>10)
		case err != nil:
			return fmt.Errorf("read %s: %w", eventsFile, err)
		}
		e, sum, err := d.line(line[:len(line)-1], prev)
		if err != nil {
			return r.damage(at, false, "the line %v", err)
		}
		if e.Seq != at.Seq+1 {
			return r.damage(at, false, "event %d stands where event %d should", e.Seq, at.Seq+1)
		}
		if err := s.apply(e); err != nil {
			return r.damage(at, false, "event %d is not possible here: %v", e.Seq, err)
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

// ends reports whether the line that ends at s.AsOf is still there: what was
// read before it need not be read again.
func ends(events io.ReaderAt, at AsOf) bool {
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
// the run up to there. A state that began with the first event is compared with
// the checkpoint, if compare says so; one that began there needs it not.
func (r *Run) load(s *State, compare bool, each func(Event) error) error {
	f, err := r.open()
	if err != nil {
		return err
	}
	defer f.Close()
	if s.AsOf.Seq > 0 && !ends(f, s.AsOf) {
		if each != nil {
			return r.damage(AsOf{Seq: s.AsOf.Seq - 1, Offset: s.AsOf.Offset}, false, "event %d has changed while the events were read", s.AsOf.Seq)
		}
		*s, compare = *r.fresh(), true
	}
	if err := r.follow(f, s, each); err != nil || !compare {
		return err
	}
	return r.agrees(f, s, r.checkpoint())
}

// near is the state to begin with that needs the fewest events: the
// checkpoint's, or the one before the first event.
func (r *Run) near() *State {
	if cp := r.checkpoint(); cp != nil {
		return cp
	}
	return r.fresh()
}

// agrees fails if the checkpoint has seen events that are gone: cut off at the
// end of a line, or written again in another way. The chain of checksums alone
// cannot tell that.
func (r *Run) agrees(events *os.File, s, cp *State) error {
	switch {
	case s.AsOf.Seq == 0:
		return r.damage(s.AsOf, false, "there are no events: a run begins with one")
	case cp == nil, cp.Recovered < s.Recovered: // a recovery has cut off what it has seen
		return nil
	case cp.AsOf.Seq > s.AsOf.Seq:
		return r.damage(s.AsOf, false, "the file ends at event %d, and event %d was there: its end was cut off", s.AsOf.Seq, cp.AsOf.Seq)
	case !ends(events, cp.AsOf):
		return r.damage(AsOf{Seq: cp.AsOf.Seq - 1, Offset: cp.AsOf.Offset}, false, "event %d is another than the checkpoint has seen: the file was written anew", cp.AsOf.Seq)
	}
	return nil
}

// State reads the run as it is now. It writes nothing, not even a lock. It
// fails with a *Damage where the events cannot be believed.
func (r *Run) State() (*State, error) {
	if info, err := r.root.Stat(eventsFile); err == nil && info.Size() > wholeLimit {
		return r.steady(r.near(), nil)
	}
	return r.steady(r.fresh(), nil)
}

// Replay reads all events from the first, gives each to each (whose Data does
// not outlive the call), and returns the state after the last. It writes nothing.
func (r *Run) Replay(each func(Event) error) (*State, error) { return r.steady(r.fresh(), each) }

// steady looks without a lock. Who meets damage may have met a writer in the
// middle of its work, and goes on from there when that one is done.
func (r *Run) steady(s *State, each func(Event) error) (*State, error) {
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
		if r.unfinished(err) { // the next change takes it away
			return s, nil
		}
	}
	if err != nil {
		return nil, err
	}
	return s, nil
}

package ledger

import (
	"fmt"
	"iter"
	"slices"
	"sort"
	"strings"

	"aisync.dev/aisync/agents/ledger/jsontext"
	"aisync.dev/aisync/agents/ledger/trail"
)

// OpenMessages are the open messages of a ledger, by time. It keeps where their
// lines are in the audit trail, whose files it holds open until Close.
type OpenMessages struct {
	trail *trail.Trail
	list  []openMessage
	more  map[string][]trail.Place // of messages with more events than one, by id
}

// openMessage is what is kept of a message in the first pass over the trail.
type openMessage struct {
	id, ts string
	first  trail.Place // of its first event
	sent   bool        // false: only answers of it were found so far
}

// Of a long trail, room for its messages is taken at once.
const (
	usualSend = 200     // bytes of a line
	maxRoom   = 200_000 // messages, of which more grow as usual
)

// closed is the index of a message that is done.
const closed = -1

// openMessages reads the whole trail once, and passes every line on to each: what
// it says, or why it is no record.
func (l *Ledger) openMessages(each func(trail.Line, *trail.Fields, error)) (*OpenMessages, error) {
	t, err := l.openTrail()
	if err != nil {
		return nil, err
	}
	room := min(t.Size()/usualSend, maxRoom) // growing costs a fifth of the time
	o := &OpenMessages{trail: t, more: map[string][]trail.Place{}, list: make([]openMessage, 0, room)}
	index := make(map[string]int32, room)
	var texts pieces
	var f trail.Fields
	for line, err := range t.Lines() {
		if err != nil {
			t.Close()
			return nil, err
		}
		bad := f.Read(line.Text)
		each(line, &f, bad)
		if bad != nil || len(f.MessageID) <= len(`""`) {
			continue
		}
		action := f.Action.Bytes()
		sends := string(action) == "send"
		if sends && f.ReplyTo != nil {
			if i, known := trail.Of(index, f.ReplyTo); known && i != closed && !f.MessageID.Is(o.list[i].id) {
				o.more[o.list[i].id] = append(o.more[o.list[i].id], line.Place)
			}
		}
		i, known := trail.Of(index, f.MessageID)
		switch {
		case known && i == closed:
			continue
		case string(action) == "done":
			id := f.MessageID.String()
			index[id] = closed
			if known {
				o.list[i] = openMessage{}
				delete(o.more, id)
			}
			continue
		case !sends && string(action) != "ack", sends && !actionable(f.Type.Bytes()):
			continue
		case known:
			o.more[o.list[i].id] = append(o.more[o.list[i].id], line.Place)
		default:
			i = int32(len(o.list))
			m := openMessage{id: texts.keep(f.MessageID), ts: texts.keep(f.TS), first: line.Place}
			index[m.id] = i
			o.list = append(o.list, m)
		}
		if m := &o.list[i]; sends {
			if m.sent = true; !f.TS.Is(m.ts) {
				m.ts = f.TS.String()
			}
		}
	}
	o.list = slices.DeleteFunc(o.list, func(m openMessage) bool { return !m.sent })
	sort.Slice(o.list, func(i, j int) bool {
		x, y := &o.list[i], &o.list[j]
		return x.ts < y.ts || x.ts == y.ts && x.first.Compare(y.first) < 0
	})
	return o, nil
}

// pieces keeps short texts together: of many small ones the collector of garbage
// would look at each.
type pieces struct{ strings.Builder }

const pieceSize = 16 << 10

func (p *pieces) keep(t trail.Text) string {
	if p.Cap()-p.Len() < len(t) {
		p.Builder = strings.Builder{}
		p.Grow(max(pieceSize, len(t)))
	}
	from := p.Len()
	t.AppendTo(&p.Builder)
	return p.Builder.String()[from:]
}

// Close closes the files. After it only Len may be called.
func (o *OpenMessages) Close() error { return o.trail.Close() }

// Len returns their number.
func (o *OpenMessages) Len() int { return len(o.list) }

// All yields the messages by time. Lists in a message are valid until the next one.
// An error ends the sequence.
func (o *OpenMessages) All() iter.Seq2[Thread, error] { return o.from(0) }

func (o *OpenMessages) from(first int) iter.Seq2[Thread, error] {
	return func(yield func(Thread, error) bool) {
		w, thread := trail.Window{Trail: o.trail}, Thread{}
		var p trail.Parser
		for _, m := range o.list[first:] {
			begin(&thread, "", "")
			err := m.read(&thread, m.first, &w, &p)
			for _, at := range o.more[m.id] {
				if err == nil {
					err = m.read(&thread, at, &w, &p)
				}
			}
			if !yield(thread, err) || err != nil {
				return
			}
		}
	}
}

// read reads an event of m again and adds it to thread.
func (m openMessage) read(thread *Thread, at trail.Place, w *trail.Window, p *trail.Parser) error {
	line, err := w.Line(at)
	if err != nil {
		return err
	}
	p.ID, p.TS = m.id, m.ts
	e := p.Event(line)
	switch {
	case e.MessageID != m.id && e.ReplyTo == m.id:
		thread.answer(e)
		return nil
	case e.MessageID != m.id:
		return fmt.Errorf("%s was changed while it was read; run the command again", w.Name(at))
	}
	if thread.MessageID == "" {
		begin(thread, e.MessageID, e.TS)
	}
	thread.add(e)
	return nil
}

// MarshalJSON returns the list of all threads.
func (o *OpenMessages) MarshalJSON() ([]byte, error) {
	var w jsontext.Writer
	w.Begin('[')
	for m, err := range o.All() {
		if err != nil {
			return nil, err
		}
		w.Next()
		m.WriteTo(&w)
	}
	w.End(']')
	return w.Text, nil
}

// lastOpen returns the last limit open messages (0: all).
func (l *Ledger) lastOpen(limit int) ([]Thread, error) {
	o, err := l.openMessages(func(trail.Line, *trail.Fields, error) {})
	if err != nil {
		return nil, err
	}
	defer o.Close()
	first := 0
	if limit > 0 {
		first = max(0, o.Len()-limit)
	}
	out := []Thread{}
	for m, err := range o.from(first) {
		if err != nil {
			return nil, err
		}
		m.AckedBy, m.Events = slices.Clone(m.AckedBy), slices.Clone(m.Events)
		out = append(out, m)
	}
	return out, nil
}

package run

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"time"

	"aisync.dev/aisync/agents/clock"
)

// Event is one line of events.jsonl. Its type determines the required fields and
// the form of Data, a JSON object.
type Event struct {
	Seq    int64
	At     clock.Moment
	Type   string
	Task   string
	Worker string
	Token  string
	Lease  time.Duration // whole milliseconds
	Data   json.RawMessage
}

// The types of events. Those with a token are a worker's: they are refused
// unless the token is that of the claim that holds the task.
const (
	RunCreated       = "run-created"       // Data: Created; always the first
	TaskAdded        = "task-added"        // Task; Data: spec.RunTask
	RunFinished      = "run-finished"      // Data: Finished
	RunNote          = "note"              // Data: any object, such as a Note
	RunRecovered     = "recovered"         // Data: Recovered
	SupervisorJoined = "supervisor-joined" // Data: any object
	SupervisorLeft   = "supervisor-left"   // Data: any object
	WorkerRegistered = "worker-registered" // Worker; Data: Registration
	WorkerStarted    = "worker-started"    // Worker; Data: Handle, as observed
	WorkerMoved      = "worker-moved"      // Worker; Data: Move
	TaskClaimed      = "task-claimed"      // Task, Worker, Token, Lease
	WorkerReady      = "worker-ready"      // Task, Worker, Token
	WorkerHeartbeat  = "worker-heartbeat"  // Task, Worker, Token, Lease: renews the claim; Data: Renewal, if a supervisor's
	ClaimReleased    = "claim-released"    // Task, Worker, Token; Data: Reason
	ClaimExpired     = "claim-expired"     // Task, Worker, Token; Data: Reason
	TaskCompleted    = "task-completed"    // Task, Worker, Token
	TaskFailed       = "task-failed"       // Task, Worker, Token; Data: Reason
	EvidenceAdded    = "evidence-added"    // Data: Evidence; with Task: Task, Worker, Token
)

// eventTypes are all types; the decoder accepts no other, and returns these
// strings, so that a million heartbeats share one.
var eventTypes = []string{
	WorkerHeartbeat, TaskClaimed, WorkerReady, TaskCompleted, EvidenceAdded, ClaimReleased, ClaimExpired, TaskFailed,
	WorkerRegistered, WorkerStarted, WorkerMoved, TaskAdded, RunCreated, RunFinished, RunNote, RunRecovered, SupervisorJoined, SupervisorLeft,
}

// The form of a line is fixed, byte for byte: the fields in this order, empty
// ones omitted, no space between them, and the checksum last. Any program can
// read it as JSON; this one reads no other form.
//
//	{"seq":2,"ts":"2026-01-02T03:04:05.006Z","boot":"1f3c9a20-77aa01be","up":5123,
//	 "type":"task-claimed","taskId":"t1","workerId":"w1","token":"2-…","lease":900000,"data":{…},"sum":"…"}
//
// sum is the first 16 bytes of the SHA-256 of the previous line's sum (of the
// run's id, for the first) and of the line up to it: a changed, removed or
// inserted line breaks the chain there.
const (
	sumSize  = 32                             // hex digits
	sumField = len(`,"sum":"`)                // and the text before them
	tailSize = sumField + sumSize + len(`"}`) // of every line, without its end
	// maxLine bounds what a reader holds at once. Longer texts belong into
	// evidence/.
	maxLine = 256 << 10
)

// sum is the checksum of one line.
type sum [sumSize]byte

// firstSum is the checksum that the first line of a run continues.
func firstSum(id string) sum { return chain(sum{}, []byte("ilchul run "+id), nil) }

// chain returns the checksum of body after prev. scratch saves an allocation a
// line.
func chain(prev sum, body []byte, scratch *[]byte) (s sum) {
	var buf []byte
	if scratch != nil {
		buf = (*scratch)[:0]
	}
	buf = append(append(buf, prev[:]...), body...)
	if scratch != nil {
		*scratch = buf
	}
	h := sha256.Sum256(buf)
	hex.Encode(s[:], h[:sumSize/2])
	return s
}

// appendLine appends e as a line with its end, and returns its checksum.
func appendLine(dst []byte, e Event, prev sum) ([]byte, sum, error) {
	start := len(dst)
	dst = strconv.AppendInt(append(dst, `{"seq":`...), e.Seq, 10)
	dst = append(append(append(dst, `,"ts":"`...), e.At.Time().Format(clock.Form)...), '"')
	text := func(key, value string) {
		if value != "" {
			dst = append(append(append(append(dst, key...), `:"`...), value...), '"')
		}
	}
	text(`,"boot"`, e.At.Boot)
	if e.At.Boot != "" {
		dst = strconv.AppendInt(append(dst, `,"up":`...), e.At.Up, 10)
	}
	text(`,"type"`, e.Type)
	text(`,"taskId"`, e.Task)
	text(`,"workerId"`, e.Worker)
	text(`,"token"`, e.Token)
	if e.Lease != 0 {
		dst = strconv.AppendInt(append(dst, `,"lease":`...), e.Lease.Milliseconds(), 10)
	}
	if len(e.Data) > 0 {
		dst = append(append(dst, `,"data":`...), e.Data...)
	}
	s := chain(prev, dst[start:], nil)
	dst = append(append(append(dst, `,"sum":"`...), s[:]...), "\"}\n"...)
	if n := len(dst) - start; n > maxLine {
		return nil, s, fmt.Errorf("an event of %d bytes: the limit is %d; put long texts into a file and add it as evidence", n, maxLine)
	}
	// Never write a line that this program would not read again.
	if _, _, err := new(decoder).line(dst[start:len(dst)-1], prev); err != nil {
		return nil, s, fmt.Errorf("event %s: %w", e.Type, err)
	}
	return dst, s, nil
}

// decoder reads lines. It interns repeated strings in bounded space, and so
// reads most lines without an allocation.
type decoder struct {
	scratch []byte
	kept    [1 << 10]string
}

var errForm = errors.New("line not in the form that aisync writes")

// line reads one line without its end; prev is its predecessor's checksum. Data
// is part of the line's bytes.
func (d *decoder) line(line []byte, prev sum) (e Event, s sum, err error) {
	body := len(line) - tailSize
	if body < 0 || string(line[body:body+sumField]) != `,"sum":"` || string(line[len(line)-2:]) != `"}` {
		return e, s, errors.New("no checksum at the end of the line")
	}
	s = chain(prev, line[:body], &d.scratch)
	if !bytes.Equal(s[:], line[body+sumField:len(line)-2]) {
		return e, s, errors.New("wrong checksum: the line was changed, or one before it is missing")
	}
	p := fields{rest: line[:body], d: d}
	p.need(`{"seq":`)
	e.Seq = p.number()
	p.need(`,"ts":"`)
	e.At.Wall = p.stamp()
	p.need(`"`)
	if p.has(`,"boot":"`) {
		e.At.Boot = p.text()
		p.need(`,"up":`)
		e.At.Up = p.number()
	}
	p.need(`,"type":"`)
	e.Type = p.kind()
	if p.has(`,"taskId":"`) {
		e.Task = p.text()
	}
	if p.has(`,"workerId":"`) {
		e.Worker = p.text()
	}
	if p.has(`,"token":"`) {
		e.Token = p.text()
	}
	if p.has(`,"lease":`) {
		e.Lease = p.lease()
	}
	if p.has(`,"data":`) {
		if len(p.rest) < 2 || p.rest[0] != '{' || p.rest[len(p.rest)-1] != '}' || !json.Valid(p.rest) {
			p.bad = true
		}
		e.Data, p.rest = json.RawMessage(p.rest), nil
	}
	if p.bad || len(p.rest) > 0 {
		return e, s, errForm
	}
	return e, s, nil
}

// fields parses a line from its start.
type fields struct {
	rest []byte
	d    *decoder
	bad  bool
}

func (p *fields) has(prefix string) bool {
	if len(p.rest) < len(prefix) || string(p.rest[:len(prefix)]) != prefix {
		return false
	}
	p.rest = p.rest[len(prefix):]
	return true
}

func (p *fields) need(prefix string) { p.bad = !p.has(prefix) || p.bad }

// number reads a non-negative integer in its only form.
func (p *fields) number() int64 {
	n, i := int64(0), 0
	for ; i < len(p.rest) && p.rest[i] >= '0' && p.rest[i] <= '9' && i < 18; i++ {
		n = n*10 + int64(p.rest[i]-'0')
	}
	if i == 0 || i > 1 && p.rest[0] == '0' {
		p.bad = true
	}
	p.rest = p.rest[i:]
	return n
}

// lease reads milliseconds.
func (p *fields) lease() time.Duration {
	n := p.number()
	if n <= 0 || n > maxLease.Milliseconds() {
		p.bad = true
		return 0
	}
	return time.Duration(n) * time.Millisecond
}

// text reads a name up to its closing quote.
func (p *fields) text() string {
	i := 0
	for i < len(p.rest) && plain(p.rest[i]) {
		i++
	}
	if i == 0 || i > maxName || i == len(p.rest) || p.rest[i] != '"' {
		p.bad = true
		return ""
	}
	s := p.d.keep(p.rest[:i])
	p.rest = p.rest[i+1:]
	return s
}

func (p *fields) kind() string {
	for _, t := range eventTypes {
		if len(p.rest) > len(t) && string(p.rest[:len(t)]) == t && p.rest[len(t)] == '"' {
			p.rest = p.rest[len(t)+1:]
			return t
		}
	}
	p.bad = true
	return ""
}

// stamp reads a time of the form clock.Form as milliseconds since 1970.
func (p *fields) stamp() int64 {
	b := p.rest
	if len(b) < len(clock.Form) || b[4] != '-' || b[7] != '-' || b[10] != 'T' || b[13] != ':' || b[16] != ':' || b[19] != '.' || b[23] != 'Z' {
		p.bad = true
		return 0
	}
	digits := func(from, to int) (n int) {
		for _, c := range b[from:to] {
			if c < '0' || c > '9' {
				p.bad = true
			}
			n = n*10 + int(c-'0')
		}
		return n
	}
	year, month, day := digits(0, 4), digits(5, 7), digits(8, 10)
	hour, minute, second, milli := digits(11, 13), digits(14, 16), digits(17, 19), digits(20, 23)
	p.rest = b[len(clock.Form):]
	if month < 1 || month > 12 || day < 1 || day > 31 || hour > 23 || minute > 59 || second > 59 {
		p.bad = true
		return 0
	}
	// Howard Hinnant's days_from_civil; time.Date takes three times as long.
	if month <= 2 {
		year--
	}
	era := year / 400
	if year < 0 {
		era = -1
	}
	ofEra := year - era*400
	ofYear := (153*((month+9)%12)+2)/5 + day - 1
	days := int64(era*146097 + ofEra*365 + ofEra/4 - ofEra/100 + ofYear - 719468)
	return ((days*24+int64(hour))*60+int64(minute))*60_000 + int64(second)*1000 + int64(milli)
}

// keep returns b as a string, interned where possible.
func (d *decoder) keep(b []byte) string {
	h := uint32(2166136261)
	for _, c := range b {
		h = (h ^ uint32(c)) * 16777619
	}
	slot := &d.kept[h%uint32(len(d.kept))]
	if *slot != string(b) {
		*slot = string(b)
	}
	return *slot
}

// maxName bounds names of tasks and workers, and tokens.
const maxName = 128

// plain reports whether names and tokens may contain c: no byte that JSON or a
// path would have to escape.
func plain(c byte) bool {
	return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || c == '.' || c == '_' || c == '-'
}

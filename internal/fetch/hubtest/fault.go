package hubtest

import "time"

// Fault is one way in which a hub misbehaves; its zero value is none. A fault
// of the content strikes the server that serves it.
type Fault struct {
	Name  string
	Times int // number of requests to strike; 0: all

	Status     int    // sent instead of the content
	RetryAfter string // header sent with Status

	DropAt   int64 // the connection breaks after this many bytes of a body
	StallAt  int64 // no byte follows after this many of a body, until the client leaves
	Stall    bool  // no byte of a body comes
	Throttle int64 // bytes a second of one connection

	NoRange     bool  // 200 with the whole file for a request with Range, although ranges are advertised
	ShiftRange  int64 // Content-Range, and the bytes, begin this much later than requested
	NoTotal     bool  // Content-Range ends in /*
	WrongTotal  int64 // added to the total of Content-Range
	BareRange   bool  // 206 without Content-Range
	Unsatisfied bool  // 416 to every range
	Gzip        bool  // Content-Encoding: gzip, although identity was asked for

	Short   int64   // bytes missing at the end of the file
	Long    int64   // bytes added at the end of the file
	Silent  bool    // the headers hide that; there is no Content-Length
	Flip    []int64 // offsets of wrong bytes
	FlipAll bool    // every byte is wrong

	ChangedEtag bool // the endpoint describes other content at the same commit
	NewEtag     bool // the content host sends a new ETag with every response

	APIStatus     int // of the listings
	ResolveStatus int // of the endpoint's response to /resolve
	Latency       time.Duration
}

// Faults returns every way to misbehave, for content of size bytes. None
// outlasts its Break.
func Faults(size int64) []Fault {
	middle := size / 2
	return []Fault{
		{Name: "drops every connection in the middle", DropAt: middle},
		{Name: "drops every connection after 4 KiB", DropAt: 4 << 10},
		{Name: "drops the first three connections", DropAt: 1, Times: 3},
		{Name: "answers 200 to ranges", NoRange: true},
		{Name: "answers 200 to the first range only", NoRange: true, Times: 1},
		{Name: "answers 200 to ranges and drops", NoRange: true, DropAt: middle},
		{Name: "sends another range than was asked for", ShiftRange: 1},
		{Name: "does not say the total", NoTotal: true},
		{Name: "says a wrong total", WrongTotal: 1},
		{Name: "sends ranges without Content-Range", BareRange: true},
		{Name: "answers 416", Unsatisfied: true},
		{Name: "answers 416 once", Unsatisfied: true, Times: 1},
		{Name: "compresses", Gzip: true},
		{Name: "stalls at once", Stall: true},
		{Name: "stalls in the middle", StallAt: middle, Times: 1},
		{Name: "is shorter than it was", Short: 1},
		{Name: "is longer than it was", Long: 1},
		{Name: "is shorter and does not say so", Short: 1, Silent: true},
		{Name: "is longer and does not say so", Long: 1, Silent: true},
		{Name: "has a wrong byte at the beginning", Flip: []int64{0}},
		{Name: "has a wrong byte in the middle", Flip: []int64{middle}},
		{Name: "has a wrong byte at the end", Flip: []int64{size - 1}},
		{Name: "has a wrong byte, once", Flip: []int64{middle}, Times: 1},
		{Name: "has other content", FlipAll: true},
		{Name: "describes other content", ChangedEtag: true},
		{Name: "changes its ETag with every answer", NewEtag: true},
		{Name: "answers 429 twice", Status: 429, RetryAfter: "0", Times: 2},
		{Name: "answers 429 and asks for an hour", Status: 429, RetryAfter: "3600"},
		{Name: "answers 503", Status: 503},
		{Name: "answers 500 once", Status: 500, Times: 1},
		{Name: "answers 403", Status: 403},
		{Name: "answers 401 once", Status: 401, Times: 1},
		{Name: "answers 404", Status: 404},
		{Name: "resolves with 503", ResolveStatus: 503},
		{Name: "resolves with 404", ResolveStatus: 404},
		{Name: "resolves with 403", ResolveStatus: 403},
	}
}

// strike returns the fault that one request meets. which selects the faults
// that this request uses up.
func (h *Hub) strike(which func(Fault) bool) Fault {
	h.mu.Lock()
	defer h.mu.Unlock()
	f := h.fault
	if !which(f) {
		return Fault{}
	}
	if h.hits++; f.Times > 0 && h.hits > f.Times {
		return Fault{}
	}
	return f
}

// ofContent reports whether f strikes the server of the content.
func ofContent(f Fault) bool {
	return !f.ChangedEtag && f.APIStatus == 0 && f.ResolveStatus == 0
}

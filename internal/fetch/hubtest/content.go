package hubtest

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"time"
)

// content serves /blob/{sha256} to clients with an unexpired address.
func (h *Hub) content(w http.ResponseWriter, r *http.Request) {
	h.mu.Lock()
	sum := strings.TrimPrefix(r.URL.Path, "/blob/")
	f, ok := h.blobs[sum]
	sig := r.URL.Query().Get("X-Amz-Signature")
	uses, valid := h.signed[sig]
	if valid && h.expire > 0 && uses >= h.expire {
		valid = false
	}
	if valid {
		h.signed[sig]++
	}
	h.mu.Unlock()
	switch {
	case !valid:
		w.Header().Set("Content-Type", "application/xml")
		w.WriteHeader(http.StatusForbidden)
		io.WriteString(w, "<Error><Code>AccessDenied</Code><Message>Request has expired</Message></Error>")
	case !ok:
		http.NotFound(w, r)
	default:
		h.serve(w, r, f)
	}
}

// serve answers the request for f, subject to the fault.
func (h *Hub) serve(w http.ResponseWriter, r *http.Request, f File) {
	fault := h.strike(ofContent)
	if fault.Latency > 0 {
		time.Sleep(fault.Latency)
	}
	if fault.Status != 0 {
		if fault.RetryAfter != "" {
			w.Header().Set("Retry-After", fault.RetryAfter)
		}
		http.Error(w, "no", fault.Status)
		return
	}
	if fault.NewEtag {
		w.Header().Set("ETag", fmt.Sprintf(`"new-%d"`, len(h.Requests())))
	}
	w.Header().Set("Accept-Ranges", "bytes")
	w.Header().Set("Content-Type", "application/octet-stream")
	size := f.Size - fault.Short + fault.Long // that exists
	said := size
	if fault.Silent {
		said = f.Size
	}
	from, to, ranged, err := bounds(r.Header.Get("Range"), said)
	code := http.StatusOK
	switch {
	case ranged && (err != nil || fault.Unsatisfied):
		w.Header().Set("Content-Range", fmt.Sprintf("bytes */%d", said))
		w.WriteHeader(http.StatusRequestedRangeNotSatisfiable)
		return
	case ranged && fault.NoRange:
		from, to = 0, said
	case ranged:
		code = http.StatusPartialContent
		from = min(from+fault.ShiftRange, to)
		total := strconv.FormatInt(said+fault.WrongTotal, 10)
		if fault.NoTotal {
			total = "*"
		}
		if !fault.BareRange {
			w.Header().Set("Content-Range", fmt.Sprintf("bytes %d-%d/%s", from, to-1, total))
		}
	}
	if fault.Gzip {
		w.Header().Set("Content-Encoding", "gzip")
	}
	if !fault.Silent {
		w.Header().Set("Content-Length", strconv.FormatInt(to-from, 10))
	}
	w.WriteHeader(code)
	if r.Method != http.MethodHead {
		if to == said {
			to = size
		}
		h.body(w, r, f, fault, from, to)
	}
}

// body sends [from, to) of f.
func (h *Hub) body(w http.ResponseWriter, r *http.Request, f File, fault Fault, from, to int64) {
	flush := w.(http.Flusher).Flush
	piece := int64(256 << 10)
	if fault.Throttle > 0 {
		piece = min(piece, max(1, fault.Throttle/20))
	}
	buf := make([]byte, min(piece, max(to-from, 1)))
	started := time.Now()
	for at, sent := from, int64(0); at < to; {
		n := min(int64(len(buf)), to-at)
		stop := int64(-1)
		for _, limit := range []int64{fault.DropAt, fault.StallAt} {
			if limit > 0 {
				n, stop = min(n, limit-sent), limit
			}
		}
		if fault.Stall || stop == sent {
			flush()
			if fault.DropAt > 0 {
				panic(http.ErrAbortHandler)
			}
			<-r.Context().Done()
			return
		}
		if err := f.read(buf[:n], at, fault); err != nil {
			panic(http.ErrAbortHandler)
		}
		m, err := w.Write(buf[:n])
		h.mu.Lock()
		h.sent += int64(m)
		h.mu.Unlock()
		if err != nil {
			return
		}
		if at, sent = at+n, sent+n; fault.Throttle > 0 {
			flush()
			time.Sleep(time.Until(started.Add(time.Duration(float64(sent) / float64(fault.Throttle) * float64(time.Second)))))
		}
	}
}

// read fills p with the bytes at off, wrong ones included; past the end are
// zeros.
func (f File) read(p []byte, off int64, fault Fault) error {
	clear(p)
	if off < f.Size {
		if _, err := f.Content.ReadAt(p[:min(int64(len(p)), f.Size-off)], off); err != nil && !errors.Is(err, io.EOF) {
			return err
		}
	}
	for _, at := range fault.Flip {
		if i := at - off; i >= 0 && i < int64(len(p)) {
			p[i] ^= 0xff
		}
	}
	if fault.FlipAll {
		for i := range p {
			p[i] ^= 0xff
		}
	}
	return nil
}

// bounds parses "bytes=FROM-TO" and "bytes=FROM-"; to is one past the last
// byte.
func bounds(h string, size int64) (from, to int64, ranged bool, err error) {
	if h == "" {
		return 0, size, false, nil
	}
	first, last, ok := strings.Cut(strings.TrimPrefix(h, "bytes="), "-")
	from, err = strconv.ParseInt(first, 10, 64)
	to = size
	if last != "" && err == nil {
		to, err = strconv.ParseInt(last, 10, 64)
		to = min(to+1, size)
	}
	if err == nil && (!ok || from < 0 || from >= size || to <= from) {
		err = errors.New("not satisfiable")
	}
	return from, to, true, err
}

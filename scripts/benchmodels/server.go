//go:build linux

package main

import (
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"time"
)

// latency of a request to the throttled server.
const latency = 20 * time.Millisecond

// serve serves file on loopback until its standard input ends: at rate bytes a
// second and connection and latency a request, or, with 0, as fast as it can.
func serve(file string, rate int) error {
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	fmt.Printf("http://%s/model\n", ln.Addr())
	go func() {
		_, _ = io.Copy(io.Discard, os.Stdin)
		ln.Close()
	}()
	handler := func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/octet-stream")
		if rate > 0 {
			time.Sleep(latency)
			w = &slow{ResponseWriter: w, rate: rate, start: time.Now()}
		}
		http.ServeFile(w, r, file)
	}
	_ = http.Serve(ln, http.HandlerFunc(handler))
	return nil
}

// slow writes no faster than rate.
type slow struct {
	http.ResponseWriter
	rate, sent int
	start      time.Time
}

func (s *slow) Write(p []byte) (n int, err error) {
	for len(p) > 0 && err == nil {
		var m int
		m, err = s.ResponseWriter.Write(p[:min(len(p), 64<<10)])
		n, p, s.sent = n+m, p[m:], s.sent+m
		due := time.Duration(float64(s.sent) / float64(s.rate) * float64(time.Second))
		time.Sleep(due - time.Since(s.start))
	}
	return n, err
}

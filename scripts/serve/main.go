// Serve hands out the files of one folder over HTTP, on loopback only, with
// ranges, and slowly if told so: a stand-in for a model hub that can be had
// everywhere. It prints one line when it listens and runs until it is killed.
//
//	serve [-addr 127.0.0.1:18080] [-rate BYTES_A_SECOND] DIR
package main

import (
	"errors"
	"flag"
	"fmt"
	"net"
	"net/http"
	"os"
	"syscall"
	"time"
)

func main() {
	addr := flag.String("addr", "127.0.0.1:18080", "address on loopback")
	rate := flag.Int("rate", 0, "bytes a second for each answer; 0: as fast as it goes")
	flag.Parse()
	if flag.NArg() != 1 {
		fmt.Fprintln(os.Stderr, "usage: serve [-addr ADDR] [-rate BYTES_A_SECOND] DIR")
		os.Exit(64)
	}
	if err := serve(*addr, flag.Arg(0), *rate); err != nil {
		fmt.Fprintln(os.Stderr, "serve:", err)
		os.Exit(1)
	}
}

func serve(addr, dir string, rate int) error {
	host, _, err := net.SplitHostPort(addr)
	if err != nil {
		return err
	}
	if ip := net.ParseIP(host); ip == nil || !ip.IsLoopback() {
		return fmt.Errorf("%s is not an address of this machine alone; use 127.0.0.1:PORT", addr)
	}
	l, err := net.Listen("tcp", addr)
	if errors.Is(err, syscall.EADDRINUSE) {
		return fmt.Errorf("%s is taken by another program; stop that one and try again", addr)
	}
	if err != nil {
		return err
	}
	fmt.Printf("serving %s on http://%s\n", dir, addr)
	files := http.FileServer(http.Dir(dir))
	return http.Serve(l, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if rate > 0 {
			w = &slow{w, max(rate/10, 1)}
		}
		files.ServeHTTP(w, r)
	}))
}

// slow lets chunk bytes through every tenth of a second.
type slow struct {
	http.ResponseWriter
	chunk int
}

func (s *slow) Write(p []byte) (int, error) {
	done := 0
	for done < len(p) {
		n, err := s.ResponseWriter.Write(p[done:min(done+s.chunk, len(p))])
		done += n
		if err != nil {
			return done, err
		}
		if f, ok := s.ResponseWriter.(http.Flusher); ok {
			f.Flush()
		}
		time.Sleep(100 * time.Millisecond * time.Duration(n) / time.Duration(s.chunk))
	}
	return done, nil
}

//go:build linux

package main

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"time"

	"aisync.dev/aisync/providers/fetch"
	"aisync.dev/aisync/reconcile/fsys"
)

// child is this program as the server, or as the one fetch that is measured.
func child(what string, args []string) error {
	if what == "serve" && len(args) == 2 {
		rate, err := strconv.Atoi(args[1])
		if err != nil {
			return err
		}
		return serve(args[0], rate)
	}
	if what == "fetch" && len(args) == 6 {
		return fetchOne(args[0], args[1], args[2], args[3], args[4], args[5] == "true")
	}
	return fmt.Errorf("%s: unexpected arguments", what)
}

// fetchOne fetches url into path, as the program does.
func fetchOne(url, path, size, sum, connections string, volatile bool) error {
	n, err := strconv.ParseInt(size, 10, 64)
	if err != nil {
		return err
	}
	c, err := strconv.Atoi(connections)
	if err != nil {
		return err
	}
	store, err := fsys.New(fsys.Options{Home: fsys.LogicalPath(filepath.Dir(path)), Tag: "bench"})
	if err != nil {
		return err
	}
	client := fetch.New(fetch.Options{Connections: c, Volatile: volatile})
	a := fetch.Artifact{Name: "model", Sources: []string{url}, Size: n, SHA256: sum}
	return client.Fetch(context.Background(), a, store, fsys.LogicalPath(path), nil)
}

// serve serves file on loopback until its standard input ends: at rate bytes a
// second and connection and 50 ms a request, or, with 0, as fast as it can.
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
			time.Sleep(50 * time.Millisecond)
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

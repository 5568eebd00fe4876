package gguf

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"
)

func TestAHeaderIsReadFromAServerWithoutTheModel(t *testing.T) {
	f := model("qwen3moe", coder)
	f.tokens(150_000) // 1.5 MB
	b := f.done(3)
	file := append(bytes.Clone(b), make([]byte, 8<<20)...)
	var sent atomic.Int64
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Authorization") != "Bearer x" {
			http.Error(w, "who?", http.StatusUnauthorized)
			return
		}
		http.ServeContent(counting{w, &sent}, r, "", time.Time{}, bytes.NewReader(file))
	}))
	defer server.Close()
	r := HTTP(context.Background(), server.Client(), server.URL, http.Header{"Authorization": {"Bearer x"}}, int64(len(file)))
	h, err := Read(r, int64(len(file)))
	if err != nil || h.Vocab != 150_000 || h.Blocks != 48 {
		t.Fatalf("%v %+v", err, h)
	}
	if sent := sent.Load(); sent > int64(len(b)+readSize) {
		t.Errorf("the server sent %d bytes for a header of %d", sent, len(b))
	}
}

type counting struct {
	http.ResponseWriter
	n *atomic.Int64
}

func (c counting) Write(b []byte) (int, error) {
	n, err := c.ResponseWriter.Write(b)
	c.n.Add(int64(n))
	return n, err
}

func TestAnAnswerThatIsNotTheRangeIsRefused(t *testing.T) {
	const size = 2000
	data := bytes.Repeat([]byte("GGUF"), size/4)
	partial := func(w http.ResponseWriter, contentRange string, b []byte) {
		w.Header().Set("Content-Range", contentRange)
		w.WriteHeader(http.StatusPartialContent)
		_, _ = w.Write(b)
	}
	for name, c := range map[string]struct {
		answer http.HandlerFunc
		want   string
	}{
		"the whole file":     {func(w http.ResponseWriter, r *http.Request) { _, _ = w.Write(data) }, "whole files only"},
		"gone":               {func(w http.ResponseWriter, r *http.Request) { http.NotFound(w, r) }, "404"},
		"another part":       {func(w http.ResponseWriter, r *http.Request) { partial(w, "bytes 4-1999/2000", data[4:]) }, "a different one"},
		"of another file":    {func(w http.ResponseWriter, r *http.Request) { partial(w, "bytes 0-1999/3000", data) }, "a different one"},
		"no word of a range": {func(w http.ResponseWriter, r *http.Request) { w.WriteHeader(http.StatusPartialContent) }, "a different one"},
		"cut off":            {func(w http.ResponseWriter, r *http.Request) { partial(w, "bytes 0-1999/2000", data[:7]) }, "sent 7 of 2000"},
		"encoded": {func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Encoding", "br")
			partial(w, "bytes 0-1999/2000", data)
		}, `encoded as "br"`},
	} {
		t.Run(name, func(t *testing.T) {
			server := httptest.NewServer(c.answer)
			defer server.Close()
			_, err := Read(HTTP(context.Background(), server.Client(), server.URL+"/x?sig=secret", nil, size), size)
			if err == nil || !strings.Contains(err.Error(), c.want) || strings.Contains(err.Error(), "secret") || errors.Is(err, ErrNotGGUF) {
				t.Errorf("want %q, got %v", c.want, err)
			}
		})
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	_, err := Read(HTTP(ctx, http.DefaultClient, "http://127.0.0.1:1/x?sig=secret", nil, size), size)
	if !errors.Is(err, context.Canceled) || strings.Contains(err.Error(), "secret") {
		t.Error(err)
	}
}

func TestReadsBehindTheEndAreTheEnd(t *testing.T) {
	r := HTTP(context.Background(), http.DefaultClient, "http://127.0.0.1:1/", nil, 10)
	if n, err := r.ReadAt(make([]byte, 4), 10); n != 0 || err != io.EOF {
		t.Error(n, err)
	}
}

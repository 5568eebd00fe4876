package service

import (
	"context"
	"fmt"
	"net"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"aisync.dev/aisync/internal/fakellama"
	"aisync.dev/aisync/providers/service/control"
)

// TestMain lets the test binary be the two programs that services need: the
// supervisor, and the stand-in for llama-server.
func TestMain(m *testing.M) {
	switch {
	case len(os.Args) > 4 && os.Args[1] == "services" && os.Args[2] == "supervise":
		ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM)
		defer stop()
		if err := control.Supervise(ctx, os.Args[3], os.Args[4]); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	case len(os.Args) > 1 && os.Args[1] == "--model":
		os.Exit(fakellama.Main(os.Args[1:]))
	}
	os.Exit(m.Run())
}

// self is the test binary.
func self(t *testing.T) string {
	t.Helper()
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	return exe
}

// freePort is a port without a listener.
func freePort(t *testing.T) int {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return l.Addr().(*net.TCPAddr).Port
}

// tinyModel is a file that begins as a model does.
func tinyModel(t *testing.T) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "tiny.gguf")
	if err := os.WriteFile(file, []byte("GGUF and no more"), 0o644); err != nil {
		t.Fatal(err)
	}
	return file
}

func eventually(t *testing.T, ok func() bool) {
	t.Helper()
	for until := time.Now().Add(10 * time.Second); !ok(); time.Sleep(10 * time.Millisecond) {
		if time.Now().After(until) {
			t.Fatal("it never comes to that")
		}
	}
}

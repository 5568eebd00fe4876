//go:build linux

package main

import (
	"bufio"
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"syscall"
)

// world is what the ways have in common: a file, and a server of it in a
// process of its own.
type world struct {
	dir, only              string
	self, fetchone, getter string // programs

	size   int64
	sum    string
	url    string
	server *exec.Cmd
	quit   io.Closer
}

// make writes the file, builds the peer in Go and starts the plain server.
func (w *world) make(size int64) error {
	self, err := os.Executable()
	if err != nil {
		return err
	}
	w.self = self
	if w.fetchone, err = w.build("fetchone", "internal/fetch/fetchone"); err != nil {
		return err
	}
	// A module of its own: the program does not link it.
	if w.getter, err = w.build("getter", "scripts/benchmodels/getter"); err != nil {
		fmt.Println("left out: go-getter:", err)
	}
	if err := w.write(size); err != nil {
		return err
	}
	return w.serve("0")
}

// build builds the program in folder of this repository.
func (w *world) build(name, folder string) (string, error) {
	path := filepath.Join(w.dir, name)
	out, err := exec.Command("go", "build", "-C", folder, "-trimpath", "-ldflags=-s -w", "-o", path, ".").CombinedOutput()
	if err != nil {
		return "", fmt.Errorf("build %s: %w: %s", folder, err, bytes.TrimSpace(out))
	}
	return path, nil
}

// write makes a file of noise and its digest.
func (w *world) write(size int64) error {
	f, err := os.Create(w.source())
	if err != nil {
		return err
	}
	defer f.Close()
	sum := sha256.New()
	noise := rand.NewChaCha8([32]byte{7})
	if _, err := io.CopyN(io.MultiWriter(f, sum), noise, size); err != nil {
		return err
	}
	w.size, w.sum = size, hex.EncodeToString(sum.Sum(nil))
	return f.Sync()
}

func (w *world) source() string { return filepath.Join(w.dir, "source") }

// throttle goes on with a shorter file and a slow server.
func (w *world) throttle(size int64) error {
	w.close()
	if err := w.write(size); err != nil {
		return err
	}
	return w.serve(strconv.Itoa(50_000_000))
}

func (w *world) serve(rate string) error {
	w.server = exec.Command(w.self, "serve", w.source(), rate)
	w.server.Stderr = os.Stderr
	in, err := w.server.StdinPipe()
	if err != nil {
		return err
	}
	out, err := w.server.StdoutPipe()
	if err != nil {
		return err
	}
	if err := w.server.Start(); err != nil {
		return err
	}
	w.quit = in
	line, err := bufio.NewReader(out).ReadString('\n')
	w.url = strings.TrimSpace(line)
	return err
}

// close ends the server: it ends with its standard input.
func (w *world) close() {
	if w.server != nil {
		w.quit.Close()
		_ = w.server.Wait()
		w.server = nil
	}
}

// one runs a way into a fresh folder and takes it away again, with what it
// left to be written to the disk, so that the next does not pay for it.
func (w *world) one(way way, url string) (sample, error) {
	dir, err := os.MkdirTemp(w.dir, "run-")
	if err != nil {
		return sample{}, err
	}
	path := filepath.Join(dir, "file")
	if _, err := run(w.self, "touch", strconv.FormatInt(w.size+w.size/4, 10)); err != nil {
		return sample{}, err
	}
	s, err := way.run(url, path)
	if err == nil {
		if info, serr := os.Stat(path); serr != nil || info.Size() != w.size {
			err = errors.Join(serr, errors.New("the file is not whole"))
		}
	}
	if rerr := os.RemoveAll(dir); rerr != nil {
		return s, rerr
	}
	syscall.Sync()
	return s, err
}

// touch takes so much memory and gives it back. A virtual machine returns what
// is free to its host; to get it again may cost a run ten times the work that
// is to be measured, and hits some runs and not others. It is a process of its own:
// the peak of one that starts another counts for that too.
func touch(n int64) error {
	mem, err := syscall.Mmap(-1, 0, int(n), syscall.PROT_READ|syscall.PROT_WRITE, syscall.MAP_ANON|syscall.MAP_PRIVATE)
	if err != nil {
		return fmt.Errorf("take %d bytes of memory: %w", n, err)
	}
	for at := 0; at < len(mem); at += os.Getpagesize() {
		mem[at] = 1
	}
	return syscall.Munmap(mem)
}

// hash computes the sha256 of n bytes that stay in a core's cache.
func hash(n int64) {
	sum, b := sha256.New(), make([]byte, 256<<10)
	for ; n > 0; n -= int64(len(b)) {
		sum.Write(b[:min(n, int64(len(b)))])
	}
}

// machine describes what the figures were measured on.
func machine() string {
	model := "unknown processor"
	if raw, err := os.ReadFile("/proc/cpuinfo"); err == nil {
		for line := range strings.Lines(string(raw)) {
			if name, value, ok := strings.Cut(line, ":"); ok && strings.TrimSpace(name) == "model name" {
				model = strings.TrimSpace(value)
				break
			}
		}
	}
	load, _ := os.ReadFile("/proc/loadavg")
	return fmt.Sprintf("%d × %s, %s, load %s", runtime.NumCPU(), model, runtime.Version(), strings.Join(strings.Fields(string(load))[:1], ""))
}

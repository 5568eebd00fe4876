package graphics

import (
	"context"
	"encoding/json"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"time"

	"aisync.dev/aisync/internal/atomicfile"
)

// Run starts a program and returns what it printed. A program that is absent is
// exec.ErrNotFound; one that does not end in time, context.DeadlineExceeded.
type Run func(ctx context.Context, argv ...string) ([]byte, error)

// patience bounds one program: a driver that hangs must not hang aisync.
const patience = 5 * time.Second

// wslTools is where WSL puts nvidia-smi, often outside PATH.
const wslTools = "/usr/lib/wsl/lib"

// Programs is a Run over the programs of path.
func Programs(path, environ []string) Run {
	return func(ctx context.Context, argv ...string) ([]byte, error) {
		program := ""
		for _, dir := range append(slices.Clone(path), "/usr/bin", "/usr/sbin", wslTools) {
			at := filepath.Join(dir, argv[0])
			if info, err := os.Stat(at); filepath.IsAbs(dir) && err == nil && info.Mode().IsRegular() && info.Mode()&0o111 != 0 {
				program = at
				break
			}
		}
		if program == "" {
			return nil, exec.ErrNotFound
		}
		ctx, cancel := context.WithTimeout(ctx, patience)
		defer cancel()
		cmd := exec.CommandContext(ctx, program, argv[1:]...)
		cmd.Env, cmd.Dir, cmd.WaitDelay = append(slices.Clone(environ), "LC_ALL=C"), "/", time.Second
		// A program that waits for its driver cannot be killed, and is left behind.
		type end struct {
			out []byte
			err error
		}
		ended := make(chan end, 1)
		go func() {
			out, err := cmd.CombinedOutput()
			ended <- end{out, err}
		}()
		select {
		case e := <-ended:
			if ctx.Err() != nil {
				return nil, ctx.Err()
			}
			return e.out, e.err
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
}

// answer is what the cache keeps: what a program printed, and on what it depends.
type answer struct {
	FormatVersion int      `json:"format_version"`
	Key           []string `json:"key"`
	Output        string   `json:"output"`
}

// mostAnswer bounds the cache: eight cards take under a kilobyte.
const mostAnswer = 64 << 10

// cached returns what was kept for key; nil for nothing.
func (l Look) cached(key []string) []byte {
	if l.Cache == "" || key[1] == "" {
		return nil
	}
	f, err := os.Open(l.Cache)
	if err != nil {
		return nil
	}
	defer f.Close()
	var a answer
	if json.NewDecoder(io.LimitReader(f, mostAnswer)).Decode(&a) != nil || a.FormatVersion != 1 || !slices.Equal(a.Key, key) {
		return nil
	}
	return []byte(a.Output)
}

// keep writes the cache. Without it the next look costs time alone.
func (l Look) keep(key []string, output []byte) {
	b, err := json.Marshal(answer{1, key, string(output)})
	if l.Cache == "" || key[1] == "" || err != nil || len(b) > mostAnswer || os.MkdirAll(filepath.Dir(l.Cache), 0o700) != nil {
		return
	}
	_ = atomicfile.Write(l.Cache, b, atomicfile.Options{Survives: atomicfile.Nothing})
}

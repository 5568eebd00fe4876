package task

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"sync"

	"aisync.dev/aisync/internal/atomicfile"
)

// journal is the progress of a run, for a restart after a crash:
// tasks/runs/<id>/state.json.
type journal struct {
	Version int        `json:"format_version"`
	By      Claimant   `json:"by"`
	Attempt string     `json:"attempt,omitempty"` // the owner of the attempt's worker in the events
	Stage   string     `json:"stage"`
	Tree    string     `json:"tree,omitempty"`
	Branch  string     `json:"branch,omitempty"`
	Crashes int        `json:"crashes"`
	Left    []Leftover `json:"left,omitempty"`
	Report  *Report    `json:"report,omitempty"` // once the result is decided
}

// Leftover is the work of an executor that died.
type Leftover struct {
	Tree   string `json:"tree"`
	Branch string `json:"branch"`
}

const (
	journalName    = "state.json"
	journalVersion = 1
)

// readJournal reads the journal of a task. A missing one is empty.
func readJournal(dir string) (journal, error) {
	var j journal
	text, err := os.ReadFile(filepath.Join(dir, journalName))
	if errors.Is(err, fs.ErrNotExist) {
		return j, nil
	}
	if err == nil {
		err = json.Unmarshal(text, &j)
	}
	if err == nil && j.Version != journalVersion {
		err = fmt.Errorf("%s has format_version %d, but this aisync supports only %d: use the aisync that wrote it, or move the file away", filepath.Join(dir, journalName), j.Version, journalVersion)
	}
	if err != nil {
		return j, fmt.Errorf("read the journal of the task: %w", err)
	}
	return j, nil
}

func (j journal) write(dir string) error {
	j.Version = journalVersion
	return writeJSON(dir, journalName, j)
}

func writeJSON(dir, name string, v any) error {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	if err := e.Encode(v); err != nil {
		return err
	}
	return writeFile(dir, name, b.Bytes())
}

// writeFile writes a file in one step.
func writeFile(dir, name string, text []byte) error {
	err := os.MkdirAll(dir, 0o755)
	if err == nil {
		err = atomicfile.Write(filepath.Join(dir, name), text, atomicfile.Options{Mode: 0o644})
	}
	if err != nil {
		return fmt.Errorf("write %s: %w", name, err)
	}
	return nil
}

// runLog is run.log. It notes how much it omits beyond its limit.
type runLog struct {
	mu   sync.Mutex
	f    io.WriteCloser
	room int64
	left int64
}

// maxLog bounds run.log, in bytes.
const maxLog = 16 << 20

func openLog(dir string) (*runLog, error) {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return nil, fmt.Errorf("open run.log: %w", err)
	}
	f, err := os.OpenFile(filepath.Join(dir, "run.log"), os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o644)
	if err != nil {
		return nil, fmt.Errorf("open run.log: %w", err)
	}
	return &runLog{f: f, room: maxLog}, nil
}

func (l *runLog) Write(b []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	take := min(int64(len(b)), l.room)
	l.room -= take
	l.left += int64(len(b)) - take
	if take > 0 {
		if _, err := l.f.Write(b[:take]); err != nil {
			return 0, err
		}
	}
	return len(b), nil
}

func (l *runLog) close() {
	if l.left > 0 {
		_, _ = fmt.Fprintf(l.f, "\n… %d bytes left out …\n", l.left)
	}
	l.f.Close()
}

package supervise

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"golang.org/x/sys/unix"

	"aisync.dev/aisync/agents/run"
	"aisync.dev/aisync/agents/run/worker"
)

// collect takes in a worker that has ended: what it ran and printed is evidence,
// and its exit code says whether the task is done.
func (s *Supervisor) collect(c *run.Change, w *run.Worker, t *run.Task, o worker.Observation) error {
	d, read := s.digests[w.ID]
	if o.Keeper == worker.Here || !read {
		s.wanted, s.news = append(s.wanted, w.ID), true // its keeper is about to go
		return nil
	}
	token := t.Claim.Token
	evidence := []run.Evidence{{ID: w.ID + ".command", Kind: "command", Command: clip(strings.Join(o.Job.Command, " ")), ExitCode: &o.Exit.Code}}
	if d.sum != "" && d.size > 0 {
		evidence = append(evidence, run.Evidence{ID: w.ID + ".output", Kind: "output", Ref: w.Log, Digest: d.sum, Size: d.size})
	}
	for _, e := range evidence {
		if err := c.Held(run.EvidenceAdded, token, 0, e); err != nil {
			return err
		}
	}
	if o.Exit.Code != 0 {
		if err := s.fail(c, w, t, o.String()); err != nil {
			return err
		}
		return s.idle(c, w, o)
	}
	err := c.Held(run.TaskCompleted, token, 0, nil)
	var no *run.Refusal
	switch {
	case errors.As(err, &no):
		if err := s.fail(c, w, t, no.Error()); err != nil {
			return err
		}
	case err != nil:
		return err
	default:
		s.tell("%s: done (worker %s)", t.ID, w.ID)
	}
	return s.idle(c, w, o)
}

// digest is what a log was when its worker had ended.
type digest struct {
	sum  string
	size int64
}

// digest reads a worker's log. It is done without the run's lock: a log may be
// large. What cannot be read is no evidence.
func (s *Supervisor) digest(workerID string) {
	d, err := digestOf(logOf(s.Run, workerID))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		s.say("worker %s: its log is no evidence: %v", workerID, err)
	}
	s.digests[workerID] = d
}

func digestOf(path string) (digest, error) {
	f, err := os.OpenFile(path, os.O_RDONLY|unix.O_NOFOLLOW|unix.O_NONBLOCK, 0)
	if err != nil {
		return digest{}, err
	}
	defer f.Close()
	if info, err := f.Stat(); err != nil || !info.Mode().IsRegular() {
		return digest{}, fmt.Errorf("%s is not a regular file", path)
	}
	h := sha256.New()
	n, err := io.Copy(h, f)
	if err != nil {
		return digest{}, err
	}
	return digest{"sha256:" + hex.EncodeToString(h.Sum(nil)), n}, nil
}

// logName is where the log of a worker lies, below the run's folder.
func logName(workerID string) string { return filepath.Join("logs", workerID+".log") }

func logOf(r *run.Run, workerID string) string { return filepath.Join(r.Path, logName(workerID)) }

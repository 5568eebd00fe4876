package run

import (
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"aisync.dev/aisync/internal/atomicfile"
)

// EvidenceKinds are the kinds of evidence.
var EvidenceKinds = []string{"command", "output", "artifact"}

// checkRequirement checks a requirement: KIND or KIND:NAME.
func checkRequirement(want string) error {
	kind, name, named := strings.Cut(want, ":")
	if !slices.Contains(EvidenceKinds, kind) {
		return fmt.Errorf("evidence %q: want KIND or KIND:NAME, where KIND is one of %s", want, strings.Join(EvidenceKinds, ", "))
	}
	if named && checkName(name) != nil {
		return fmt.Errorf("evidence %q: %w", want, checkName(name))
	}
	return nil
}

// check checks a piece of evidence by itself.
func (e Evidence) check() error {
	switch {
	case checkName(e.ID) != nil:
		return checkName(e.ID)
	case !slices.Contains(EvidenceKinds, e.Kind):
		return fmt.Errorf("evidence of kind %q: want one of %s", e.Kind, strings.Join(EvidenceKinds, ", "))
	case e.Name != "" && checkName(e.Name) != nil:
		return fmt.Errorf("evidence: name: %w", checkName(e.Name))
	case e.Kind == "command" && (e.Command == "" || e.ExitCode == nil):
		return errors.New("evidence of kind command needs the command and its exit code")
	case e.Kind != "command" && e.Ref == "":
		return fmt.Errorf("evidence of kind %s needs a file", e.Kind)
	case e.Ref != "" && !filepath.IsLocal(e.Ref):
		return fmt.Errorf("evidence: %q is outside its folder", e.Ref)
	case e.Ref != "" && !validDigest(e.Digest):
		return fmt.Errorf("evidence: %q has no sha256 digest", e.Ref)
	}
	return nil
}

func validDigest(d string) bool {
	h, ok := strings.CutPrefix(d, "sha256:")
	b, err := hex.DecodeString(h)
	return ok && err == nil && len(b) == sha256.Size && h == strings.ToLower(h)
}

// NewEvidenceID returns a new id for a piece of evidence.
func NewEvidenceID() string {
	var b [6]byte
	rand.Read(b[:]) // never fails
	return "e-" + hex.EncodeToString(b[:])
}

// KeepOutput copies a command's output to evidence/ under its digest and returns
// its reference. A crash leaves an unused temp file.
func (r *Run) KeepOutput(from io.Reader) (ref, sum string, size int64, err error) {
	if err := r.store.callHook("write", "evidence"); err != nil {
		return "", "", 0, err
	}
	f, err := atomicfile.New("evidence", atomicfile.Options{Root: r.root, Temp: ".e-*.tmp", Survives: atomicfile.Content})
	if err != nil {
		return "", "", 0, fmt.Errorf("keep evidence: %w", err)
	}
	h := sha256.New()
	size, err = io.Copy(io.MultiWriter(f, h), from)
	if err != nil {
		f.Discard()
		return "", "", 0, fmt.Errorf("keep evidence: %w", err)
	}
	sum = hex.EncodeToString(h.Sum(nil))
	ref = filepath.Join("evidence", sum+".out")
	if err := r.store.callHook("rename", ref); err != nil {
		return "", "", 0, err
	}
	if err := f.Replace(sum + ".out"); err != nil {
		f.Discard()
		return "", "", 0, fmt.Errorf("keep evidence: %w", err)
	}
	return ref, "sha256:" + sum, size, nil
}

// Artifact digests a file of the workspace, or of one of its work trees, in
// place. It returns the path under which evidence names it.
func (r *Run) Artifact(path string) (ref, sum string, size int64, err error) {
	abs, err := filepath.Abs(path)
	if err != nil {
		return "", "", 0, fmt.Errorf("evidence %s: %w", path, err)
	}
	real, err := filepath.EvalSymlinks(abs)
	if err != nil {
		return "", "", 0, fmt.Errorf("evidence %s: %w", path, err)
	}
	ref, err = filepath.Rel(r.store.Workspace, real)
	if err != nil || !filepath.IsLocal(ref) {
		return "", "", 0, fmt.Errorf("evidence %s: outside the workspace %s; copy it there, or add its content as an output", path, r.store.Workspace)
	}
	sum, size, err = digestFile(real)
	return ref, sum, size, err
}

func digestFile(path string) (string, int64, error) {
	f, err := os.Open(path)
	if err != nil {
		return "", 0, fmt.Errorf("evidence: %w", err)
	}
	defer f.Close()
	if info, err := f.Stat(); err != nil || !info.Mode().IsRegular() {
		return "", 0, fmt.Errorf("evidence %s: not a regular file", path)
	}
	h := sha256.New()
	n, err := io.Copy(h, f)
	if err != nil {
		return "", 0, fmt.Errorf("evidence %s: %w", path, err)
	}
	return "sha256:" + hex.EncodeToString(h.Sum(nil)), n, nil
}

// AddEvidence records a piece of evidence: with a token for the task of that
// claim, without one for the run.
func (r *Run) AddEvidence(token string, e Evidence) error {
	return r.Change(func(c *Change) error { return c.AddEvidence(token, e) })
}

// AddEvidence is Run.AddEvidence within a change.
func (c *Change) AddEvidence(token string, e Evidence) error {
	if e.ID == "" {
		e.ID = NewEvidenceID()
	}
	if token == "" {
		return c.add(Event{Type: EvidenceAdded}, e)
	}
	return c.Held(EvidenceAdded, token, 0, e)
}

// EvidenceAt is a piece of evidence and its origin.
type EvidenceAt struct {
	Evidence
	Seq    int64  `json:"seq"`
	At     string `json:"at"`
	Task   string `json:"taskId,omitempty"`
	Worker string `json:"workerId,omitempty"`
	Now    string `json:"now,omitempty"` // the result of CheckEvidence: "unchanged", "changed", "missing"
}

// EvidenceList reads all evidence of the run from its events, in order.
func (r *Run) EvidenceList() ([]EvidenceAt, *State, error) {
	out := []EvidenceAt{}
	s, err := r.Replay(func(e Event) error {
		if e.Type != EvidenceAdded {
			return nil
		}
		at := EvidenceAt{Seq: e.Seq, At: e.At.Stamp(), Task: e.Task, Worker: e.Worker}
		if err := unpack(e, &at.Evidence); err != nil {
			return err
		}
		out = append(out, at)
		return nil
	})
	return out, s, err
}

// CheckEvidence digests the file of e again and sets Now.
func (r *Run) CheckEvidence(e *EvidenceAt) {
	if e.Ref == "" {
		return
	}
	base := r.store.Workspace
	if e.Kind != "artifact" {
		base = r.Path
	}
	sum, _, err := digestFile(filepath.Join(base, e.Ref))
	switch {
	case errors.Is(err, fs.ErrNotExist):
		e.Now = "missing"
	case err != nil || sum != e.Digest:
		e.Now = "changed"
	default:
		e.Now = "unchanged"
	}
}

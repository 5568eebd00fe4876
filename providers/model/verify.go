package model

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"

	"aisync.dev/aisync/reconcile"
	"aisync.dev/aisync/reconcile/fsys"
)

// Confirm implements reconcile.Confirmer: it reads every byte of a file that
// is about to be taken over.
func (Provider) Confirm(ctx context.Context, r reconcile.ReadEnv, c reconcile.Change) (reconcile.Outcome, error) {
	out := reconcile.Outcome{
		Token:       c.Before.Token,
		LeafPrivate: map[reconcile.LeafKey]json.RawMessage{},
		LeafLive:    map[reconcile.LeafKey]reconcile.Fingerprint{},
	}
	var wrong []error
	for _, l := range c.Leaves {
		if l.Want == nil || l.Action != reconcile.Accept || l.Decline {
			continue
		}
		a, err := artifact(*l.Want)
		if err != nil {
			return out, err
		}
		n, err := confirm(ctx, r.FS, a, noteOf(l.Last).Aside)
		if err != nil {
			wrong = append(wrong, err)
			continue
		}
		out.LeafPrivate[l.Key], out.LeafLive[l.Key] = n.raw(), n.fingerprint()
	}
	out.Token = tokenAfter(c, out)
	return out, errors.Join(wrong...)
}

// confirm reads the file of a and compares.
func confirm(ctx context.Context, r fsys.Reader, a Artifact, aside fsys.LogicalPath) (note, error) {
	before, err := verified(r, a, aside)
	if err != nil {
		return note{}, err
	}
	sum, err := hashAt(ctx, r, a.Path)
	if err != nil {
		return note{}, err
	}
	if !strings.EqualFold(sum, a.SHA256) {
		at, _ := r.Physical(a.Path)
		return note{}, fmt.Errorf("sha256 mismatch in %s: want %s, got %s; move it away (mv %s %s.wrong) and apply again to fetch the right one", a.Path, a.SHA256, sum, at, at)
	}
	after, err := verified(r, a, aside)
	if err == nil && after != before {
		err = fmt.Errorf("%s was written to while it was read; run the command again", a.Path)
	}
	return after, err
}

// Verify implements reconcile.Verifier: it reads every byte again.
func (Provider) Verify(ctx context.Context, r reconcile.ReadEnv, t reconcile.Target) error {
	var wrong []error
	for i := range t.Last {
		n := noteOf(&t.Last[i])
		if n.Path == "" {
			continue
		}
		sum, err := hashAt(ctx, r.FS, n.Path)
		switch {
		case err != nil:
			wrong = append(wrong, err)
		case sum != n.SHA256:
			wrong = append(wrong, fmt.Errorf("sha256 mismatch in %s: want %s, got %s; move it away and apply again", n.Path, n.SHA256, sum))
		}
	}
	return errors.Join(wrong...)
}

// hashAt returns the sha256 of all of p, in hex.
func hashAt(ctx context.Context, r fsys.Reader, p fsys.LogicalPath) (string, error) {
	f, err := r.Open(p)
	if err != nil {
		return "", fmt.Errorf("verify: %w", err)
	}
	defer f.Close()
	h := sha256.New()
	buf := make([]byte, 1<<20)
	for {
		if err := ctx.Err(); err != nil {
			return "", err
		}
		n, err := f.Read(buf)
		h.Write(buf[:n])
		if err == io.EOF {
			return hex.EncodeToString(h.Sum(nil)), nil
		}
		if err != nil {
			return "", fmt.Errorf("verify %s: %w", p, err)
		}
	}
}

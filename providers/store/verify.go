package store

import (
	"context"
	"fmt"
	"strings"

	"aisync.dev/aisync/internal/advice"
	"aisync.dev/aisync/reconcile/fsys"
)

// VerifyOptions say how closely to check.
type VerifyOptions struct {
	Deep     bool                               // read every byte again
	Progress func(file Held, done, total int64) // of Deep; may be nil
}

// Checked is the result for one file; Err says what is wrong and what to run.
type Checked struct {
	Held
	State State
	Where fsys.LogicalPath // the examined file, "" if there is none
	Err   error
}

// Verify checks every file. Without Deep it reads no byte of a model. The error
// is that of the context.
func Verify(ctx context.Context, r fsys.Reader, dir fsys.LogicalPath, held []Held, o VerifyOptions) ([]Checked, error) {
	var out []Checked
	for _, h := range held {
		if err := ctx.Err(); err != nil {
			return out, err
		}
		f, err := state(r, dir, h)
		c := Checked{Held: h, State: f.State, Where: f.Where, Err: err}
		if err == nil {
			c.State, c.Err = check(ctx, r, f, o)
		}
		if err := ctx.Err(); err != nil {
			return out, err
		}
		out = append(out, c)
	}
	return out, nil
}

// Again says how to fetch a damaged file of the model id again; see SetAside.
func Again(id string) string { return advice.RestoreModel(id) }

func check(ctx context.Context, r fsys.Reader, f FileState, o VerifyOptions) (State, error) {
	again := Again(f.ID)
	if f.Stat == (Stat{}) {
		again = "it was never verified here: move it away, and " + advice.ApplyModel(f.ID)
	}
	switch f.State {
	case Unpinned:
		return f.State, fmt.Errorf("%s has no digest to compare with; %s", f.Path, advice.LockOnline)
	case Missing:
		return f.State, fmt.Errorf("%s is missing; %s", f.Path, advice.ApplyModel(f.ID))
	case Partial:
		return f.State, fmt.Errorf("%s is incomplete (%d of %d bytes); %s", f.Path, f.Have, f.Size, advice.ApplyModel(f.ID))
	}
	if f.Have != f.Size {
		return Changed, fmt.Errorf("%s has %d bytes, want %d; %s", f.Where, f.Have, f.Size, again)
	}
	if o.Deep {
		sum, err := Hash(ctx, r, f.Where, func(done, total int64) {
			if o.Progress != nil {
				o.Progress(f.Held, done, total)
			}
		})
		switch {
		case err != nil:
			return f.State, err
		case !strings.EqualFold(sum, f.SHA256):
			return Changed, fmt.Errorf("sha256 mismatch in %s: want %s, got %s; %s", f.Where, f.SHA256, sum, again)
		}
		if err := CheckGGUF(r, f.Where, f.Path.Base()); err != nil {
			return OK, err
		}
		f.State = OK
	}
	switch {
	case f.How == Absent, f.How == Strange, f.How == Other:
		return f.State, fmt.Errorf("%s does not show the model; %s", f.Path, advice.ApplyModel(f.ID))
	case f.State == Changed:
		return f.State, fmt.Errorf("%s changed since it was verified; %s", f.Where, advice.VerifyDeep)
	}
	return f.State, nil
}

package start

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"aisync.dev/aisync/internal/merge"
	"aisync.dev/aisync/schema/spec"
)

// Alone is how a program starts in a home that holds only what it needs to talk
// to one server: it sees nothing of the person's setup.
type Alone struct {
	Environment map[string]string
	Files       map[string][]byte // by slash-separated path below the home
}

// AloneAt makes the program of rt talk to model at url, which ends in /v1; a
// context of 0 is unknown. Who keeps that server knows its key. It is an error if rt accepts only its vendor's
// server.
func AloneAt(rt *spec.Runtime, url, model string, context int64) (Alone, error) {
	s := &Server{Name: "task", URL: url, Model: model, Context: context, APIs: AllAPIs}
	a := Alone{Environment: map[string]string{}, Files: map[string][]byte{}}
	maps.Copy(a.Environment, rt.Launch.Environment)
	maps.Copy(a.Environment, rt.Launch.Offline)
	if !Pointable(rt) {
		return a, fmt.Errorf("%s accepts only its vendor's server", rt.ID)
	}
	l := Launch{Environment: a.Environment}
	if err := s.set(&l, rt.Launch.Endpoint, nil); err != nil {
		return a, err
	}
	for _, leaf := range s.Leaves(slices.Concat(rt.User.Endpoint, rt.User.Always)) {
		ref := leaf.Ref
		if err := a.set(ref, leaf.Server); err != nil {
			return a, fmt.Errorf("adapter of %s: %s %s: %w", rt.ID, ref.Path, ref.Pointer, err)
		}
	}
	return a, nil
}

// Pointable reports whether a vendor's program can talk to another server.
func Pointable(rt *spec.Runtime) bool { return len(rt.User.Endpoint)+len(rt.Launch.Endpoint) > 0 }

// set adds one leaf to its file.
func (a *Alone) set(ref spec.Reference, s *Server) error {
	name, ok := strings.CutPrefix(ref.Path, "~/")
	if !ok {
		return errors.New("lies outside the home")
	}
	f, ok, err := s.Fill(ref, nil)
	if err != nil || !ok {
		return err
	}
	value, key := f.Value, ref.Pointer
	if set, ok := strings.CutSuffix(ref.Pointer, "/-"); ok {
		if key, err = merge.SetKey(set, value); err != nil {
			return err
		}
	}
	done, err := merge.Edit(merge.Format(ref.Format), a.Files[name], []merge.Op{{Key: key, Value: value}}, nil)
	if err != nil {
		return err
	}
	a.Files[name] = done.Doc
	return nil
}

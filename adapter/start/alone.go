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
// context of 0 is unknown. It is an error if rt accepts only its vendor's
// server.
func AloneAt(rt *spec.Runtime, url, model string, context int64) (Alone, error) {
	s := &Server{Name: "task", URL: url, Model: model, Context: context, APIs: AllAPIs}
	a := Alone{Environment: map[string]string{}, Files: map[string][]byte{}}
	maps.Copy(a.Environment, rt.Launch.Environment)
	maps.Copy(a.Environment, rt.Launch.Offline)
	if !Pointable(rt) {
		return a, fmt.Errorf("%s accepts only its vendor's server", rt.ID)
	}
	s.set(a.Environment, rt.Launch.Endpoint)
	refs, err := s.References(slices.Concat(rt.User.Endpoint, rt.User.Always))
	if err != nil {
		return a, fmt.Errorf("adapter of %s: %w", rt.ID, err)
	}
	for _, ref := range refs {
		if err := a.set(ref); err != nil {
			return a, fmt.Errorf("adapter of %s: %s %s: %w", rt.ID, ref.Path, ref.Pointer, err)
		}
	}
	return a, nil
}

// Pointable reports whether a vendor's program can talk to another server.
func Pointable(rt *spec.Runtime) bool { return len(rt.User.Endpoint)+len(rt.Launch.Endpoint) > 0 }

// set adds one leaf to its file.
func (a *Alone) set(ref spec.Reference) error {
	name, ok := strings.CutPrefix(ref.Path, "~/")
	if !ok {
		return errors.New("lies outside the home")
	}
	key := ref.Pointer
	if set, ok := strings.CutSuffix(ref.Pointer, "/-"); ok {
		var err error
		if key, err = merge.SetKey(set, ref.JSON); err != nil {
			return err
		}
	}
	done, err := merge.Edit(merge.Format(ref.Format), a.Files[name], []merge.Op{{Key: key, Value: ref.JSON}}, nil)
	if err != nil {
		return err
	}
	a.Files[name] = done.Doc
	return nil
}

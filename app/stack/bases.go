package stack

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"aisync.dev/aisync/app/clone"
	"aisync.dev/aisync/app/pin"
	"aisync.dev/aisync/schema/spec"
)

// base implements schema.Options.Base: it returns the folder of what the host's spec
// extends. A Session's machine fetches and pins it; others find what is here.
func (m *Machine) base(ctx context.Context, src spec.Source) (dir, pinned string, err error) {
	switch now := m.BasesNow[src.URL]; {
	case now != "":
		return now, "", nil
	case !spec.Remote(src.URL):
		dir = spec.LocalPath(src.URL, src.Dir, m.Places.Physical(m.Places.Home))
		if _, err := os.Stat(dir); err != nil {
			return "", "", fmt.Errorf("no folder at %s", m.Places.Anywhere(dir))
		}
		return dir, "", nil
	case m.bases != nil:
		dir, pinned, err = m.bases.Source(ctx, src)
		return dir, pinned, pin.Advise(clone.Explained(err, src.URL))
	}
	f, err := pin.ReadFile(filepath.Join(m.Places.Config, LockName))
	if err != nil {
		return "", "", err
	}
	dir, pinned, err = sourceCache(m.Places).Source(f, src)
	if _, known := f.Lock.Pin(pin.KindBase, src.Name, ""); errors.Is(err, pin.ErrNotFetched) && known {
		err = fmt.Errorf("%s pins it, and it is %w", LockName, err)
	}
	return dir, pinned, pin.Advise(err)
}

// FetchBases has the specs that s loads from now on fetch and pin what they extend,
// and move the pins that u names. The pins are in the host's lock after s.Load.
func (s *Session) FetchBases(u pin.Update) error {
	f, err := pin.ReadFile(filepath.Join(s.Places.Config, LockName))
	if err != nil {
		return err
	}
	s.bases = &pin.Resolver{
		Mode: pin.Pin, Locked: s.Locked, Update: u, Spec: &spec.Spec{}, Facts: s.Facts, Version: s.Version,
		Host: f, Network: s.Network(), Disk: s.FS, Cache: sourceCache(s.Places), Notify: s.notify,
	}
	return nil
}

// BasePins is what FetchBases pinned of the bases.
func (v *View) BasePins() (pin.Result, error) {
	if v.bases == nil {
		return pin.Result{}, nil
	}
	return v.bases.Result()
}

// takeBasePins puts the pins of bases into the host's lock.
func (v *View) takeBasePins() error {
	res, err := v.BasePins()
	for _, pins := range res.Pins {
		v.HostLock.Set(pins)
	}
	if h := v.Spec.Host; h != nil && v.bases != nil {
		names := []string{}
		for _, b := range h.Bases {
			names = append(names, b.Name)
		}
		v.HostLock.KeepBases(names)
	}
	return err
}

// Rehearsal loads the specs of m as Look does, and fetches into the cache what they
// extend. The session holds no lock, and the caller writes nothing by it.
func Rehearsal(ctx context.Context, m *Machine, sc Scope) (*View, *Session, error) {
	v, err := readOnlyView(m, sc)
	if err != nil {
		return nil, nil, err
	}
	s, err := DryRun(v)
	if err != nil {
		return nil, nil, err
	}
	if err := s.FetchBases(pin.Update{}); err != nil {
		return nil, nil, err
	}
	return v, s, v.Load(ctx)
}

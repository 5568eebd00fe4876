package stack

import (
	"context"

	"aisync.dev/aisync/app/pin"
	"aisync.dev/aisync/reconcile"
)

// LockName is the file of pins beside every spec.
const LockName = pin.FileName

// Locks returns the locks of the owners that take part.
func (v *View) Locks() []*pin.File {
	var out []*pin.File
	if v.Has(reconcile.HostOwner) {
		out = append(out, v.HostLock)
	}
	if v.ProjectLock != nil && v.Has(reconcile.ProjectOwner(v.Places.Project)) {
		out = append(out, v.ProjectLock)
	}
	return out
}

// SaveLocks writes both locks. The project's goes through the engine, which keeps
// fingerprints of targets in it.
func (s *Session) SaveLocks(ctx context.Context) error {
	if err := s.SavePins(); err != nil {
		return err
	}
	if s.ProjectLock == nil || !s.Has(reconcile.ProjectOwner(s.Places.Project)) {
		return nil
	}
	if _, err := s.Engine.Apply(ctx, s.WriteEnv(nil), s.Store, &reconcile.Plan{}, reconcile.ApplyOptions{ID: s.ApplyID, Command: "lock", Version: s.Version}); err != nil {
		return pin.Advise(s.ProjectLock.NotWritable(err))
	}
	return s.FS.Flush()
}

// SavePins writes the pins of the host. The engine writes those of a project,
// together with its targets.
func (s *Session) SavePins() error {
	if !s.HostLock.Changed() {
		return nil
	}
	if !s.Places.Configured { // a folder named by --config is there
		if _, err := s.FS.MkdirAll(s.Places.ConfigHome, 0o755); err != nil {
			return pin.Advise(s.HostLock.NotWritable(err))
		}
	}
	return pin.Advise(s.HostLock.Save(s.Places.FSOptions(s.ApplyID)))
}

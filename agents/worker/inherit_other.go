//go:build !linux

package worker

// inheritOrphans does nothing: only Linux gives orphans to another process than
// the first.
func inheritOrphans() error { return nil }

// childless cannot be asked elsewhere: the list of processes counts.
func childless() bool { return true }

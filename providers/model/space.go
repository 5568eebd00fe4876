package model

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"

	"golang.org/x/sync/errgroup"
	"golang.org/x/sys/unix"

	"aisync.dev/aisync/internal/advice"
	"aisync.dev/aisync/internal/quantity"
	"aisync.dev/aisync/reconcile"
)

const (
	reserve      = 2 << 30 // bytes to leave free for everything else
	reserveAbove = 1 << 30 // smaller downloads ignore the reserve
)

// Preflight implements reconcile.Preflighter: every file to fetch must be
// pinned, fit on the store's disk, which must be writable, and be available
// from at least one source.
func (Provider) Preflight(ctx context.Context, r reconcile.ReadEnv, batch []reconcile.Change) []reconcile.Problem {
	var problems []reconcile.Problem
	needs := map[uint64]*need{}
	var ask []toFetch
	for _, c := range batch {
		addr := c.Target.Resource.Address
		fail := func(err error) { problems = append(problems, reconcile.Problem{Address: addr, Err: err}) }
		for _, l := range c.Leaves {
			if !l.Writes() || l.Want == nil {
				continue
			}
			a, err := artifact(*l.Want)
			if err == nil {
				err = a.pinned()
			}
			if err == nil {
				err = errors.Join(r.FS.Writable(a.Path), r.FS.Writable(a.blob()), r.FS.Writable(a.part()))
			}
			if err != nil {
				fail(err)
				continue
			}
			at, err := r.FS.Physical(a.Store)
			if err != nil {
				fail(err)
				continue
			}
			disk, free, err := space(at)
			if err != nil {
				fail(fmt.Errorf("free space for %s: %w", a.Store, err))
				continue
			}
			if needs[disk] == nil {
				needs[disk] = &need{first: addr, store: string(a.Store), free: free}
			}
			f := lookAt(r.FS, c.Target, l.Key)
			needs[disk].bytes += f.space
			if f.fetch > 0 {
				ask = append(ask, toFetch{addr, a})
			}
		}
	}
	for _, n := range needs {
		if err := n.check(); err != nil {
			problems = append(problems, reconcile.Problem{Address: n.first, Err: err, Hint: "free some space, name another store in the spec, or choose a smaller quant"})
		}
	}
	if len(problems) > 0 {
		return problems // these problems show without the network
	}
	return unreachable(ctx, r, ask)
}

// toFetch is a file that must be fetched.
type toFetch struct {
	of   reconcile.Address
	file Artifact
}

// askAtOnce is how many files are asked for at a time.
const askAtOnce = 16

// unreachable asks the sources of all files at once, and returns one problem
// for each model that none can serve now.
func unreachable(ctx context.Context, r reconcile.ReadEnv, ask []toFetch) []reconcile.Problem {
	if r.Reach == nil {
		return nil
	}
	errs := make([]error, len(ask))
	var g errgroup.Group
	g.SetLimit(askAtOnce)
	for i, x := range ask {
		g.Go(func() error {
			errs[i] = r.Reach(ctx, x.file.ID, x.file.Sources, x.file.Size, lower(x.file.SHA256))
			return nil
		})
	}
	_ = g.Wait() // collects no errors
	var problems []reconcile.Problem
	for i, x := range ask {
		said := slices.ContainsFunc(problems, func(p reconcile.Problem) bool { return p.Address == x.of })
		if errs[i] == nil || said {
			continue
		}
		err := fmt.Errorf("%s cannot be fetched: %w", x.file.Path.Base(), errs[i])
		if ctx.Err() != nil {
			err = ctx.Err()
		}
		problems = append(problems, reconcile.Problem{Address: x.of, Err: err, Hint: advice.AnotherSource(x.file.ID)})
	}
	return problems
}

// need is what one file system must hold.
type need struct {
	first       reconcile.Address
	store       string
	bytes, free int64
}

func (n need) check() error {
	want, spare := n.bytes, ""
	if n.bytes > reserveAbove {
		want += reserve
		spare = " and " + quantity.Bytes(reserve) + " to leave free"
	}
	if n.bytes == 0 || want <= n.free {
		return nil
	}
	return fmt.Errorf("not enough space on the disk of %s: %s are needed%s, %s are free, %s too few",
		n.store, quantity.Bytes(n.bytes), spare, quantity.Bytes(n.free), quantity.Bytes(want-n.free))
}

// space returns the file system of the nearest folder above path, and how many
// bytes of it this user may still fill.
func space(path string) (disk uint64, free int64, err error) {
	for {
		var st unix.Statfs_t
		err := unix.Statfs(path, &st)
		if err == nil {
			var dir unix.Stat_t
			if err := unix.Stat(path, &dir); err != nil {
				return 0, 0, err
			}
			return uint64(dir.Dev), int64(st.Bavail) * int64(st.Bsize), nil
		}
		up := filepath.Dir(path)
		if !errors.Is(err, os.ErrNotExist) || up == path {
			return 0, 0, err
		}
		path = up
	}
}

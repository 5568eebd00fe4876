package doctor

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"sort"
	"strings"
	"time"

	"aisync.dev/aisync/app/stack"
	"aisync.dev/aisync/internal/shellquote"
	"aisync.dev/aisync/reconcile"
	"aisync.dev/aisync/reconcile/fsys"
)

// checkLeftovers looks where aisync writes for names that only it gives.
func checkLeftovers(_ context.Context, p *Env) []Finding {
	if p.store == nil || p.store.Unfinished() {
		return nil // the next apply needs them
	}
	var out []Finding
	for _, dir := range p.managedFolders() {
		entries, err := p.disk.ReadDir(dir)
		if err != nil {
			continue // the check of managed files says why
		}
		for _, e := range entries {
			if strings.HasPrefix(e.Name(), ".") && strings.Contains(e.Name(), ".aisync-") {
				name := p.places.Physical(dir.Join(e.Name()))
				out = append(out, warn("look into it, then: rm "+shellquote.Terminal(name), "%s was left by an apply that was killed", name))
			}
		}
	}
	return out
}

// managedFolders are the folders that hold something recorded, and the state's own.
func (p *Env) managedFolders() []fsys.LogicalPath {
	seen := map[fsys.LogicalPath]bool{p.places.State: true, p.dir.Records(): true, p.dir.Applies(): true}
	for path := range p.managed() {
		seen[path.Dir()] = true
	}
	out := make([]fsys.LogicalPath, 0, len(seen))
	for dir := range seen {
		out = append(out, dir)
	}
	slices.Sort(out)
	return out
}

// recorded is what can be reached from here: what the host's owner and that of
// the project at hand have on record.
func (p *Env) recorded() []reconcile.Record {
	var out []reconcile.Record
	out = append(out, p.store.Records(reconcile.HostOwner)...)
	if p.places.Project != "" {
		out = append(out, p.store.Records(reconcile.ProjectOwner(p.places.Project))...)
	}
	return out
}

// managed are the recorded targets that are named by a path.
func (p *Env) managed() map[fsys.LogicalPath]reconcile.Address {
	out := map[fsys.LogicalPath]reconcile.Address{}
	for _, rec := range p.recorded() {
		switch rec.Address.Kind() {
		case "file", "link", "dir":
			out[rec.Address.Path(p.places.Home)] = rec.Address
		}
	}
	return out
}

func checkManaged(_ context.Context, p *Env) []Finding {
	if p.store == nil {
		return nil
	}
	var out []Finding
	for path, addr := range p.managed() {
		if err := p.reachable(path, addr.Kind()); err != nil {
			out = append(out, fail("ls -ld "+shellquote.Terminal(p.places.Physical(path))+", then give yourself access", "%s: %v", addr, err))
		}
	}
	sort.Slice(out, func(i, j int) bool { return out[i].What < out[j].What })
	return out
}

// reachable says why a target that is there could not be read or replaced. One
// that is gone, or has become something else, is drift and not for doctor.
func (p *Env) reachable(path fsys.LogicalPath, kind string) error {
	info, err := p.disk.Lstat(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	if kind == "file" && info.Mode().IsRegular() {
		f, err := p.disk.Open(path)
		if err != nil {
			return err
		}
		f.Close()
	}
	return p.disk.Writable(path)
}

// checkExchange names the file systems on which a file that somebody changes
// in the very moment of an apply could be overwritten unseen.
func checkExchange(_ context.Context, p *Env) []Finding {
	dirs := []string{p.places.Physical(p.places.Home), p.places.Physical(p.places.State), p.places.Project}
	if s := p.storeFolder(); s != "" {
		dirs = append(dirs, p.places.Physical(s))
	}
	var out []Finding
	for _, dir := range dirs {
		if dir == "" {
			continue
		}
		if kind := cannotExchange(existingPart(dir)); kind != "" {
			out = append(out, warn("", "%s is on %s, where two files cannot be swapped in one step: what somebody else writes into a managed file in the very moment of an apply is lost there", dir, kind))
		}
	}
	return out
}

// existingPart is dir, or the nearest folder above it that is there.
func existingPart(dir string) string {
	for {
		if _, err := os.Stat(dir); err == nil || dir == filepath.Dir(dir) {
			return dir
		}
		dir = filepath.Dir(dir)
	}
}

// checkContents has every provider that can read its targets again, byte by byte.
func checkContents(ctx context.Context, p *Env) []Finding {
	if p.store == nil {
		return nil
	}
	env := reconcile.ReadEnv{FS: p.disk, Home: p.places.Home, Run: p.run, Contents: p.store.Contents, Backup: p.store.Backup, Clock: time.Now}
	var out []Finding
	for _, provider := range stack.Providers(p.places, stack.ServiceManager{}, true, (&stack.Sealer{Reader: p.disk, State: p.places.State}).Seal) {
		v, ok := provider.(reconcile.Verifier)
		if !ok {
			continue
		}
		for _, rec := range p.recorded() {
			if rec.Address.Kind() != provider.Kind() {
				continue
			}
			t := reconcile.Target{Resource: reconcile.Resource{Address: rec.Address, Format: rec.Format}, Last: rec.Leaves, Private: rec.Private}
			if err := v.Verify(ctx, env, t); err != nil {
				out = append(out, fail("aisync apply --restore --target "+shellquote.Terminal(string(rec.Address)), "%s: %v", rec.Address, err))
			}
		}
	}
	return out
}

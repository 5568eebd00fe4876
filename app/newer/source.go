package newer

import (
	"context"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"aisync.dev/aisync/app/marketplace"
	"aisync.dev/aisync/app/pin"
	"aisync.dev/aisync/internal/bundle"
	"aisync.dev/aisync/internal/fetch/git"
	"aisync.dev/aisync/schema/spec"
)

// Asker asks for what is newer. Each marketplace is fetched once. Close removes what
// was fetched.
type Asker struct {
	Network *pin.Network
	Cache   pin.Cache
	Home    string                           // physical, of ~/ in folders
	Sources func(scope string) []spec.Source // of the spec of that scope

	mu      sync.Mutex
	temp    string
	markets map[string]func() (*bundle.Tree, error)
}

// Close removes what was fetched.
func (a *Asker) Close() {
	if a.temp != "" {
		os.RemoveAll(a.temp)
	}
}

// Source returns what p is pinned to and what is offered.
func (a *Asker) Source(ctx context.Context, p *Pinned) *Row {
	r := p.Row()
	if dir, _, err := a.Cache.Source(p.Lock, p.Source); err == nil {
		if when, err := pin.CommitDate(ctx, dir); err == nil && strings.HasPrefix(p.Source.URL, "git::") {
			r.PinnedDate = &when
		}
	}
	if p.Source.From != "" {
		url, err := a.Moved(ctx, p)
		switch {
		case err != nil:
			return r.failed(err)
		case url != p.Source.URL:
			r.State, r.NewestAddress = Newer, bundle.ShortAddress(url)
			r.Note = fmt.Sprintf("marketplace %s has it at %s", market(p.Source.From), r.NewestAddress)
			if _, ref := refOf(url); git.IsCommit(ref) {
				r.Newest = ref
			}
			return r
		}
	}
	switch {
	case !bundle.Remote(p.Source.URL):
		r.State, r.Note = Folder, "read as it is: nothing to update"
	case r.Pin == "":
		r.State, r.Note = Unpinned, "not pinned yet; aisync lock pins it"
	case strings.HasPrefix(p.Source.URL, "git::"):
		return a.repository(ctx, p, r)
	case strings.HasPrefix(p.Source.URL, "oci"):
		return a.artifact(ctx, p, r)
	default:
		return a.archive(ctx, p, r)
	}
	return r
}

func market(from string) string {
	_, m, _ := marketplace.Split(from)
	return m
}

// refOf splits the address of a repository into what stands before its ref, and the
// ref.
func refOf(url string) (base, ref string) {
	base, query, _ := strings.Cut(url, "?")
	for pair := range strings.SplitSeq(query, "&") {
		if v, ok := strings.CutPrefix(pair, "ref="); ok {
			return base, v
		}
	}
	return base, ""
}

// repository compares the pin of a git source with what its host lists.
func (a *Asker) repository(ctx context.Context, p *Pinned, r *Row) *Row {
	refs, ref, err := a.Network.Refs(ctx, p.Source.URL)
	if err != nil {
		return r.failed(err)
	}
	tag := ""
	switch branch, onlyBranch := strings.CutPrefix(ref, "refs/heads/"); {
	case ref == "":
		r.Newest, r.NewestName = refs.Head, "the default branch"
	case git.IsCommit(ref):
		r.State, r.Newest, r.Note = Fixed, ref, "the spec names a commit, which does not move"
		for _, name := range slices.Sorted(maps.Keys(refs.Tags)) {
			if refs.Tags[name] == ref && newerTag(name, refs.Tags) != "" {
				tag = name
			}
		}
	case onlyBranch, refs.Branches[branch] != "":
		r.Newest, r.NewestName = refs.Branches[branch], branch
	case refs.Tags[strings.TrimPrefix(ref, "refs/tags/")] != "":
		tag = strings.TrimPrefix(ref, "refs/tags/")
		r.Newest, r.NewestName = refs.Tags[tag], tag
		if r.Newest == r.Pin {
			r.State, r.Note = Fixed, "the spec names the tag "+tag+", which does not move by itself"
		} else {
			r.Note = "the tag " + tag + " was moved"
		}
	case strings.HasPrefix(r.Pin, ref) && len(ref) >= 4:
		r.State, r.Newest, r.Note = Fixed, r.Pin, "the spec names a commit, which does not move"
	}
	switch {
	case r.Newest == "" && ref == "":
		return r.failed(fmt.Errorf("%s shows no default branch", r.Address))
	case r.Newest == "":
		return r.failed(fmt.Errorf("%s has no branch or tag %q any more", r.Address, ref))
	}
	if next := newerTag(tag, refs.Tags); tag != "" && next != "" {
		r.Note += "; there is " + next
		r.NewestName, r.Newest = next, refs.Tags[next]
	}
	switch {
	case r.State == Fixed:
	case r.Newest == r.Pin:
		r.State = Current
	default:
		r.State = Newer
	}
	return r
}

// artifact compares the pin of a source in an OCI registry with what its tag names.
func (a *Asker) artifact(ctx context.Context, p *Pinned, r *Row) *Row {
	var err error
	if r.Newest, err = a.Network.Manifest(ctx, p.Source.URL); err != nil {
		return r.failed(err)
	}
	switch {
	case strings.Contains(p.Source.URL, "@sha256:"):
		r.State, r.Note = Fixed, "the spec names a digest, which does not move"
	case r.Newest == r.Pin:
		r.State = Current
	default:
		r.State = Newer
	}
	return r
}

// archive fetches an archive to compare it with its pin: nothing else tells its
// content.
func (a *Asker) archive(ctx context.Context, p *Pinned, r *Row) *Row {
	tree, err := a.fetch(ctx, p.Source)
	if err != nil {
		return r.failed(err)
	}
	if r.Newest, err = tree.DigestOf(p.Source.Pick.Whole()); err != nil {
		return r.failed(err)
	}
	if r.State = Newer; r.Newest == r.Pin {
		r.State = Current
	}
	return r
}

// Moved returns where the marketplace that p came from has it now.
func (a *Asker) Moved(ctx context.Context, p *Pinned) (url string, err error) {
	name, market, ok := marketplace.Split(p.Source.From)
	if !ok {
		return "", fmt.Errorf("%s: %q is not PLUGIN@MARKETPLACE", p.Source.Pos, p.Source.From)
	}
	at, err := marketplace.Address(market, a.Sources(p.Scope), func(text string) (string, error) { return bundle.Address(text, p.Source.Dir) })
	if err != nil {
		return "", fmt.Errorf("%s: marketplace %s: %w", p.Source.Pos, market, err)
	}
	a.mu.Lock()
	open := a.markets[at]
	if open == nil {
		if a.markets == nil {
			a.markets = map[string]func() (*bundle.Tree, error){}
		}
		open = sync.OnceValues(func() (*bundle.Tree, error) {
			return a.fetch(ctx, spec.Source{Name: "marketplace", URL: at, Dir: p.Source.Dir})
		})
		a.markets[at] = open
	}
	a.mu.Unlock()
	tree, err := open()
	if err != nil {
		return "", fmt.Errorf("marketplace %s: %w", market, err)
	}
	found, err := marketplace.Find(tree, market, at, name, p.Source.Dir)
	return found.URL, err
}

// fetch opens a source as it is now, and pins nothing.
func (a *Asker) fetch(ctx context.Context, src spec.Source) (*bundle.Tree, error) {
	url := src.URL
	if bundle.Remote(url) {
		a.mu.Lock()
		var err error
		if a.temp == "" {
			a.temp, err = os.MkdirTemp("", "aisync-newer-")
		}
		a.mu.Unlock()
		if err != nil {
			return nil, err
		}
		dir, err := os.MkdirTemp(a.temp, "source-")
		if err != nil {
			return nil, err
		}
		to := filepath.Join(dir, "tree")
		if err := a.Network.Tree(ctx, bundle.Fetched(src, a.Home), to); err != nil {
			return nil, err
		}
		url = to
	}
	return (&bundle.Sources{Home: a.Home}).Open(ctx, spec.Source{Name: src.Name, URL: url, Dir: src.Dir})
}

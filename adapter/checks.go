package adapter

import (
	"path"
	"slices"
	"strings"

	"aisync.dev/aisync/adapter/render"
	"aisync.dev/aisync/internal/bundle"
	"aisync.dev/aisync/providers/file"
	"aisync.dev/aisync/reconcile"
)

// ChecksFile, below a project or a home, lists the checks that a launcher runs
// before and after a program without such hooks.
const ChecksFile = ".agents/checks.json"

// check is one command that a launcher runs.
type check struct {
	Event    string   `json:"event"`
	Command  string   `json:"command"`
	Required bool     `json:"required"`
	Timeout  int      `json:"timeout,omitempty"` // seconds
	Runtimes []string `json:"runtimes"`
	origin   []reconcile.Position
}

// around leaves a hook to the launcher, for a program without that event, and
// reports whether the launcher can run it.
func (b *builder) around(p place, w bundleRequest, programs []bundle.File, h bundle.Hook) bool {
	if !slices.Contains(bundle.LaunchedEvents, h.Event) {
		return false
	}
	c := check{Event: h.Event, Command: h.Command, Required: h.Required(), Timeout: h.Timeout, origin: w.origin}
	if first, _, _ := strings.Cut(h.Command, " "); slices.ContainsFunc(programs, func(g bundle.File) bool { return g.Rel == first }) {
		folder := ".agents/hooks"
		if b.owner == reconcile.HostOwner {
			folder = "~/" + folder
		}
		b.files(p, w, folder, "hook programs", programs)
		c.Command = render.Call("{path}", path.Join(folder, first), h.Command)
	}
	same := func(o check) bool {
		return o.Event == c.Event && o.Command == c.Command && o.Required == c.Required && o.Timeout == c.Timeout
	}
	i := slices.IndexFunc(b.checks, same)
	if i < 0 {
		i = len(b.checks)
		b.checks = append(b.checks, c)
	}
	b.checks[i].origin = joined(b.checks[i].origin, w.origin)
	if !slices.Contains(b.checks[i].Runtimes, p.rt.ID) {
		b.checks[i].Runtimes = append(b.checks[i].Runtimes, p.rt.ID)
		slices.Sort(b.checks[i].Runtimes)
	}
	return true
}

// writeChecks declares the file as one leaf: people agree to its content as a
// whole.
func (b *builder) writeChecks() {
	if len(b.checks) == 0 {
		return
	}
	var origin []reconcile.Position
	for _, c := range b.checks {
		origin = joined(origin, c.origin)
	}
	name := ChecksFile
	if b.owner == reconcile.HostOwner {
		name = "~/" + name
	}
	b.leaf(fileAt(name), "", reconcile.Leaf{
		Body: file.Whole(append(render.JSON(map[string]any{"format_version": "1.0", "checks": b.checks}), '\n'), 0o644), Origin: origin,
	}, "the hooks")
}

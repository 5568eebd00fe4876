package review

import (
	"context"
	"os"
	"strings"

	"aisync.dev/aisync/app/effects"
	"aisync.dev/aisync/internal/bundle"
	"aisync.dev/aisync/internal/bundle/items"
	"aisync.dev/aisync/internal/bundle/yield"
	"aisync.dev/aisync/internal/termtext"
	"aisync.dev/aisync/schema/spec"
)

// Effect is something that a program or git does, or may run, because of an item.
type Effect struct {
	Kind   string `json:"kind"` // of the item
	Name   string `json:"name"`
	Does   string `json:"does"`
	Digest string `json:"digest,omitempty"` // of the bytes that are run
}

// Effects returns what programs and git do because of list: hooks, servers,
// permissions, git hooks, settings, executable files, commands within texts.
func Effects(list []*items.Item) []Effect {
	out := []Effect{}
	for _, i := range list {
		if i.Does != "" {
			e := Effect{Kind: i.Kind, Name: i.Name, Does: i.Does}
			if len(i.Files) > 0 {
				e.Digest = i.Files[0].Digest
			}
			out = append(out, e)
		}
		for _, f := range i.Files {
			switch text := read(f); {
			case i.Kind == "hook program":
				out = append(out, Effect{i.Kind, i.Name, "is run or read by hooks: " + f.Src, f.Digest})
			case i.Does != "":
			case f.Mode&0o111 != 0 || strings.HasPrefix(text, "#!"):
				out = append(out, Effect{i.Kind, i.Name, "has a program: " + f.Src, f.Digest})
			case i.Kind == "skill" && f.Rel == "SKILL.md" || i.Kind == "command" || i.Kind == "subagent":
				for _, c := range effects.InlineCommands(text) {
					out = append(out, Effect{Kind: i.Kind, Name: i.Name, Does: "runs " + termtext.OneLine(c) + " when it is used"})
				}
			}
		}
	}
	return out
}

// OfHost returns what programs do because of the servers and bundles of y.Host. A
// bundle that cannot be read has none.
func OfHost(ctx context.Context, y yield.Spec) []Effect {
	if y.Host == nil {
		return []Effect{}
	}
	out := ofServers(y.Host.MCP)
	for _, b := range y.Host.Bundles {
		if parts, _, err := y.Taken(ctx, b.Name); err == nil {
			out = append(out, Effects(items.Of(parts...))...)
		}
	}
	return out
}

// ofServers returns what programs start or reach because of the MCP servers of a
// spec.
func ofServers(list []spec.MCPServer) []Effect {
	out := []Effect{}
	for _, s := range list {
		does := "runs " + strings.Join(append([]string{s.Command}, s.Args...), " ")
		switch {
		case s.Disabled:
			continue
		case s.URL != "":
			does = "is reached at " + s.URL
		}
		out = append(out, Effect{Kind: "MCP server", Name: s.Name, Does: does})
	}
	return out
}

// read returns the text of f; "" for one that cannot be read, which is not written
// either.
func read(f bundle.File) string {
	if f.Path == "" {
		return string(f.Embedded)
	}
	b, _ := os.ReadFile(f.Path)
	return string(b)
}

package gather

import (
	"strings"

	"aisync.dev/aisync/catalog"
	"aisync.dev/aisync/schema/spec"
)

// ProgramOf is the program that a file belongs to: the one for which the bundle has
// it, else the one whose folder it lies in; "" for a place that many read.
func ProgramOf(t Taken) string {
	if _, rest, own := strings.Cut("/"+t.To, "/runtimes/"); own {
		id, _, _ := strings.Cut(rest, "/")
		return id
	}
	for _, o := range owners() {
		if strings.HasPrefix(t.From, o.place) {
			return o.program
		}
	}
	return ""
}

type owner struct{ place, program string }

// owners are the places that one program has in a project and a home.
func owners() []owner {
	out := []owner{
		{".rulesync", "rulesync"}, {"rulesync", "rulesync"}, {".ruler", "ruler"}, {".config/ruler", "ruler"}, {".mcp.json", "claude"}, {"CLAUDE", "claude"},
		{"GEMINI", "gemini"}, {".cursorrules", "cursor"}, {".cursorignore", "cursor"}, {".vscode/mcp.json", "copilot"}, {"opencode.json", "opencode"},
	}
	for _, rt := range catalog.With(spec.Catalog{}).Runtimes() {
		for _, dir := range []string{rt.Project.Dir, strings.TrimPrefix(rt.User.Dir, "~/")} {
			if dir != "" && dir != "." && dir != ".agents" {
				out = append(out, owner{dir + "/", rt.ID})
			}
		}
		out = append(out, owner{"." + rt.ID + "/", rt.ID}, owner{"." + rt.ID + "ignore", rt.ID})
	}
	return out
}

package workspace

import (
	"encoding/json"
	"errors"
	"regexp"

	"aisync.dev/aisync/providers/dir"
)

// Layouts are the folders that Declare lays out, by name.
func Layouts() map[string]dir.Layout {
	return map[string]dir.Layout{ledgerDir: ledger(), runsDir: runs()}
}

const ledgerDir = ".pi-ensemble"

// ledger is .pi-ensemble/ as `ensemble init` makes it, without the agents, who
// add themselves. docs/ledger.md describes the files.
func ledger() dir.Layout {
	return dir.Laid("run: aisync ledger doctor",
		dir.First{Name: "config.yaml", Content: "version: 1\ndefault_agent: pi\n", Sound: hasVersion},
		dir.First{Name: "blackboard.md", Content: "# pi-ensemble blackboard\n\nAppend-only shared notes for local coding agents.\n"},
		dir.First{Name: "worktrees.json", Content: "{}\n", Sound: isClaims},
		dir.First{Name: "audit.jsonl"}, // unreadable lines are skipped; doctor counts them
		dir.First{Name: "agents", Folder: true},
	)
}

var version = regexp.MustCompile(`(?m)^version:\s*\S`)

func hasVersion(text []byte) error {
	if !version.Match(text) {
		return errors.New("no version line, such as version: 1")
	}
	return nil
}

func isClaims(text []byte) error {
	var claims map[string]struct {
		Agent string `json:"agent"`
	}
	if err := json.Unmarshal(text, &claims); err != nil || claims == nil {
		return errors.New("not a JSON object of claims")
	}
	return nil
}

package workspace

import (
	"encoding/json"
	"errors"

	"aisync.dev/aisync/providers/dir"
)

const runsDir = ".ilchul"

// runs is .ilchul/ as `aisync run init` makes it, except for facts about the
// machine, which the first run writes. docs/runs.md describes the files.
func runs() dir.Layout {
	return dir.Laid("run: aisync run init",
		dir.First{Name: ".gitignore", Content: "# What runs leave is of this machine; the config may be shared.\n*\n!.gitignore\n!config.json\n"},
		dir.First{Name: "config.json", Content: firstConfig, Sound: isConfig},
		dir.First{Name: "runs", Folder: true},
		dir.First{Name: "learning", Folder: true},
		dir.First{Name: "migrations", Folder: true},
	)
}

const firstConfig = `{
  "schemaVersion": 1,
  "storage": {
    "root": ".ilchul",
    "legacyRootPolicy": "preserve-without-active-fallback"
  }
}
`

// isConfig checks only what a person can fix: the schema checks what a run reads.
func isConfig(text []byte) error {
	var config struct {
		Version int `json:"schemaVersion"`
	}
	if err := json.Unmarshal(text, &config); err != nil {
		return err
	}
	if config.Version == 0 {
		return errors.New("no schemaVersion, such as 1")
	}
	return nil
}

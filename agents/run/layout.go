package run

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"aisync.dev/aisync/schema/spec"
)

type namedText struct {
	name string
	text []byte
}

const ignoreText = "# What runs leave is of this machine; the config may be shared.\n*\n!.gitignore\n!config.json\n"

// firstFiles are the files of a new .ilchul. The config is empty: the user's
// config holds.
func (s *Store) firstFiles() ([]namedText, error) {
	now := s.Now().Stamp()
	docs := []struct {
		name string
		doc  any
	}{
		{configFile, spec.RunConfig{SchemaVersion: spec.RunVersion, Storage: &spec.RunStorage{Root: Dir, LegacyRootPolicy: legacyPolicy}}},
		{activeFile, activeDoc("", s.Now())},
		{"learning/policy-hints.json", hints{SchemaVersion: spec.RunVersion, Hints: []hint{}}},
		{"learning/strategy-stats.json", struct {
			SchemaVersion int            `json:"schemaVersion"`
			Strategies    map[string]any `json:"strategies"`
		}{spec.RunVersion, map[string]any{}}},
		{"learning/simulator-calibration.json", struct {
			SchemaVersion int   `json:"schemaVersion"`
			Samples       []any `json:"samples"`
		}{spec.RunVersion, []any{}}},
		{"migrations/storage-root.json", storageRoot{spec.RunVersion, Dir, legacyPolicy, now, paths(Legacy(s.Workspace, s.opts.Home))}},
	}
	files := []namedText{{".gitignore", []byte(ignoreText)}, {"learning/reward-ledger.jsonl", nil}, {recoveryLog, nil}}
	for _, d := range docs {
		text, err := indented(d.doc)
		if err != nil {
			return nil, err
		}
		if kind := strings.TrimSuffix(filepath.Base(d.name), ".json"); kind != d.name {
			if err := s.opts.Check(kind, d.name, text); err != nil {
				return nil, err
			}
		}
		files = append(files, namedText{d.name, text})
	}
	return files, nil
}

// legacyPolicy is the only policy: .kapi stays unchanged and unused.
const legacyPolicy = "preserve-without-active-fallback"

// storageRoot is migrations/storage-root.json: what was found when the runs were
// laid out, and the decision.
type storageRoot struct {
	SchemaVersion int      `json:"schemaVersion"`
	Root          string   `json:"root"`
	Policy        string   `json:"legacyRootPolicy"`
	SelectedAt    string   `json:"selectedAt"`
	LegacyFound   []string `json:"legacyFound"`
}

// hints is learning/policy-hints.json. It only advises; a run's
// policy-selection.json records what the run took from it.
type hints struct {
	SchemaVersion int    `json:"schemaVersion"`
	Hints         []hint `json:"hints"`
}

type hint struct {
	Text string `json:"text"`
	From string `json:"from,omitempty"`
}

// Advice returns the advice of learning/ for a new run.
func (s *Store) Advice() ([]string, error) {
	const name = "learning/policy-hints.json"
	text, err := read(s.root, name)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	if err := s.opts.Check("policy-hints", filepath.Join(s.Path, name), text); err != nil {
		return nil, err
	}
	var h hints
	if err := json.Unmarshal(text, &h); err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	var out []string
	for _, h := range h.Hints {
		out = append(out, h.Text)
	}
	return out, nil
}

// LegacyDir is the folder of the previous program. It is reported, never read or
// changed.
const LegacyDir = ".kapi"

// Found is a legacy folder.
type Found struct {
	Path string `json:"path"`
	What string `json:"what"` // "folder", "link", "file"
	Both bool   `json:"both"` // an .ilchul beside it takes precedence
}

// Legacy looks for .kapi in a workspace and in the home, and opens none.
func Legacy(workspace, home string) []Found {
	var out []Found
	for _, dir := range []string{workspace, home} {
		if dir == "" || len(out) > 0 && dir == workspace {
			continue
		}
		info, err := os.Lstat(filepath.Join(dir, LegacyDir))
		if err != nil {
			continue
		}
		f := Found{Path: filepath.Join(dir, LegacyDir), What: "folder"}
		switch {
		case info.Mode()&fs.ModeSymlink != 0:
			f.What = "link"
		case !info.IsDir():
			f.What = "file"
		}
		_, err = os.Lstat(filepath.Join(dir, Dir))
		f.Both = err == nil
		out = append(out, f)
	}
	return out
}

func paths(found []Found) []string {
	out := []string{}
	for _, f := range found {
		out = append(out, f.Path)
	}
	return out
}

// OldLog is a worker's log that a cleanup may remove.
type OldLog struct {
	Run     string        `json:"runId"`
	Name    string        `json:"name"` // below the run's folder
	Size    int64         `json:"size"`
	Age     time.Duration `json:"-"`
	AgeDays int           `json:"ageDays"`
	Path    string        `json:"path"`
}

// OldLogs lists the logs of a finished run that are older than its settings keep
// them and whose worker is not active. It removes nothing: run cleanup --safe
// does.
func (r *Run) OldLogs(s *State) ([]OldLog, error) {
	if !s.Over() {
		return nil, nil
	}
	busy := map[string]bool{}
	for _, w := range s.Workers {
		busy[w.Log] = busy[w.Log] || w.Retention == Active || w.Retention == StaleRegistry
	}
	dir, err := r.root.Open("logs")
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read the logs of run %s: %w", r.ID, err)
	}
	defer dir.Close()
	entries, err := dir.ReadDir(-1)
	if err != nil {
		return nil, fmt.Errorf("read the logs of run %s: %w", r.ID, err)
	}
	var out []OldLog
	keep := time.Duration(s.Settings().RetainLogsDays) * 24 * time.Hour
	now := r.Now().Time()
	for _, e := range entries {
		name := filepath.Join("logs", e.Name())
		info, err := e.Info()
		if err != nil || !info.Mode().IsRegular() || busy[name] {
			continue
		}
		if age := now.Sub(info.ModTime()); age > keep {
			out = append(out, OldLog{Run: r.ID, Name: name, Size: info.Size(), Age: age, AgeDays: int(age / (24 * time.Hour)), Path: filepath.Join(r.Path, name)})
		}
	}
	return out, nil
}

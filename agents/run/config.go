package run

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"sort"
	"strconv"
	"strings"

	"aisync.dev/aisync/catalog"
	"aisync.dev/aisync/schema/spec"
)

const configFile = "config.json"

// Standard is the only depth of verification: a task completes with the evidence
// that it names.
const Standard = "standard"

// Bounds are the limits of a config's values. The seed asks for bounds and gives
// none. A test compares them with schema/run/run.cue.
var Bounds = map[string][2]int{
	"maxWorkers":              {1, 32},
	"readinessTimeoutSeconds": {1, 600},
	"leaseDurationSeconds":    {30, 86_400},
	"heartbeatTimeoutSeconds": {5, 3_600},
	"retainLogsDays":          {0, 365},
}

// Config is the configuration of a workspace: its config over the user's over
// the defaults, field by field.
type Config struct {
	Settings spec.RunSettings
	Adapters map[string]Adapter // by the runtime's id, or "command"
	Reasons  []spec.RunReason   // the source of each setting
	Warnings []string           // unknown adapters; strict callers treat them as errors
}

// Adapter says how workers of a runtime start.
type Adapter struct {
	Enabled   bool       `json:"enabled"`
	Substrate string     `json:"defaultSubstrate"`
	From      string     `json:"from"`
	off       NotEnabled // where it was disabled
}

// NotEnabled is the refusal of an adapter that a config disables.
type NotEnabled struct {
	Adapter string // the runtime's id
	Key     string // its name in the config
	From    string // the config, or "default"
}

func (n *NotEnabled) Error() string {
	return fmt.Sprintf("adapter %s is not enabled (%s)", n.Adapter, n.From)
}

// Hint returns the setting that enables it.
func (n *NotEnabled) Hint() string {
	file := n.From
	if file == "default" {
		file = Dir + "/" + configFile
	}
	return fmt.Sprintf("set adapters.%s.enabled to true in %s", n.Key, file)
}

// Enabled returns a *NotEnabled if workers of a runtime, or commands, must not
// start, whether a task names the adapter or not.
func (c Config) Enabled(id string) error {
	a, there := c.Adapters[id]
	if !there || a.Enabled {
		return nil
	}
	return &NotEnabled{id, cmp.Or(a.off.Key, id), cmp.Or(a.off.From, "default")}
}

// Runtime is the id of the runtime that configs of other tools call by another
// name; every other name stays.
func Runtime(adapter string) string {
	for _, rt := range catalog.Runtimes() {
		if rt.Worker != nil && rt.Worker.Name != "" && rt.Worker.Name == adapter {
			return rt.ID
		}
	}
	return adapter
}

// defaultAdapters are the adapters that need no config: commands, and the
// runtimes whose start the catalog describes.
func defaultAdapters() map[string]Adapter {
	out := map[string]Adapter{"command": {Enabled: true, Substrate: Process, From: "default"}}
	for _, rt := range catalog.Runtimes() {
		if rt.Worker != nil {
			out[rt.ID] = Adapter{Enabled: !rt.Worker.Off, Substrate: rt.Worker.Substrate, From: "default"}
		}
	}
	return out
}

// Config reads and checks the configs of the workspace and of the user. It fails
// on any error in either.
func (s *Store) Config() (Config, error) {
	c := Config{
		Settings: spec.RunSettings{
			Substrate: Tmux, Strategy: "graph", Depth: Standard, MaxWorkers: 3, MaxAttempts: 3,
			ReadinessMS: 60_000, LeaseMS: 900_000, HeartbeatMS: 120_000,
			RequireEvidence: true, CompletedDefault: string(CompletedRetained), RetainLogsDays: 7,
		},
		Adapters: defaultAdapters(),
	}
	from := map[string]string{}
	worktrees, worktreesOf := "", ""
	for _, place := range s.configs() {
		text, err := place.read()
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return c, err
		}
		cfg, err := s.parseConfig(place.path, text)
		if err != nil {
			return c, err
		}
		if cfg.Runtime != nil && cfg.Runtime.WorktreeRoot != "" {
			worktrees, worktreesOf = cfg.Runtime.WorktreeRoot, place.path
		}
		c.take(cfg, place.path, from, s.opts.Adapters)
	}
	if c.Settings.HeartbeatMS >= c.Settings.LeaseMS {
		return c, fmt.Errorf("runtime.heartbeatTimeoutSeconds is %d (%s) and runtime.leaseDurationSeconds %d (%s): the lease must be longer than the heartbeat",
			c.Settings.HeartbeatMS/1000, cmp.Or(from["heartbeatTimeoutSeconds"], "default"), c.Settings.LeaseMS/1000, cmp.Or(from["leaseDurationSeconds"], "default"))
	}
	var err error
	if c.Settings.WorktreeRoot, err = s.worktreeRoot(worktrees); err != nil {
		return c, fmt.Errorf("%s: runtime.worktreeRoot: %w", cmp.Or(worktreesOf, "default"), err)
	}
	from["worktreeRoot"] = worktreesOf
	c.Reasons = reasons(c.Settings, from)
	return c, nil
}

type configPlace struct {
	path string
	read func() ([]byte, error)
}

// configs returns the places of configs; later ones win.
func (s *Store) configs() []configPlace {
	own := configPlace{filepath.Join(s.Path, configFile), func() ([]byte, error) { return read(s.root, configFile) }}
	if s.opts.Home == "" {
		return []configPlace{own}
	}
	dir := filepath.Join(s.opts.Home, Dir)
	return []configPlace{{filepath.Join(dir, configFile), func() ([]byte, error) {
		root, err := os.OpenRoot(dir)
		if err != nil {
			return nil, err
		}
		defer root.Close()
		return read(root, configFile)
	}}, own}
}

// parseConfig parses one config. It checks the schema first, then what the
// schema cannot express.
func (s *Store) parseConfig(path string, text []byte) (spec.RunConfig, error) {
	var c spec.RunConfig
	if err := s.opts.Check("config", path, text); err != nil {
		return c, err
	}
	if err := json.Unmarshal(text, &c); err != nil {
		return c, fmt.Errorf("%s: %w", path, err)
	}
	return c, nil
}

// take overlays cfg on c.
func (c *Config) take(cfg spec.RunConfig, path string, from map[string]string, known []string) {
	set := func(to *int64, name string, seconds int) {
		if seconds != 0 {
			*to, from[name] = int64(seconds)*1000, path
		}
	}
	if r := cfg.Runtime; r != nil {
		set(&c.Settings.ReadinessMS, "readinessTimeoutSeconds", r.ReadinessTimeoutSeconds)
		set(&c.Settings.LeaseMS, "leaseDurationSeconds", r.LeaseDurationSeconds)
		set(&c.Settings.HeartbeatMS, "heartbeatTimeoutSeconds", r.HeartbeatTimeoutSeconds)
		if r.MaxWorkers != 0 {
			c.Settings.MaxWorkers, from["maxWorkers"] = r.MaxWorkers, path
		}
		if r.Sandbox {
			c.Settings.Sandbox, from["sandbox"] = true, path
		}
	}
	if r := cfg.Retention; r != nil {
		if r.CompletedDefault != "" {
			c.Settings.CompletedDefault, from["completedDefault"] = r.CompletedDefault, path
		}
		if r.RetainLogsDays != nil {
			c.Settings.RetainLogsDays, from["retainLogsDays"] = *r.RetainLogsDays, path
		}
	}
	if v := cfg.Verification; v != nil {
		switch v.DefaultDepth {
		case "":
		case Standard:
			from["depth"] = path
		default:
			c.Warnings = append(c.Warnings, fmt.Sprintf("%s: verification.defaultDepth: %s is not supported, %s is used: aisync checks each task by the evidence that it names", path, v.DefaultDepth, Standard))
		}
		if v.RequireEvidenceForTaskCompletion != nil {
			c.Settings.RequireEvidence, from["requireEvidenceForTaskCompletion"] = *v.RequireEvidenceForTaskCompletion, path
		}
	}
	names := make([]string, 0, len(cfg.Adapters))
	for name := range cfg.Adapters {
		names = append(names, name)
	}
	sort.Strings(names)
	for _, name := range names {
		id := Runtime(name)
		if _, builtIn := c.Adapters[id]; !builtIn && !slices.Contains(known, id) {
			c.Warnings = append(c.Warnings, fmt.Sprintf("%s: adapters.%s: unknown runtime, ignored", path, name))
			continue
		}
		a, given := c.Adapters[id], cfg.Adapters[name]
		if a.Substrate == "" {
			a = Adapter{Enabled: true, Substrate: Tmux, From: path}
		}
		if given.Enabled != nil {
			a.Enabled, a.From, a.off = *given.Enabled, path, NotEnabled{Key: name, From: path}
		}
		if given.DefaultSubstrate != "" {
			a.Substrate, a.From = given.DefaultSubstrate, path
		}
		c.Adapters[id] = a
	}
}

// reasons returns the source of each setting.
func reasons(s spec.RunSettings, from map[string]string) []spec.RunReason {
	out := []spec.RunReason{}
	for _, f := range []struct{ name, value string }{
		{"strategy", s.Strategy}, {"depth", s.Depth}, {"maxWorkers", strconv.Itoa(s.MaxWorkers)}, {"maxAttempts", strconv.Itoa(s.MaxAttempts)},
		{"readinessTimeoutSeconds", seconds(s.ReadinessMS)}, {"leaseDurationSeconds", seconds(s.LeaseMS)}, {"heartbeatTimeoutSeconds", seconds(s.HeartbeatMS)},
		{"requireEvidenceForTaskCompletion", strconv.FormatBool(s.RequireEvidence)}, {"completedDefault", s.CompletedDefault},
		{"retainLogsDays", strconv.Itoa(s.RetainLogsDays)}, {"worktreeRoot", s.WorktreeRoot},
	} {
		out = append(out, spec.RunReason{Setting: f.name, Value: f.value, From: cmp.Or(from[f.name], "default")})
	}
	if s.Sandbox {
		out = append(out, spec.RunReason{Setting: "sandbox", Value: "true", From: cmp.Or(from["sandbox"], "default")})
	}
	return out
}

func seconds(ms int64) string { return strconv.FormatFloat(float64(ms)/1000, 'f', -1, 64) }

// checkSettings refuses settings with which a run cannot work. They may be finer
// than a config can express.
func checkSettings(s spec.RunSettings) error {
	switch {
	case s.MaxWorkers < 1 || s.MaxWorkers > Bounds["maxWorkers"][1]:
		return fmt.Errorf("maxWorkers is %d: want 1 to %d", s.MaxWorkers, Bounds["maxWorkers"][1])
	case s.MaxAttempts < 1 || s.MaxAttempts > 100:
		return fmt.Errorf("maxAttempts is %d: want 1 to 100", s.MaxAttempts)
	case s.LeaseMS < 1 || s.LeaseMS > maxLease.Milliseconds():
		return fmt.Errorf("a lease of %d ms: want 1 ms to %s", s.LeaseMS, maxLease)
	case s.HeartbeatMS < 1 || s.HeartbeatMS >= s.LeaseMS:
		return fmt.Errorf("heartbeats of %d ms in a lease of %d ms: the lease must be longer", s.HeartbeatMS, s.LeaseMS)
	case s.ReadinessMS < 1:
		return errors.New("the time for a worker to become ready must be positive")
	case s.CompletedDefault != string(CompletedRetained) && s.CompletedDefault != string(SafeToClose):
		return fmt.Errorf("completedDefault is %q: want %s or %s", s.CompletedDefault, CompletedRetained, SafeToClose)
	}
	return nil
}

// worktreeRoot returns the folder for workers' work trees. A relative one lies
// in the workspace, one that begins with ~/ in the home. With every link
// followed it must lie in the workspace or in ~/.ilchul.
func (s *Store) worktreeRoot(text string) (string, error) {
	var user string
	if s.opts.Home != "" {
		user = filepath.Join(s.opts.Home, Dir)
	}
	rest, inHome := strings.CutPrefix(text, "~/")
	switch {
	case text == "" && user != "":
		text = filepath.Join(user, "worktrees")
	case text == "":
		text = filepath.Join(s.Path, "worktrees")
	case slices.Contains(strings.Split(text, "/"), ".."):
		return "", fmt.Errorf("%q contains ..: name the folder itself", text)
	case inHome && s.opts.Home == "":
		return "", fmt.Errorf("%q needs a home folder, and there is none", text)
	case inHome:
		text = filepath.Join(s.opts.Home, rest)
	case !filepath.IsAbs(text):
		text = filepath.Join(s.Workspace, text)
	}
	real, err := resolve(text)
	if err != nil {
		return "", err
	}
	allowed := []string{s.Workspace}
	if user != "" {
		if u, err := resolve(user); err == nil {
			allowed = append(allowed, u)
		}
	}
	for _, dir := range allowed {
		if strings.HasPrefix(real, strings.TrimSuffix(dir, "/")+"/") {
			return real, nil
		}
	}
	return "", fmt.Errorf("%q leads to %s: want a folder in the workspace %s or in ~/%s", text, real, s.Workspace, Dir)
}

// resolve follows the links in the existing part of an absolute path. A dangling
// link is an error: it may lead anywhere later.
func resolve(path string) (string, error) {
	path = filepath.Clean(path)
	var rest []string
	for at := path; ; at = filepath.Dir(at) {
		if _, err := os.Lstat(at); err == nil {
			real, err := filepath.EvalSymlinks(at)
			if err != nil {
				return "", fmt.Errorf("%s: dangling link: %w", at, err)
			}
			return filepath.Join(append([]string{real}, rest...)...), nil
		} else if !errors.Is(err, fs.ErrNotExist) {
			return "", err
		}
		if at == filepath.Dir(at) {
			return path, nil
		}
		rest = append([]string{filepath.Base(at)}, rest...)
	}
}

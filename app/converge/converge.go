// Package converge keeps what aisync converge knows from one run to the next: how the
// person last applied, and what its last run did. It applies nothing. Call ReadAs and
// ReadReport.
package converge

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"time"

	"aisync.dev/aisync/app/review"
	"aisync.dev/aisync/app/stack/place"
	"aisync.dev/aisync/internal/atomicfile"
	"aisync.dev/aisync/internal/environ"
	"aisync.dev/aisync/schema/spec"
)

// version is the format of the files.
const version = "1.0"

// As is how the person applied: a service manager has another environment, in which
// programs would seem to be gone.
type As struct {
	FormatVersion string            `json:"format_version"`
	Config        string            `json:"config,omitempty"` // as --config named it
	Host          string            `json:"host,omitempty"`
	Facts         string            `json:"facts,omitempty"`
	Env           map[string]string `json:"env"`
	Effects       []review.Effect   `json:"effects"` // what the spec had programs do
}

// New returns those of now that the spec did not have at that apply.
func (a *As) New(now []review.Effect) []review.Effect {
	return slices.DeleteFunc(slices.Clone(now), func(e review.Effect) bool { return slices.Contains(a.Effects, e) })
}

// kept are the variables of As besides those that move programs' folders. No secret
// is among them.
var kept = []string{
	"PATH", "LANG", "XDG_CONFIG_HOME", "XDG_STATE_HOME", "XDG_CACHE_HOME", "XDG_DATA_HOME", "HF_ENDPOINT", "HF_HOME", "DOCKER_CONFIG", "SSL_CERT_FILE", "SSL_CERT_DIR",
	"NO_PROXY", "no_proxy", "AISYNC_SERVICE_MANAGER",
}

// Variables returns the part of e that decides what a plan is.
func Variables(e environ.Env, runtimes []spec.Runtime) map[string]string {
	names := append([]string{}, kept...)
	for _, r := range runtimes {
		names = append(names, r.HomeVar)
		if r.Loads != nil {
			for _, m := range r.Loads.Moves {
				names = append(names, m.Variable)
			}
		}
	}
	out := map[string]string{}
	for _, name := range names {
		if v := e.Get(name); name != "" && v != "" {
			out[name] = v
		}
	}
	return out
}

// Waiting is what needs a person.
type Waiting struct {
	Address string `json:"address"`
	Why     string `json:"why"`
}

// Report is what the last run did.
type Report struct {
	FormatVersion string    `json:"format_version"`
	Began         time.Time `json:"began"`
	Ended         time.Time `json:"ended"`
	Changed       []string  `json:"changed"` // addresses
	Waiting       []Waiting `json:"waiting"`
	Failed        []string  `json:"failed"`
	Failures      int       `json:"failures"`   // runs in a row that failed, this one among them
	NotBefore     time.Time `json:"not_before"` // after failures; zero: at the next turn
}

// longest is how long failures put off the next run, unless runs are rarer.
const longest = 24 * time.Hour

// Close completes r after the run before it: failures in a row double the pause.
func (r *Report) Close(before *Report, every time.Duration, now time.Time) {
	r.FormatVersion, r.Ended = version, now
	if len(r.Failed) == 0 {
		return
	}
	r.Failures = 1
	if before != nil {
		r.Failures += before.Failures
	}
	if r.Failures == 1 {
		return
	}
	pause := every
	for range r.Failures - 1 {
		if pause *= 2; pause >= longest {
			pause = max(longest, every)
			break
		}
	}
	r.NotBefore = now.Add(pause)
}

// Waits returns until when the run after r is put off; zero: it is due. A time that is
// further away than any pause is a clock that was changed.
func (r *Report) Waits(every time.Duration, now time.Time) time.Time {
	if r == nil || !now.Before(r.NotBefore) || r.NotBefore.Sub(now) > max(longest, every) {
		return time.Time{}
	}
	return r.NotBefore
}

func file(p place.Places, name string) string {
	return p.Physical(p.State.Join("converge", name))
}

// ReadAs reads how the person last applied; nil if they have not yet.
func ReadAs(p place.Places) (*As, error) {
	a := new(As)
	ok, err := read(file(p, "as.json"), a, &a.FormatVersion)
	if err != nil || !ok {
		return nil, err
	}
	return a, nil
}

// ReadReport reads what the last run did; nil if there was none.
func ReadReport(p place.Places) (*Report, error) {
	r := new(Report)
	ok, err := read(file(p, "last.json"), r, &r.FormatVersion)
	if err != nil || !ok {
		return nil, err
	}
	return r, nil
}

func read(path string, into any, format *string) (bool, error) {
	b, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	if err == nil {
		err = json.Unmarshal(b, into)
	}
	if err == nil && *format != version {
		err = fmt.Errorf("format_version %q, and this aisync knows %s", *format, version)
	}
	if err != nil {
		return false, fmt.Errorf("read %s: %w", path, err)
	}
	return true, nil
}

// Write keeps a.
func (a As) Write(p place.Places) error {
	a.FormatVersion = version
	return write(file(p, "as.json"), a)
}

// Write keeps r.
func (r *Report) Write(p place.Places) error { return write(file(p, "last.json"), r) }

func write(path string, v any) error {
	b, err := json.MarshalIndent(v, "", "  ")
	if err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return err
	}
	return atomicfile.Write(path, append(b, '\n'), atomicfile.Options{Mode: 0o600})
}

// Package fleet holds what a machine reports of itself, and reads the reports of many.
// It looks at no machine and dials nothing. Call Report.Bytes or Report.Textfile on the
// machine, and Read where the reports lie.
package fleet

import (
	"bytes"
	"encoding/json"
	"strings"
	"time"
)

// Version is the format of reports. A reader takes those of the same major version.
const Version = "1.0"

// Kind says in a report that it is one.
const Kind = "aisync report"

// Report is what one machine says of itself. Its JSON is documented in docs/json.md.
// It has no secrets, and names files below ~ alone.
type Report struct {
	FormatVersion string    `json:"format_version"`
	Kind          string    `json:"kind"`
	Hostname      string    `json:"hostname"`
	Host          string    `json:"host"` // the entry of hosts; "": none is this machine
	Made          time.Time `json:"made"`
	Aisync        Program   `json:"aisync"`
	Spec          Spec      `json:"spec"`
	Bases         []Base    `json:"bases"`
	Runtimes      []Runtime `json:"runtimes"`
	Pins          []Pin     `json:"pins"`
	Drift         Drift     `json:"drift"`
	Doctor        Doctor    `json:"doctor"`
	Projects      []Project `json:"projects,omitempty"` // with --all
}

// Program is the aisync that made a report.
type Program struct {
	Version string `json:"version"`
	OS      string `json:"os"`
	Arch    string `json:"arch"`
}

// Spec is the host's spec.
type Spec struct {
	Error  string `json:"error,omitempty"`  // why it cannot be used
	Digest string `json:"digest,omitempty"` // of its files
	Commit string `json:"commit,omitempty"` // of the repository that it lies in
	Date   string `json:"date,omitempty"`   // of that commit
	Edits  int    `json:"edits"`            // files that are not committed
}

// Base is a spec that the host's extends.
type Base struct {
	Name string `json:"name"`
	Pin  string `json:"pin"` // a commit, a manifest, a digest of files; "": a folder, or not pinned
}

// States of a runtime.
const (
	InRange = "ok"
	Missing = "missing"
	Outside = "outside" // its version is not what the spec asks for, or what aisync writes for
	Unknown = "unknown" // its files do not tell its version
)

// Runtime is an agent program that the host's spec names.
type Runtime struct {
	ID      string `json:"id"`
	Version string `json:"version"` // "": unknown
	State   string `json:"state"`
	Wanted  string `json:"wanted,omitempty"` // the version that the spec or the lock names
	Why     string `json:"why,omitempty"`    // of outside
}

// Pin is one pin of the host's lock.
type Pin struct {
	Kind string `json:"kind"`
	Name string `json:"name"`
	At   string `json:"at"`
}

// Drift counts what differs.
type Drift struct {
	Error     string   `json:"error,omitempty"` // why it is not known
	Checked   int      `json:"checked"`
	Drift     int      `json:"drift"`
	Pending   int      `json:"pending"`
	Unknown   int      `json:"unknown"`
	Addresses []string `json:"addresses"` // of what differs
}

// Doctor counts the checks by their results.
type Doctor struct {
	OK       int       `json:"ok"`
	Skip     int       `json:"skip"`
	Warn     int       `json:"warn"`
	Fail     int       `json:"fail"`
	Findings []Finding `json:"findings"` // failures and warnings
}

// Finding is a problem that a check found.
type Finding struct {
	Check string `json:"check"`
	Level string `json:"level"`
	What  string `json:"what"`
}

// Project is a project below the host's roots.
type Project struct {
	Name   string `json:"name"`
	Error  string `json:"error,omitempty"`
	Drift  Drift  `json:"drift"`
	Doctor Doctor `json:"doctor"`
}

// Bytes returns r as JSON.
func (r *Report) Bytes() []byte {
	var out bytes.Buffer
	enc := json.NewEncoder(&out)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	_ = enc.Encode(r) // texts and numbers: cannot fail
	return out.Bytes()
}

// FileName is the name of the report of a machine in a folder of reports.
func FileName(hostname string) string {
	name := strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || strings.ContainsRune("._-", r) {
			return r
		}
		return '_'
	}, hostname)
	if name = strings.TrimLeft(name, "."); name == "" {
		name = "unnamed"
	}
	return name + ".json"
}

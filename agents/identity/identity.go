// Package identity makes and checks agent ids: the name of one live process of a
// runtime in one project, and the environment variables that carry it. It reads
// and writes no file. Call New.
package identity

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"math/rand/v2"
	"os"
	"strings"
)

// MaxLength of an id, in bytes: pi-ensemble accepts no longer names.
const MaxLength = 64

// Environment variables that describe an agent to its program.
const (
	VarID      = "AI_AGENT_ID"
	VarRuntime = "AI_RUNTIME"
	VarProject = "AI_PROJECT_DIR"
	VarContext = "AI_SESSION_CONTEXT"
	VarHelper  = "AI_HELPER"
	VarLedger  = "PI_ENSEMBLE_AGENT"
	VarModel   = "AI_MODEL"    // the model, where the launcher chose it
	VarTask    = "AISYNC_TASK" // the task that a worker carries out
	// VarTaskSeat is the seat that claims what this task writes; the worker has its claims.
	VarTaskSeat = "AISYNC_TASK_SEAT"
	VarLaunch   = "AI_LAUNCH" // one start of one agent, by which it knows its record again in a sandbox
)

// Valid reports whether id can name an agent, and a file.
func Valid(id string) bool {
	if id == "" || len(id) > MaxLength || strings.Contains(id, "..") || strings.ContainsRune("._-", rune(id[0])) {
		return false
	}
	for _, c := range []byte(id) {
		switch {
		case c >= 'a' && c <= 'z', c >= 'A' && c <= 'Z', c >= '0' && c <= '9', c == '.', c == '_', c == '-':
		default:
			return false
		}
	}
	return true
}

// Check returns why an id is not Valid.
func Check(id string) error {
	if Valid(id) {
		return nil
	}
	return fmt.Errorf("agent id %q: want 1 to %d letters, digits, dots, underscores and hyphens, the first a letter or digit, and no two dots in a row", id, MaxLength)
}

// FileName returns the file name for an id: the id, or, where that is no valid
// file name, a similar name with a digest, so that two ids keep two names.
func FileName(id string) string {
	if Valid(id) {
		return id
	}
	sum := sha256.Sum256([]byte(id))
	name := Sanitize(id, "agent")
	return name[:min(len(name), MaxLength-9)] + "-" + hex.EncodeToString(sum[:])[:8]
}

// New makes an id for an agent of a runtime in a project on a host:
// host.project.runtime.1f3a. It returns no id that taken reports.
func New(host, project, runtime string, taken func(id string) bool) string {
	return unused(taken, func(suffix string) string {
		return fit([]string{Sanitize(host, "host"), Sanitize(project, "project"), Sanitize(runtime, "agent")}, suffix)
	})
}

// NewHelper makes a helper's id: helper-1f3a.
func NewHelper(taken func(id string) bool) string {
	return unused(taken, func(suffix string) string { return "helper-" + suffix })
}

// IsHelper reports whether an id has the form of a helper's.
func IsHelper(id string) bool { return strings.HasPrefix(id, "helper-") }

// Generated reports whether an id has the form of those that New and NewHelper
// make: it names one process and is never used again.
func Generated(id string) bool {
	parts := strings.Split(id, ".")
	last := parts[len(parts)-1]
	if rest, ok := strings.CutPrefix(id, "helper-"); ok {
		last = rest
	} else if len(parts) != 4 {
		return false
	}
	return (len(last) == 4 || len(last) == 8) && strings.Trim(last, "0123456789abcdef") == ""
}

// tries is how many four-digit suffixes New tries before it uses eight digits:
// with 65,536 suffixes, a fifth of all calls run out only when 13,000 agents
// live.
const tries = 64

func unused(taken func(string) bool, make func(suffix string) string) string {
	for n := 0; ; n++ {
		suffix := fmt.Sprintf("%08x", rand.Uint32()) // not a secret: knowing it grants nothing
		if n < tries {
			suffix = suffix[:4]
		}
		id := make(suffix)
		if taken == nil || !taken(id) {
			return id
		}
	}
}

// fit joins parts and suffix with dots. If the result is too long, it cuts each
// part that exceeds its share and ends it in a digest of the whole, so that two
// long names stay different.
func fit(parts []string, suffix string) string {
	room := MaxLength - len(suffix) - len(parts) // a dot behind each
	for length(parts) > room {
		longest := 0
		for i := range parts {
			if len(parts[i]) > len(parts[longest]) {
				longest = i
			}
		}
		p := parts[longest]
		rest := room - (length(parts) - len(p))
		sum := sha256.Sum256([]byte(p))
		short := max(rest, room/len(parts))
		parts[longest] = strings.TrimRight(p[:short-5], ".-_") + "-" + hex.EncodeToString(sum[:])[:4]
	}
	return strings.Join(parts, ".") + "." + suffix
}

func length(parts []string) int {
	n := 0
	for _, p := range parts {
		n += len(p)
	}
	return n
}

// Host returns this machine's name for ids, contexts and addresses: the first
// label of its host name.
func Host() string {
	name, err := os.Hostname()
	if err != nil {
		return "host"
	}
	short, _, _ := strings.Cut(name, ".")
	return Sanitize(short, "host")
}

// Sanitize turns a name into one part of an id: lower case letters, digits,
// underscores and hyphens. Runs of other characters become one hyphen, dots too,
// because they separate parts. A name with no valid character becomes otherwise
// and a digest, so that two such names stay different.
func Sanitize(name, otherwise string) string {
	var b strings.Builder
	for _, r := range strings.ToLower(name) {
		switch {
		case r >= 'a' && r <= 'z', r >= '0' && r <= '9', r == '_':
			b.WriteRune(r)
		case b.Len() > 0 && !strings.HasSuffix(b.String(), "-"):
			b.WriteByte('-')
		}
	}
	out := strings.Trim(b.String(), "-_")
	if out != "" {
		return out
	}
	if name == "" {
		return otherwise
	}
	sum := sha256.Sum256([]byte(name))
	return otherwise + "-" + hex.EncodeToString(sum[:])[:4]
}

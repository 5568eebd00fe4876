// Package identity names agents: the id that one live process of a runtime has
// in one project, and the variables that tell it. It reads and writes no file.
// Start reading at New.
package identity

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"math/rand/v2"
	"os"
	"strings"
)

// MaxLength of an id, in bytes: pi-ensemble takes no longer names.
const MaxLength = 64

// Variables that an agent is started with.
const (
	VarID      = "AI_AGENT_ID"
	VarRuntime = "AI_RUNTIME"
	VarProject = "AI_PROJECT_DIR"
	VarContext = "AI_SESSION_CONTEXT"
	VarHelper  = "AI_HELPER"
	VarLedger  = "PI_ENSEMBLE_AGENT"
	VarModel   = "AI_MODEL" // what it talks to, where its launcher chose that
)

// Valid reports whether id can be an agent's: also as a file's name.
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

// Check is Valid with the reason.
func Check(id string) error {
	if Valid(id) {
		return nil
	}
	return fmt.Errorf("agent id %q: want 1 to %d letters, digits, dots, underscores and hyphens, the first a letter or digit, and no two dots in a row", id, MaxLength)
}

// FileName is the name that an id has as a file: itself, or where it cannot be
// one, something like it with a digest, so that two ids stay two.
func FileName(id string) string {
	if Valid(id) {
		return id
	}
	sum := sha256.Sum256([]byte(id))
	name := Sanitize(id, "agent")
	return name[:min(len(name), MaxLength-9)] + "-" + hex.EncodeToString(sum[:])[:8]
}

// New makes an id for an agent of a runtime in a project on a host:
// host.project.runtime.1f3a. taken reports the ids that are in use; none of
// them is returned.
func New(host, project, runtime string, taken func(id string) bool) string {
	return unused(taken, func(suffix string) string {
		return fit([]string{Sanitize(host, "host"), Sanitize(project, "project"), Sanitize(runtime, "agent")}, suffix)
	})
}

// NewHelper makes a helper's id: helper-1f3a.
func NewHelper(taken func(id string) bool) string {
	return unused(taken, func(suffix string) string { return "helper-" + suffix })
}

// IsHelper reports whether an id is a helper's by its form.
func IsHelper(id string) bool { return strings.HasPrefix(id, "helper-") }

// tries with four digits before there are eight: of 65,536 ids so many are
// taken that a fifth of all tries fail only when 13,000 agents live.
const tries = 64

func unused(taken func(string) bool, make func(suffix string) string) string {
	for n := 0; ; n++ {
		suffix := fmt.Sprintf("%08x", rand.Uint32()) // no secret: nobody may do more for knowing it
		if n < tries {
			suffix = suffix[:4]
		}
		id := make(suffix)
		if taken == nil || !taken(id) {
			return id
		}
	}
}

// fit joins parts and suffix with dots. Where that is too long, each part that
// is longer than its share is cut and ends in a digest of the whole, so that
// two long names stay two.
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

// Host is this machine's name in ids, contexts and addresses: the first label
// of its host name.
func Host() string {
	name, err := os.Hostname()
	if err != nil {
		return "host"
	}
	short, _, _ := strings.Cut(name, ".")
	return Sanitize(short, "host")
}

// Sanitize makes one part of an id of a name: lower case letters, digits,
// underscores and hyphens; other characters become one hyphen, and dots too,
// because they part an id. A name with none of them is taken for otherwise,
// with a digest, so that two such names stay two.
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

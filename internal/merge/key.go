package merge

import (
	"fmt"
	"path"
	"strings"

	"aisync.dev/aisync/internal/merge/leaf"
)

// Pointer writes the JSON pointer of names.
func Pointer(names ...string) string { return leaf.Pointer(names...) }

// Names returns the names of which a pointer is made.
func Names(pointer string) ([]string, error) { return leaf.Names(pointer) }

// SetKey names member in the array at pointer.
func SetKey(pointer string, member Value) (string, error) {
	c, err := Canonical(member)
	if err != nil {
		return "", fmt.Errorf("member of set %s: %w", pointer, err)
	}
	return pointer + "#" + string(c), nil
}

// HookID tells a hook from the others of its event.
type HookID = leaf.HookID

// HookKey names a hook in the hooks object at pointer.
func HookKey(pointer, event string, id HookID) string {
	return leaf.HookKey(pointer+Pointer(event), id)
}

// LineKey names a whole line.
func LineKey(line string) string { return "line:" + line }

// LineOf returns the line that key names.
func LineOf(key string) (line string, ok bool) { return strings.CutPrefix(key, "line:") }

// IsException reports whether line takes back what a line of an ignore list before
// it said.
func IsException(line string) bool { return leaf.IsException(line) }

// BlockKey names a marked block.
func BlockKey(name string) string { return "block:" + name }

// MatchPrefix matches a pointer pattern with the start of names: each segment
// as path.Match does, a last ** with all that is left. It returns how many
// names that took, and those that the wildcards stand for.
func MatchPrefix(pattern string, names []string) (n int, wild []string, ok bool) {
	segments, err := Names(pattern)
	if err != nil {
		return 0, nil, false
	}
	for i, p := range segments {
		if p == "**" && i == len(segments)-1 {
			return len(names), append(wild, strings.Join(names[min(i, len(names)):], ".")), len(names) >= i
		}
		if i >= len(names) || !MatchName(p, names[i]) {
			return 0, nil, false
		}
		if strings.ContainsAny(p, "*?[") {
			wild = append(wild, names[i])
		}
	}
	return len(segments), wild, true
}

// MatchAbove reports whether a pointer pattern speaks of something below names.
func MatchAbove(pattern string, names []string) bool {
	segments, err := Names(pattern)
	if err != nil || len(segments) <= len(names) {
		return false
	}
	_, _, ok := MatchPrefix(Pointer(segments[:len(names)]...), names)
	return ok
}

// MatchName matches one segment of a pointer pattern; a slash in name is a
// letter like others.
func MatchName(pattern, name string) bool {
	ok, err := path.Match(strings.ReplaceAll(pattern, "/", "\x00"), strings.ReplaceAll(name, "/", "\x00"))
	return err == nil && ok
}

package merge

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"path"
	"strings"
	"unicode/utf8"
)

// A key names a leaf, in one of five forms:
//
//	/mcpServers/notes                     the value at a JSON pointer (RFC 6901; "#" in a name is written ~2)
//	/permissions/allow#"Bash(make test)"  a member of an array that is a set, in canonical JSON
//	/hooks/Stop#{"matcher":…,"type":…,"command":…}  a hook of an event
//	line:/.cache/                         a whole line
//	block:rules                           a block between markers
type key struct {
	kind   keyKind
	path   []string // value: of the leaf; member: of its array; hook: of the event's array
	member Value    // member: canonical
	hook   hookID
	text   string // line, or name of block
	raw    string
}

type keyKind int

const (
	valueKey keyKind = iota
	memberKey
	hookKey
	lineKey
	blockKey
)

// hookID is what makes two hooks of one event the same one. No matcher is "".
// Command is what runs: the command, or the prompt or url of other types.
type hookID struct {
	Matcher string `json:"matcher"`
	Type    string `json:"type"`
	Command string `json:"command"`
}

func (k key) String() string { return k.raw }

var escaper = strings.NewReplacer("~", "~0", "/", "~1", "#", "~2")
var unescaper = strings.NewReplacer("~0", "~", "~1", "/", "~2", "#")

// Pointer writes the JSON pointer of names.
func Pointer(names ...string) string {
	var b strings.Builder
	for _, n := range names {
		b.WriteByte('/')
		b.WriteString(escaper.Replace(n))
	}
	return b.String()
}

// Names returns the names of which pointer is made.
func Names(pointer string) ([]string, error) { return parsePointer(pointer) }

// MatchPrefix matches a pointer pattern with the start of names: each segment
// as path.Match does, a last ** with all that is left. It returns how many
// names that took, and those that the wildcards stand for.
func MatchPrefix(pattern string, names []string) (n int, wild []string, ok bool) {
	segments, err := parsePointer(pattern)
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
	segments, err := parsePointer(pattern)
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

// SetKey names member in the array at pointer.
func SetKey(pointer string, member Value) (string, error) {
	c, err := Canonical(member)
	if err != nil {
		return "", fmt.Errorf("member of set %s: %w", pointer, err)
	}
	return pointer + "#" + string(c), nil
}

// HookKey names a hook in the hooks object at pointer.
func HookKey(pointer, event, matcher, typ, command string) string {
	return pointer + Pointer(event) + "#" + hookID{matcher, typ, command}.json()
}

// LineKey names a whole line.
func LineKey(line string) string { return "line:" + line }

// BlockKey names a marked block.
func BlockKey(name string) string { return "block:" + name }

func (h hookID) json() string {
	return `{"matcher":` + string(quote(h.Matcher)) + `,"type":` + string(quote(h.Type)) + `,"command":` + string(quote(h.Command)) + `}`
}

// group names the group of hooks of one event that share h's matcher.
func (h hookID) group() string { return `{"matcher":` + string(quote(h.Matcher)) + `}` }

func parseKeys(format Format, keys []string) ([]key, error) {
	out := make([]key, len(keys))
	for i, s := range keys {
		k, err := parseKey(s)
		if err != nil {
			return nil, fmt.Errorf("key %q: %w", s, err)
		}
		lines := k.kind == lineKey || k.kind == blockKey
		switch format {
		case JSON, JSONC:
			if lines {
				return nil, fmt.Errorf("key %q: a %s document has no lines of its own; use a pointer such as /a/b", s, format)
			}
		case TOML, YAML:
			if lines {
				return nil, fmt.Errorf("key %q: a %s document has no lines of its own; use a pointer such as /a/b", s, format)
			}
			if k.kind == hookKey {
				return nil, fmt.Errorf("key %q: hooks are kept in json only", s)
			}
		case Text, Markdown, Slashes:
			if !lines {
				return nil, fmt.Errorf("key %q: a %s document has lines and blocks only; use line:… or block:…", s, format)
			}
		default:
			return nil, fmt.Errorf("format %q is unknown; use json, jsonc, toml, yaml, text, markdown or slashes", format)
		}
		out[i] = k
	}
	return out, nil
}

func parseKey(s string) (key, error) {
	if !utf8.ValidString(s) {
		return key{}, errors.New("it is not UTF-8")
	}
	if line, ok := strings.CutPrefix(s, "line:"); ok {
		if strings.TrimSpace(line) == "" || strings.ContainsAny(line, "\n\r\x00") {
			return key{}, errors.New("a line is some text without a line end")
		}
		return key{kind: lineKey, text: line, raw: s}, nil
	}
	if name, ok := strings.CutPrefix(s, "block:"); ok {
		return key{kind: blockKey, text: name, raw: s}, checkBlockName(name)
	}
	pointer, id, isMember := strings.Cut(s, "#")
	path, err := parsePointer(pointer)
	if err != nil {
		return key{}, err
	}
	if !isMember {
		return key{kind: valueKey, path: path, raw: s}, nil
	}
	if h, ok := parseHookID(id); ok {
		if len(path) < 2 {
			return key{}, errors.New("a hook stands under an object and an event, such as /hooks/Stop#…")
		}
		return key{kind: hookKey, path: path, hook: h, raw: s}, nil
	}
	c, err := Canonical(Value(id))
	if err != nil {
		return key{}, fmt.Errorf("the member after # is not JSON: %w", err)
	}
	if string(c) != id {
		return key{}, fmt.Errorf("the member after # is not canonical; write %s", c)
	}
	return key{kind: memberKey, path: path, member: c, raw: s}, nil
}

// parseHookID tells a hook from a set member: the three names are always
// there and in an order that canonical JSON never has.
func parseHookID(id string) (hookID, bool) {
	var h hookID
	dec := json.NewDecoder(strings.NewReader(id))
	dec.DisallowUnknownFields()
	if !strings.HasPrefix(id, `{"matcher":`) || dec.Decode(&h) != nil || h.json() != id {
		return hookID{}, false
	}
	return h, true
}

func parsePointer(s string) ([]string, error) {
	if s == "" {
		return nil, errors.New("it is empty; a leaf is never the whole document")
	}
	if s[0] != '/' {
		return nil, errors.New("want a pointer that starts with /, or line:… or block:…")
	}
	parts := strings.Split(s[1:], "/")
	for i, p := range parts {
		for j := 0; j < len(p); j++ {
			if p[j] == '~' && (j+1 == len(p) || p[j+1] < '0' || p[j+1] > '2') {
				return nil, errors.New("~ must be followed by 0 (for ~), 1 (for /) or 2 (for #)")
			}
		}
		parts[i] = unescaper.Replace(p)
	}
	if len(parts) > maxDepth {
		return nil, fmt.Errorf("it has more than %d parts", maxDepth)
	}
	return parts, nil
}

func checkBlockName(name string) error {
	if name == "" {
		return errors.New("a block needs a name")
	}
	for _, r := range name {
		if r <= ' ' || r == 0x7f || !utf8.ValidRune(r) {
			return errors.New("the name of a block has no spaces")
		}
	}
	if strings.Contains(name, "--") {
		return errors.New("the name of a block has no --, which ends a comment in markdown")
	}
	return nil
}

// want is the value that op asks of k, in the form that Read gives.
func (k key) want(v Value) Value {
	switch k.kind {
	case memberKey:
		return k.member
	case lineKey:
		return Value("true")
	case blockKey:
		return TextValue(Leaf{Value: v}.Text())
	}
	return v
}

// checkValue refuses a value that k cannot hold.
func (k key) checkValue(v Value) error {
	c, err := Canonical(v)
	if err != nil {
		return fmt.Errorf("value of leaf %s: %w", k, err)
	}
	switch k.kind {
	case memberKey, lineKey:
		if !bytes.Equal(c, k.want(c)) && string(c) != "true" {
			return fmt.Errorf("value of leaf %s is %s; want %s", k, c, k.want(c))
		}
	case hookKey:
		if h, err := hookOf(c); err != nil || h.Type != k.hook.Type || h.Command != k.hook.Command {
			return fmt.Errorf("value of leaf %s is %s; want the hook object with that type and command", k, c)
		}
	case blockKey:
		if c[0] != '"' {
			return fmt.Errorf("value of leaf %s is %s; want a string", k, c)
		}
	}
	return nil
}

// hookOf returns the identity of a hook object, but for the matcher of its group.
func hookOf(v Value) (hookID, error) {
	var h struct{ Type, Command, Prompt, URL any }
	if err := json.Unmarshal(v, &h); err != nil {
		return hookID{}, err
	}
	id := hookID{}
	id.Type, _ = h.Type.(string)
	for _, what := range []any{h.Command, h.Prompt, h.URL} {
		if s, ok := what.(string); ok && s != "" {
			id.Command = s
			break
		}
	}
	return id, nil
}

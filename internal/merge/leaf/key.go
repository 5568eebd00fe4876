package leaf

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"
)

// Key names a leaf, in one of five forms:
//
//	/mcpServers/notes                     the value at a JSON pointer (RFC 6901; "#" in a name is written ~2)
//	/permissions/allow#"Bash(make test)"  a member of an array that is a set, in canonical JSON
//	/hooks/Stop#{"matcher":…,"type":…,"command":…}  a hook of an event
//	line:/.cache/                         a whole line
//	block:rules                           a block between markers
type Key struct {
	Kind   Kind
	Path   []string // value: of the leaf; member: of its array; hook: of the event's array
	Member Value    // of a member: canonical
	Hook   HookID
	Text   string // line, or name of block
	Name   string // as it was written
}

// IsException reports whether line takes back what a line of an ignore list before
// it said.
func IsException(line string) bool { return strings.HasPrefix(line, "!") }

// Kind is the form of a key.
type Kind int

const (
	KindValue Kind = iota
	KindMember
	KindHook
	KindLine
	KindBlock
)

// parseKeys parses keys of a document of format f.
func parseKeys(f Format, keys []string) ([]Key, error) {
	out := make([]Key, len(keys))
	for i, s := range keys {
		k, err := parseKey(s)
		if err == nil && !slices.Contains(f.Holds, k.Kind) {
			err = f.refuse(k.Kind)
		}
		if err != nil {
			return nil, fmt.Errorf("key %q: %w", s, err)
		}
		out[i] = k
	}
	return out, nil
}

// refuse returns why a document of format f has no leaf of kind k.
func (f Format) refuse(k Kind) error {
	switch {
	case k == KindLine || k == KindBlock:
		return fmt.Errorf("a %s document has no line keys; use a pointer such as /a/b", f.Name)
	case !slices.Contains(f.Holds, KindValue):
		return fmt.Errorf("a %s document has lines and blocks only; use line:… or block:…", f.Name)
	case k == KindHook:
		return errors.New("hooks are kept in json only")
	}
	return fmt.Errorf("a %s document has no arrays that are sets; use the pointer of a value", f.Name)
}

func parseKey(s string) (Key, error) {
	if !utf8.ValidString(s) {
		return Key{}, errors.New("not UTF-8")
	}
	if line, ok := strings.CutPrefix(s, "line:"); ok {
		if strings.TrimSpace(line) == "" || strings.ContainsAny(line, "\n\r\x00") {
			return Key{}, errors.New("a line is text without a line end")
		}
		return Key{Kind: KindLine, Text: line, Name: s}, nil
	}
	if name, ok := strings.CutPrefix(s, "block:"); ok {
		return Key{Kind: KindBlock, Text: name, Name: s}, checkBlockName(name)
	}
	pointer, id, isMember := strings.Cut(s, "#")
	path, err := Names(pointer)
	if err != nil {
		return Key{}, err
	}
	if !isMember {
		return Key{Kind: KindValue, Path: path, Name: s}, nil
	}
	if h, ok := parseHookID(id); ok {
		if len(path) < 2 {
			return Key{}, errors.New("a hook stands under an object and an event, such as /hooks/Stop#…")
		}
		return Key{Kind: KindHook, Path: path, Hook: h, Name: s}, nil
	}
	c, err := Canonical(Value(id))
	if err != nil {
		return Key{}, fmt.Errorf("the member after # is not JSON: %w", err)
	}
	if string(c) != id {
		return Key{}, fmt.Errorf("the member after # is not canonical; write %s", c)
	}
	return Key{Kind: KindMember, Path: path, Member: c, Name: s}, nil
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

// want is the value that op wants for k, in the form that Read returns.
func (k Key) want(v Value) Value {
	switch k.Kind {
	case KindMember:
		return k.Member
	case KindLine:
		return Value("true")
	case KindBlock:
		return TextValue(Leaf{Value: v}.Text())
	}
	return v
}

// checkValue refuses a value that k cannot hold.
func (k Key) checkValue(v Value) error {
	c, err := Canonical(v)
	if err != nil {
		return fmt.Errorf("value of leaf %s: %w", k.Name, err)
	}
	switch k.Kind {
	case KindMember, KindLine:
		if !bytes.Equal(c, k.want(c)) && string(c) != "true" {
			return fmt.Errorf("value of leaf %s is %s; want %s", k.Name, c, k.want(c))
		}
	case KindHook:
		if h, err := HookOf(c); err != nil || !h.Is(k.Hook) {
			return fmt.Errorf("value of leaf %s is %s; want the hook object with that type, command and if", k.Name, c)
		}
	case KindBlock:
		if c[0] != '"' {
			return fmt.Errorf("value of leaf %s is %s; want a string", k.Name, c)
		}
	}
	return nil
}

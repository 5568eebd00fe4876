package file

import (
	"encoding/json"
	"regexp"
	"strings"
	"sync"

	"aisync.dev/aisync/internal/merge"
)

// secretName matches key names whose values must not appear in a terminal, a
// log or a plan. It is compiled on first use, not at each start of the program.
var secretName = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`(?i)(token|secret|passw|api[-_]?key|private[-_]?key|access[-_]?key|credential|authorization|cookie)`)
})

// reference matches a value that only names where a secret is kept.
var reference = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^(Bearer )?\$(\{[A-Za-z_][A-Za-z0-9_:-]*\}|[A-Za-z_][A-Za-z0-9_]*)$|^\{env:[^}]*\}$`)
})

const hidden = "(not shown)"

// redact returns v with the strings under a secret's name hidden, except
// references. Without such strings, order and spelling stay.
func redact(v merge.Value) json.RawMessage { return redactNamed("", v) }

// redactLeaf is redact for a leaf, whose key may name a secret.
func redactLeaf(key string, v merge.Value) json.RawMessage {
	pointer, _, _ := strings.Cut(key, "#")
	return redactNamed(pointer[strings.LastIndexByte(pointer, '/')+1:], v)
}

// Redact returns v, the value under name, with the strings under a secret's
// name hidden, except references.
func Redact(name string, v merge.Value) json.RawMessage { return redactNamed(name, v) }

func redactNamed(name string, v merge.Value) json.RawMessage {
	var x any
	if json.Unmarshal(v, &x) != nil {
		return json.RawMessage(`"` + hidden + `"`)
	}
	y, changed := hide(x, secretName().MatchString(name))
	if !changed {
		return json.RawMessage(v)
	}
	b, _ := json.Marshal(y) // it was JSON before
	return b
}

func hide(x any, secret bool) (any, bool) {
	changed := false
	switch x := x.(type) {
	case map[string]any:
		for k, v := range x {
			var c bool
			x[k], c = hide(v, secret || secretName().MatchString(k))
			changed = changed || c
		}
	case []any:
		for i, v := range x {
			var c bool
			x[i], c = hide(v, secret)
			changed = changed || c
		}
	case string:
		if secret && x != "" && !reference().MatchString(x) {
			return hidden, true
		}
	}
	return x, changed
}

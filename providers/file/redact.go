package file

import (
	"encoding/json"
	"strings"

	"aisync.dev/aisync/internal/merge"
	"aisync.dev/aisync/internal/secret"
	"aisync.dev/aisync/reconcile"
)

// redact returns v without the secrets in its strings, as secret.Show tells them by
// form, name and randomness. Without any, order and spelling stay.
func redact(v merge.Value) json.RawMessage { return Redact(v) }

// redactLeaf is redact for a leaf, whose key may name a secret.
func redactLeaf(key string, v merge.Value) json.RawMessage {
	pointer, _, _ := strings.Cut(key, "#")
	path := strings.Split(strings.TrimPrefix(pointer, "/"), "/")
	for i, name := range path {
		path[i] = strings.NewReplacer("~1", "/", "~0", "~").Replace(name)
	}
	return Redact(v, path...)
}

// Redact returns v, the value below the keys of path, without the secrets in its
// strings.
func Redact(v merge.Value, path ...string) json.RawMessage {
	var x any
	if json.Unmarshal(v, &x) != nil {
		return json.RawMessage(`"` + secret.Hidden + `"`)
	}
	y, changed := hide(x, path)
	if !changed {
		return json.RawMessage(v)
	}
	b, _ := json.Marshal(y) // it was JSON before
	return b
}

func hide(x any, path []string) (any, bool) {
	changed := false
	switch x := x.(type) {
	case map[string]any:
		for k, v := range x {
			var c bool
			x[k], c = hide(v, append(path[:len(path):len(path)], k))
			changed = changed || c
		}
	case []any:
		changed = hideArgs(x)
		for i, v := range x {
			var c bool
			x[i], c = hide(v, path)
			changed = changed || c
		}
	case string:
		shown := secret.Show(x, path...)
		return shown, shown != x
	}
	return x, changed
}

// hideArgs hides the secrets of a list that may be a command line, where a flag
// names what follows.
func hideArgs(list []any) (changed bool) {
	args := make([]string, len(list))
	for i, v := range list {
		s, ok := v.(string)
		if !ok {
			return false
		}
		args[i] = s
	}
	for i, shown := range secret.ShowArgs(args) {
		if i < len(list) && shown != args[i] {
			list[i], changed = shown, true
		}
	}
	return changed
}

// masked hides the secrets in lines of texts.
func masked(lines []reconcile.Line) []reconcile.Line {
	texts := make([]string, len(lines))
	for i, l := range lines {
		texts[i] = l.Text
	}
	for i, text := range secret.MaskLines(texts) {
		if text != lines[i].Text {
			lines[i].Text = text
		}
	}
	return lines
}

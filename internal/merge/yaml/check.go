package yaml

import (
	"bytes"
	"errors"

	"aisync.dev/aisync/internal/merge/leaf"
)

// checkNote refuses to put back anything but an empty value.
func checkNote(n leaf.Note) error {
	if n.Word == leaf.EmptyNote && !saysNothing(n.Text) {
		return errors.New("only an empty value can be put back")
	}
	return nil
}

// saysNothing reports whether a text after a colon is an empty value.
func saysNothing(text string) bool {
	d, err := read([]byte("x:" + text))
	return err == nil && d.root != nil && len(d.root.entries) == 1 && d.root.entries[0].value.empty() && len(d.comments) == 0
}

// without is everything in d except k and the containers that only hold k.
func (d *doc) without(k leaf.Key) any {
	root := d.outline(d.root)
	chain := []any{root}
	for _, name := range k.Path {
		m, ok := chain[len(chain)-1].(map[string]any)
		if !ok || m[name] == nil {
			break
		}
		chain = append(chain, m[name])
	}
	if len(chain) == len(k.Path)+1 {
		chain[len(k.Path)] = nil
		if k.Kind == leaf.KindMember {
			way, _ := d.way(k.Path)
			chain[len(k.Path)] = d.others(way[len(way)-1].value, k)
		}
	}
	for i := len(chain) - 1; i > 0; i-- {
		m, name := chain[i-1].(map[string]any), k.Path[i-1]
		if nothing(chain[i]) {
			delete(m, name)
		} else {
			m[name] = chain[i]
		}
	}
	if nothing(chain[0]) {
		return nil
	}
	return chain[0]
}

// others are the elements of n except the member of k.
func (d *doc) others(n *node, k leaf.Key) []any {
	var out []any
	for _, it := range n.items {
		if v, err := d.value(it.value, ""); err != nil || !bytes.Equal(v, k.Member) {
			out = append(out, d.outline(it.value))
		}
	}
	return out
}

// nothing reports whether an outline is empty.
func nothing(x any) bool {
	switch x := x.(type) {
	case map[string]any:
		return len(x) == 0
	case []any:
		return len(x) == 0
	}
	return x == nil || x == "null"
}

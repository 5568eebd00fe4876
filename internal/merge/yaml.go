package merge

import (
	"bytes"
	"encoding/json"
	"errors"

	"aisync.dev/aisync/internal/merge/yamltree"
)

func parseYAML(src []byte) (*yamltree.Doc, error) {
	d, err := yamltree.Parse(src)
	if err != nil {
		return nil, yamlFault(src, "", err)
	}
	return d, nil
}

// yamlFault places what package yamltree says is wrong.
func yamlFault(src []byte, pointer string, err error) error {
	var f *yamltree.Fault
	if !errors.As(err, &f) {
		return err
	}
	return errorAt(src, f.Offset, pointer, f.Reason)
}

func readYAML(doc []byte, ks []key) (map[string]Leaf, error) {
	_, src := cutBOM(doc)
	d, err := parseYAML(src)
	if err != nil {
		return nil, err
	}
	out := map[string]Leaf{}
	for _, k := range ks {
		n, v, err := yamlLeaf(d, k)
		if err != nil {
			return nil, err
		}
		if n == nil {
			continue
		}
		line, _ := position(src, n.Start)
		leaf := Leaf{Key: k.String(), Value: v, Line: line}
		if raw := src[n.Start:n.End]; !n.Block && (n.Flow || n.Kind == yamltree.Scalar) && bytes.IndexByte(raw, '\n') < 0 {
			leaf.Raw = string(raw)
		}
		out[k.String()] = leaf
	}
	return out, nil
}

// yamlLeaf returns what k names with its canonical value; nil where it is not there.
func yamlLeaf(d *yamltree.Doc, k key) (*yamltree.Node, Value, error) {
	way, err := yamlWay(d, k.path)
	if err != nil || len(way) < len(k.path) {
		return nil, nil, err
	}
	n := way[len(way)-1].Value
	if k.kind == valueKey {
		v, err := yamlValue(d, n, Pointer(k.path...))
		return n, v, err
	}
	i, err := yamlItem(d, n, k)
	if i < 0 || err != nil {
		return nil, nil, err
	}
	return n.Items[i].Value, k.member, nil
}

// yamlWay returns the entries from the root to path, as far as they are there.
// It is an error where what is on the way is no mapping, or is shared.
func yamlWay(d *yamltree.Doc, path []string) ([]*yamltree.Entry, error) {
	var way []*yamltree.Entry
	n := d.Root
	for i, name := range path {
		if n == nil {
			return way, nil
		}
		if err := yamlMapping(d, n, path[:i]); err != nil {
			return nil, err
		}
		e := n.Entry(name)
		if e == nil {
			if m := n.Entry("<<"); m != nil {
				return nil, errorAt(d.Src, m.Start, Pointer(path[:i]...), "merges another mapping with <<, so what it holds is written elsewhere")
			}
			return way, nil
		}
		way, n = append(way, e), e.Value
		if err := d.Shared(n); err != nil {
			return nil, yamlFault(d.Src, Pointer(path[:i+1]...), err)
		}
	}
	return way, nil
}

// yamlMapping refuses a node on the way to a leaf that can hold no names. Null
// can: it is how people write that nothing is there.
func yamlMapping(d *yamltree.Doc, n *yamltree.Node, path []string) error {
	pointer := Pointer(path...)
	if pointer == "" {
		pointer = "the document"
	}
	if err := d.Shared(n); err != nil {
		return yamlFault(d.Src, pointer, err)
	}
	if n.Kind != yamltree.Map && (n.Kind != yamltree.Scalar || !n.Empty()) {
		return errorAt(d.Src, n.Start, pointer, "is "+n.What()+", want a mapping")
	}
	return nil
}

func yamlValue(d *yamltree.Doc, n *yamltree.Node, pointer string) (Value, error) {
	raw, err := d.JSON(n)
	if err != nil {
		return nil, yamlFault(d.Src, pointer, err)
	}
	v, err := Canonical(raw)
	if err != nil {
		return nil, errorAt(d.Src, n.Start, pointer, err.Error())
	}
	return v, nil
}

// yamlItem returns which element of the sequence n equals the member of k, -1
// for none. Null, however written, is an empty sequence.
func yamlItem(d *yamltree.Doc, n *yamltree.Node, k key) (int, error) {
	pointer := Pointer(k.path...)
	if n.Kind != yamltree.Seq && !n.Empty() || n.Kind == yamltree.Map {
		return -1, errorAt(d.Src, n.Start, pointer, "is "+n.What()+", want a sequence")
	}
	for i, it := range n.Items {
		if v, err := yamlValue(d, it.Value, pointer); err == nil && bytes.Equal(v, k.member) {
			return i, nil // an element that has no value as JSON is somebody else's
		}
	}
	return -1, nil
}

// emptyYAML reports whether a text, written after a colon, says that nothing is there.
func emptyYAML(text string) bool {
	d, err := yamltree.Parse([]byte("x:" + text))
	return err == nil && d.Root != nil && len(d.Root.Entries) == 1 && d.Root.Entries[0].Value.Empty() && len(d.Comments) == 0
}

// elements returns those of a JSON array; ok is false where v is none.
func elements(v Value) (items []Value, ok bool) {
	return items, v[0] == '[' && json.Unmarshal(v, &items) == nil
}

// yamlWithout is what d says besides k and the containers that only hold k.
func yamlWithout(d *yamltree.Doc, k key) any {
	root := d.Outline(d.Root)
	chain := []any{root}
	for _, name := range k.path {
		m, ok := chain[len(chain)-1].(map[string]any)
		if !ok || m[name] == nil {
			break
		}
		chain = append(chain, m[name])
	}
	if len(chain) == len(k.path)+1 {
		chain[len(k.path)] = nil
		if k.kind == memberKey {
			way, _ := yamlWay(d, k.path)
			chain[len(k.path)] = yamlOthers(d, way[len(way)-1].Value, k)
		}
	}
	for i := len(chain) - 1; i > 0; i-- {
		m, name := chain[i-1].(map[string]any), k.path[i-1]
		if yamlNothing(chain[i]) {
			delete(m, name)
		} else {
			m[name] = chain[i]
		}
	}
	if yamlNothing(chain[0]) {
		return nil
	}
	return chain[0]
}

// yamlOthers are the elements of n besides the member of k.
func yamlOthers(d *yamltree.Doc, n *yamltree.Node, k key) []any {
	var out []any
	for _, it := range n.Items {
		if v, err := yamlValue(d, it.Value, ""); err != nil || !bytes.Equal(v, k.member) {
			out = append(out, d.Outline(it.Value))
		}
	}
	return out
}

// yamlNothing reports whether an outline says no more than that nothing is there.
func yamlNothing(x any) bool {
	switch x := x.(type) {
	case map[string]any:
		return len(x) == 0
	case []any:
		return len(x) == 0
	}
	return x == nil || x == "null"
}

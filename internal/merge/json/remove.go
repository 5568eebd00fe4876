package json

import (
	"github.com/tailscale/hujson"

	"aisync.dev/aisync/internal/merge/leaf"
)

// link is one step from the root to a leaf: item at of the container value.
type link struct {
	value *hujson.Value
	at    int
	place string // names the container in notes
	only  bool   // the container holds nothing else, and no comment
}

func (d *doc) link(v *hujson.Value, at int, place string) link {
	l := d.list(v)
	return link{v, at, place, len(l.Items) == 1 && l.Bare()}
}

// Remove takes the leaf away, all of them where a set or event holds it more
// than once, and the containers that were made for it and are then empty.
func (d *doc) Remove(k leaf.Key, notes *leaf.Notes) ([]byte, error) {
	for !d.blank {
		chain, err := d.chain(k)
		if err != nil {
			return nil, err
		}
		if chain == nil {
			break
		}
		src := d.cut(notes, chain)
		if d, err = reparse(src); err != nil {
			return nil, err
		}
	}
	return d.src, nil
}

// chain returns the way to the leaf; nil where it is not there.
func (d *doc) chain(k leaf.Key) ([]link, error) {
	there, err := d.leaf(k)
	if there == nil || err != nil {
		return nil, err
	}
	var chain []link
	v := &d.root
	for i, name := range k.Path {
		o := v.Value.(*hujson.Object)
		at := member(o, name)
		chain = append(chain, d.link(v, at, leaf.Pointer(k.Path[:i]...)))
		v = &o.Members[at].Value
	}
	pointer := leaf.Pointer(k.Path...)
	switch k.Kind {
	case leaf.KindMember:
		at, err := d.element(v.Value.(*hujson.Array), k.Member)
		if err != nil {
			return nil, err
		}
		chain = append(chain, d.link(v, at, pointer))
	case leaf.KindHook:
		p, err := d.hook(v.Value.(*hujson.Array), k)
		if err != nil {
			return nil, err
		}
		group := leaf.HookGroup(k)
		inGroup := d.link(p.value, p.at, group)
		o, l := p.value.Value.(*hujson.Object), d.list(p.value)
		inGroup.only = l.Bare() &&
			(len(o.Members) == 1 || len(o.Members) == 2 && member(o, "matcher") >= 0)
		hooks := d.link(p.array, p.hook, group)
		hooks.only = hooks.only && inGroup.only // a group keeps its array while it holds anything else
		chain = append(chain, d.link(v, p.group, pointer), inGroup, hooks)
	}
	return chain, nil
}

// cut removes the last link's item, or the outermost container above it that
// was made and holds nothing else.
func (d *doc) cut(notes *leaf.Notes, chain []link) []byte {
	n := len(chain) - 1
	for n > 0 && chain[n].only && notes.Made(chain[n].place) {
		n--
	}
	c := chain[n]
	l := d.list(c.value)
	if n == 0 && c.only {
		if tail, made := notes.Text(leaf.DocumentNote, ""); made {
			head, line := syntax.LastComment(d.src[:c.value.StartOffset])
			after := d.src[c.value.EndOffset:]
			if end, _ := syntax.LastComment(after); end == 0 {
				if head > 0 && line && tail == "" {
					return d.src[:head:head]
				}
				return append(d.src[:head:head], tail...)
			}
		}
	}
	splices := l.Remove(c.at)
	if len(l.Items) == 1 {
		if tail, ok := notes.Text(leaf.InnerNote, c.place); ok {
			head := 0
			from := l.Items[0].Start
			if end, line := syntax.LastComment(d.src[l.Open:from]); end > 0 {
				head = end
				if line && len(tail) == 0 {
					tail = leaf.Newline(d.src)
				}
			}
			rest := d.src[l.Items[0].End:l.Close]
			if end, _ := syntax.LastComment(rest); end == 0 {
				splices = []leaf.Splice{leaf.Put(l.Open+head, l.Close, tail)}
			}
		}
	}
	return leaf.Apply(d.src, splices...)
}

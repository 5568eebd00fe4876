package yamltree

import (
	"bytes"
	"fmt"
	"strings"
)

// scanComments finds the comments: every # that is not in a value or key and
// does not touch what stands before it.
func (d *Doc) scanComments() {
	var texts []Span
	if d.Root != nil {
		texts = d.Root.texts(nil)
	}
	at := 0
	for i := 0; i < len(d.Src); {
		for at < len(texts) && texts[at].End <= i {
			at++
		}
		if at < len(texts) && i >= texts[at].Start {
			i = texts[at].End
			continue
		}
		if d.Src[i] == '#' && (i == 0 || strings.IndexByte(" \t\r\n,[]{}", d.Src[i-1]) >= 0) {
			end := d.LineEnd(i)
			d.Comments = append(d.Comments, Span{i, end})
			i = end
			continue
		}
		i++
	}
}

// texts appends where the keys and scalars of n are written, in order.
func (n *Node) texts(out []Span) []Span {
	switch n.Kind {
	case Scalar, Alias:
		if n.Start < n.End {
			out = append(out, Span{n.Start, n.End})
		}
	case Map:
		for _, e := range n.Entries {
			if e.Start < e.KeyEnd {
				out = append(out, Span{e.Start, e.KeyEnd})
			}
			out = e.Value.texts(out)
		}
	case Seq:
		for _, it := range n.Items {
			out = it.Value.texts(out)
		}
	}
	return out
}

// check refuses names that stand twice, and parts that do not lie where they
// must: then where they end was not understood.
func (d *Doc) check(n *Node, from int) error {
	if n.Start < from || n.End < n.Start || n.End > len(d.Src) {
		return &Fault{min(n.Start, len(d.Src)), "what begins here is written in a form that is not read here"}
	}
	at := n.Start
	seen := map[string]int{}
	for _, e := range n.Entries {
		if e.Start < at || e.End > n.End {
			return &Fault{e.Start, "what begins here is written in a form that is not read here"}
		}
		if first, dup := seen[e.Key]; dup && !e.Odd {
			line := 1 + bytes.Count(d.Src[:first], []byte("\n"))
			return &Fault{e.Start, fmt.Sprintf("the name %q stands twice in one mapping, first in line %d", e.Key, line)}
		}
		if !e.Odd {
			seen[e.Key] = e.Start
		}
		if err := d.check(e.Value, e.KeyEnd); err != nil {
			return err
		}
		at = e.End
	}
	for _, it := range n.Items {
		if it.Start < at || it.End > n.End {
			return &Fault{it.Start, "what begins here is written in a form that is not read here"}
		}
		if err := d.check(it.Value, it.Start); err != nil {
			return err
		}
		at = it.End
	}
	return nil
}

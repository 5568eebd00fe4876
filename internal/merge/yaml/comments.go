package yaml

import (
	"bytes"
	"fmt"
	"strings"

	"aisync.dev/aisync/internal/merge/leaf"
)

// scanComments finds the comments: every # that is not in a value or key and
// does not touch what stands before it.
func (d *doc) scanComments() {
	var texts []leaf.Span
	if d.root != nil {
		texts = d.root.texts(nil)
	}
	at := 0
	for i := 0; i < len(d.src); {
		for at < len(texts) && texts[at].End <= i {
			at++
		}
		if at < len(texts) && i >= texts[at].Start {
			i = texts[at].End
			continue
		}
		if d.src[i] == '#' && (i == 0 || strings.IndexByte(" \t\r\n,[]{}", d.src[i-1]) >= 0) {
			end := d.lineEnd(i)
			d.comments = append(d.comments, leaf.Span{Start: i, End: end})
			i = end
			continue
		}
		i++
	}
}

// texts appends where the keys and scalars of n are written, in order.
func (n *node) texts(out []leaf.Span) []leaf.Span {
	switch n.kind {
	case scalar, alias:
		if n.Start < n.End {
			out = append(out, n.Span)
		}
	case mapping:
		for _, e := range n.entries {
			if e.Start < e.keyEnd {
				out = append(out, leaf.Span{Start: e.Start, End: e.keyEnd})
			}
			out = e.value.texts(out)
		}
	case sequence:
		for _, it := range n.items {
			out = it.value.texts(out)
		}
	}
	return out
}

// check refuses names that stand twice, and parts that do not lie where they
// must: then where they end was not understood.
func (d *doc) check(n *node, from int) error {
	if n.Start < from || n.End < n.Start || n.End > len(d.src) {
		return &fault{min(n.Start, len(d.src)), "what begins here is written in a form that is not read here"}
	}
	at := n.Start
	seen := map[string]int{}
	for _, e := range n.entries {
		if e.Start < at || e.End > n.End {
			return &fault{e.Start, "what begins here is written in a form that is not read here"}
		}
		if first, dup := seen[e.key]; dup && !e.odd {
			line := 1 + bytes.Count(d.src[:first], []byte("\n"))
			return &fault{e.Start, fmt.Sprintf("the name %q stands twice in one mapping, first in line %d", e.key, line)}
		}
		if !e.odd {
			seen[e.key] = e.Start
		}
		if err := d.check(e.value, e.keyEnd); err != nil {
			return err
		}
		at = e.End
	}
	for _, it := range n.items {
		if it.Start < at || it.End > n.End {
			return &fault{it.Start, "what begins here is written in a form that is not read here"}
		}
		if err := d.check(it.value, it.Start); err != nil {
			return err
		}
		at = it.End
	}
	return nil
}

package brackets

import "bytes"

// Syntax is what formats with brackets differ in.
type Syntax struct {
	Line   string // begins a comment that ends with its line
	Block  bool   // there are comments of the form /* … */ too
	Triple bool   // strings stand in single quotes too, and over several lines in three quotes
}

// Comment returns the end of the comment at gap[i], without the line end, or i
// where there is none.
func (syn Syntax) Comment(gap []byte, i int) (end int, line bool) {
	rest := gap[i:]
	switch {
	case hasPrefix(rest, syn.Line):
		n := bytes.IndexByte(rest, '\n')
		if n < 0 {
			return len(gap), true
		}
		if n > 0 && rest[n-1] == '\r' {
			n--
		}
		return i + n, true
	case syn.Block && hasPrefix(rest, "/*"):
		n := bytes.Index(rest[2:], []byte("*/"))
		if n < 0 {
			return i, false // the parser will say so
		}
		return i + 2 + n + 2, false
	}
	return i, false
}

// LastComment returns where the last comment of gap ends, 0 where it has none,
// and whether a line end must follow it.
func (syn Syntax) LastComment(gap []byte) (end int, line bool) {
	for i := 0; i < len(gap); {
		if e, l := syn.Comment(gap, i); e > i {
			end, line, i = e, l, e
			continue
		}
		i++
	}
	return end, line
}

// comma returns the offset of the comma in gap, -1 where there is none.
func (syn Syntax) comma(gap []byte) int {
	for i := 0; i < len(gap); {
		if e, _ := syn.Comment(gap, i); e > i {
			i = e
			continue
		}
		if gap[i] == ',' {
			return i
		}
		i++
	}
	return -1
}

func hasPrefix(b []byte, prefix string) bool {
	return len(b) >= len(prefix) && string(b[:len(prefix)]) == prefix
}

// Depth returns how deep brackets nest in doc, outside of strings and comments.
func (syn Syntax) Depth(doc []byte) int {
	deepest, now := 0, 0
	for i := 0; i < len(doc); {
		if e, _ := syn.Comment(doc, i); e > i {
			i = e
			continue
		}
		switch doc[i] {
		case '[', '{':
			now++
			deepest = max(deepest, now)
		case ']', '}':
			now--
		case '"', '\'':
			i = syn.SkipString(doc, i)
			continue
		}
		i++
	}
	return deepest
}

// SkipString returns the end of the string that starts at doc[i].
func (syn Syntax) SkipString(doc []byte, i int) int {
	q := doc[i]
	if q == '\'' && !syn.Triple {
		return i + 1
	}
	if triple := bytes.Repeat([]byte{q}, 3); syn.Triple && bytes.HasPrefix(doc[i:], triple) {
		for j := i + 3; j < len(doc); j++ {
			if doc[j] == '\\' && q == '"' {
				j++
			} else if bytes.HasPrefix(doc[j:], triple) {
				for j += 3; j < len(doc) && doc[j] == q; j++ { // up to two quotes may stand before the end
				}
				return j
			}
		}
		return len(doc)
	}
	for j := i + 1; j < len(doc); j++ {
		switch {
		case doc[j] == '\\' && q == '"':
			j++
		case doc[j] == q:
			return j + 1
		}
	}
	return len(doc)
}

package hostiletext

import "bytes"

// maxLine bounds a line that patterns see at once; overlap is what two parts of a
// longer one share.
const (
	maxLine = 2 << 10
	overlap = 512
)

// reach is the number of lines before and after that a pattern may go over; stride
// is that of the lines which are looked at together.
const (
	reach  = 4
	stride = 8
)

// maxAround bounds the lines that are looked at together, in bytes.
const maxAround = 6 << 10

// maxWork bounds the bytes that patterns see of one text, all together. Texts of
// people need a hundredth of it.
const maxWork = 8 << 20

// segment is a line with those that continue it, or a part of a long one.
type segment struct {
	start, end int
	topics     topic
}

// units tries the patterns where a text speaks of their topics.
func (s *scan) units() {
	list := s.segments()
	all := topic(0)
	for _, g := range list {
		all |= g.topics
	}
	for _, p := range patterns() {
		if all&(p.at|p.near) != p.at|p.near {
			continue
		}
		next := 0 // the first segment that was not looked at
		for i, g := range list {
			if i < next || g.topics&p.at != p.at {
				continue
			}
			first, last := i, i
			next = i + 1
			if p.wide() {
				first, last, next = together(list, i)
				near := topic(0)
				for _, o := range list[first : last+1] {
					near |= o.topics
				}
				if near&p.near != p.near {
					continue
				}
			}
			if !s.match(p, list[first].start, list[last].end) {
				return
			}
		}
	}
	if all&unseen != 0 && bytes.Contains(s.text, []byte("<!--")) {
		s.comments()
	}
}

// together returns the segments around i that are looked at together, and the next to
// begin at.
func together(list []segment, i int) (first, last, next int) {
	first, last, next = i, i, i+1
	for first > 0 && first > i-reach && list[i].end-list[first-1].start <= maxAround/2 {
		first--
	}
	for last < len(list)-1 && last < i+stride+reach && list[last+1].end-list[i].start <= maxAround {
		last++
	}
	return first, last, max(next, last-reach+1)
}

// segments splits the text and finds what its lines speak of.
func (s *scan) segments() []segment {
	m := theMatcher()
	out := make([]segment, 0, 64)
	t := s.text
	state := int(m.next[m.class[' ']])
	for at := 0; at < len(t); {
		end := lineEnd(t, at)
		for end < len(t) && continued(t[at:end]) {
			end = lineEnd(t, end+1)
		}
		next := end + 1
		if end-at > maxLine {
			end = at + maxLine
			next = end - overlap
		}
		var of topic
		of, state = m.read(state, t[at:min(end+1, len(t))])
		out = append(out, segment{at, end, of})
		at = next
	}
	return out
}

// continued reports whether a command goes on in the line after b.
func continued(b []byte) bool {
	for len(b) > 0 && (b[len(b)-1] == ' ' || b[len(b)-1] == '\r' || b[len(b)-1] == '\t') {
		b = b[:len(b)-1]
	}
	if len(b) < 2 || len(b) > maxLine {
		return false
	}
	last := b[len(b)-1]
	return last == '\\' || last == '|' && b[0] != '|' || last == '&' && b[len(b)-2] == '&'
}

// match looks for p between start and end. It reports whether there is work left to
// be spent.
func (s *scan) match(p *pattern, start, end int) bool {
	if s.work += end - start; s.work > maxWork {
		s.add(HiddenText, "has more that looks like an attack than can be examined", excerpt(s.text, start), start)
		return false
	}
	unit := s.text[start:end]
	for from := 0; from < len(unit); {
		loc := p.re.get().FindSubmatchIndex(unit[from:])
		if loc == nil {
			return true
		}
		for k := range loc {
			if loc[k] >= 0 {
				loc[k] += from
			}
		}
		if p.unless == nil || !p.unless(unit, loc) {
			s.add(p.rule, p.says, show(unit[loc[0]:lineEnd(unit, max(loc[1]-1, loc[0]))]), start+loc[0])
		}
		from = max(loc[1], from+1)
	}
	return len(s.out) < maxFindings
}

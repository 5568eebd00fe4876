package hostiletext

import (
	"bytes"
	"fmt"
	"unicode"
	"unicode/utf8"

	"aisync.dev/aisync/internal/termtext"
)

// wide is the number of blanks, and tall that of empty lines, behind which text is
// out of sight.
const (
	wide = 250
	tall = 80
)

// characters looks for what a person does not see, or sees as something else.
func (s *scan) characters() {
	t := s.text
	blanks, empty, start := 0, 0, 0 // start: of the line
	for i := 0; i < len(t) && len(s.out) < maxFindings; {
		b := t[i]
		switch {
		case b == '\n':
			if i == 0 || t[i-1] == '\n' {
				empty++
			}
			blanks = 0
			i++
			start = i
		case b == ' ' || b == '\t' || b == '\r':
			blanks++
			i++
		case b >= utf8.RuneSelf:
			blanks, empty = 0, 0
			i += s.wideRune(i)
		case b < ' ' && b != '\f' || b == 0x7f:
			s.control(i)
			i = lineEnd(t, i)
		default:
			if blanks >= wide && !(b == '|' && t[start] == '|') { // a table has wide cells
				s.add(HiddenText, fmt.Sprintf("has text behind %d blanks", blanks), excerpt(t, i), i)
			}
			if empty >= tall {
				s.add(HiddenText, fmt.Sprintf("has text below %d empty lines", empty), excerpt(t, i), i)
			}
			blanks, empty = 0, 0
			i++
		}
	}
}

// control reports a control character, by which a terminal can hide a line.
func (s *scan) control(i int) {
	s.add(HiddenText, fmt.Sprintf("has the control character U+%04X", s.text[i]), excerpt(s.text, i), i)
}

// wideRune looks at the character outside ASCII at i and returns how many bytes
// are done with.
func (s *scan) wideRune(i int) int {
	r, n := utf8.DecodeRune(s.text[i:])
	switch {
	case r < 0xa0 && r >= 0x80: // a control character
		s.control(i)
	case invisible(r):
		return s.hidden(i)
	case confusable(r) != 0:
		return s.lookalike(i)
	}
	return n
}

// hidden looks at the run of invisible characters at i.
func (s *scan) hidden(i int) int {
	end, count := i, 0
	var payload []byte
	worst := "" // why the run counts
	before, _ := utf8.DecodeLastRune(s.text[:i])
	first := true
	for end < len(s.text) {
		r, n := utf8.DecodeRune(s.text[end:])
		if n == 1 || !invisible(r) {
			break
		}
		after, _ := utf8.DecodeRune(s.text[end+n:])
		if c, ok := spelled(r); ok {
			payload = append(payload, c)
		}
		if !s.harmless(r, before, after, end, first) {
			worst = kindOf(r)
		}
		before, first = r, false
		end += n
		count++
	}
	if worst == "" {
		return max(end-i, 1)
	}
	says := "has " + worst
	if count > 1 {
		says = fmt.Sprintf("has %d hidden characters, %s among them", count, worst)
	}
	if len(payload) > 2 {
		says += `, which spell "` + termtext.Clip(show(payload), 80) + `"`
	}
	s.add(HiddenText, says, excerpt(s.text, i), i)
	return end - i
}

// kindOf names an invisible character.
func kindOf(r rune) string {
	kind := "an invisible character"
	switch {
	case r >= 0xe0000 && r <= 0xe007f:
		kind = "a tag character"
	case variation(r):
		kind = "a variation selector that varies nothing"
	case bidi(r):
		kind = "a character that reorders the line"
	case r >= 0x200b && r <= 0x200d || r == 0x2060 || r == 0xfeff:
		kind = "a zero-width character"
	}
	return fmt.Sprintf("%s (U+%04X)", kind, r)
}

// spelled returns the letter that r smuggles: tags stand for ASCII, variation
// selectors for bytes.
func spelled(r rune) (byte, bool) {
	switch {
	case r >= 0xe0020 && r <= 0xe007e:
		return byte(r - 0xe0000), true
	case r >= 0xfe00 && r <= 0xfe0f:
		return byte(r - 0xfe00), true
	case r >= 0xe0100 && r <= 0xe01ef:
		return byte(r - 0xe0100 + 16), true
	}
	return 0, false
}

func bidi(r rune) bool {
	return r >= 0x202a && r <= 0x202e || r >= 0x2066 && r <= 0x2069 || r == 0x200e || r == 0x200f || r == 0x061c
}

// harmless reports whether an invisible character at i has a use where it stands,
// between before and after; first means that it begins a run.
func (s *scan) harmless(r, before, after rune, i int, first bool) bool {
	switch {
	case r == 0xfeff:
		return i == 0 // a byte order mark
	case r >= 0xfe00 && r <= 0xfe0f:
		return first && (before >= 0x80 || before >= '0' && before <= '9' || before == '#' || before == '*' || r == 0xfe0f && before == ' ')
	case variation(r):
		return first && unicode.Is(unicode.Han, before)
	case r == 0x200d: // joins emoji, and letters of some scripts
		return variation(before) || pictograph(before) || joined(before)
	case r == 0x200c:
		return joined(before) || joined(after)
	case r == 0x200b: // a place to break a line where no blanks are written
		return spaceless(before) || spaceless(after)
	case r == 0x200e || r == 0x200f || r == 0x061c:
		return rightToLeft(around(s.text, i, 200, 200))
	case r == 0x00ad: // a place to hyphenate a word
		return unicode.IsLetter(before) && unicode.IsLetter(after) && (before >= 0x80 || !inCode(s.text, i))
	case r >= 0xe0020 && r <= 0xe007f:
		return flag(s.text[:i])
	case r == 0x115f || r == 0x1160 || r == 0x3164 || r == 0xffa0:
		return unicode.Is(unicode.Hangul, before) || unicode.Is(unicode.Hangul, after)
	case r >= 0x180b && r <= 0x180f:
		return unicode.Is(unicode.Mongolian, before)
	case r == 0x2800:
		return before >= 0x2800 && before <= 0x28ff || after >= 0x2800 && after <= 0x28ff || before == ' '
	case r == 0x17b4 || r == 0x17b5:
		return unicode.Is(unicode.Khmer, before)
	}
	return false
}

// flag reports whether text ends in a flag of a region: a black flag, which tags
// spell.
func flag(text []byte) bool {
	for range 8 {
		r, n := utf8.DecodeLastRune(text)
		if r == 0x1f3f4 {
			return true
		}
		if r < 0xe0020 || r > 0xe007f {
			return false
		}
		text = text[:len(text)-n]
	}
	return false
}

func pictograph(r rune) bool {
	return unicode.Is(unicode.So, r) || unicode.Is(unicode.Sk, r) && r > 0x1f000 || r >= 0x1f000 && r <= 0x1faff
}

// joined reports whether r is a letter of a script whose letters are joined, or
// kept from joining, by invisible characters.
func joined(r rune) bool {
	return r >= 0x0600 && (unicode.IsLetter(r) || unicode.IsMark(r)) && !unicode.In(r, unicode.Latin, unicode.Greek, unicode.Cyrillic, unicode.Han, unicode.Hiragana, unicode.Katakana, unicode.Hangul)
}

func spaceless(r rune) bool {
	return unicode.In(r, unicode.Thai, unicode.Khmer, unicode.Lao, unicode.Myanmar, unicode.Han, unicode.Hiragana, unicode.Katakana, unicode.Tibetan)
}

func rightToLeft(b []byte) bool {
	return bytes.ContainsFunc(b, func(r rune) bool {
		return unicode.In(r, unicode.Arabic, unicode.Hebrew, unicode.Syriac, unicode.Thaana) && unicode.IsLetter(r)
	})
}

// inCode reports whether the place i is in a code span of its line.
func inCode(t []byte, i int) bool {
	return bytes.Count(around(t[:i], i, 500, 0), []byte("`"))%2 == 1
}

// lineEnd returns the index of the end of the line that i is in.
func lineEnd(t []byte, i int) int {
	if n := bytes.IndexByte(t[i:], '\n'); n >= 0 {
		return i + n
	}
	return len(t)
}

// around returns the part of the line around i, at most before and after many bytes.
// What is far away is not looked at: a line may be the whole text.
func around(t []byte, i, before, after int) []byte {
	start, end := max(0, i-before), min(len(t), i+after)
	if n := bytes.LastIndexByte(t[start:i], '\n'); n >= 0 {
		start += n + 1
	}
	if n := bytes.IndexByte(t[i:end], '\n'); n >= 0 {
		end = i + n
	}
	for start > 0 && start < i && !utf8.RuneStart(t[start]) {
		start++
	}
	return t[start:end]
}

// excerpt is around, as much as is shown.
func excerpt(t []byte, i int) string { return show(around(t, i, 60, 240)) }

package hostiletext

import (
	"fmt"
	"unicode"
	"unicode/utf8"
)

// confusables are letters that look like one of ASCII, in pairs: those of
// https://www.unicode.org/Public/security/latest/confusables.txt which common
// fonts show alike.
const confusables = "аaсcеeоoрpѕsіiјjһhԁdԛqԝwѵvхxуyΙIοoνvαaАAВBЕEЅSІIЈJКKМMНHОOРPСCТTХXУYԌGΑAΒBΕEΖZΗHΚKΜMΝNΟOΡPΤTΥYΧXıi"

// alike is confusables as a table, from the first to the last of them.
var alike = func() (t [firstOther - firstAlike]byte) {
	of := rune(0)
	for _, r := range confusables {
		if r < utf8.RuneSelf && of != 0 {
			t[of-firstAlike] = byte(r)
			of = 0
		} else {
			of = r
		}
	}
	return t
}()

const (
	firstAlike = 0x0131
	firstOther = 0x0530
)

// confusable returns the ASCII letter that r looks like, 0 if it looks like none.
func confusable(r rune) byte {
	switch {
	case r >= firstAlike && r < firstOther:
		return alike[r-firstAlike]
	case r >= 0xff21 && r <= 0xff5a && (r <= 0xff3a || r >= 0xff41): // full width
		return byte(r - 0xff21 + 'A')
	}
	return 0
}

// lookalike looks at the word that has a confusable letter at i, and returns how
// many bytes are done with.
func (s *scan) lookalike(i int) int {
	t, start := s.text, i
	for start > 0 {
		r, n := utf8.DecodeLastRune(t[:start])
		if !unicode.IsLetter(r) {
			break
		}
		start -= n
	}
	end, ascii, other, last := i, 0, false, 0
	var plain []byte
	for j := start; j < len(t); {
		r, n := utf8.DecodeRune(t[j:])
		if !unicode.IsLetter(r) {
			break
		}
		c := confusable(r)
		switch {
		case r < utf8.RuneSelf:
			ascii, last = ascii+1, j
			plain = append(plain, byte(r))
		case c != 0:
			plain = append(plain, c)
		default:
			other = true // a word of that alphabet
		}
		j += n
		end = j
	}
	// A word that only ends in other letters is an ASCII word with an ending of
	// another language.
	if ascii >= 2 && !other && last > i {
		s.add(Lookalike, fmt.Sprintf("has letters of another alphabet that look like %q", plain), showASCII(around(t, start, 60, 240)), i)
	}
	return max(end-i, 1)
}

package secret

import (
	"encoding/base64"
	"regexp"
	"slices"
	"strings"
	"sync"
	"unicode"
)

// shape counts what tells random characters from words.
type shape struct {
	n, lower, upper, digit, other int // other: neither letter nor digit
	changes                       int // from one of the classes to another
	inWords                       int // letters in lower-case runs of four and more
	distinct                      int
}

func shapeOf(s string) (f shape) {
	var seen [128]bool
	last, run := 0, 0
	end := func() {
		if run >= 4 {
			f.inWords += run
		}
		run = 0
	}
	for i := range len(s) {
		c := s[i]
		class := 0
		switch {
		case c >= 'a' && c <= 'z':
			class = 1
			f.lower++
			run++
		case c >= 'A' && c <= 'Z':
			class = 2
			f.upper++
		case c >= '0' && c <= '9':
			class = 3
			f.digit++
		default:
			f.other++
			end()
			continue
		}
		if class != 1 {
			end()
		}
		if c < 128 && !seen[c] {
			seen[c] = true
			f.distinct++
		}
		if last != 0 && class != last {
			f.changes++
		}
		f.n, last = f.n+1, class
	}
	end()
	return f
}

// mixed reports whether the rest of an issued form looks generated: the prefix
// has said most already.
func mixed(s string) bool {
	f := shapeOf(s)
	switch {
	case f.n < 8 || f.distinct < 4:
		return false
	case f.digit > 0 && f.digit < f.n:
		return f.changes*8 >= f.n || f.inWords*2 < f.n
	}
	return f.digit == 0 && f.lower > 0 && f.upper > 0 && f.inWords*3 < f.n
}

// random reports whether s, of at least least letters and digits, looks generated:
// base64 or base62, not words, digests, versions, paths or names of models.
func random(s string, least int) bool {
	f := shapeOf(s)
	if f.n < least || strings.Trim(s, wide+"+/=.~:") != "" || f.digit == 0 && f.n < 32 || f.distinct < 10 || placeholder(s) || harmless(s) {
		return false
	}
	if parts := strings.Split(s, "/"); len(parts) > 2 && slices.ContainsFunc(parts, plainWord) { // a path or an address
		return slices.ContainsFunc(parts, func(part string) bool { return random(part, least) })
	}
	switch {
	case strings.Trim(s, hex+"-:") == "" || strings.HasPrefix(s, "0x") && strings.Trim(s[2:], hex) == "":
		return false // hexKey judges it
	case f.lower > 0 && f.upper > 0 && f.digit > 0:
		return f.changes*100 >= f.n*33 && f.inWords*100 <= f.n*34
	case f.lower > 0 && f.upper > 0:
		return f.changes*100 >= f.n*38 && f.inWords*100 <= f.n*25 && f.other == 0
	case f.digit >= 4 && f.lower+f.upper >= 4 && f.n >= max(least, 20):
		return f.changes*100 >= f.n*24 && f.other*12 <= f.n && f.inWords*2 <= f.n
	}
	return false
}

// plainWord reports whether s is a word in lower case.
func plainWord(s string) bool { return len(s) > 2 && strings.Trim(s, lower+"-") == "" }

// hexKey reports whether s is a key in hexadecimal: 32 digits and more, but not as
// many as a commit or a digest has.
func hexKey(s string) bool {
	f := shapeOf(s)
	return f.n >= 32 && f.other == 0 && strings.Trim(s, hex) == "" && f.n != 40 && f.n != 64 && f.n != 96 && f.n != 128 &&
		f.digit >= 4 && f.lower+f.upper >= 4 && (f.lower == 0 || f.upper == 0) && f.distinct >= 8 && !placeholder(s)
}

var known = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`(?i)^(?:sha(?:1|224|256|384|512)|md5|h1|blake[23][a-z0-9]*|urn)[-:=]` +
		`|^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$` + // UUID
		`|^arn:|^@|^[a-z]:\\|^\.{0,2}/[^/]+/|^~/|^v?\d+\.\d+` + // names, paths, versions
		`|\.(?:gguf|safetensors|json|ya?ml|toml|md|mdc|txt|py|[cm]?[jt]sx?|sh|go|rs|rb|java|png|svg|css|html?|lock|sock|tgz|tar|gz|zip|so|dll|exe|whl|bin|wasm|db|sqlite|com|org|net|io|dev)$`)
})

// harmless reports whether s is one of the long things that everyone may read:
// digests with a name, UUIDs, paths, versions, base64 of plain text.
func harmless(s string) bool {
	if known().MatchString(s) {
		return true
	}
	if trimmed := strings.TrimRight(s, "="); len(trimmed) >= 8 && strings.Trim(trimmed, alnum+"+/") == "" {
		plain, err := base64.RawStdEncoding.DecodeString(trimmed)
		return err == nil && printable(string(plain))
	}
	return false
}

func uuid(s string) bool {
	return len(s) == 36 && strings.Count(s, "-") == 4 && strings.Trim(s, hex+"-") == "" && !placeholder(s)
}

func printable(s string) bool {
	return s != "" && !strings.ContainsFunc(s, func(r rune) bool {
		return r == unicode.ReplacementChar || r != '\n' && r != '\t' && r != '\r' && (r < 32 || r > 126)
	})
}

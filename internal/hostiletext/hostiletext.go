// Package hostiletext finds text that attacks the agent which reads it: what a
// person does not see, commands that run what they fetch, ways out for secrets,
// orders to disobey or to hide. It judges bytes, and reads no file and runs
// nothing. Call Scan; Rules are what it finds.
package hostiletext

import (
	"bytes"
	"path"
	"slices"
	"sort"
	"strconv"
	"strings"
	"unicode/utf16"
	"unicode/utf8"
)

// Rule is one kind of finding.
type Rule struct {
	ID  string
	Doc string // the reason, as a phrase
	Do  string // the next step of a person, as a phrase
}

// The identifiers of Rules.
const (
	HiddenText    = "hidden-text"
	HiddenComment = "hidden-comment"
	Lookalike     = "lookalike"
	PipeToShell   = "pipe-to-shell"
	ReverseShell  = "reverse-shell"
	SendsSecrets  = "sends-secrets"
	Overrides     = "overrides-instructions"
	HidesFromUser = "hides-from-user"
)

// Rules are all rules.
var Rules = []Rule{
	{HiddenText, "characters that agents read and people do not see", "remove them; they are shown here by their codes"},
	{HiddenComment, "an instruction to a model where rendered pages show nothing", "remove it, or write it as visible text"},
	{Lookalike, "letters of another alphabet, or a web address that leads elsewhere than it seems", "write it in plain ASCII"},
	{PipeToShell, "a command that runs what it downloads or decodes", "fetch a pinned file, verify it, then run it"},
	{ReverseShell, "a command that gives another machine a shell", "remove it"},
	{SendsSecrets, "a way for secrets or conversations to leave the machine", "remove it, or send nothing but what is needed"},
	{Overrides, "an order to disobey earlier instructions", "remove it"},
	{HidesFromUser, "an order to hide something from the person", "remove it"},
}

// RuleOf returns the rule with that identifier.
func RuleOf(id string) (Rule, bool) {
	i := slices.IndexFunc(Rules, func(r Rule) bool { return r.ID == id })
	if i < 0 {
		return Rule{}, false
	}
	return Rules[i], true
}

// Finding is one place of a text.
type Finding struct {
	Rule    string `json:"rule"`
	Line    int    `json:"line"`    // from 1
	Column  int    `json:"column"`  // from 1, in bytes
	Says    string `json:"says"`    // a phrase; safe to show
	Excerpt string `json:"excerpt"` // escaped: it has no control or invisible character
}

// maxFindings bounds the findings of one text. One is enough to reject it.
const maxFindings = 100

// found is a finding by its offset.
type found struct {
	rule, says, excerpt string
	at                  int
}

// Scan returns the findings in text, by line, at most one of each rule for a
// line. The name tells the form of the text; only its extension counts. The time
// is linear in the length of text. Bytes that are no text, in a file whose name does
// not promise text, have none.
func Scan(name string, text []byte) []Finding {
	if (bytes.IndexByte(text, 0) >= 0 || !utf8.Valid(text)) && !promisesText(name) {
		return nil
	}
	s := &scan{raw: text, text: text}
	if strings.EqualFold(path.Ext(name), ".json") {
		s.unescape()
	}
	s.characters()
	s.units()
	s.encoded()
	return s.findings()
}

// promisesText reports whether agents take a file of that name for text.
func promisesText(name string) bool {
	switch strings.ToLower(path.Ext(name)) {
	case ".md", ".mdc", ".txt", ".org", ".json", ".jsonc", ".toml", ".yaml", ".yml", ".sh", ".bash", ".zsh", ".py", ".js", ".mjs", ".ts", ".rb", ".ps1", ".html":
		return true
	}
	return false
}

// scan is one call of Scan.
type scan struct {
	raw    []byte
	text   []byte  // raw, or what the strings of JSON mean
	shifts []shift // where both differ in length, by place
	out    []found
	work   int // bytes that patterns have seen
}

// shift says that what follows a place of scan.text lies further in scan.raw.
type shift struct{ at, by int }

// add reports a finding at an offset of s.text.
func (s *scan) add(rule, says, excerpt string, at int) {
	if len(s.out) < maxFindings {
		s.out = append(s.out, found{rule, says, excerpt, at})
	}
}

// findings returns what was added, with lines and columns of the raw text.
func (s *scan) findings() []Finding {
	sort.SliceStable(s.out, func(i, j int) bool { return s.out[i].at < s.out[j].at })
	type place struct {
		rule string
		line int
	}
	seen := map[place]bool{}
	line, start, further := 1, 0, 0
	var out []Finding
	for _, f := range s.out {
		for len(s.shifts) > 0 && s.shifts[0].at <= f.at {
			further, s.shifts = further+s.shifts[0].by, s.shifts[1:]
		}
		at := min(f.at+further, len(s.raw))
		for {
			i := bytes.IndexByte(s.raw[start:max(at, start)], '\n')
			if i < 0 {
				break
			}
			line, start = line+1, start+i+1
		}
		if p := (place{f.rule, line}); !seen[p] {
			seen[p] = true
			out = append(out, Finding{f.rule, line, at - start + 1, f.says, f.excerpt})
		}
	}
	return out
}

// unescape undoes the escapes of JSON, as programs read what they mean, and gives
// each string a line: what it says ends with it.
func (s *scan) unescape() {
	out := make([]byte, 0, len(s.raw))
	for t := s.raw; len(t) > 0; {
		i := bytes.IndexAny(t, "\"\\")
		if i < 0 || t[i] == '\\' && i+1 == len(t) {
			out = append(out, t...)
			break
		}
		out, t = append(out, t[:i]...), t[i:]
		if t[0] == '"' {
			out, t = append(out, '\n'), t[1:]
			continue
		}
		r, n := escape(t)
		out, t = utf8.AppendRune(out, r), t[n:]
		s.shifts = append(s.shifts, shift{len(out), n - utf8.RuneLen(r)})
	}
	s.text = out
}

// escape returns the character that the escape at the start of t means, and its
// length.
func escape(t []byte) (rune, int) {
	switch t[1] {
	case 'n', 'r':
		return '\n', 2
	case 't', 'f', 'b':
		return ' ', 2
	case 'u':
		r, ok := hex4(t)
		if !ok {
			return 'u', 2
		}
		if low, ok := hex4(t[6:]); ok && utf16.IsSurrogate(r) {
			if both := utf16.DecodeRune(r, low); both != utf8.RuneError {
				return both, 12
			}
		}
		if utf16.IsSurrogate(r) {
			r = utf8.RuneError
		}
		return r, 6
	}
	if t[1] >= utf8.RuneSelf {
		return '\\', 1
	}
	return rune(t[1]), 2
}

// hex4 reads \uXXXX.
func hex4(t []byte) (rune, bool) {
	if len(t) < 6 || t[0] != '\\' || t[1] != 'u' {
		return 0, false
	}
	n, err := strconv.ParseUint(string(t[2:6]), 16, 16)
	return rune(n), err == nil
}

// Package secret recognizes credentials by their form, their name and their
// randomness, and tells them from references, placeholders, digests and paths.
// It reads no file and returns no secret in a message. Call Find for a text,
// Value for a value with a name, Args for a command line, Mask for what is shown.
package secret

import (
	"regexp"
	"sort"
	"strings"
	"sync"
)

// Match is one secret in a text.
type Match struct {
	Kind       string // in words: "a GitHub token"
	Start, End int    // its bytes in the text
}

// ByName reports whether m is a guess from a name and a random value, rather than
// the form that an issuer gives.
func (m Match) ByName() bool { return m.Kind == byName }

// Hidden is what Mask writes in the place of a secret.
const Hidden = "(not shown)"

// Find returns the secrets in text, in order and without overlap: issued forms,
// private keys, credentials in addresses and headers, and random values that are
// assigned to the name of a secret. The text may be prose, code or settings.
func Find(text string) []Match { return find(text, placeholder) }

// find is Find; excused says which forms are samples.
func find(text string, excused func(string) bool) []Match {
	if len(text) < 8 {
		return nil
	}
	var all []Match
	add := func(kind string, start, end int) { all = append(all, Match{kind, start, end}) }
	findKeys(text, add)
	findIssued(text, excused, add)
	findAddresses(text, add)
	findSchemes(text, add)
	findAssigned(text, add)
	sort.SliceStable(all, func(i, j int) bool { return all[i].Start < all[j].Start })
	var out []Match
	for _, m := range all {
		if n := len(out); n > 0 && m.Start < out[n-1].End {
			out[n-1].End = max(out[n-1].End, m.End)
			continue
		}
		out = append(out, m)
	}
	return out
}

// Line returns the line of offset in text, from 1.
func Line(text string, offset int) int {
	return 1 + strings.Count(text[:min(max(offset, 0), len(text))], "\n")
}

// Mask returns text with each secret that Find sees replaced by Hidden.
func Mask(text string) string {
	found := Find(text)
	if len(found) == 0 {
		return text
	}
	var b strings.Builder
	at := 0
	for _, m := range found {
		b.WriteString(text[at:m.Start])
		b.WriteString(Hidden)
		at = m.End
	}
	b.WriteString(text[at:])
	return b.String()
}

// MaskLines masks lines that stand below each other, such as those of a diff: a
// private key spans several, and a diff may begin inside one.
func MaskLines(lines []string) []string {
	text := strings.Join(lines, "\n")
	found := Find(text)
	out, at := make([]string, len(lines)), 0
	for i, line := range lines {
		end := at + len(line)
		shown, from := "", at
		for _, m := range found {
			if m.End <= at || m.Start >= end {
				continue
			}
			if m.Start > from {
				shown += text[from:m.Start]
			}
			shown += Hidden
			from = min(m.End, end)
		}
		out[i] = shown + text[from:end]
		if m := settingLine().FindStringSubmatch(out[i]); m != nil {
			out[i] = m[1] + Show(m[3], m[2]) + m[4]
		}
		if keyLine(out[i]) {
			out[i] = Hidden
		}
		at = end + 1
	}
	return out
}

// MaskText is MaskLines for a text of lines, such as a diff.
func MaskText(text string) string { return strings.Join(MaskLines(strings.Split(text, "\n")), "\n") }

// settingLine matches a line with the name and the value of a setting, in JSON, TOML
// or YAML.
var settingLine = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^(\s*"?([A-Za-z_][A-Za-z0-9_.-]*)"?\s*[:=]\s*")((?:[^"\\]|\\.)*)(",?\s*)$`)
})

// keyLine reports whether line looks like one of the body of a private key.
func keyLine(line string) bool {
	line = strings.TrimSpace(line)
	return len(line) >= 60 && len(line) <= 80 && strings.Trim(line, alnum+"+/=") == "" && strings.Contains(line, "/") != strings.HasPrefix(line, "//") && random(strings.ReplaceAll(line, "/", ""), 40)
}

package secret

import (
	"regexp"
	"slices"
	"strings"
	"sync"
)

// refers matches what programs and shells put the value of a secret in for.
var refers = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`\$\{\{[^}]*\}\}|\{\{[^}]*\}\}|\$\{[^}]*\}|\$\([^)]*\)|\$[A-Za-z_][A-Za-z0-9_]*|%[A-Za-z_][A-Za-z0-9_]+%|\{(?:env|file|secret|input|vault):[^}]*\}|\{[A-Za-z_][A-Za-z0-9_]*\}|<[^<>]*>|\[[A-Za-z][A-Za-z0-9_ -]*\]` +
		`|(?:process\.env|os\.environ|import\.meta\.env|Deno\.env|ENV)[.\[(][^\s,;]*|\b(?:op|vault|keyring|keychain|aws-sm|gcp-sm|doppler|bws|pass|secretref|ssm)://[^\s"']*|\bkeychain:[^\s"']*|\(not shown\)|\(the secret [^)]*\)`)
})

// Reference reports whether s only names where a value is kept, such as ${TOKEN},
// {env:TOKEN}, "Bearer $TOKEN" or op://vault/item, or stands for a value that the
// reader puts in, such as <your-key>.
func Reference(s string) bool {
	s = strings.TrimSpace(s)
	rest := refers().ReplaceAllString(s, "")
	if rest == s {
		return standsFor(s)
	}
	rest = strings.TrimSpace(rest)
	for _, word := range strings.FieldsFunc(rest, func(r rune) bool { return strings.ContainsRune(" :;,=/.-_\"'@+", r) }) {
		if f := shapeOf(word); f.n >= 12 && f.digit > 0 || f.n > 20 {
			return false
		}
	}
	return true
}

var (
	wordsFor = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`(?i)example|placeholder|change[-_]?(?:me|this)|replace[-_]?(?:me|this|with)|(?:^|[^a-z])your?[-_ ]|(?:^|[^a-z])(?:my|our|the|some|any)[-_ ](?:api|secret|token|key|password|access|auth)|insert[-_]|x{4}|^x+$|redacted|dummy|\.\.\.|…|\*{3}|[-_ ]here\b|\b(?:todo|fixme|tbd)\b|not[-_]?(?:a[-_]?)?real|fake[-_]|[-_]fake`)
	})
	samples = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`(?i)sample|foobar|lorem|abc123|abcd?efg?h?|1234567|0123456|7654321|deadbeef|0{7}|(?:^|[-_])(?:test|demo|mock|invalid|undefined|null)(?:[-_]|$)|(?:^|[^a-z])(?:my|our|the|some|any)[-_]`)
	})
)

// standsFor reports whether people write s where a secret will stand, and say so.
func standsFor(s string) bool { return s == "" || wordsFor().MatchString(s) }

// placeholder is standsFor for a text that explains something: there a value that
// no generator makes is a sample as well.
func placeholder(s string) bool {
	if standsFor(s) || samples().MatchString(s) {
		return true
	}
	run := 1
	for i := 1; i < len(s); i++ {
		if s[i] != s[i-1] {
			run = 1
		} else if run++; run >= 7 {
			return true
		}
	}
	f := shapeOf(s)
	return f.n > 0 && f.distinct <= 2 || f.n >= 16 && f.distinct < 4
}

// everyday are words that stand for a value, or choose one of a few.
var everyday = words("allow deny ask none true false yes no on off auto required optional oauth oauth2 basic bearer token default null nil undefined enabled disabled string secret password passwd pass key header cookie env")

// defaults are passwords that everyone knows.
var defaults = words("password passwd pass pwd pw secret user username postgres mysql root admin test example guest mypassword mypass pass123 password123 secret123 p@ssw0rd changeit token key apikey api_key x xxx dev devpassword local")

// common reports whether a password says nothing: a default, the user's own name, or
// what stands for one.
func common(user, password string) bool {
	return password == "" || strings.EqualFold(user, password) || slices.Contains(defaults, strings.ToLower(password)) || placeholder(password) || refers().ReplaceAllString(password, "") == ""
}

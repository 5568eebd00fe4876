package lint

import (
	"fmt"
	"regexp"
	"strings"
)

// secrets are the public prefixes of keys, as in GitHub's secret scanning
// patterns.
var secrets = []struct {
	what  string
	form  func() *regexp.Regexp
	level Level
}{
	{"a private key", lazily(`-----BEGIN (?:[A-Z]+ )*PRIVATE KEY-----`), Error},
	{"an AWS access key", lazily(`\b(?:AKIA|ASIA)[0-9A-Z]{16}\b`), Error},
	{"a GitHub token", lazily(`\b(?:gh[pousr]_[A-Za-z0-9]{36,}|github_pat_[A-Za-z0-9_]{60,})\b`), Error},
	{"a GitLab token", lazily(`\bglpat-[A-Za-z0-9_-]{20,}`), Error},
	{"an Anthropic key", lazily(`\bsk-ant-[A-Za-z0-9_-]{20,}`), Error},
	{"an OpenAI key", lazily(`\bsk-(?:proj-|svcacct-)?[A-Za-z0-9_-]{32,}`), Error},
	{"a Google API key", lazily(`\bAIza[0-9A-Za-z_-]{35}`), Error},
	{"a Slack token", lazily(`\bxox[abeoprs]-[0-9A-Za-z-]{10,}`), Error},
	{"a Hugging Face token", lazily(`\bhf_[A-Za-z0-9]{30,}\b`), Error},
	{"an npm token", lazily(`\bnpm_[A-Za-z0-9]{36}\b`), Error},
	{"a Stripe key", lazily(`\b[rs]k_live_[0-9A-Za-z]{20,}`), Error},
	{"a password in an address", lazily(`\b[a-z][a-z0-9+.-]*://[^\s/:@]+:([^\s/:@$<{]{6,})@`), Error},
	{"a secret", lazily(`(?i)\b(?:api[_-]?key|secret|token|passwd|password)["']?\s*[:=]\s*["']([A-Za-z0-9/+_.-]{16,})["']`), Warning},
}

// placeholder is what people write instead of a secret.
var placeholder = lazily(`(?i)example|placeholder|changeme|your[-_]|xxxx|0000|1234|\.\.\.`)

// checkSecrets checks every line; it does not repeat what it found.
func checkSecrets(s *source, say func(Finding)) {
	for _, f := range s.files {
		if f.binary {
			continue
		}
		n := 0
		for line := range strings.Lines(string(f.text)) {
			n++
			for _, x := range secrets {
				m := x.form().FindString(line)
				if m == "" || placeholder().MatchString(m) {
					continue
				}
				say(Finding{File: f.name, Line: n, Level: x.level, Text: fmt.Sprintf("looks like %s; remove and revoke it or, if it is none, put %q in the line", x.what, ignoreMark)})
				break
			}
		}
	}
}

package ensemble

import (
	"fmt"
	"regexp"
	"sync"
)

// secrets are distinctive forms of credentials: the prefixes that issuers
// document for scanners. A text in a ledger stays in three places, and every
// agent can read it.
var secrets = sync.OnceValue(func() []secret {
	return []secret{
		{"a private key", regexp.MustCompile(`-----BEGIN [A-Z ]*PRIVATE KEY-----`)},
		{"a GitHub token", regexp.MustCompile(`\b(?:gh[pousr]_[A-Za-z0-9]{36}|github_pat_[A-Za-z0-9_]{40})`)},
		{"a GitLab token", regexp.MustCompile(`\bglpat-[A-Za-z0-9_-]{20}`)},
		{"an AWS key", regexp.MustCompile(`\b(?:AKIA|ASIA)[A-Z0-9]{16}\b`)},
		{"an API key", regexp.MustCompile(`\bsk-[A-Za-z0-9_-]{20}`)},
		{"a Google key", regexp.MustCompile(`\bAIza[A-Za-z0-9_-]{35}`)},
		{"a Hugging Face token", regexp.MustCompile(`\bhf_[A-Za-z0-9]{30}`)},
		{"a Slack token", regexp.MustCompile(`\bxox[abeoprs]-[A-Za-z0-9-]{10}`)},
		{"an npm token", regexp.MustCompile(`\bnpm_[A-Za-z0-9]{36}`)},
	}
})

type secret struct {
	name string
	form *regexp.Regexp
}

// checkSecrets warns of a text that seems to hold a secret, before it is written;
// with --strict it returns an error.
func (c *call) checkSecrets(text string) error {
	for _, s := range secrets() {
		if !s.form.MatchString(text) {
			continue
		}
		if c.on["strict"] {
			return fmt.Errorf("the text seems to hold %s, which every agent could read in the ledger; nothing was written", s.name)
		}
		c.warn("the text seems to hold %s, which every agent can now read in the ledger: revoke that secret", s.name)
	}
	return nil
}

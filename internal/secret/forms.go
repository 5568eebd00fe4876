package secret

import (
	"encoding/base64"
	"regexp"
	"slices"
	"strings"
	"sync"
)

const (
	digits = "0123456789"
	upper  = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
	lower  = "abcdefghijklmnopqrstuvwxyz"
	alnum  = digits + upper + lower
	hex    = digits + "abcdefABCDEF"
	wide   = alnum + "_-"
)

// issued is a form that an issuer gives its credentials, so that scanners find
// them: a prefix, and at least min characters.
type issued struct {
	kind, prefix, chars string
	min                 int
}

// closed reports whether no words of a name can follow the prefix: it ends in a
// sign that the rest cannot have.
func (f issued) closed() bool { return f.chars == alnum && len(f.prefix) > 3 }

// forms are the documented prefixes of issuers, of GitHub's secret scanning
// patterns among others. The longer of two prefixes that begin alike comes first.
// https://docs.github.com/en/code-security/secret-scanning/introduction/supported-secret-scanning-patterns
var forms = []issued{
	{"an Anthropic key", "sk-ant-", wide, 16},
	{"an OpenRouter key", "sk-or-", wide, 24},
	{"an OpenAI key", "sk-proj-", wide, 16},
	{"an OpenAI key", "sk-svcacct-", wide, 16},
	{"an OpenAI key", "sk-admin-", wide, 16},
	{"an API key", "sk-", wide, 20},
	{"a GitHub token", "ghp_", alnum, 20},
	{"a GitHub token", "gho_", alnum, 20},
	{"a GitHub token", "ghu_", alnum, 20},
	{"a GitHub token", "ghs_", alnum, 20},
	{"a GitHub token", "ghr_", alnum, 20},
	{"a GitHub token", "github_pat_", alnum + "_", 30},
	{"a GitLab token", "glpat-", wide + ".", 16},
	{"a GitLab token", "gldt-", wide, 16},
	{"a GitLab token", "glrt-", wide, 16},
	{"a GitLab token", "glptt-", wide, 16},
	{"a Slack token", "xoxa-", alnum + "-", 16},
	{"a Slack token", "xoxb-", alnum + "-", 16},
	{"a Slack token", "xoxe-", alnum + "-", 16},
	{"a Slack token", "xoxo-", alnum + "-", 16},
	{"a Slack token", "xoxp-", alnum + "-", 16},
	{"a Slack token", "xoxr-", alnum + "-", 16},
	{"a Slack token", "xoxs-", alnum + "-", 16},
	{"a Slack token", "xapp-", alnum + "-", 20},
	{"a Slack webhook", "hooks.slack.com/services/", alnum + "/", 30},
	{"a Discord webhook", "discord.com/api/webhooks/", wide + "/", 50},
	{"a Discord webhook", "discordapp.com/api/webhooks/", wide + "/", 50},
	{"a Notion token", "ntn_", alnum, 20},
	{"a Notion token", "secret_", alnum, 32},
	{"a Google API key", "AIza", wide, 30},
	{"a Google token", "ya29.", wide + ".", 30},
	{"a Google client secret", "GOCSPX-", wide, 20},
	{"a Hugging Face token", "hf_", alnum, 24},
	{"an npm token", "npm_", alnum, 30},
	{"a PyPI token", "pypi-", wide, 32},
	{"a DigitalOcean token", "dop_v1_", hex, 32},
	{"a DigitalOcean token", "doo_v1_", hex, 32},
	{"a DigitalOcean token", "dor_v1_", hex, 32},
	{"a SendGrid key", "SG.", wide + ".", 32},
	{"a Stripe key", "sk_live_", alnum, 16},
	{"a Stripe key", "rk_live_", alnum, 16},
	{"a webhook's secret", "whsec_", alnum + "+/=", 20},
	{"a Shopify token", "shpat_", hex, 24},
	{"a Shopify token", "shpca_", hex, 24},
	{"a Shopify token", "shppa_", hex, 24},
	{"a Shopify secret", "shpss_", hex, 24},
	{"a Linear key", "lin_api_", alnum, 24},
	{"a Linear token", "lin_oauth_", alnum, 24},
	{"a Figma token", "figd_", wide, 24},
	{"a Supabase token", "sbp_", hex, 32},
	{"a Supabase key", "sb_secret_", wide, 20},
	{"a Groq key", "gsk_", alnum, 32},
	{"an xAI key", "xai-", alnum, 40},
	{"a Perplexity key", "pplx-", alnum, 32},
	{"a Replicate token", "r8_", alnum, 30},
	{"a Tavily key", "tvly-", wide, 20},
	{"a Firecrawl key", "fc-", hex, 32},
	{"a Context7 key", "ctx7sk-", wide, 20},
	{"an NVIDIA key", "nvapi-", wide, 40},
	{"an Atlassian token", "ATATT3x", wide + "=", 40},
	{"a Docker token", "dckr_pat_", wide, 20},
	{"a Vault token", "hvs.", wide, 24},
	{"a Sentry token", "sntrys_", wide + "=+/", 32},
	{"a Sentry token", "sntryu_", hex, 40},
	{"a Postman key", "PMAK-", wide, 40},
	{"a Tailscale key", "tskey-", wide, 24},
	{"a Databricks token", "dapi", hex, 32},
	{"a Grafana token", "glsa_", alnum + "_", 32},
	{"an age key", "AGE-SECRET-KEY-1", upper + digits, 40},
	{"an AWS access key", "AKIA", upper + digits, 16},
	{"an AWS access key", "ASIA", upper + digits, 16},
}

// findIssued looks for issued forms and for JSON Web Tokens, except excused ones.
func findIssued(text string, excused func(string) bool, add func(string, int, int)) {
	for _, f := range forms {
		for at := 0; ; {
			i := strings.Index(text[at:], f.prefix)
			if i < 0 {
				break
			}
			start := at + i
			end := start + len(f.prefix)
			for end < len(text) && strings.IndexByte(f.chars, text[end]) >= 0 {
				end++
			}
			end -= len(text[start:end]) - len(strings.TrimRight(text[start:end], ".-/"))
			at = start + len(f.prefix)
			if !begins(text, start) || end-at < f.min || (f.prefix == "AKIA" || f.prefix == "ASIA") && end-at != 16 {
				continue
			}
			if rest := text[at:end]; (mixed(rest) || f.closed() && shapeOf(rest).n >= f.min) && !excused(rest) {
				add(f.kind, start, end)
				at = end
			}
		}
	}
	if !strings.Contains(text, "eyJ") {
		return
	}
	for _, m := range webToken().FindAllStringSubmatchIndex(text, -1) {
		body, err := base64.RawURLEncoding.DecodeString(text[m[2]:m[3]])
		if begins(text, m[0]) && !excused(text[m[4]:m[5]]) && !(err == nil && sample(string(body))) {
			add("a JSON Web Token", m[0], m[1])
		}
	}
}

var webToken = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`eyJ[A-Za-z0-9_-]{5,}\.(eyJ[A-Za-z0-9_-]{5,})\.([A-Za-z0-9_-]{16,})`)
})

// sample reports whether the claims of a web token are those of a documentation.
func sample(claims string) bool {
	return strings.Contains(claims, "1234567890") || strings.Contains(claims, "John Doe") || strings.Contains(claims, "example")
}

// begins reports whether a word begins at i: after a letter or digit only where
// that is the end of an escape such as \n.
func begins(text string, i int) bool {
	if i == 0 || strings.IndexByte(alnum, text[i-1]) < 0 {
		return true
	}
	return i > 1 && text[i-2] == '\\' && strings.IndexByte("nrt", text[i-1]) >= 0
}

var privateKey = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`-----BEGIN (?:[A-Z0-9]+ )*PRIVATE KEY(?: BLOCK)?-----([^-]*)(?:-----END [A-Z0-9 ]*-----)?`)
})

var keyBody = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`[A-Za-z0-9+/]{24,}`) })

// findKeys looks for private keys in PEM form; a heading without a body is none.
func findKeys(text string, add func(string, int, int)) {
	if !strings.Contains(text, "PRIVATE KEY") {
		return
	}
	for _, m := range privateKey().FindAllStringSubmatchIndex(text, -1) {
		if body := keyBody().FindString(text[m[2]:m[3]]); body != "" && !placeholder(body) {
			add("a private key", m[0], m[1])
		}
	}
}

var (
	userInfo = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile("[A-Za-z][A-Za-z0-9+.-]*://([^\\s/:@'\"`<>?#]*)(?::([^\\s/@'\"`<>]+))?@[A-Za-z0-9\\[$%{]")
	})
	query = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile("[?&;]([A-Za-z][A-Za-z0-9_.-]*)=([^&\\s\"'`<>#)\\]|\\\\]+)")
	})
)

// findAddresses looks for credentials in addresses: a password, a user that is a
// key, a parameter.
func findAddresses(text string, add func(string, int, int)) {
	if !strings.Contains(text, "://") {
		return
	}
	for _, m := range userInfo().FindAllStringSubmatchIndex(text, -1) {
		user := text[m[2]:m[3]]
		switch {
		case m[4] >= 0:
			if word := text[m[4]:m[5]]; !Reference(word) && !common(user, word) {
				add("a password in an address", m[4], m[5])
			}
		case random(user, 20) || hexKey(user):
			add("a key in an address", m[2], m[3])
		}
	}
	for _, m := range query().FindAllStringSubmatchIndex(text, -1) {
		name, value := text[m[2]:m[3]], text[m[4]:m[5]]
		if Reference(value) || placeholder(value) {
			continue
		}
		switch class := classOf(name); {
		case strings.EqualFold(name, "sig"), strings.EqualFold(name, "signature"), strings.EqualFold(name, "x-amz-signature"), strings.EqualFold(name, "code"), class == maybe:
			if random(value, 16) || hexKey(value) || uuid(value) {
				add("a key in an address", m[4], m[5])
			}
		case class == strong && len(value) >= 8 && (mixed(value) || hexKey(value)):
			add("a key in an address", m[4], m[5])
		}
	}
}

var scheme = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`(?i)\b(` + strings.Join(schemes, "|") + `)[ \t]+([A-Za-z0-9._~+/=-]{8,})`)
})

// schemes are the words before a credential.
var schemes = []string{"bearer", "basic", "token", "bot", "apikey"}

// findSchemes looks for the credentials of an Authorization header.
func findSchemes(text string, add func(string, int, int)) {
	lower := strings.ToLower(text) // the expression takes a hundred times longer, and few texts have such a word
	if !slices.ContainsFunc(schemes, func(word string) bool { return strings.Contains(lower, word+" ") || strings.Contains(lower, word+"\t") }) {
		return
	}
	for _, m := range scheme().FindAllStringSubmatchIndex(text, -1) {
		word := text[m[4]:m[5]]
		if placeholder(word) {
			continue
		}
		if strings.EqualFold(text[m[2]:m[3]], "basic") {
			plain, err := base64.StdEncoding.DecodeString(word)
			user, password, ok := strings.Cut(string(plain), ":")
			if err == nil && ok && printable(string(plain)) && !common(user, password) && !placeholder(string(plain)) {
				add("a name and a password", m[4], m[5])
			}
			continue
		}
		if random(word, 16) || hexKey(word) || uuid(word) {
			add("a token in a header", m[4], m[5])
		}
	}
}

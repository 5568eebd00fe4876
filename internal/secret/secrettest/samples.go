// Package secrettest makes secrets for tests: none is real, each has the form of
// one. They are computed, so that no scanner of this repository takes them for
// leaked ones. Call Samples.
package secrettest

import (
	"encoding/base64"
	"fmt"
	"math/rand/v2"
	"strings"
)

// Sample is one value with a secret in it.
type Sample struct {
	Name   string // of a variable that has the value
	Value  string
	Secret string // the part that must not be shown
	Known  bool   // it is recognized without the name
	Text   bool   // it is recognized in prose and code as well
}

const (
	digits = "0123456789"
	lower  = "abcdefghijklmnopqrstuvwxyz"
	upper  = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
	base62 = digits + lower + upper
	hex    = "0123456789abcdef"
)

// issued are prefixes of issuers in two parts, the characters that follow, how many.
var issued = []struct {
	a, b, chars string
	n           int
}{
	{"sk", "-", base62, 48}, {"sk-", "ant-api03-", base62 + "_-", 93}, {"sk-", "proj-", base62 + "_-", 120}, {"sk-or", "-v1-", hex, 64}, {"sk-svc", "acct-", base62, 60},
	{"gh", "p_", base62, 36}, {"gh", "o_", base62, 36}, {"gh", "s_", base62, 36}, {"gh", "u_", base62, 36}, {"github", "_pat_", base62, 82},
	{"gl", "pat-", base62, 20}, {"xo", "xb-", digits + base62, 50}, {"xo", "xp-", digits + base62, 60}, {"xo", "xa-", base62, 40}, {"xo", "xr-", base62, 40},
	{"nt", "n_", base62, 46}, {"sec", "ret_", base62, 43}, {"AK", "IA", upper + "234567", 16}, {"AS", "IA", upper + "234567", 16}, {"AI", "za", base62 + "_-", 35},
	{"h", "f_", base62, 34}, {"np", "m_", base62, 36}, {"py", "pi-AgEI", base62 + "_-", 150}, {"dop", "_v1_", hex, 64}, {"sk_", "live_", base62, 24},
	{"rk_", "live_", base62, 24}, {"wh", "sec_", base62, 32}, {"shp", "at_", hex, 32}, {"lin", "_api_", base62, 40}, {"fig", "d_", base62, 40},
	{"sb", "p_", hex, 40}, {"gs", "k_", base62, 52}, {"x", "ai-", base62, 80}, {"ppl", "x-", base62, 48}, {"r", "8_", base62, 37},
	{"tv", "ly-dev-", base62, 32}, {"f", "c-", hex, 32}, {"nv", "api-", base62, 64}, {"dckr", "_pat_", base62, 27}, {"ctx7", "sk-", base62, 36},
}

// Samples are 200 values, the same at each call.
func Samples() []Sample {
	r := rand.New(rand.NewPCG(20, 26)) // not for secrets: the values must be the same at each run
	of := func(chars string, n int) string {
		for {
			b := make([]byte, n)
			for i := range b {
				b[i] = chars[r.IntN(len(chars))]
			}
			if s := string(b); strings.ContainsAny(s, digits) || !strings.ContainsAny(chars, digits) || chars == upper+"234567" {
				return s
			}
		}
	}
	var out []Sample
	add := func(name, value, secret string, known, text bool) {
		out = append(out, Sample{fmt.Sprintf(name, len(out)), value, secret, known, text})
	}
	for range 2 {
		for _, f := range issued { // 80: under names that say nothing
			v := f.a + f.b + of(f.chars, f.n)
			add("SERVICE_%d", v, v, true, true)
		}
	}
	for _, name := range []string{"GITHUB_TOKEN_%d", "DB_PASSWORD_%d", "CLIENT_SECRET_%d", "apiKey%d", "X_API_KEY_%d", "SMTP_PASS_%d", "REDIS_PWD_%d", "SESSION_COOKIE_%d", "ADMIN_PASSPHRASE_%d", "AWS_SECRET_ACCESS_KEY_%d"} {
		for i, v := range []string{"hunter" + of(digits, 3) + "pass", of(hex, 32), of(base62, 24), of(hex, 8) + "-" + of(hex, 4) + "-" + of(hex, 4) + "-" + of(hex, 4) + "-" + of(hex, 12)} {
			add(name, v, v, false, i == 2) // 40: only the name tells what the first is
		}
	}
	for _, scheme := range []string{"postgres", "postgresql", "mysql", "mongodb+srv", "redis", "amqp", "https", "ftp"} {
		for range 2 { // 16
			v := "pw" + of(base62, 10)
			add("STORE_%d", scheme+"://app:"+v+"@db.internal.corp/main", v, true, true)
		}
	}
	for range 6 { // 12
		v := of(hex, 32)
		add("REPORTS_%d", "https://"+v+"@o42.ingest.reports.corp/7", v, true, true)
		v = of(base62, 32)
		add("REMOTE_%d", "https://mcp.corp/sse?api_key="+v+"&lang=en", v, true, true)
	}
	for range 6 { // 18
		v := of(base62, 40)
		add("HEADER_%d", "Bearer "+v, v, true, true)
		v = base64.StdEncoding.EncodeToString([]byte("app:" + of(base62, 14)))
		add("LOGIN_%d", "Basic "+v, v, true, true)
		v = "nt" + "n_" + of(base62, 46)
		add("OPENAPI_MCP_HEADERS_%d", `{"Authorization":"Bearer `+v+`","Notion-Version":"2022-06-28"}`, v, true, true)
	}
	for range 4 { // 16
		part := base64.RawURLEncoding.EncodeToString
		v := part([]byte(`{"alg":"HS256"}`)) + "." + part([]byte(`{"sub":"`+of(lower, 12)+`"}`)) + "." + of(base62, 43)
		add("ASSERTION_%d", v, v, true, true)
		v = of(base62, 64)
		add("PEM_%d", "-----BEGIN "+"PRIVATE KEY-----\n"+v+"\n"+of(base62, 40)+"\n-----END "+"PRIVATE KEY-----", v, true, true)
		v = "0x" + of(hex, 64)
		add("WALLET_PRIVATE_KEY_%d", v, v, false, false)
		v = of(base62+"+/", 43) + "="
		add("SETTING_%d", v, v, true, false)
	}
	for i := len(out); i < 200; i++ {
		v := of(base62, 40)
		add("OTHER_%d", v, v, true, false)
	}
	return out
}

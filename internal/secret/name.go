package secret

import (
	"slices"
	"strings"
	"unicode"
)

// class is what a name says about its value.
type class int

const (
	none   class = iota // nothing, or that it is no secret
	maybe               // it is a secret if it looks like one
	strong              // it is a secret unless it is a reference or a placeholder
)

var (
	nouns = words("token secret password passwd passphrase passcode apikey credential credentials creds authorization cookie cookies dsn jwt secrets passwords pat pwd pass auth")
	// plural may be a count: it says less than one.
	plural = words("tokens keys apikeys")
	// keyKinds make a key a secret one.
	keyKinds = words("api secret private access auth encryption signing master role admin client service license app consumer account subscription deploy ssh")
	// openKinds make a key one that all may read.
	openKinds = words("public color colour primary foreign sort cache hot shortcut partition row idempotency leader group object map dict json yaml lookup index translation i18n registry project issue ticket feature page tab enter arrow modifier meta ctrl alt leader")
	// about say that a name tells of a secret, and does not hold it.
	about = words("limit limits count counts url uri endpoint file filename path paths dir directory folder name names id ids type types kind ttl expiry expires expiration size length len min max budget window env var vars variable helper helpers command manager provider usage cost costs price format header headers prefix suffix pattern regex policy rules scope scopes store stdin prompt required enabled disabled field hint label description title method mode location source server issuer audience style color width version algorithm alg refresh export script program cmd hash sha digest placeholder lifetime timeout interval encoding encoder counter estimate estimator saver savings threshold ratio rate per")
	// where stand behind a noun, and say which of several secrets it is.
	where = words("prod production dev development staging stage test live work personal value base base64 b64 raw new old current primary secondary hex plain text default main backup local remote")
	// few stand before tokens that are counted.
	few = words("max min num n total input output thinking context prompt completion budget reasoning cached count used")
	// open are shown, or name variables.
	open = words("public publishable")
)

func words(s string) []string { return strings.Fields(s) }

// Named reports whether name is that of a secret: GITHUB_TOKEN, X-Api-Key,
// clientSecret; not MAX_TOKENS, TOKEN_LIMIT, tokenizer, PUBLIC_KEY, or a path.
func Named(name string) bool { return classOf(name) == strong }

// classOf judges name by its words.
func classOf(name string) class {
	name = strings.TrimLeft(name, "-_$.")
	if strings.ContainsAny(name, "/*\\()[]{} \t\n") {
		return none // a path, a pattern, a sentence
	}
	ws := split(name)
	for len(ws) > 1 && (slices.Contains(where, ws[len(ws)-1]) || strings.Trim(ws[len(ws)-1], digits) == "") {
		ws = ws[:len(ws)-1]
	}
	if len(ws) == 0 || slices.ContainsFunc(ws, func(w string) bool { return slices.Contains(open, w) }) {
		return none
	}
	last, before := ws[len(ws)-1], ""
	if bare := strings.TrimRight(last, digits); bare != "" {
		last = bare // apiKey2
	}
	if len(ws) > 1 {
		before = ws[len(ws)-2]
	}
	switch {
	case last == "pwd" && (before == "" || before == "old"), last == "pass" && before == "", last == "auth" && before == "":
		return none
	case last == "string" && (before == "connection" || before == "conn"):
		return strong
	case last == "auth":
		return maybe
	case slices.Contains(nouns, last):
		return strong
	case slices.Contains(plural, last):
		if slices.ContainsFunc(ws[:len(ws)-1], func(w string) bool { return slices.Contains(few, w) || slices.Contains(openKinds, w) }) {
			return none
		}
		return maybe
	case last == "key" && slices.Contains(keyKinds, before):
		return strong
	case last == "key" && slices.Contains(openKinds, before):
		return none
	case last == "key":
		return maybe
	case slices.Contains(about, last):
		return none
	case slices.ContainsFunc(ws, func(w string) bool { return slices.Contains(nouns, w) && w != "pass" && w != "auth" }), strings.Contains(strings.Join(ws, " "), "api key"):
		return maybe
	}
	return none
}

// under is the class of a value below the keys of path: what is below the name of
// a secret is one, unless its own key says otherwise.
func under(path []string) class {
	best := none
	for i, key := range path {
		switch lower := strings.ToLower(key); {
		case lower == "env_http_headers" || lower == "env_vars" || lower == "envfile":
			return none // names of variables
		case strings.Trim(key, digits) == "" && key != "": // an element of a list
		case i == len(path)-1 && classOf(key) != none:
			return classOf(key)
		case i == len(path)-1 && tells(key):
			return none
		case classOf(key) == strong:
			best = strong
		}
	}
	return best
}

// tells reports whether a key is about a secret, or a path.
func tells(key string) bool {
	ws := split(key)
	return strings.ContainsAny(key, "/*\\()[]{} ") || len(ws) > 0 && slices.Contains(about, ws[len(ws)-1])
}

// split returns the words of a name in lower case: of snake_case, kebab-case,
// dotted.names and camelCase.
func split(name string) []string {
	var out []string
	var word []rune
	flush := func() {
		if len(word) > 0 {
			out = append(out, strings.ToLower(string(word)))
			word = nil
		}
	}
	rs := []rune(name)
	for i, r := range rs {
		switch {
		case !unicode.IsLetter(r) && !unicode.IsDigit(r):
			flush()
			continue
		case unicode.IsUpper(r) && i > 0 && (unicode.IsLower(rs[i-1]) || unicode.IsUpper(rs[i-1]) && i+1 < len(rs) && unicode.IsLower(rs[i+1]) && !all(rs[i+1:], unicode.IsDigit)):
			flush()
		}
		word = append(word, r)
	}
	flush()
	// Words that are written as one.
	var joined []string
	for _, w := range out {
		if head, ok := strings.CutSuffix(w, "key"); ok && slices.Contains(keyKinds, head) {
			joined = append(joined, head, "key")
			continue
		}
		joined = append(joined, whole(w)...)
	}
	return joined
}

// whole splits a word that ends in the noun of a secret: authtoken, dbpassword.
func whole(w string) []string {
	for _, noun := range []string{"token", "secret", "password", "passwd"} {
		if head, ok := strings.CutSuffix(w, noun); ok && head != "" {
			return []string{head, noun}
		}
	}
	return []string{w}
}

func all(rs []rune, is func(rune) bool) bool {
	return !slices.ContainsFunc(rs, func(r rune) bool { return !is(r) })
}

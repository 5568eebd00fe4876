package secret

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"
)

const (
	byName   = "a value with the name of a secret"
	byChance = "a long random value"
)

// Value returns the kind of the secret that value is or contains, as the value of
// a variable, header, argument or setting with that name; "" if it is none. A name
// of several keys, from the outermost, is path.
func Value(value string, path ...string) (kind string) {
	kind, _ = judge(value, path)
	return kind
}

// Scheme splits the value of an Authorization header into its scheme and the
// credential: "Bearer …".
func Scheme(value string) (scheme, credential string, ok bool) {
	scheme, credential, ok = strings.Cut(strings.TrimSpace(value), " ")
	if !ok || strings.ContainsAny(credential, " ${}") || !slices.Contains([]string{"bearer", "basic", "token", "bot", "apikey"}, strings.ToLower(scheme)) {
		return "", "", false
	}
	return scheme, credential, true
}

// covered stands for a secret while the rest of its text is judged: a reference.
const covered = "<not-shown>"

// Show returns value with what of it is secret replaced by Hidden.
func Show(value string, path ...string) string {
	for range 32 {
		kind, part := judge(value, path)
		switch {
		case kind == "":
			return strings.ReplaceAll(value, covered, Hidden)
		case part == "" || !strings.Contains(value, part):
			return Hidden
		}
		value = strings.ReplaceAll(value, part, covered)
	}
	return Hidden
}

// ShowArgs is Show for the arguments of a command.
func ShowArgs(args []string) []string {
	out := slices.Clone(args)
	for range 32 {
		i, kind, part := judgeArgs(out)
		switch {
		case kind == "":
			for i, arg := range out {
				out[i] = strings.ReplaceAll(arg, covered, Hidden)
			}
			return out
		case part == "" || !strings.Contains(out[i], part):
			out[i] = covered
		default:
			out[i] = strings.ReplaceAll(out[i], part, covered)
		}
	}
	return []string{Hidden}
}

// judge is Value, and returns the part that is secret; "" is all of it.
func judge(value string, path []string) (kind, part string) {
	const longest = 4 << 10 // bytes; a longer text is a document, and no command line or address
	text := strings.TrimSpace(value)
	if text == "" {
		return "", ""
	}
	if found := find(text, standsFor); len(found) > 0 {
		return found[0].Kind, text[found[0].Start:found[0].End]
	}
	if text[0] == '{' || text[0] == '[' {
		var v any
		if json.Unmarshal([]byte(text), &v) == nil {
			if kind, part := inside(v, nil); kind != "" {
				return kind + " in JSON", part
			}
			return "", ""
		}
	}
	if len(text) > longest && under(path) != strong {
		return "", ""
	}
	if strings.Contains(text, "://") {
		if part := parameter(text); part != "" {
			return "a key in an address", part
		}
	}
	if strings.ContainsAny(text, " \t\n") {
		if _, kind, part := judgeArgs(Words(text)); kind != "" {
			return kind, part
		}
	}
	if Reference(text) || strings.Trim(text, "0123456789.,%") == "" && under(path) != strong {
		return "", ""
	}
	switch under(path) {
	case strong:
		if !slices.Contains(everyday, strings.ToLower(text)) && !pathLike(text) && !runnable(text) {
			return byName, text
		}
	case maybe:
		if random(text, 12) || hexKey(text) || uuid(text) || hexLong(text) || weak(text) {
			return byName, text
		}
	}
	if len(path) > 0 && identifies(path[len(path)-1]) {
		return "", ""
	}
	return chance(text)
}

// parameter returns the value of a parameter of an address with the name of a
// secret or of a key. Find, which reads prose too, asks for more.
func parameter(address string) string {
	for _, m := range query().FindAllStringSubmatch(address, -1) {
		named := classOf(m[1]) == strong || slices.Contains([]string{"key", "sig", "signature"}, strings.ToLower(m[1]))
		if named && !Reference(m[2]) && !slices.Contains(everyday, strings.ToLower(m[2])) {
			return m[2]
		}
	}
	return ""
}

// inside looks through a decoded document.
func inside(v any, path []string) (kind, part string) {
	switch v := v.(type) {
	case map[string]any:
		for _, key := range slices.Sorted(maps.Keys(v)) {
			if kind, part := inside(v[key], append(slices.Clone(path), key)); kind != "" {
				return kind, part
			}
		}
	case []any:
		for _, e := range v {
			if kind, part := inside(e, path); kind != "" {
				return kind, part
			}
		}
	case string:
		return judge(v, path)
	}
	return "", ""
}

// Args returns the first argument that is or contains a secret, and its kind: by
// itself, by the flag before it, or by the name that it assigns to.
func Args(args []string) (i int, kind string) {
	i, kind, _ = judgeArgs(args)
	return i, kind
}

func judgeArgs(args []string) (i int, kind, part string) {
	for i, arg := range args {
		name, value, ok := assignment(arg)
		if ok && value != "" {
			if kind, part := judge(value, []string{name}); kind != "" {
				return i, kind, part
			}
			continue
		}
		if i > 0 && strings.HasPrefix(args[i-1], "-") && !strings.Contains(args[i-1], "=") && !strings.HasPrefix(arg, "-") {
			flag := strings.TrimLeft(args[i-1], "-")
			user, password, pair := strings.Cut(arg, ":")
			if (flag == "u" || flag == "user") && pair && !common(user, password) && !Reference(password) && !strings.Contains(password, "/") && strings.Trim(arg, digits+":") != "" {
				return i, "a name and a password", password
			}
			if len(flag) > 1 {
				if kind, part := judge(arg, []string{flag}); kind != "" {
					return i, kind, part
				}
				continue
			}
		}
		if kind, part := judge(arg, nil); kind != "" {
			return i, kind, part
		}
	}
	return -1, "", ""
}

// assignment splits NAME=VALUE, --flag=VALUE and "Header: VALUE".
func assignment(arg string) (name, value string, ok bool) {
	at := strings.IndexAny(arg, "=:")
	if at <= 0 || strings.Trim(arg[:at], wide) != "" || strings.HasPrefix(arg[at:], "://") || arg[at] == ':' && !strings.HasPrefix(arg[at:], ": ") {
		return "", "", false
	}
	return strings.TrimLeft(arg[:at], "-"), strings.TrimSpace(arg[at+1:]), true
}

// Words splits a command line about as a shell does, without expanding anything.
func Words(line string) []string {
	var out []string
	var word strings.Builder
	quote, open := byte(0), false
	for i := 0; i < len(line); i++ {
		c := line[i]
		switch {
		case quote != 0 && c == quote:
			quote = 0
		case quote != 0:
			word.WriteByte(c)
		case c == '\'' || c == '"':
			quote, open = c, true
		case c == '\\' && i+1 < len(line):
			i++
			word.WriteByte(line[i])
		case strings.IndexByte(" \t\r\n;|&", c) >= 0:
			if word.Len() > 0 || open {
				out = append(out, word.String())
			}
			word.Reset()
			open = false
		default:
			word.WriteByte(c)
		}
	}
	if word.Len() > 0 || open {
		out = append(out, word.String())
	}
	return out
}

// chance judges the parts of a value without a telling name by their randomness.
func chance(text string) (kind, part string) {
	if address := strings.Index(text, "://"); address > 0 && !strings.ContainsAny(text, " \t\n") {
		for _, part := range strings.FieldsFunc(text[address+3:], func(r rune) bool { return strings.ContainsRune("/?&=#@", r) }) {
			if random(part, 24) && strings.Trim(part, wide) == "" {
				return "a random part of an address", part
			}
		}
		return "", ""
	}
	for _, part := range strings.FieldsFunc(text, func(r rune) bool { return strings.ContainsRune(" \t\r\n,;\"'`()[]{}<>|&", r) }) {
		if name, value, ok := assignment(part); ok && value != "" {
			if identifies(name) {
				continue
			}
			part = value
		}
		if random(part, 24) || hexKey(part) {
			return byChance, part
		}
	}
	return "", ""
}

// identifies reports whether name is that of an identifier or digest, which may
// look random and is none.
func identifies(name string) bool {
	ws := split(name)
	return len(ws) > 0 && slices.Contains(words("id ids uuid guid hash sha sha1 sha256 sha512 md5 digest checksum commit revision rev ref integrity etag fingerprint version image tag model models build trace"), ws[len(ws)-1]) || classOf(name) == none && slices.Contains(ws, "public")
}

// weak reports whether a value with the name of some key is rather generated than
// a word: it has letters, digits and no form of a name.
func weak(s string) bool {
	f := shapeOf(s)
	return f.n >= 12 && f.digit >= 3 && f.other <= 1 && f.changes >= 4 && !harmless(s) && !placeholder(s)
}

// hexLong is hexKey with the lengths of digests: the name has said what it is.
func hexLong(s string) bool {
	s = strings.TrimPrefix(s, "0x")
	return len(s) >= 32 && strings.Trim(s, hex) == "" && !placeholder(s)
}

// pathLike reports whether s is a path, or a name of a file, rather than a secret.
func pathLike(s string) bool {
	if strings.ContainsAny(s, " \t\n+=") {
		return false
	}
	rooted := strings.HasPrefix(s, "/") || strings.HasPrefix(s, "./") || strings.HasPrefix(s, "../") || strings.HasPrefix(s, "~/") || len(s) > 2 && s[1:3] == `:\`
	f := shapeOf(s)
	return rooted && f.n > 0 && (f.inWords*2 >= f.n || strings.Count(s, "/") > 1 && f.changes*3 < f.n)
}

// runnable reports whether s is a command line that prints a secret.
func runnable(s string) bool {
	return strings.ContainsAny(s, " \t\n") && strings.ContainsAny(s, ";|&`<>$")
}

// findAssigned looks for random values behind the name of a secret, in any syntax:
// NAME=value, "name": "value", name => 'value', --name value.
func findAssigned(text string, add func(string, int, int)) {
	for i := 0; i < len(text); i++ {
		switch c := text[i]; {
		case c == '=' || c == ':':
			if strings.HasPrefix(text[i:], "://") {
				continue
			}
			name := nameBefore(text, i)
			if name == "" {
				continue
			}
			class := classOf(name)
			if class == none {
				continue
			}
			at := i + 1
			for at < len(text) && (text[at] == ' ' || text[at] == '\t' || text[at] == '>' || text[at] == '=') {
				at++
			}
			addRandom(text, at, class, name, add)
		case c == '-' && strings.HasPrefix(text[i:], "--") && (i == 0 || strings.IndexByte(wide, text[i-1]) < 0):
			end := i + 2
			for end < len(text) && strings.IndexByte(wide, text[end]) >= 0 {
				end++
			}
			if end < len(text) && text[end] == ' ' {
				if class := classOf(text[i:end]); class != none {
					addRandom(text, end+1, class, text[i:end], add)
				}
			}
			i = end - 1
		}
	}
}

// addRandom adds the word at at, if it looks generated.
func addRandom(text string, at int, class class, name string, add func(string, int, int)) {
	for at < len(text) && (strings.IndexByte("\"'`\\", text[at]) >= 0) {
		at++
	}
	end := at
	for end < len(text) && strings.IndexByte(alnum+"+/=_.~-", text[end]) >= 0 {
		end++
	}
	if end < len(text) && strings.IndexByte("([{$%<", text[end]) >= 0 {
		return // code, or a text with a reference
	}
	word := strings.TrimRight(text[at:end], ".")
	least := 16
	if class == maybe {
		least = 20
	}
	if random(word, least) || class == strong && (hexKey(word) || hexLong(word) && !identifies(name)) {
		add(byName, at, at+len(word))
	}
}

// nameBefore returns the name that ends before i, across quotes and blanks.
func nameBefore(text string, i int) string {
	end := i
	for end > 0 && strings.IndexByte(" \t\"'`\\]:=", text[end-1]) >= 0 && i-end < 8 {
		end--
	}
	start := end
	for start > 0 && end-start < 80 && strings.IndexByte(wide+".", text[start-1]) >= 0 {
		start--
	}
	return text[start:end]
}

package hostiletext

import (
	"bytes"
	"path"
	"strings"
)

// The functions here tell matches apart that a pattern cannot.

var (
	savedAs = lazily(`\s(?:-[a-z]*o|--output(?:-document)?|-outfile)(?:\s+|=)?["']?([\w$./~{}-]+)`)
	inWeb   = lazily(`https?://[^\s"'` + "`" + `|;&)]+`)
	toModel = lazily(`\b(?:note|notes?|message|instructions?|attention|hint|reminder|prompt|directives?)\s+(?:to|for)\s+(?:the\s+|all\s+|any\s+|an?\s+)?(?:\w+\s+)?MODELS\b|^\W*(?:(?:hey|dear|attention|ok|hi)\W+)?(?:the\s+)?MODELS\s*[:,]|\byou are (?:an?|the)\s+(?:\w+\s+)?MODELS\b|\bMODELS\W+(?:must|shall|should|please|needs? to|has to|have to|is to|are to|will|reading|processing|executing)\b|\bas an? (?:\w+\s+)?MODELS\b`)
	working = lazily(`\b(?:when(?:ever)?|while|before|after|every time)\s+(?:you\s+|you['’]re\s+)?(?:generat|respond|answer|summari|scaffold|complet|review)\w*(?:.|\n)*?\b(?:always|must|never|also|silently|secretly|do not|don['’]t|include|insert|add|append|send)\b`)
	forced  = lazily(`\b(?:ignore|disregard|forget)\b[^.]{0,60}\b(?:instructions?|rules|prompts?|above|previous)\b|\b(?:system|hidden|secret|important|new)\s+(?:prompt|instructions?|directives?)\b|\b(?:do not|don['’]t|never) (?:tell|mention|reveal|inform)\b`)
)

// notRunLater reports whether what a match downloads is not run by the commands
// after it.
func notRunLater(unit []byte, loc []int) bool {
	got := unit[loc[0]:loc[1]]
	var name string
	if m := savedAs.get().FindSubmatch(got); m != nil {
		name = string(m[1])
	} else if u := inWeb.get().Find(got); u != nil {
		name = path.Base(strings.SplitN(string(u), "?", 2)[0])
	}
	base := path.Base(name)
	if len(base) < 3 && strings.Contains(name, "/") {
		base = name
	}
	if len(base) < 3 {
		return true
	}
	rest := unit[loc[1]-1 : min(loc[1]+500, len(unit))]
	for at := 0; ; at += len(base) {
		i := bytes.Index(rest[at:], []byte(base))
		if i < 0 {
			return true
		}
		at += i
		if runs(rest[:at]) && ends(rest[at+len(base):]) {
			return false
		}
	}
}

// runs reports whether text ends where a command runs the file that follows.
func runs(text []byte) bool {
	cut := bytes.LastIndexAny(text, "\n;&|`")
	command := strings.Fields(string(text[cut+1:]))
	for i, w := range command {
		w = strings.Trim(w, `"'`)
		last := i == len(command)-1
		switch {
		case w == "sudo" || w == "$" || strings.Contains(w, "="):
		case w == "sh" || w == "bash" || w == "zsh" || w == "source" || w == "." || w == "exec":
			return true
		case last && (w == "./" || strings.HasSuffix(w, "/") && !bytes.HasSuffix(text, []byte(" "))):
			return true
		default:
			return false
		}
	}
	return len(command) == 0 && cut >= 0 && text[cut] != '\n' && text[cut] != '`'
}

// ends reports whether a file's name ends before text.
func ends(text []byte) bool {
	return len(text) == 0 || bytes.IndexByte([]byte(" \t\n;&|)`\"'"), text[0]) >= 0
}

// toItself reports whether a match reaches no other machine.
func toItself(unit []byte, loc []int) bool {
	at := unit[loc[0]:min(loc[1]+40, len(unit))]
	return bytes.Contains(at, []byte("/localhost/")) || bytes.Contains(at, []byte("/127.0.0.1/"))
}

// public reports whether a match is about a public key, or an example of a file.
func public(unit []byte, loc []int) bool {
	got := unit[loc[0]:min(loc[1]+4, len(unit))]
	return bytes.Contains(got, []byte(".pub")) || bytes.Contains(got, []byte(".env.example")) || bytes.Contains(unit[loc[1]:min(loc[1]+9, len(unit))], []byte(".example"))
}

var ofPerson = lazily(`\b(?:conversations?|chats?|(?:last |previous |user['’]s )messages?|messages? of|secrets?|tokens?|api keys?|passwords?|environment|history|system prompt|what (?:the user|they) (?:said|typed|wrote))\b`)

// notOfAPerson reports whether the text that a match is to carry is not a person's.
func notOfAPerson(unit []byte, loc []int) bool {
	return !ofPerson.get().Match(unit[loc[0]:min(lineEnd(unit, loc[1])+200, len(unit))])
}

// proseOfCode reports whether backquotes of a match set words apart from prose,
// instead of running them.
func proseOfCode(unit []byte, loc []int) bool {
	got := unit[loc[0]:loc[1]]
	return got[len(got)-1] == '`' && bytes.Count(lineFrom(unit, loc[0]), []byte("`"))%2 == 0 && bytes.Count(got, []byte("`")) > 2
}

func lineFrom(t []byte, i int) []byte { return t[bytes.LastIndexByte(t[:i], '\n')+1 : i] }

// namedAuth reports whether a secret is a parameter by that name, as services ask
// for.
func namedAuth(unit []byte, loc []int) bool {
	name := strings.ToLower(string(unit[loc[2]:loc[3]]))
	for _, w := range []string{"key", "token", "secret", "pass", "auth", "sig", "appid", "code", "pwd"} {
		if strings.Contains(name, w) {
			return true
		}
	}
	return false
}

// ownService reports whether a token goes to the service that gave it, or stays on
// the machine.
func ownService(unit []byte, loc []int) bool {
	host, of := strings.ToLower(string(unit[loc[2]:loc[3]])), strings.ToLower(string(unit[loc[4]:loc[5]]))
	own := map[string][]string{"gh": {"github", "ghcr"}, "aws_secret": {"aws"}, "openai": {"openai", "azure", "openrouter"}}[of]
	for _, o := range append(own, of, "localhost", "127.0.0.1", "example.com") {
		if strings.Contains(host, o) {
			return true
		}
	}
	return false
}

// quoted reports whether a match is the whole of a quotation: it is spoken of.
func quoted(unit []byte, loc []int) bool {
	before := bytes.TrimRight(unit[:loc[0]], " ")
	after := unit[loc[1]:min(loc[1]+24, len(unit))]
	for _, q := range [][2]string{{`"`, `"`}, {"“", "”"}, {"`", "`"}, {"'", "'"}} {
		if i := bytes.Index(after, []byte(q[1])); bytes.HasSuffix(before, []byte(q[0])) && i >= 0 && !bytes.ContainsAny(after[:i], ".:\n") {
			return true
		}
	}
	return false
}

// toDoSomething reports whether the person is not to be told to do something: the
// agent shall do it.
func toDoSomething(unit []byte, loc []int) bool {
	after := bytes.TrimLeft(unit[loc[1]:], " \n")
	for _, w := range []string{"to ", "how ", "“", `"`, "it's done", "it is done", "it works", "you"} {
		if bytes.HasPrefix(after, []byte(w)) {
			return true
		}
	}
	return quoted(unit, loc)
}

// notToModels reports whether the hidden text of a match is for people.
func notToModels(unit []byte, loc []int) bool { return !directs(unit[loc[2]:loc[3]]) }

// directs reports whether text tells a model what to do.
func directs(text []byte) bool {
	has := func(l *lazy) bool { return l.get().Match(text) }
	return has(forced) || has(toModel) || has(working)
}

// maxComment bounds how much of a comment is looked at.
const maxComment = 16 << 10

// comments looks at the comments of HTML, which no rendered page shows.
func (s *scan) comments() {
	t := s.text
	for at := 0; ; {
		i := bytes.Index(t[at:], []byte("<!--"))
		if i < 0 {
			return
		}
		start := at + i + len("<!--")
		end := len(t)
		if n := bytes.Index(t[start:], []byte("-->")); n >= 0 {
			end = start + n
		}
		if text := t[start:min(end, start+maxComment)]; directs(text) {
			s.add(HiddenComment, "addresses a model in a comment that pages do not show", show(text), start-len("<!--"))
		}
		at = end
	}
}

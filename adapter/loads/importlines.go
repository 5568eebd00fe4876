package loads

import "bytes"

// importsOf returns what the words @path of a Markdown text name, in order. Such
// a word starts a line or follows a blank, ends at the next, and stands in no
// code; its path starts with a letter, a dot, a slash or ~/.
func importsOf(text []byte) []string {
	var out []string
	eachImport(text, func(_ []byte, word []byte) { out = append(out, string(word)) })
	return out
}

// withoutImportLines leaves lines out that hold nothing but an import.
func withoutImportLines(text []byte) []byte {
	if bytes.IndexByte(text, '@') < 0 {
		return text
	}
	drop := map[int]bool{}
	eachImport(text, func(line, word []byte) {
		if t := bytes.TrimSpace(line); len(t) == len(word)+1 {
			drop[cap(text)-cap(line)] = true
		}
	})
	if len(drop) == 0 {
		return text
	}
	var out []byte
	for at := 0; at < len(text); {
		end := len(text)
		if i := bytes.IndexByte(text[at:], '\n'); i >= 0 {
			end = at + i + 1
		}
		if !drop[at] {
			out = append(out, text[at:end]...)
		}
		at = end
	}
	return out
}

// eachImport calls fn with the line of each import, a slice of text, and its
// path.
func eachImport(text []byte, fn func(line, word []byte)) {
	fence := byte(0) // of the code block that a line stands in
	for at := 0; at < len(text); {
		line := text[at:]
		if i := bytes.IndexByte(line, '\n'); i >= 0 {
			line = line[:i]
		}
		at += len(line) + 1
		trimmed := bytes.TrimLeft(line, " \t")
		if bytes.HasPrefix(trimmed, []byte("```")) || bytes.HasPrefix(trimmed, []byte("~~~")) {
			switch fence {
			case 0:
				fence = trimmed[0]
			case trimmed[0]:
				fence = 0
			}
			continue
		}
		if fence != 0 || bytes.IndexByte(line, '@') < 0 {
			continue
		}
		code := codeSpans(line)
		for i := 0; i < len(line); i++ {
			if line[i] != '@' || i > 0 && line[i-1] != ' ' && line[i-1] != '\t' || code[i] {
				continue
			}
			word := line[i+1:]
			if end := bytes.IndexAny(word, " \t\r"); end >= 0 {
				word = word[:end]
			}
			if startsPath(word) {
				fn(line, word)
			}
			i += len(word)
		}
	}
}

func startsPath(word []byte) bool {
	if len(word) == 0 {
		return false
	}
	c := word[0] | 0x20
	return 'a' <= c && c <= 'z' || word[0] == '.' || word[0] == '/' || bytes.HasPrefix(word, []byte("~/"))
}

// codeSpans says which bytes of a line stand between equal runs of backquotes.
func codeSpans(line []byte) map[int]bool {
	in := map[int]bool{}
	for i := 0; i < len(line); {
		if line[i] != '`' {
			i++
			continue
		}
		n := 1
		for i+n < len(line) && line[i+n] == '`' {
			n++
		}
		close := bytes.Index(line[i+n:], line[i:i+n])
		if close < 0 {
			i += n
			continue
		}
		for k := i; k < i+n+close+n; k++ {
			in[k] = true
		}
		i += n + close + n
	}
	return in
}

package frontmatter

import (
	"bytes"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// ScopeTo returns text, a rule, as one for folders alone: a rule that holds
// always is for all files there, a scoped one for those that its patterns mean
// there. Rules that wait to be asked for stay as they are. The other lines of the
// front matter, and the body, keep their bytes.
func ScopeTo(folders []string, text []byte) []byte {
	r, fault := ReadRule(text)
	if r.Kind == OnRequest || r.Kind == Manual {
		return text
	}
	var globs []string
	for _, folder := range folders {
		if r.Kind == Always {
			globs = append(globs, folder+"/**")
			continue
		}
		for _, g := range r.Globs {
			globs = append(globs, Below(folder, g)...)
		}
	}
	end := "\n"
	if first, _, _ := bytes.Cut(text, []byte("\n")); bytes.HasSuffix(first, []byte("\r")) {
		end = "\r\n"
	}
	lines := "paths:" + end
	for _, g := range globs {
		lines += "  - " + strconv.Quote(g) + end
	}
	front, body, ok, _ := Split(text)
	if !ok || fault != nil { // broken front matter stays, as the text that it is for programs
		mark := text[:len(text)-len(bytes.TrimPrefix(text, []byte("\uFEFF")))]
		return slices.Concat(mark, []byte("---"+end+lines+"---"+end), text[len(mark):])
	}
	head := text[:len(text)-len(body)]
	first := bytes.IndexByte(head, '\n') + 1
	out := slices.Concat(head[:first], withoutScope(front), []byte(lines), head[first+len(front):], body)
	if is, err := ReadRule(out); err == nil && slices.Equal(is.Globs, globs) && slices.Equal(is.Runtimes, r.Runtimes) && is.Description == r.Description {
		return out
	}
	more := "" // front matter in a form that lines cannot be cut from
	if r.Description != "" {
		more = "description: " + strconv.Quote(r.Description) + end
	}
	if len(r.Runtimes) > 0 {
		more += "runtimes: " + strconv.Quote(strings.Join(r.Runtimes, ",")) + end
	}
	return slices.Concat([]byte("---"+end+more+lines+"---"+end), body)
}

var (
	scopeField = regexp.MustCompile(`^(?:paths|globs|applyTo|alwaysApply)[ \t]*:`)
	inField    = regexp.MustCompile(`^(?:[ \t]|-|\]|\r?\n)`)
)

// withoutScope returns front matter without the fields that say when a rule is
// loaded.
func withoutScope(front []byte) []byte {
	var out []byte
	cutting := false
	for line := range bytes.Lines(front) {
		if cutting = scopeField.Match(line) || cutting && inField.Match(line); !cutting {
			out = append(out, line...)
		}
	}
	return out
}

// Below returns patterns that mean in a project what pattern means in one of its
// folders: what names a path from the top names it from folder, what names files
// in every folder names those below it. A pattern is read as a line of
// .gitignore, the dialect that the forms of rules agree in, and is written so that
// programs with a stricter one, which match whole paths, find the same files.
func Below(folder, pattern string) []string {
	var out []string
	for _, p := range alternatives(pattern) {
		not := ""
		if rest, ok := strings.CutPrefix(p, "!"); ok {
			not, p = "!", rest
		}
		line := not + IgnoreBelow(folder, p)
		switch inner := strings.TrimSuffix(p, "/"); {
		case strings.HasSuffix(p, "/"):
			out = append(out, line+"**")
		case !strings.ContainsAny(inner, "/.*?[{"): // a file, or a folder with all that it holds
			out = append(out, line, line+"/**")
		default:
			out = append(out, line)
		}
	}
	return out
}

// IgnoreBelow returns the line of .gitignore that means in a project what line
// means in one of its folders.
func IgnoreBelow(folder, line string) string {
	not := ""
	if rest, ok := strings.CutPrefix(line, "!"); ok {
		not, line = "!", rest
	}
	line = strings.TrimPrefix(line, "./")
	inner := strings.TrimSuffix(line, "/")
	switch {
	case EveryFile(inner):
		return not + folder + "/**"
	case strings.Contains(inner, "/"):
		return not + folder + "/" + strings.TrimPrefix(line, "/")
	}
	return not + folder + "/**/" + line
}

// alternatives are the patterns that one with alternatives in braces stands for,
// where these hold slashes: {src/*.go,*.md} names paths and names.
func alternatives(pattern string) []string {
	open := strings.IndexByte(pattern, '{')
	if open < 0 {
		return []string{pattern}
	}
	depth, end := 0, -1
	for i := open; i < len(pattern) && end < 0; i++ {
		switch pattern[i] {
		case '{':
			depth++
		case '}':
			if depth--; depth == 0 {
				end = i
			}
		}
	}
	if end < 0 || !strings.Contains(pattern[open:end], "/") {
		return []string{pattern}
	}
	var out []string
	for _, alternative := range splitOutsideBraces(pattern[open+1 : end]) {
		out = append(out, alternatives(pattern[:open]+alternative+pattern[end+1:])...)
	}
	return out
}

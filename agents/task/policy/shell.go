package policy

import (
	"errors"
	"strings"

	"mvdan.cc/sh/v3/syntax"

	"aisync.dev/aisync/internal/termtext"
)

// word is one word of a command after the shell's expansion. hole stands for a
// part that only the shell can know.
type word struct {
	text string
	glob bool // the shell expands it as a pattern
}

const hole = "\x00"

// unknown reports whether a word may be any word, also an option.
func (w word) unknown() bool {
	return strings.Contains(w.text, hole) || w.glob && strings.HasPrefix(w.text, "-")
}

func join(words []word) string {
	var b strings.Builder
	for i, w := range words {
		if i > 0 {
			b.WriteByte(' ')
		}
		b.WriteString(strings.ReplaceAll(w.text, hole, "…"))
	}
	return termtext.OneLine(b.String())
}

// parse returns the words of every command in a line of shell.
func parse(line string) ([][]word, error) {
	file, err := syntax.NewParser(syntax.Variant(syntax.LangBash)).Parse(strings.NewReader(line), "")
	if err != nil {
		return nil, err
	}
	e := expander{values: assigned(file)}
	var calls [][]word
	syntax.Walk(file, func(n syntax.Node) bool {
		if call, ok := n.(*syntax.CallExpr); ok && len(call.Args) > 0 {
			var words []word
			for _, arg := range call.Args {
				words = append(words, e.words(arg)...)
			}
			if len(words) > 0 {
				calls = append(calls, words)
			}
		}
		return true
	})
	if len(calls) > 10_000 {
		return nil, errors.New("too many commands")
	}
	return calls, nil
}

// assigned returns the variables that get exactly one value in the whole line, a
// literal one.
func assigned(file *syntax.File) map[string]string {
	values, times := map[string]string{}, map[string]int{}
	syntax.Walk(file, func(n syntax.Node) bool {
		switch n := n.(type) {
		case *syntax.Assign:
			if n.Name == nil {
				return true
			}
			times[n.Name.Value]++
			value := ""
			if n.Value != nil {
				value = expander{}.quoted(n.Value.Parts, false)
			}
			if n.Append || n.Array != nil || n.Index != nil || n.Naked {
				value = hole
			}
			values[n.Name.Value] = value
		case *syntax.WordIter:
			times[n.Name.Value] += 2
		case *syntax.CallExpr: // read X, printf -v X and the like also set variables
			for _, a := range n.Args {
				times[a.Lit()]++
			}
		}
		return true
	})
	for name, n := range times {
		if n > 1 || times["IFS"] > 0 {
			values[name] = hole
		}
	}
	return values
}

// expander turns source words into command words.
type expander struct{ values map[string]string }

// words expands one source word: an unquoted variable may become several.
func (e expander) words(w *syntax.Word) []word {
	if len(w.Parts) == 1 {
		if p, ok := w.Parts[0].(*syntax.ParamExp); ok {
			value := e.param(p)
			if value == hole {
				return []word{{text: hole}}
			}
			var out []word
			for _, f := range strings.Fields(value) {
				out = append(out, word{f, strings.ContainsAny(f, "*?[")})
			}
			return out
		}
	}
	out := word{text: e.quoted(w.Parts, false)}
	for _, p := range w.Parts {
		lit, ok := p.(*syntax.Lit)
		if !ok {
			continue
		}
		plain := withoutEscaped.Replace(lit.Value)
		switch {
		case strings.Contains(plain, "{") && strings.ContainsAny(plain, ",."), // makes several words
			strings.ContainsAny(plain, "$`"):
			return []word{{text: hole}}
		case strings.ContainsAny(plain, "*?[") && plain != "[":
			out.glob = true
		}
	}
	return []word{out}
}

// withoutEscaped removes escaped characters.
var withoutEscaped = strings.NewReplacer(`\\`, "", `\{`, "", `\*`, "", `\?`, "", `\[`, "", `\$`, "", "\\`", "", `\,`, "")

func (e expander) quoted(parts []syntax.WordPart, double bool) string {
	var b strings.Builder
	for _, p := range parts {
		switch p := p.(type) {
		case *syntax.Lit:
			b.WriteString(unescape(p.Value, double))
		case *syntax.SglQuoted:
			if p.Dollar && strings.Contains(p.Value, `\`) {
				b.WriteString(hole) // $'\x72m'
			} else {
				b.WriteString(p.Value)
			}
		case *syntax.DblQuoted:
			b.WriteString(e.quoted(p.Parts, true))
		case *syntax.ParamExp:
			b.WriteString(e.param(p))
		default:
			b.WriteString(hole)
		}
	}
	return b.String()
}

// param returns the value of a variable, hole if the line does not define it.
func (e expander) param(p *syntax.ParamExp) string {
	if p.Param == nil || p.Flags != nil || p.Excl || p.Length || p.Width || p.IsSet || p.Index != nil || len(p.Modifiers) > 0 || p.Slice != nil || p.Repl != nil || p.Names != 0 || p.Exp != nil || p.NestedParam != nil {
		return hole
	}
	if value, ok := e.values[p.Param.Value]; ok {
		return value
	}
	return hole
}

// unescape removes backslashes outside single quotes.
func unescape(s string, double bool) string {
	var b strings.Builder
	for i := 0; i < len(s); i++ {
		if s[i] != '\\' || i+1 == len(s) {
			b.WriteByte(s[i])
			continue
		}
		if double && !strings.ContainsRune("$`\"\\\n", rune(s[i+1])) {
			b.WriteByte('\\')
		}
		if i++; s[i] != '\n' {
			b.WriteByte(s[i])
		}
	}
	return b.String()
}

package render

import (
	"fmt"
	"regexp"
	"strings"

	"aisync.dev/aisync/schema/reference"
	"aisync.dev/aisync/schema/spec"
)

// vars are variables of a server, or headers.
type vars struct {
	values map[string]string // written literally
	same   []string          // variables passed through from the environment
	named  map[string]string // headers taken from the named variable
	bearer string            // variable with the token of the header Authorization
}

// Some forms name a variable of the environment apart from the values: a
// server's variable then keeps its name, a header may take any.
var namedApart = map[string]struct{ env, headers bool }{ShapeCodex: {true, true}, ShapeGoose: {env: true}}

func (w *serverWriter) fail(format string, args ...any) {
	if w.err == nil {
		w.err = fmt.Errorf(format, args...)
	}
}

func (w *serverWriter) variables(list []spec.EnvVar) vars {
	var out vars
	for _, v := range list {
		switch text, err := w.value(v); {
		case err == nil:
			out.values = with(out.values, v.Name, text)
		case v.Secret == nil || v.Secret.Env == "" || !namedApart[w.file.Shape].env:
			w.fail("%w", err)
		case v.Secret.Env != v.Name:
			w.fail("%s is a secret, and its configuration reads one only from a variable of the same name; use {env: %q}", v.Name, v.Name)
		default:
			out.same = append(out.same, v.Name)
		}
	}
	return out
}

func (w *serverWriter) headers(list []spec.EnvVar) vars {
	var out vars
	for _, v := range list {
		text, err := w.value(v)
		token := bearer(v)
		switch apart := namedApart[w.file.Shape].headers; {
		case err == nil:
			out.values = with(out.values, v.Name, text)
		case apart && token != "":
			out.bearer = token
		case apart && v.Secret != nil && v.Secret.Env != "":
			out.named = with(out.named, v.Name, v.Secret.Env)
		default:
			w.fail("%w", err)
		}
	}
	return out
}

// bearer is the variable with the token of a header Authorization.
func bearer(v spec.EnvVar) string {
	token, ok := strings.CutPrefix(v.Value, "Bearer ")
	if !ok || !strings.EqualFold(v.Name, "Authorization") {
		return ""
	}
	return reference.Variable(token)
}

// value is the text of v in the configuration.
func (w *serverWriter) value(v spec.EnvVar) (string, error) {
	f := w.file
	switch {
	case v.Secret == nil:
		return w.expand(v.Name, v.Value, w.file.SecretEnv)
	case v.Secret.Env != "" && f.SecretEnv != "":
		return strings.ReplaceAll(f.SecretEnv, "NAME", v.Secret.Env), nil
	case v.Secret.File != "" && f.SecretFile != "":
		return strings.ReplaceAll(f.SecretFile, "NAME", v.Secret.File), nil
	case v.Secret.File != "":
		return "", fmt.Errorf("%s is a secret in a file, and its configuration cannot name a file; use {env: \"NAME\"}", v.Name)
	}
	return "", fmt.Errorf("%s is a secret, and its configuration cannot refer to one; add the server by hand", v.Name)
}

// text is a text of a spec in the configuration. what names it in an error.
func (w *serverWriter) text(what, text string) string {
	variable := w.file.SecretEnv
	if w.file.Shape == ShapePiServer {
		variable = "" // it fills in variables of env and headers alone
	}
	out, err := w.expand(what, text, variable)
	if err != nil {
		w.fail("%w", err)
	}
	return out
}

func (w *serverWriter) texts(what string, list []string) []string {
	var out []string
	for _, text := range list {
		out = append(out, w.text(what, text))
	}
	return out
}

// expand writes the references in text as the program writes them: a variable in the
// given form, "" for none.
func (w *serverWriter) expand(what, text, variable string) (string, error) {
	f := w.file
	template := f.Shape == ShapePiServer && variable != ""
	var out strings.Builder
	for _, p := range reference.Split(text) {
		switch {
		case p.Variable == reference.Workspace && f.Workspace != "":
			out.WriteString(f.Workspace)
		case p.Variable == reference.Workspace:
			out.WriteString(".")
		case p.Variable == "" && template:
			out.WriteString(strings.ReplaceAll(p.Text, "$", "$$"))
		case p.Variable == "" && p.Text != p.Source && variable != "" && takes(f, p.Text):
			return "", fmt.Errorf("%s holds %q as plain text, which the program takes for a reference", what, p.Text)
		case p.Variable == "":
			out.WriteString(braced(f, p.Text))
		case variable == "":
			return "", fmt.Errorf("%s refers to the variable %s, and its configuration cannot refer to one there", what, p.Variable)
		case p.Default != "" && f.Shape != ShapeClaude:
			return "", fmt.Errorf("%s gives the variable %s a default, and its configuration cannot", what, p.Variable)
		case p.Default != "":
			out.WriteString(p.Source)
		default:
			out.WriteString(strings.ReplaceAll(variable, "NAME", p.Variable))
		}
	}
	if command, ok := strings.CutPrefix(out.String(), "!"); ok && template {
		return "$!" + command, nil // it runs what begins with ! as a command
	}
	return out.String(), nil
}

// bareVariable is a reference without braces, which some programs take as well.
var bareVariable = regexp.MustCompile(`\$([A-Za-z_][A-Za-z0-9_]*)`)

// braced is text of a program's file with all its references in braces.
func braced(f spec.MCPFile, text string) string {
	if f.Shape != ShapeGemini && f.Shape != ShapeCopilot {
		return text
	}
	return bareVariable.ReplaceAllString(text, "${$1}")
}

// takes reports whether the program takes a part of text for a reference.
func takes(f spec.MCPFile, text string) bool {
	before, _, ok := strings.Cut(f.SecretEnv, "NAME")
	return ok && regexp.MustCompile(regexp.QuoteMeta(before)+"[A-Za-z_]").MatchString(text)
}

func with(m map[string]string, name, value string) map[string]string {
	if m == nil {
		m = map[string]string{}
	}
	m[name] = value
	return m
}

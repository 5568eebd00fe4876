package start

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"

	"aisync.dev/aisync/adapter/render"
	"aisync.dev/aisync/internal/shellquote"
	"aisync.dev/aisync/schema/spec"
)

// Values reads a secret.
type Values func(spec.Secret) (string, error)

// Filled is a value of the catalog with what a server is.
type Filled struct {
	Value []byte // JSON; Shown where there are no Values
	Shown []byte // Value with the names of the secrets that it holds in their place; nil: it holds none
	// Whether it tells the program the server's key, and its headers.
	Key, Headers bool
}

// Fill fills the value of ref, names included. A string that is one word for a number
// of tokens, {keyed}, {keyCommand} or a kind of headers becomes a value of another
// type. Fill leaves out a word for which s has nothing, such as a role that no model
// has, with the entry that holds it; ok is false if nothing remains. docs/spec.md has
// the words.
//
// A secret is named in the form that ref has for it. Where it has none, its value is
// written.
func (s *Server) Fill(ref spec.Reference, values Values) (out Filled, ok bool, err error) {
	f := filling{s: s, ref: ref, values: values}
	if out.Value, ok, err = f.fill(); !ok || err != nil {
		return Filled{}, false, err
	}
	out.Key, out.Headers = f.key, f.headers
	if f.secret {
		shown := filling{s: s, ref: ref}
		out.Shown, _, err = shown.fill()
	}
	return out, true, err
}

// filling is one Fill.
type filling struct {
	s            *Server
	ref          spec.Reference
	values       Values // nil: the names of secrets stand for them
	secret       bool   // a secret is written
	key, headers bool
	err          error // a secret that cannot be read
}

func (f *filling) fill() ([]byte, bool, error) {
	var v any
	if err := json.Unmarshal(f.ref.JSON, &v); err != nil {
		return nil, false, err
	}
	v, ok := f.filled(v)
	if !ok || f.err != nil {
		return nil, false, f.err
	}
	return render.JSON(v), true, nil
}

func (f *filling) filled(v any) (any, bool) {
	switch v := v.(type) {
	case string:
		return f.text(v)
	case []any:
		out := []any{}
		for _, e := range v {
			for _, one := range f.s.servers(string(render.JSON(e))) {
				if e, ok := f.with(one, e); ok {
					out = append(out, e)
				}
			}
		}
		return out, true
	case map[string]any:
		out := map[string]any{}
		for name, e := range v {
			for _, one := range f.s.servers(name) {
				if e, ok := f.with(one, e); ok && !one.lacks(name) {
					out[one.replace(name, plain)] = e
				}
			}
		}
		return out, len(out) > 0 || len(v) == 0
	}
	return v, true
}

// with fills v for s, the server with one of its models.
func (f *filling) with(s *Server, v any) (any, bool) {
	was := f.s
	f.s = s
	defer func() { f.s = was }()
	return f.filled(v)
}

func plain(s string) string { return s }

// text fills one string.
func (f *filling) text(v string) (any, bool) {
	s, k := f.s, f.s.Key
	if s.lacks(v) {
		return nil, false
	}
	if n, ok := s.number(v); ok && strings.HasSuffix(v, "Text}") {
		return strconv.FormatInt(n, 10), n > 0
	} else if ok {
		return n, n > 0
	}
	switch v {
	case "{noKey}":
		return "none", k == spec.Key{}
	case "{keyed}":
		return k != spec.Key{}, true
	case "{keyText}": // one without a name
		return f.keyed(k.Text != "", func() any { return f.keyValue() })
	case "{keyVariable}":
		return f.keyed(k.Env != "", func() any { return k.Env })
	case "{keyCommand}":
		return f.keyed(k.File != "", func() any { return map[string]any{"command": "cat", "args": []any{k.File}} })
	case "{keyShell}":
		return f.keyed(k != spec.Key{}, f.keyShell)
	case "{headers}":
		return f.headersOf(func(spec.EnvVar) bool { return true }, f.header)
	case "{headerVariables}":
		return f.headersOf(inVariable, func(h spec.EnvVar) string { return h.Secret.Env })
	case "{otherHeaders}":
		return f.headersOf(func(h spec.EnvVar) bool { return !inVariable(h) }, f.header)
	case "{headerLines}":
		var lines []string
		f.headers = len(s.Headers) > 0
		for _, h := range s.Headers {
			lines = append(lines, h.Name+": "+f.header(h))
		}
		return strings.Join(lines, "\n"), len(lines) > 0
	}
	if strings.Contains(v, "{key}") {
		v = strings.ReplaceAll(v, "{key}", f.keyValue())
	}
	return s.replace(v, plain), true
}

// keyed is the value that tells the key, where there is such a key.
func (f *filling) keyed(is bool, value func() any) (any, bool) {
	if !is {
		return nil, false
	}
	f.key = true
	return value(), true
}

// keyShell is a shell command that prints the key.
func (f *filling) keyShell() any {
	switch k := f.s.Key; {
	case k.Env != "":
		return "printenv " + k.Env
	case k.File != "":
		return "cat " + shellquote.Word(k.File)
	}
	return "printf %s " + shellquote.Quote(f.keyValue())
}

func (f *filling) keyValue() string {
	k := f.s.Key
	if (k == spec.Key{}) {
		return "none"
	}
	f.key = true
	if k.Text == "" {
		return f.named(k.Secret)
	}
	f.secret = true
	if f.values == nil {
		return fmt.Sprintf("(the key of service %s)", f.s.Name)
	}
	return k.Text
}

func inVariable(h spec.EnvVar) bool { return h.Secret != nil && h.Secret.Env != "" }

// headersOf are the headers of a kind by their names, each as is says.
func (f *filling) headersOf(of func(spec.EnvVar) bool, is func(spec.EnvVar) string) (any, bool) {
	out := map[string]any{}
	for _, h := range f.s.Headers {
		if of(h) {
			f.headers = true
			out[h.Name] = is(h)
		}
	}
	return out, len(out) > 0
}

func (f *filling) header(h spec.EnvVar) string {
	if h.Secret == nil {
		return h.Value
	}
	return f.named(*h.Secret)
}

// NamedHeaders are the headers of s for which ref needs no value of a secret.
func (s *Server) NamedHeaders(ref spec.Reference) []spec.EnvVar {
	var out []spec.EnvVar
	for _, h := range s.Headers {
		f := filling{s: s, ref: ref}
		if f.header(h); !f.secret {
			out = append(out, h)
		}
	}
	return out
}

// named names a secret in the program's form, else it is the secret itself.
func (f *filling) named(x spec.Secret) string {
	form, name := f.ref.SecretEnv, x.Env
	if x.Env == "" {
		form, name = f.ref.SecretFile, x.File
	}
	if form != "" {
		return strings.ReplaceAll(strings.ReplaceAll(form, "'NAME'", shellquote.Word(name)), "NAME", name)
	}
	f.secret = true
	if f.values == nil {
		return "(the secret " + name + ")"
	}
	value, err := f.values(x)
	if err != nil && f.err == nil {
		f.err = err
	}
	return value
}

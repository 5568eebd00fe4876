package mcp

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"aisync.dev/aisync/agents/ensemble"
)

// tool is one verb: a command of this program, and how its parameters become words.
type tool struct {
	name, doc string
	command   string // its words; of the ledger's commands without "ledger"
	ledger    bool   // a command of the ledger, whose JSON --json prints
	as        string // the flag that names the caller; "": none
	reads     bool   // it changes nothing but what counts as read
	params    []param
}

// param is one parameter of a tool.
type param struct {
	name, doc string
	kind      kind
	required  bool
	flag      string              // "--limit"; "": it is a word behind the flags
	choices   []string            // the values that a text may have; the first where none is given
	words     map[string][]string // the words that stand for a choice, in place of a flag
}

type kind string

const (
	text    kind = "string"
	texts   kind = "array" // of texts
	number  kind = "integer"
	boolean kind = "boolean"
)

// values are checked arguments: string, []string, int64 or bool by name.
type values map[string]any

// describe returns the tool as programs are told of it.
func (t tool) describe() *mcp.Tool {
	properties, required := map[string]any{}, []string{}
	for _, p := range t.params {
		schema := map[string]any{"type": p.kind, "description": p.doc}
		if p.kind == texts {
			schema["items"] = map[string]any{"type": "string"}
			if p.required {
				schema["minItems"] = 1
			}
		}
		if p.choices != nil {
			schema["enum"] = p.choices
		}
		if p.required {
			required = append(required, p.name)
		}
		properties[p.name] = schema
	}
	no := false
	return &mcp.Tool{
		Name: t.name, Description: t.doc,
		InputSchema: map[string]any{"type": "object", "properties": properties, "required": required, "additionalProperties": false},
		Annotations: &mcp.ToolAnnotations{ReadOnlyHint: t.reads, DestructiveHint: &no, OpenWorldHint: &no},
	}
}

// read checks the arguments of a call.
func (t tool) read(arguments json.RawMessage) (values, error) {
	var given map[string]any
	if len(bytes.TrimSpace(arguments)) > 0 {
		d := json.NewDecoder(bytes.NewReader(arguments))
		d.UseNumber()
		if err := d.Decode(&given); err != nil && err != io.EOF {
			return nil, fmt.Errorf("%s: the arguments are no JSON object; want %s", t.name, t.usage())
		}
	}
	for name := range given {
		if !slices.ContainsFunc(t.params, func(p param) bool { return p.name == name }) {
			return nil, fmt.Errorf("%s: unknown parameter %q; want %s", t.name, name, t.usage())
		}
	}
	out := values{}
	for _, p := range t.params {
		v, ok := given[p.name]
		if !ok || v == nil {
			if p.required {
				return nil, fmt.Errorf("%s: %s is missing; want %s", t.name, p.name, t.usage())
			}
			continue
		}
		if s, ok := v.(string); ok && len(s) > ensemble.MaxBody {
			return nil, fmt.Errorf("%s: %s has more than %d MiB; put it into a file of the project and send its name", t.name, p.name, ensemble.MaxBody>>20)
		}
		if v = p.value(v); v == nil {
			return nil, fmt.Errorf("%s: %s has a value of another kind; want %s", t.name, p.name, t.usage())
		}
		out[p.name] = v
	}
	return out, nil
}

// value returns v as what the parameter takes; nil if it is something else.
func (p param) value(v any) any {
	switch v := v.(type) {
	case bool:
		if p.kind == boolean {
			return v
		}
	case json.Number:
		if n, err := v.Int64(); err == nil && p.kind == number {
			return n
		}
	case string:
		switch {
		case strings.Contains(v, "\x00"):
		case p.kind == text && (p.choices == nil || slices.Contains(p.choices, v)):
			return v
		case p.kind == texts: // one path is a list of one
			return []string{v}
		}
	case []any:
		var list []string
		for _, e := range v {
			s, ok := e.(string)
			if !ok || strings.Contains(s, "\x00") {
				return nil
			}
			list = append(list, s)
		}
		if p.kind == texts && (len(list) > 0 || !p.required) {
			return list
		}
	}
	return nil
}

// usage names the parameters, with their kinds.
func (t tool) usage() string {
	var out []string
	for _, p := range t.params {
		what := string(p.kind)
		if p.choices != nil {
			what = strings.Join(p.choices, "|")
		}
		if !p.required {
			what += ", optional"
		}
		out = append(out, p.name+" ("+what+")")
	}
	if out == nil {
		return "none"
	}
	return strings.Join(out, ", ")
}

// words returns the command line of a call by the agent of a name. What an agent
// wrote stands behind -- or in the word of its flag, so that none of it is a flag.
func (t tool) words(given values, agent string) []string {
	out := strings.Fields(t.command)
	if t.as != "" {
		out = append(out, t.as+"="+agent)
	}
	out = append(out, "--json")
	var behind []string
	for _, p := range t.params {
		v, ok := given[p.name]
		if p.words != nil {
			if !ok {
				v = p.choices[0]
			}
			out = append(out, p.words[v.(string)]...)
			continue
		}
		var words []string
		switch v := v.(type) {
		case string:
			words = []string{v}
		case []string:
			words = v
		case int64:
			words = []string{strconv.FormatInt(v, 10)}
		case bool:
			if v {
				out = append(out, p.flag)
			}
			continue
		}
		for _, w := range words {
			if p.flag == "" {
				behind = append(behind, w)
			} else {
				out = append(out, p.flag+"="+w)
			}
		}
	}
	return slices.Concat(out, []string{"--"}, behind)
}

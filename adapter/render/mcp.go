package render

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"aisync.dev/aisync/schema/reference"
	"aisync.dev/aisync/schema/spec"
)

// Loss is what a server says and a program cannot be told.
type Loss struct {
	What      string // "its timeout for calls"
	Restricts bool   // the program may do more than the server says
}

// ErrDisabled means that a program has no way to keep a server and not start
// it: it must not get the server.
var ErrDisabled = fmt.Errorf("it is not enabled")

// gooseTimeout is what goose itself writes for a new extension.
const gooseTimeout = 300

// Server renders m in the form of f, with references in the program's syntax,
// and returns what f has no place for. The error says why the program cannot
// have the server at all, or that this version does not know the form.
func Server(f spec.MCPFile, m spec.MCPServer) (json.RawMessage, []Loss, error) {
	w := serverWriter{file: f}
	command, args, url := w.text("its command", m.Command), w.texts("one of its arguments", m.Args), w.text("its url", m.URL)
	env, headers := w.variables(m.Env), w.headers(m.Headers)
	if w.err != nil {
		return nil, nil, w.err
	}
	remote := m.URL != ""
	switch f.Shape {
	case ShapeClaude, ShapeGemini, ShapeCursor, ShapeCrush, ShapePiServer:
		if m.SSE && f.Shape == ShapePiServer {
			return nil, nil, errSSE
		}
		switch {
		case !remote && f.Shape == ShapeCrush:
			w.out.put("type", "stdio")
		case remote && m.SSE && f.Shape != ShapeGemini:
			w.out.put("type", "sse")
		case remote && m.SSE && f.Fields["sse"] != "":
			w.out.put(f.Fields["sse"], "sse")
		case remote && (f.Shape == ShapeClaude || f.Shape == ShapeCrush || f.Shape == ShapePiServer):
			w.out.put("type", cmp.Or(f.Fields["http"], "http"))
		}
		w.out.put("command", command)
		w.out.put("args", args)
		w.out.put("env", env.values)
		if f.Shape == ShapeGemini && !m.SSE {
			w.out.put("httpUrl", url)
		} else {
			w.out.put("url", url)
		}
		w.out.put("headers", headers.values)
	case ShapeCopilot:
		w.out.put("type", map[[2]bool]string{{}: "local", {true}: "http", {true, true}: "sse"}[[2]bool{remote, m.SSE}])
		w.out.put("command", command)
		w.out.put("args", args)
		w.out.put("env", env.values)
		w.out.put("url", url)
		w.out.put("headers", headers.values)
		tools := m.Allow
		if tools == nil {
			tools = []string{"*"}
		}
		w.out.set("tools", tools)
		m.Allow = nil
	case ShapeOpencode:
		if remote {
			w.out.put("type", "remote")
		} else {
			w.out.put("type", "local")
			w.out.put("command", append([]string{command}, args...))
		}
		w.out.put("url", url)
		w.out.set("enabled", !m.Disabled)
		w.out.put("environment", env.values)
		w.out.put("headers", headers.values)
	case ShapeCodex:
		if m.SSE {
			return nil, nil, errSSE
		}
		w.out.put("command", command)
		w.out.put("args", args)
		w.out.put("env", env.values)
		w.out.put("env_vars", env.same)
		w.out.put("url", url)
		w.out.put("bearer_token_env_var", headers.bearer)
		w.out.put("http_headers", headers.values)
		w.out.put("env_http_headers", headers.named)
	case ShapeContinue:
		w.out.put("name", m.Name)
		w.out.put("type", map[[2]bool]string{{true}: "streamable-http", {true, true}: "sse"}[[2]bool{remote, m.SSE}])
		w.out.put("command", command)
		w.out.put("args", args)
		w.out.put("env", env.values)
		w.out.put("url", url)
		if headers.values != nil {
			w.out.put("requestOptions", map[string]any{"headers": headers.values})
		}
	case ShapeGoose:
		if m.SSE {
			return nil, nil, errSSE
		}
		kind := "stdio"
		if remote {
			kind = "streamable_http"
		}
		if m.Call == 0 {
			m.Call = gooseTimeout * time.Second
		}
		m.Call = (m.Call + time.Second - 1).Truncate(time.Second) // it has whole seconds
		w.out.put("name", m.Name)
		w.out.put("type", kind)
		w.out.set("enabled", !m.Disabled)
		w.out.set("timeout", inUnits(m.Call, time.Second))
		w.out.put("cmd", command)
		w.out.put("args", args)
		w.out.put("envs", env.values)
		w.out.put("env_keys", env.same)
		w.out.put("uri", url)
		w.out.put("headers", headers.values)
	default:
		return nil, nil, fmt.Errorf("its adapter names the unknown form %q", f.Shape)
	}
	if err := w.rest(m); err != nil {
		return nil, nil, err
	}
	return w.out.json(), w.lost, nil
}

var errSSE = fmt.Errorf(`it speaks server-sent events (type: "sse"), which the program does not`)

// serverWriter writes one server in the form of one program.
type serverWriter struct {
	file spec.MCPFile
	out  members
	lost []Loss
	err  error // the first
}

// rest writes the fields that not all programs have, where file names them.
func (w *serverWriter) rest(m spec.MCPServer) error {
	place := w.file.Fields
	lose := func(what string, restricts bool) { w.lost = append(w.lost, Loss{what, restricts}) }
	// The folder of the project is where every program starts a server.
	inProject := slices.Contains([]string{"", ".", "./", "${" + reference.Workspace + "}"}, m.Cwd)
	switch cwd := w.text("its cwd", m.Cwd); {
	case place["cwd"] != "":
		w.out.put(place["cwd"], cwd)
	case !inProject:
		return fmt.Errorf("it starts in %s, and the program starts every server in the project's folder", m.Cwd)
	}
	if w.err != nil {
		return w.err
	}
	w.duration("start", "its timeout for the start", m.Start)
	w.duration("call", "its timeout for calls", m.Call)
	switch {
	case !m.Disabled:
	case place["enabled"] == "":
		return ErrDisabled
	default:
		w.out.set(place["enabled"], false)
	}
	for _, list := range []struct {
		names       []string
		field, what string
	}{{m.Allow, "allow", "the list of tools that it may have"}, {m.Deny, "deny", "the list of tools that it must not have"}} {
		switch key := place[list.field]; {
		case list.names == nil, list.field == "deny" && len(list.names) == 0, list.field == "allow" && slices.Equal(list.names, []string{"*"}):
		case key == "", len(list.names) == 0 && w.file.Shape == ShapeGoose: // for which an empty list is all of them
			lose(list.what+" ("+cmp.Or(strings.Join(list.names, ", "), "none")+")", true)
		default:
			w.out.set(key, list.names)
		}
	}
	if m.ClientID != "" || len(m.Scopes) > 0 {
		if key := place["oauthEnabled"]; key != "" {
			w.out.set(key, true)
		}
	}
	switch key := place["clientId"]; {
	case m.ClientID == "":
	case key == "":
		lose("its client id for OAuth", false)
	default:
		w.out.put(key, m.ClientID)
	}
	switch {
	case len(m.Scopes) == 0:
	case place["scopes"] != "":
		w.out.put(place["scopes"], m.Scopes)
	case place["scope"] != "":
		w.out.put(place["scope"], strings.Join(m.Scopes, " "))
	default:
		lose("its scopes for OAuth", false)
	}
	return nil
}

func (w *serverWriter) duration(field, what string, d time.Duration) {
	seconds, millis := w.file.Fields[field], w.file.Fields[field+"Millis"]
	switch {
	case d == 0:
	case seconds != "":
		w.out.set(seconds, inUnits(d, time.Second))
	case millis != "":
		w.out.set(millis, inUnits(d, time.Millisecond))
	default:
		w.lost = append(w.lost, Loss{What: what})
	}
}

// inUnits is d as a number of units.
func inUnits(d, unit time.Duration) json.Number {
	b, _ := json.Marshal(float64(d) / float64(unit)) // a number: cannot fail
	return json.Number(b)
}

// members is a JSON object with its fields in the order in which they are
// written.
type members struct {
	names  []string
	values map[string]any
}

// put sets a field, at a path such as oauth/clientId, unless value is empty.
func (m *members) put(path string, value any) {
	switch v := value.(type) {
	case string:
		if v == "" {
			return
		}
	case []string:
		if len(v) == 0 {
			return
		}
	case map[string]string:
		if len(v) == 0 {
			return
		}
	}
	m.set(path, value)
}

// set sets a field, at a path such as oauth/clientId.
func (m *members) set(path string, value any) {
	name, rest, nested := strings.Cut(path, "/")
	if m.values == nil {
		m.values = map[string]any{}
	}
	if !slices.Contains(m.names, name) {
		m.names = append(m.names, name)
	}
	if !nested {
		m.values[name] = value
		return
	}
	inner, _ := m.values[name].(*members)
	if inner == nil {
		inner = &members{}
	}
	inner.set(rest, value)
	m.values[name] = inner
}

func (m *members) json() json.RawMessage {
	out := []byte{'{'}
	for i, name := range m.names {
		if i > 0 {
			out = append(out, ',')
		}
		out = append(append(out, JSON(name)...), ':')
		if inner, ok := m.values[name].(*members); ok {
			out = append(out, inner.json()...)
		} else {
			out = append(out, JSON(m.values[name])...)
		}
	}
	return append(out, '}')
}

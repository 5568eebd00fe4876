package edit

import (
	"strconv"
	"time"

	"aisync.dev/aisync/schema/edit"
	"aisync.dev/aisync/schema/spec"
)

// ServerText returns an MCP server in CUE.
func ServerText(s spec.MCPServer) string {
	fields := []edit.Field{
		edit.Text("from", s.From), installText(s.Install),
		edit.Text("command", s.Command), edit.Texts("args", s.Args), edit.Text("cwd", s.Cwd), edit.Text("url", s.URL),
		{Name: "env", Value: variablesText(s.Env)}, {Name: "headers", Value: variablesText(s.Headers)},
		group("timeout", seconds("start", s.Start), seconds("call", s.Call)),
		group("tools", textsOrNone("allow", s.Allow), textsOrNone("deny", s.Deny)),
		group("oauth", edit.Text("clientId", s.ClientID), edit.Texts("scopes", s.Scopes)),
		edit.Texts("runtimes", s.Runtimes),
	}
	if s.SSE {
		fields = append([]edit.Field{edit.Text("type", "sse")}, fields...)
	}
	if s.Disabled {
		fields = append(fields, edit.Field{Name: "enabled", Value: "false"})
	}
	return edit.Struct(fields...)
}

// installText is the package of a server.
func installText(in *spec.Install) edit.Field {
	if in == nil {
		in = &spec.Install{}
	}
	return group("install", edit.Text("via", in.Via), edit.Text("package", in.Package), edit.Text("version", in.Version), edit.Text("node", in.Node))
}

func variablesText(list []spec.EnvVar) string {
	var fields []edit.Field
	for _, v := range list {
		value := edit.String(v.Value)
		if v.Secret != nil {
			value = edit.Struct(edit.Text("env", v.Secret.Env), edit.Text("file", v.Secret.File))
		}
		fields = append(fields, edit.Field{Name: v.Name, Value: value})
	}
	if len(fields) == 0 {
		return ""
	}
	return edit.Struct(fields...)
}

// group is a field with those of fields that have a value; without a value if
// none has one.
func group(name string, fields ...edit.Field) edit.Field {
	for _, f := range fields {
		if f.Value != "" {
			return edit.Field{Name: name, Value: edit.Struct(fields...)}
		}
	}
	return edit.Field{}
}

// textsOrNone is edit.Texts, where an empty list is a value.
func textsOrNone(name string, list []string) edit.Field {
	if list != nil && len(list) == 0 {
		return edit.Field{Name: name, Value: "[]"}
	}
	return edit.Texts(name, list)
}

func seconds(name string, d time.Duration) edit.Field {
	if d == 0 {
		return edit.Field{}
	}
	return edit.Field{Name: name, Value: strconv.FormatFloat(d.Seconds(), 'f', -1, 64)}
}

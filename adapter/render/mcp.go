package render

import (
	"encoding/json"
	"fmt"
	"strings"

	"aisync.dev/aisync/schema/spec"
)

// The forms of one MCP server, with fields in the order in which they are written.
type (
	jsonServer struct {
		Type    string            `json:"type,omitempty"`
		Command string            `json:"command,omitempty"`
		Args    []string          `json:"args,omitempty"`
		Env     map[string]string `json:"env,omitempty"`
		URL     string            `json:"url,omitempty"`
		HTTPURL string            `json:"httpUrl,omitempty"`
		Headers map[string]string `json:"headers,omitempty"`
		Tools   []string          `json:"tools,omitempty"`
	}
	opencodeServer struct {
		Type        string            `json:"type"`
		Command     []string          `json:"command,omitempty"`
		URL         string            `json:"url,omitempty"`
		Enabled     bool              `json:"enabled"`
		Environment map[string]string `json:"environment,omitempty"`
		Headers     map[string]string `json:"headers,omitempty"`
	}
	codexServer struct {
		Command    string            `json:"command,omitempty"`
		Args       []string          `json:"args,omitempty"`
		Env        map[string]string `json:"env,omitempty"`
		EnvVars    []string          `json:"env_vars,omitempty"`
		URL        string            `json:"url,omitempty"`
		Headers    map[string]string `json:"http_headers,omitempty"`
		EnvHeaders map[string]string `json:"env_http_headers,omitempty"`
	}
	gooseServer struct {
		Name    string            `json:"name"`
		Type    string            `json:"type"`
		Enabled bool              `json:"enabled"`
		Timeout int               `json:"timeout"` // seconds
		Cmd     string            `json:"cmd,omitempty"`
		Args    []string          `json:"args,omitempty"`
		Envs    map[string]string `json:"envs,omitempty"`
		EnvKeys []string          `json:"env_keys,omitempty"`
		URI     string            `json:"uri,omitempty"`
		Headers map[string]string `json:"headers,omitempty"`
	}
)

// gooseTimeout is what goose itself writes for a new extension.
const gooseTimeout = 300

// Server renders m in the form of f, with secrets named in the program's
// syntax. The error says that the program has none, or that this version does
// not know the form.
func Server(f spec.MCPFile, m spec.MCPServer) (json.RawMessage, error) {
	env, err := variables(f, m.Env)
	if err != nil {
		return nil, err
	}
	heads, err := headers(f, m.Headers)
	if err != nil {
		return nil, err
	}
	switch remote := m.URL != ""; f.Shape {
	case ShapeClaude, ShapeGemini, ShapeCursor:
		s := jsonServer{Command: m.Command, Args: m.Args, Env: env.values, Headers: heads.values}
		switch {
		case !remote:
		case f.Shape == ShapeGemini:
			s.HTTPURL = m.URL
		case f.Shape == ShapeCursor:
			s.URL = m.URL
		default:
			s.Type, s.URL = "http", m.URL
		}
		return JSON(s), nil
	case ShapeCopilot:
		s := jsonServer{Type: "local", Command: m.Command, Args: m.Args, Env: env.values, URL: m.URL, Headers: heads.values, Tools: []string{"*"}}
		if remote {
			s.Type = "http"
		}
		return JSON(s), nil
	case ShapeOpencode:
		s := opencodeServer{Type: "local", Enabled: true, URL: m.URL, Environment: env.values, Headers: heads.values}
		if remote {
			s.Type = "remote"
		} else {
			s.Command = append([]string{m.Command}, m.Args...)
		}
		return JSON(s), nil
	case ShapeCodex:
		return JSON(codexServer{
			Command: m.Command, Args: m.Args, Env: env.values, EnvVars: env.same,
			URL: m.URL, Headers: heads.values, EnvHeaders: heads.named,
		}), nil
	case ShapeGoose:
		s := gooseServer{Name: m.Name, Type: "stdio", Enabled: true, Timeout: gooseTimeout, Cmd: m.Command, Args: m.Args, Envs: env.values, EnvKeys: env.same, URI: m.URL, Headers: heads.values}
		if remote {
			s.Type = "streamable_http"
		}
		return JSON(s), nil
	}
	return nil, fmt.Errorf("its adapter names the unknown form %q", f.Shape)
}

// vars are variables of a server, or headers.
type vars struct {
	values map[string]string // written literally
	same   []string          // variables passed through from the environment
	named  map[string]string // headers taken from the named variable
}

// Some forms name a variable of the environment apart from the values: a
// server's variable then keeps its name, a header may take any.
var namedApart = map[string]struct{ env, headers bool }{ShapeCodex: {true, true}, ShapeGoose: {env: true}}

func variables(f spec.MCPFile, list []spec.EnvVar) (vars, error) {
	var out vars
	for _, v := range list {
		switch text, err := value(f, v); {
		case err == nil:
			out.values = with(out.values, v.Name, text)
		case v.Secret.Env == "" || !namedApart[f.Shape].env:
			return vars{}, err
		case v.Secret.Env != v.Name:
			return vars{}, fmt.Errorf("%s is a secret, and its configuration reads one only from a variable of the same name; use {env: %q}", v.Name, v.Name)
		default:
			out.same = append(out.same, v.Name)
		}
	}
	return out, nil
}

func headers(f spec.MCPFile, list []spec.EnvVar) (vars, error) {
	var out vars
	for _, v := range list {
		switch text, err := value(f, v); {
		case err == nil:
			out.values = with(out.values, v.Name, text)
		case v.Secret.Env == "" || !namedApart[f.Shape].headers:
			return vars{}, err
		default:
			out.named = with(out.named, v.Name, v.Secret.Env)
		}
	}
	return out, nil
}

// value is the text of v in the configuration.
func value(f spec.MCPFile, v spec.EnvVar) (string, error) {
	switch {
	case v.Secret == nil:
		return v.Value, nil
	case v.Secret.Env != "" && f.SecretEnv != "":
		return strings.ReplaceAll(f.SecretEnv, "NAME", v.Secret.Env), nil
	case v.Secret.File != "" && f.SecretFile != "":
		return strings.ReplaceAll(f.SecretFile, "NAME", v.Secret.File), nil
	case v.Secret.File != "":
		return "", fmt.Errorf("%s is a secret in a file, and its configuration cannot name a file; use {env: \"NAME\"}", v.Name)
	}
	return "", fmt.Errorf("%s is a secret, and its configuration cannot refer to one; add the server by hand", v.Name)
}

func with(m map[string]string, name, value string) map[string]string {
	if m == nil {
		m = map[string]string{}
	}
	m[name] = value
	return m
}

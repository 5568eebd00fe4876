package bundle

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"aisync.dev/aisync/internal/bundle/plugin"
	"aisync.dev/aisync/internal/nearest"
	"aisync.dev/aisync/schema/spec"
)

// Neutral is the part of a bundle in neutral form: each runtime gets it in the
// form that it reads. Every field may be empty.
type Neutral struct {
	Skills      []Skill
	Commands    []File // named prompts, Markdown
	Agents      []File // subagents, Markdown
	Hooks       []Hook
	Programs    []File // programs of Hooks, and files that they need
	Permissions []Permission
	Servers     []spec.MCPServer
	Ignored     []string // patterns of files that agents must not read, as in .gitignore
	sources     []File   // hooks.json, permissions.json, ignore
}

func (n Neutral) files() []File {
	out := slices.Concat(n.Commands, n.Agents, n.Programs, n.sources)
	for _, s := range n.Skills {
		out = append(out, s.Files...)
	}
	return out
}

// Hook is a command that an agent program runs on an event.
type Hook struct {
	Event    string   `json:"event"` // one of Events
	Tools    []string `json:"tools"` // some of Tools, for events about tools; none: all
	Command  string   `json:"command"`
	Timeout  int      `json:"timeout"` // seconds; 0: the program's default
	Level    string   `json:"level"`   // "required", or "advisory", which "" means
	Runtimes []string `json:"runtimes"`
	written  string   // the command as a plugin has it, if that differs
	matcher  string   // of a plugin for Claude Code, in its words

	// If limits the hook in Claude Code's words, for which alone it then is.
	If string `json:"-"`
}

// Matcher joins a program's names of the hook's tools; Claude Code gets the matcher
// as its own plugin has it. ok is false if the program has no name for one of them.
func (h Hook) Matcher(runtime string, names map[string]string) (matcher string, ok bool) {
	if runtime == plugin.Claude && h.matcher != "" {
		return h.matcher, true
	}
	var own []string
	for _, t := range h.Tools {
		if names[t] == "" {
			return "", false
		}
		own = append(own, names[t])
	}
	return strings.Join(own, "|"), true
}

// Shown is the command as its author wrote it.
func (h Hook) Shown() string { return cmp.Or(h.written, h.Command) }

// Required reports whether the hook must run by other means if no program runs
// it.
func (h Hook) Required() bool { return h.Level == "required" }

// Events are the events of hooks, Tools the tools of hooks and permissions.
// Catalog entries map them to a program's names.
var (
	Events = []string{"SessionStart", "SessionEnd", "UserPromptSubmit", "PreToolUse", "PostToolUse", "PreCompact", "SubagentStop", "Stop", "Notification"}
	Tools  = []string{"shell", "edit", "read", "search", "fetch", "agent"}
)

// LaunchedEvents are the events at which the launcher runs the hooks of a program
// that has none.
var LaunchedEvents = []string{"SessionStart", "SessionEnd", "Stop"}

// Permission is one thing that agents may do, must ask for, or must not do.
type Permission struct {
	Action  string // "allow", "ask", "deny"
	Tool    string // one of Tools, or "mcp"
	Pattern string // a command, a path, a host or server/tool; "": any
}

func (p Permission) String() string {
	if p.Pattern == "" {
		return p.Tool
	}
	return p.Tool + "(" + p.Pattern + ")"
}

// neutral reads the neutral parts below dir, which may be "" for the top.
func (t *Tree) neutral(n *Neutral, problems *[]Problem, dir string) error {
	under := func(name string) string {
		if dir == "" {
			return name
		}
		return dir + "/" + name
	}
	if err := errors.Join(
		t.add(&n.Commands, under("commands"), rule, nil, isRule),
		t.add(&n.Agents, under("agents"), rule, nil, isRule),
		t.jsonFile(n, under("permissions.json"), func(text []byte) error { return readPermissions(text, &n.Permissions) }),
		t.jsonFile(n, under("ignore"), func(text []byte) error { n.Ignored = lines(n.Ignored, text); return nil }),
	); err != nil {
		return err
	}
	if dir == "" { // as Copilot's users publish them
		if err := t.add(&n.Commands, "prompts", rule, nil, func(rel string) bool { return strings.HasSuffix(rel, ".prompt.md") }); err != nil {
			return err
		}
		shorten(n.Commands, ".prompt.md")
		shorten(n.Agents, ".agent.md")
	}
	for _, f := range slices.Concat(n.Commands, n.Agents) {
		if f.Fault != nil {
			*problems = append(*problems, t.problem(f.Path, f.Fault.Error()))
		}
	}
	return nil
}

// shorten makes .md of the ending of files' names.
func shorten(files []File, ending string) {
	for i := range files {
		if stem, ok := strings.CutSuffix(files[i].Rel, ending); ok {
			files[i].Rel = stem + ".md"
		}
	}
}

// neutralHooks reads hooks.json and the programs beside it.
func (t *Tree) neutralHooks(p *Part, dir string) error {
	n := &p.Neutral
	before, standard := len(n.Hooks), false
	err := t.jsonFile(n, dir+"/hooks.json", func(text []byte) error {
		if standard = plugin.IsHooks(text); standard {
			return t.standardHooks(p, t.at(dir, "hooks.json"), text)
		}
		return readHooks(text, &n.Hooks)
	})
	if err != nil || standard || len(n.Hooks) == before {
		return err
	}
	return t.add(&n.Programs, dir, program, nil, func(rel string) bool {
		return notReadme(rel) && rel != "hooks.json" && rel != "settings-snippet.json"
	})
}

// jsonFile passes the text of a file to read, if it exists.
func (t *Tree) jsonFile(n *Neutral, src string, read func([]byte) error) error {
	if !t.isFile(src) {
		return nil
	}
	d, err := t.document(src, src)
	if err != nil {
		return err
	}
	n.sources = append(n.sources, d.File)
	if err := read(d.Text); err != nil {
		return fmt.Errorf("%s%w", d.Path, err)
	}
	return nil
}

// strict parses JSON with known fields only. The error starts with the line, as
// in ":3: …".
func strict(text []byte, into any) error {
	dec := json.NewDecoder(bytes.NewReader(text))
	dec.DisallowUnknownFields()
	err := dec.Decode(into)
	if err == nil {
		return nil
	}
	at := dec.InputOffset()
	var syntax *json.SyntaxError
	var typed *json.UnmarshalTypeError
	switch {
	case errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, io.EOF):
		at, err = int64(len(text)), errors.New("unexpected end")
	case errors.As(err, &syntax):
		at = syntax.Offset
	case errors.As(err, &typed):
		at = typed.Offset
	}
	at = min(at, int64(len(text)))
	return fmt.Errorf(":%d: %s", 1+bytes.Count(text[:at], []byte("\n")), strings.TrimPrefix(err.Error(), "json: "))
}

func readHooks(text []byte, into *[]Hook) error {
	var doc struct {
		Hooks []Hook `json:"hooks"`
	}
	if err := strict(text, &doc); err != nil {
		return err
	}
	for i, h := range doc.Hooks {
		where := fmt.Sprintf(": hook %d", i+1)
		event, ok := eventNamed(h.Event)
		switch {
		case !ok:
			return fmt.Errorf("%s: unknown event %q%s", where, h.Event, nearest.Suggest(h.Event, Events))
		case strings.TrimSpace(h.Command) == "":
			return fmt.Errorf("%s: no command", where)
		case h.Level != "" && h.Level != "required" && h.Level != "advisory":
			return fmt.Errorf("%s: level %q; want \"required\" or \"advisory\"", where, h.Level)
		case h.Timeout < 0:
			return fmt.Errorf("%s: timeout %d; want seconds", where, h.Timeout)
		}
		for _, tool := range h.Tools {
			if !slices.Contains(Tools, tool) {
				return fmt.Errorf("%s: unknown tool %q%s", where, tool, nearest.Suggest(tool, Tools))
			}
		}
		h.Event = event
		*into = append(*into, h)
	}
	return nil
}

// eventNamed finds an event by its name, or by its kebab-case name:
// session-start.
func eventNamed(name string) (string, bool) {
	for _, e := range Events {
		if strings.EqualFold(e, strings.ReplaceAll(name, "-", "")) {
			return e, true
		}
	}
	return "", false
}

func readPermissions(text []byte, into *[]Permission) error {
	var doc struct{ Allow, Ask, Deny []string }
	if err := strict(text, &doc); err != nil {
		return err
	}
	for _, list := range []struct {
		action string
		of     []string
	}{{"allow", doc.Allow}, {"ask", doc.Ask}, {"deny", doc.Deny}} {
		for _, s := range list.of {
			tool, pattern, some := strings.Cut(s, "(")
			pattern, closed := strings.CutSuffix(pattern, ")")
			known := append(slices.Clone(Tools), "mcp")
			switch {
			case some && (!closed || pattern == ""):
				return fmt.Errorf(": %s %q: want a tool, or a tool and what it is about, such as \"shell(make *)\"", list.action, s)
			case !slices.Contains(known, tool):
				return fmt.Errorf(": %s %q: unknown tool %q%s", list.action, s, tool, nearest.Suggest(tool, known))
			}
			if p := (Permission{list.action, tool, pattern}); !slices.Contains(*into, p) {
				*into = append(*into, p)
			}
		}
	}
	return nil
}

// lines appends the lines of text that are neither blank nor comments, without
// duplicates.
func lines(into []string, text []byte) []string {
	for line := range strings.Lines(string(text)) {
		line = strings.TrimRight(line, "\r\n")
		if trimmed := strings.TrimSpace(line); trimmed == "" || trimmed[0] == '#' || slices.Contains(into, line) {
			continue
		}
		into = append(into, line)
	}
	return into
}

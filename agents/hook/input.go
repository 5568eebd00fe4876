package hook

import (
	"encoding/json"
	"slices"
	"strings"

	"aisync.dev/aisync/agents/hook/edit"
	"aisync.dev/aisync/catalog"
	"aisync.dev/aisync/internal/shellquote"
	"aisync.dev/aisync/schema/spec"
)

// kind is what a tool does, as far as claims are concerned.
type kind int

const (
	otherTool kind = iota
	editTool
	shellTool
)

// input is what a program gives a hook, in neutral words.
type input struct {
	session string
	cwd     string
	source  string // of SessionStart: startup, resume, clear, compact
	trigger string // of PreCompact: auto, manual
	log     string // the file of the session's transcript
	tool    string
	kind    kind
	command string   // of a shell
	paths   []string // of an edit
	goesOn  bool     // a Stop after the Stop hook made it go on
	helper  bool     // a subagent of the session

	teammate, task, subject string // of TeamEvents
}

// parseInput reads the JSON object of a hook. Fields that it lacks stay empty.
func parseInput(text []byte, form catalog.HookForm, tools map[string]string) (input, error) {
	var fields map[string]json.RawMessage
	if err := json.Unmarshal(text, &fields); err != nil {
		return input{}, err
	}
	str := func(name string) string {
		var s string
		_ = json.Unmarshal(fields[name], &s) // another type is no text
		return s
	}
	in := input{session: str(form.Session), cwd: str("cwd"), source: str("source"), tool: str(form.Tool), helper: str("agent_id") != ""}
	in.trigger, in.log = str("trigger"), str("transcript_path")
	in.teammate, in.task, in.subject = str("teammate_name"), str("task_id"), str("task_subject")
	_ = json.Unmarshal(fields["stop_hook_active"], &in.goesOn)
	in.kind = kindOf(in.tool, tools)
	args := fields[form.Arguments]
	var packed string // some programs pack the arguments into a text
	if json.Unmarshal(args, &packed) == nil && strings.HasPrefix(strings.TrimSpace(packed), "{") {
		args = json.RawMessage(packed)
	}
	in.arguments(args)
	return in, nil
}

func kindOf(tool string, tools map[string]string) kind {
	has := func(group string) bool { return tool != "" && slices.Contains(strings.Split(tools[group], "|"), tool) }
	switch {
	case has("shell"):
		return shellTool
	case has("edit"):
		return editTool
	}
	return otherTool
}

// pathNames and commandNames are the names of the arguments with a path and with
// a command line.
var (
	pathNames    = []string{"file_path", "filePath", "path", "notebook_path", "absolute_path"}
	commandNames = []string{"command", "cmd", "script"}
)

// arguments takes the command and the paths from the arguments of a tool.
func (in *input) arguments(text json.RawMessage) {
	var args map[string]json.RawMessage
	if json.Unmarshal(text, &args) != nil {
		var whole string
		if json.Unmarshal(text, &whole) == nil {
			in.paths = edit.Patched(whole)
		}
		return
	}
	for _, name := range commandNames {
		if in.command != "" {
			break
		}
		in.command = words(args[name])
	}
	if in.kind != editTool {
		return
	}
	for _, name := range pathNames {
		var path string
		if json.Unmarshal(args[name], &path) == nil && path != "" {
			in.paths = append(in.paths, path)
		}
	}
	for _, value := range args {
		var whole string
		if json.Unmarshal(value, &whole) == nil {
			in.paths = append(in.paths, edit.Patched(whole)...)
		}
	}
	slices.Sort(in.paths)
	in.paths = slices.Compact(in.paths)
}

// words is a command line: a text, or the words of one as an array, of which
// sh -c TEXT is TEXT.
func words(value json.RawMessage) string {
	var line string
	if json.Unmarshal(value, &line) == nil {
		return line
	}
	var argv []string
	if json.Unmarshal(value, &argv) != nil || len(argv) == 0 {
		return ""
	}
	if n := len(argv); n >= 3 && edit.IsShell(argv[0]) && strings.HasSuffix(argv[n-2], "c") {
		return argv[n-1]
	}
	return shellquote.Join(argv)
}

// targets returns the absolute paths that a call of a tool is known to write.
func (in input) targets(home string, sh Shell) []string {
	var out []string
	for _, p := range in.paths {
		out = append(out, edit.Absolute(in.cwd, home, p))
	}
	if in.kind == shellTool && sh != nil {
		out = append(out, sh.Writes(in.command, in.cwd, home)...)
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// eventName returns a program's name of a neutral event.
func eventName(rt spec.Runtime, event string) string {
	for _, e := range rt.HookEvents {
		if e.Event == event && e.Name != "" {
			return e.Name
		}
	}
	return event
}

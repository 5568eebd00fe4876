package brief

import (
	"bytes"
	"encoding/json"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"

	"aisync.dev/aisync/schema/spec"
)

// Bounds of what is read of a transcript.
const (
	maxFiles = 40      // the newest, which are asked whether they are of the project
	maxRead  = 1 << 20 // bytes at the end of a file
	maxTurns = 10
)

// turn is one thing that was said or done in a session.
type turn struct{ who, text string }

// transcript is what a program's last session in the project left.
type transcript struct {
	runtime spec.Runtime
	changed time.Time
	turns   []turn
	steps   []string // of the agent's own plan, unfinished; the one at hand first
}

// last returns the transcript that changed last of those that runtimes keep; false
// where none has one of root.
func last(root, home string, getenv func(string) string, runtimes []spec.Runtime) (transcript, bool) {
	var best transcript
	for _, rt := range runtimes {
		pattern := rt.Session.Transcripts
		if pattern == "" {
			continue
		}
		if moved := getenv(rt.HomeVar); rt.HomeVar != "" && moved != "" {
			pattern = moved + strings.TrimPrefix(pattern, rt.User.Dir)
		}
		pattern = strings.ReplaceAll(pattern, "{dashes}", notAlphanumeric.ReplaceAllString(root, "-"))
		if rest, ok := strings.CutPrefix(pattern, "~/"); ok {
			pattern = filepath.Join(home, rest)
		}
		for _, f := range newest(pattern) {
			if !f.ModTime().After(best.changed) {
				break
			}
			if t, ok := readTranscript(f.path, root); ok {
				best = t
				best.runtime, best.changed = rt, f.ModTime()
				break
			}
		}
	}
	return best, !best.changed.IsZero()
}

// notAlphanumeric is what Claude Code writes as - in the name of a project's folder.
var notAlphanumeric = regexp.MustCompile(`[^A-Za-z0-9]`)

type found struct {
	os.FileInfo
	path string
}

// newest returns regular files, the one that changed last first.
func newest(pattern string) []found {
	names, _ := filepath.Glob(pattern) // an invalid pattern matches nothing
	var out []found
	for _, name := range names {
		if info, err := os.Lstat(name); err == nil && info.Mode().IsRegular() {
			out = append(out, found{info, name})
		}
	}
	slices.SortFunc(out, func(a, b found) int { return b.ModTime().Compare(a.ModTime()) })
	return out[:min(len(out), maxFiles)]
}

// entry is a line of Claude Code's transcripts, or, with a payload, of Codex's.
type entry struct {
	Cwd         string
	IsSidechain bool
	IsMeta      bool
	Message     struct {
		Role    string
		Content json.RawMessage
	}
	Payload struct {
		Type, Role, Name, Arguments, Cwd string
		Content                          json.RawMessage
	}
}

// readTranscript reads the end of a file; ok is false if it is of another folder or
// holds nothing.
func readTranscript(name, root string) (t transcript, ok bool) {
	f, err := os.Open(name)
	if err != nil {
		return t, false
	}
	defer f.Close()
	head := make([]byte, 64<<10)
	n, _ := io.ReadFull(f, head)
	text := head[:n]
	if info, err := f.Stat(); err == nil && info.Size() > int64(n) {
		end := make([]byte, min(info.Size(), maxRead))
		n, _ := f.ReadAt(end, info.Size()-int64(len(end)))
		text = append(text, end[:n]...) // a line that this cuts is no JSON, or comes twice
		if int64(len(end)) == info.Size() {
			text = end[:n]
		}
	}
	at := ""
	for line := range bytes.Lines(text) {
		var e entry
		if json.Unmarshal(line, &e) != nil || e.IsSidechain || e.IsMeta {
			continue
		}
		if at == "" {
			at = e.Cwd + e.Payload.Cwd
		}
		t.add(e)
	}
	return t, at == root && len(t.turns) > 0
}

// add adds what an entry says.
func (t *transcript) add(e entry) {
	role, content := e.Message.Role, e.Message.Content
	if e.Payload.Type == "message" {
		role, content = e.Payload.Role, e.Payload.Content
	}
	if e.Payload.Type == "function_call" {
		t.call(e.Payload.Name, []byte(e.Payload.Arguments))
	}
	who := map[string]string{"user": "person", "assistant": "agent"}[role]
	if who == "" {
		return
	}
	var whole string
	if json.Unmarshal(content, &whole) == nil {
		t.say(who, whole)
		return
	}
	var parts []struct {
		Type, Text, Name string
		Input            json.RawMessage
	}
	if json.Unmarshal(content, &parts) != nil {
		return
	}
	for _, p := range parts {
		switch p.Type {
		case "text", "input_text", "output_text":
			t.say(who, p.Text)
		case "tool_use":
			t.call(p.Name, p.Input)
		}
	}
}

// say adds a turn. What programs add by themselves begins with a tag.
func (t *transcript) say(who, text string) {
	if text = strings.TrimSpace(text); text == "" || who == "person" && strings.HasPrefix(text, "<") {
		return
	}
	t.turns = append(t.turns, turn{who, text})
	t.turns = t.turns[max(0, len(t.turns)-maxTurns):]
}

// call adds the call of a tool, and takes the steps of one that plans: a list whose
// members have a status.
func (t *transcript) call(name string, input []byte) {
	t.say("agent", "(calls "+name+" "+string(input)+")")
	var lists map[string]json.RawMessage
	if json.Unmarshal(input, &lists) != nil {
		return
	}
	for _, list := range lists {
		var steps []struct{ Content, Step, Status string }
		if json.Unmarshal(list, &steps) != nil || len(steps) == 0 || steps[0].Status == "" {
			continue
		}
		t.steps = nil
		for _, s := range steps {
			switch {
			case s.Status == "in_progress":
				t.steps = slices.Insert(t.steps, 0, s.Content+s.Step)
			case s.Status != "completed":
				t.steps = append(t.steps, s.Content+s.Step)
			}
		}
	}
}

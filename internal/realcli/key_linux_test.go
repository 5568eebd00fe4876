package realcli

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"aisync.dev/aisync/internal/fakemodel"
)

// Programs that can be pointed at a server send its key and its headers, which they
// find in a variable or in a file. Qwen Code takes no header from a file.
func TestProgramsSendKeyAndHeaders(t *testing.T) {
	needWholeRun(t)
	for _, id := range []string{"claude", "codex", "copilot", "opencode", "pi", "qwen"} {
		for _, from := range []string{`{env: "LAN_KEY"}`, `{file: "~/the key"}`} {
			t.Run(id+" "+from[1:4], func(t *testing.T) {
				t.Parallel()
				p := lookUp(t, id)
				w := newWorld(t, scope{name: "none"}, []string{id})
				w.write(w.home, "the key", "sk-secret\n")
				header := from
				if id == "qwen" {
					header = `{env: "LAN_KEY"}`
				}
				at := filepath.Join(w.home, ".config/aisync/host.cue")
				text, err := os.ReadFile(at)
				if err != nil {
					t.Fatal(err)
				}
				w.write(w.home, ".config/aisync/host.cue", strings.Replace(string(text), "context: 200000", fmt.Sprintf(`context: 200000, key: %s, headers: {"X-Team": %s, "X-Title": "notes"}`, from, header), 1))
				env := []string{"LAN_KEY=sk-secret"}
				w.run(w.project, env, "aisync", "apply", "--yes", "--trust")
				argv := p.ask("Say hello.")
				if id == "copilot" { // its launcher sets what no file does
					w.write(w.project, ".ai/protocols.org", "")
					env = append(env, "COPILOT_OFFLINE=true", "COPILOT_PROVIDER_HEADERS=X-Team: sk-secret\nX-Title: notes")
					argv = append([]string{"sh", "-c", `eval "$(aisync launch --print --runtime copilot . | grep '^export COPILOT')"; exec "$@"`, "sh"}, argv...)
				}
				w.model.Take()
				r := w.try(w.project, env, argv...)
				asked := w.model.Take()
				if len(asked) == 0 {
					t.Fatalf("it asked nothing: %s", r.out)
				}
				for _, q := range asked {
					if q.Header.Get("Authorization") != "Bearer sk-secret" || q.Header.Get("X-Team") != "sk-secret" || q.Header.Get("X-Title") != "notes" {
						t.Errorf("%s: %v", q.Path, q.Header)
					}
				}
			})
		}
	}
}

// Claude Code compacts before the window of a small server is full, and lists its
// skills all the same.
func TestSmallWindowIsKeptTo(t *testing.T) {
	needPrograms(t)
	const window = 32768
	p := lookUp(t, "claude")
	w := newWorldOf(t, scope{"host", true, false}, []string{"claude"}, func(q fakemodel.Request) fakemodel.Reply {
		return fakemodel.Reply{Text: answer, Tokens: len(q.Body) / 4}
	})
	for i := range 12 {
		w.write(w.home, fmt.Sprintf(".claude/skills/more-%d/SKILL.md", i), fmt.Sprintf("---\nname: more-%d\ndescription: %s\n---\n\nDo it.\n", i, strings.Repeat("It is one of many. ", 8)))
	}
	at := filepath.Join(w.home, ".config/aisync/host.cue")
	text, err := os.ReadFile(at)
	if err != nil {
		t.Fatal(err)
	}
	w.write(w.home, ".config/aisync/host.cue", strings.Replace(string(text), "context: 200000", fmt.Sprintf("context: %d", window), 1))
	w.aisync("apply", "--yes", "--trust")
	compacted := false
	for i := range 5 {
		p.flags = nil
		if i > 0 {
			p.flags = []string{"--continue"}
		}
		w.model.Take()
		w.try(w.project, nil, p.ask(fmt.Sprintf("Question %d: %s", i, strings.Repeat("word ", 3200)))...)
		asked := w.model.Take()
		compacted = compacted || slices.ContainsFunc(asked, func(q fakemodel.Request) bool { return strings.Contains(string(q.Body), "detailed summary") })
		for _, q := range asked {
			if n := len(q.Body) / 4; n > window-4096 {
				t.Errorf("question %d: %d tokens", i, n)
			}
			if !strings.Contains(string(q.Body), mark("host", "skill")) {
				t.Errorf("question %d: the skill is not listed", i)
			}
		}
	}
	if !compacted {
		t.Error("it never compacted")
	}
}

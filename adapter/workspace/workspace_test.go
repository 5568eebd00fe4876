package workspace

import (
	"encoding/json"
	"fmt"
	"io/fs"
	"path"
	"regexp"
	"strings"
	"testing"

	"aisync.dev/aisync/catalog"
	"aisync.dev/aisync/reconcile"
	"aisync.dev/aisync/schema/spec"
	"github.com/google/go-cmp/cmp"
)

func on(line int) spec.Flag {
	return spec.Flag{On: true, Pos: spec.Position{File: "aisync.cue", Line: line, Col: 3}}
}

// show renders one line a declaration, with the text of a block.
func show(decls []reconcile.Declaration) (out []string) {
	for _, d := range decls {
		s := string(d.Target)
		if d.Local {
			s += " local"
		}
		for _, l := range d.Leaves {
			s += fmt.Sprintf(" <- %s", l.Origin[0])
			if l.Key != "" {
				var block string
				_ = json.Unmarshal(l.Body.Redacted(), &block)
				s += fmt.Sprintf(" %s %q", l.Key, block)
			}
		}
		out = append(out, s)
	}
	return out
}

func TestEachSystemLaysOutItsOwnFolders(t *testing.T) {
	pos := spec.Position{File: "aisync.cue", Line: 14, Col: 10}
	tests := map[string]struct {
		agents spec.Agents
		want   []string
	}{
		"nothing": {spec.Agents{}, nil},
		"sessions": {spec.Agents{Sessions: on(15), Pos: pos}, []string{
			"dir:.ai/session-context.d local <- aisync.cue:15:3",
			"dir:.ai/sessions local <- aisync.cue:15:3",
			"file:.ai/protocols.org <- aisync.cue:15:3",
			"file:.ai/workflows/INDEX.org <- aisync.cue:15:3",
			"file:.ai/workflows/helper-mode.org <- aisync.cue:15:3",
			"file:.ai/workflows/startup.org <- aisync.cue:15:3",
			"file:.ai/workflows/wrap-it-up.org <- aisync.cue:15:3",
			`file:.gitignore <- aisync.cue:14:10 block:agents "/.ai/brief.md\n/.ai/session-context.d/\n/.ai/session-context.org\n/.ai/sessions/"`,
		}},
		"ledger and runs": {spec.Agents{Ledger: on(16), Runs: on(18), Pos: pos}, []string{
			"dir:.ilchul local <- aisync.cue:18:3",
			"dir:.pi-ensemble local <- aisync.cue:16:3",
			`file:.gitignore <- aisync.cue:14:10 block:agents "/.ai/session-context.d/\n/.ilchul/\n/.pi-ensemble/"`,
		}},
		"tasks": {spec.Agents{Tasks: on(17), Queues: []string{"orchestrator-core", "guardrails"}, Pos: pos}, []string{
			"dir:tasks/inbox local <- aisync.cue:17:3",
			"dir:tasks/runs local <- aisync.cue:17:3",
			`file:.gitignore <- aisync.cue:14:10 block:agents "/tasks/inbox/\n/tasks/queue/*/running/\n/tasks/runs/"`,
			"file:tasks/queue/guardrails/.gitkeep <- aisync.cue:17:3",
			"file:tasks/queue/orchestrator-core/.gitkeep <- aisync.cue:17:3",
		}},
		"tracked, one queue named like the project": {spec.Agents{Tasks: on(17), Track: true, Pos: pos}, []string{
			"dir:tasks/inbox local <- aisync.cue:17:3",
			"dir:tasks/runs local <- aisync.cue:17:3",
			"file:tasks/queue/org-drill/.gitkeep <- aisync.cue:17:3",
		}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			got := show(Declare(&spec.Project{Name: "org-drill", Dir: "/p", Agents: test.agents}))
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

var (
	orgLink = regexp.MustCompile(`\[\[file:([^]]*)\]`)
	clause  = regexp.MustCompile(`(?m)^- \[([PSHW]-[A-Z-]+)\] `)
	mention = regexp.MustCompile(`\b[PSHW]-[A-Z][A-Z-]*[A-Z]\b`)
)

// documents are the texts of the core, by name.
func documents(t *testing.T) map[string]string {
	t.Helper()
	texts := map[string]string{}
	core := catalog.Core()
	err := fs.WalkDir(core, ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		b, err := fs.ReadFile(core, name)
		texts[name] = string(b)
		return err
	})
	if err != nil || len(texts) != 5 {
		t.Fatalf("%d documents, error %v", len(texts), err)
	}
	return texts
}

func TestTheDocumentsLinkOnlyToEachOther(t *testing.T) {
	texts := documents(t)
	for name, text := range texts {
		if !strings.HasPrefix(text, "#+TITLE: ") || !strings.HasSuffix(text, "\n") {
			t.Errorf("%s does not start with a title and end with a line", name)
		}
		for _, m := range orgLink.FindAllStringSubmatch(text, -1) {
			if to := path.Join(path.Dir(name), m[1]); texts[to] == "" {
				t.Errorf("%s links to %s, which is not there", name, to)
			}
		}
	}
}

// prefixes say in which document a clause stands.
var prefixes = map[byte]string{'P': "protocols.org", 'S': "workflows/startup.org", 'H': "workflows/helper-mode.org", 'W': "workflows/wrap-it-up.org"}

func TestEveryClauseHasAnIdOfItsOwnAndEveryMentionAClause(t *testing.T) {
	texts, stands := documents(t), map[string]string{}
	for name, text := range texts {
		for _, m := range clause.FindAllStringSubmatch(text, -1) {
			if stands[m[1]] != "" {
				t.Errorf("%s stands in %s and in %s", m[1], stands[m[1]], name)
			}
			if prefixes[m[1][0]] != name {
				t.Errorf("%s stands in %s", m[1], name)
			}
			stands[m[1]] = name
		}
		for line := range strings.Lines(text) {
			if strings.HasPrefix(line, "- ") && !clause.MatchString(line) {
				t.Errorf("%s: a clause without an id: %s", name, line)
			}
		}
	}
	for name, text := range texts {
		for _, id := range mention.FindAllString(text, -1) {
			if stands[id] == "" {
				t.Errorf("%s speaks of %s, which no clause is", name, id)
			}
		}
	}
	// The contracts of which others depend.
	for _, id := range []string{"P-CONTEXT", "P-LAZY", "P-ARCHIVE", "P-TIER-FREE", "P-TIER-SCOPED", "P-TIER-PRIMARY", "P-JOURNAL", "P-GATE", "P-STALE", "P-SNAPSHOT", "S-FORK", "S-ANCHOR", "S-LEGACY", "S-INTERRUPTED", "H-NEVER", "H-END-LAST", "H-END-OTHERS", "W-GATE", "W-ARCHIVE"} {
		if stands[id] == "" {
			t.Errorf("there is no clause %s", id)
		}
	}
	if !strings.Contains(texts["workflows/INDEX.org"], "by itself, no words lead to it") {
		t.Error("the index does not say that helper mode starts by itself")
	}
}

package adapter

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"aisync.dev/aisync/adapter/render"
	"aisync.dev/aisync/adapter/sealed"
	"aisync.dev/aisync/internal/merge"
	"aisync.dev/aisync/providers/file"
	"aisync.dev/aisync/reconcile"
	"aisync.dev/aisync/schema/spec"
)

// serverIn declares one server as a leaf of name.
func serverIn(t *testing.T, m *machine, name string, f spec.MCPFile, s *spec.MCPServer) []reconcile.Declaration {
	t.Helper()
	if s == nil {
		return nil
	}
	b := newBuilder(m.owner)
	body, _, err := b.server(f, *s, fileAt(name), "")
	if err != nil {
		t.Fatal(err)
	}
	b.leaf(fileAt(name), merge.Format(f.Format), reconcile.Leaf{Key: reconcile.LeafKey(f.Pointer + "/a"), Body: body, Own: reconcile.Member}, "test")
	d, err := b.done()
	if err != nil {
		t.Fatal(err)
	}
	return d.Declarations
}

func codexFile() spec.MCPFile {
	return spec.MCPFile{Path: "config.toml", Format: "toml", Pointer: "/mcp_servers", Shape: render.ShapeCodex, Fields: map[string]string{"start": "startup_timeout_sec", "cwd": "cwd"}}
}

func claudeFile() spec.MCPFile {
	return spec.MCPFile{Path: "mcp.json", Format: "json", Pointer: "/mcpServers", Shape: render.ShapeClaude, Fields: map[string]string{"callMillis": "timeout"}}
}

// TestFieldsThatOthersAddToAServerStay goes through what a person and a spec do
// to one server, one after the other.
func TestFieldsThatOthersAddToAServerStay(t *testing.T) {
	one := &spec.MCPServer{Name: "a", Command: "one", Args: []string{"x"}}
	slow := &spec.MCPServer{Name: "a", Command: "two", Start: 5e9, Call: 5e9}
	type step struct {
		edit     [2]string // what the person replaces in the file
		want     *spec.MCPServer
		force    bool
		conflict bool
		holds    []string // of the file afterwards, "-" before what it does not hold, "" for its very bytes before
	}
	for name, c := range map[string]struct {
		f     spec.MCPFile
		start string
		steps []step
		end   string // the file's bytes in the end; "" for not looked at
	}{
		"toml, an extra field of ours": {codexFile(), "", []step{
			{want: one, holds: []string{`command = "one"`}},
			{edit: [2]string{"[mcp_servers.a]\n", "[mcp_servers.a]\n# slow\nstartup_timeout_sec = 20\n"}, want: one, holds: []string{"# slow\nstartup_timeout_sec = 20\n"}},
			{want: &spec.MCPServer{Name: "a", Command: "two"}, holds: []string{"# slow\nstartup_timeout_sec = 20\n", `command = "two"`, "-args"}},
			{want: slow, conflict: true, holds: []string{"startup_timeout_sec = 20"}},
			{want: slow, force: true, holds: []string{"# slow\nstartup_timeout_sec = 5\n"}},
			{want: one, holds: []string{"-startup_timeout_sec", `command = "one"`}},
		}, ""},
		"json, an extra field of theirs": {claudeFile(), "", []step{
			{want: one, holds: []string{`"command": "one"`}},
			{edit: [2]string{`"command": "one"`, "\"_comment\": \"mine\",\n      \"command\": \"one\""}, want: slow, holds: []string{`"_comment": "mine"`, `"command": "two"`, `"timeout": 5000`, "-args"}},
			{want: one, holds: []string{`"_comment": "mine"`, `"command": "one"`, "-timeout"}},
			{want: nil, holds: []string{`"_comment": "mine"`, `"command": "one"`}}, // what was edited is left, whole
		}, ""},
		"json, theirs is taken over and put back": {claudeFile(), "{\"mcpServers\": {\"a\": {\"url\": \"https://example.org\", \"headers\": {\"B\": \"1\", \"A\": \"2\"}, \"trust\": true}}}\n", []step{
			{want: one, conflict: true, holds: []string{`"url": "https://example.org"`}},
			{want: one, force: true, holds: []string{`"command": "one"`, `"trust": true`, "-url", "-headers"}},
			{want: slow, holds: []string{`"command": "two"`, `"trust": true`, `"timeout": 5000`}},
			{want: nil, holds: []string{`"trust": true`, `"url": "https://example.org"`, "-command", "-timeout"}},
		}, ""},
		"json, theirs is right already": {claudeFile(), "{\"mcpServers\": {\"a\": {\"type\": \"stdio\", \"command\": \"one\", \"args\": [\"x\"], \"env\": {}, \"trust\": true}}}\n", []step{
			{want: one, holds: []string{""}},
			{want: nil, holds: []string{""}},
		}, "{\"mcpServers\": {\"a\": {\"type\": \"stdio\", \"command\": \"one\", \"args\": [\"x\"], \"env\": {}, \"trust\": true}}}\n"},
		"json, a field goes from the spec of what was right already": {claudeFile(), "{\"mcpServers\": {\"a\": {\"command\": \"two\", \"timeout\": 5000, \"trust\": true}}}\n", []step{
			{want: slow, holds: []string{""}},
			{want: &spec.MCPServer{Name: "a", Command: "two"}, holds: []string{"-timeout", `"trust": true`}},
		}, "{\"mcpServers\": {\"a\": {\"command\": \"two\", \"trust\": true}}}\n"},
		"json, no object": {claudeFile(), "{\"mcpServers\": {\"a\": null}}\n", []step{
			{want: one, conflict: true, holds: []string{""}},
			{want: one, force: true, holds: []string{`"command": "one"`}},
		}, ""},
		"json, alone": {claudeFile(), "", []step{{want: slow, holds: []string{`"timeout": 5000`}}, {want: nil}}, "(gone)"},
	} {
		t.Run(name, func(t *testing.T) {
			m := newMachine(t)
			at := filepath.Join(m.project, c.f.Path)
			read := func() string {
				b, err := os.ReadFile(at)
				if os.IsNotExist(err) {
					return "(gone)"
				}
				return string(b)
			}
			if c.start != "" {
				if err := os.WriteFile(at, []byte(c.start), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			for i, s := range c.steps {
				before := read()
				if s.edit[0] != "" {
					if !strings.Contains(before, s.edit[0]) {
						t.Fatalf("step %d: no %q in:\n%s", i, s.edit[0], before)
					}
					before = strings.Replace(before, s.edit[0], s.edit[1], 1)
					if err := os.WriteFile(at, []byte(before), 0o644); err != nil {
						t.Fatal(err)
					}
				}
				conflict := m.decide(t, serverIn(t, m, c.f.Path, c.f, s.want), reconcile.Choice{Force: s.force})
				if conflict != s.conflict {
					t.Errorf("step %d: conflict is %v, want %v:\n%s", i, conflict, s.conflict, read())
				}
				for _, h := range s.holds {
					lacks, not := strings.CutPrefix(h, "-")
					switch {
					case h == "" && read() != before:
						t.Errorf("step %d: the file changed:\n%s\nfrom\n%s", i, read(), before)
					case strings.Contains(read(), lacks) == not:
						t.Errorf("step %d: want %q in:\n%s", i, h, read())
					}
				}
				if !conflict && m.decide(t, serverIn(t, m, c.f.Path, c.f, s.want), reconcile.Choice{}) {
					t.Errorf("step %d: a conflict right after it", i)
				}
			}
			if c.end != "" && read() != c.end {
				t.Errorf("in the end: %q\nwant %q", read(), c.end)
			}
		})
	}
}

// TestRecordsOfWholeServersStillHold starts from what earlier versions recorded:
// the fingerprint of a server as one value, without its fields.
func TestRecordsOfWholeServersStillHold(t *testing.T) {
	f, m := claudeFile(), newMachine(t)
	one := spec.MCPServer{Name: "a", Command: "one", Env: []spec.EnvVar{{Name: "A", Value: "1"}}}
	before := []reconcile.Declaration{{Target: fileAt(f.Path), Owner: m.owner, Format: f.Format, Leaves: []reconcile.Leaf{{
		Key: "/mcpServers/a", Own: reconcile.Member, Body: file.Value(merge.Value(`{"command":"one","env":{"A":"1"}}`)),
	}}}}
	if m.decide(t, before, reconcile.Choice{}) {
		t.Fatal("a conflict in an empty folder")
	}
	at := filepath.Join(m.project, f.Path)
	b, err := os.ReadFile(at)
	if err != nil {
		t.Fatal(err)
	}
	edited := strings.Replace(string(b), `"command"`, `"trust": true, "command"`, 1)
	if err := os.WriteFile(at, []byte(edited), 0o644); err != nil {
		t.Fatal(err)
	}
	if m.decide(t, serverIn(t, m, f.Path, f, &one), reconcile.Choice{}) {
		t.Error("a field of the person is a conflict")
	}
	one.Command, one.Env = "two", nil
	if m.decide(t, serverIn(t, m, f.Path, f, &one), reconcile.Choice{}) {
		t.Error("a new want is a conflict")
	}
	b, _ = os.ReadFile(at)
	if got := string(b); !strings.Contains(got, `"trust": true`) || !strings.Contains(got, `"two"`) || strings.Contains(got, "env") {
		t.Errorf("it became:\n%s", got)
	}
}

// TestASecretValueIsComparedWithoutForeignFields covers servers whose secret is
// written, because the program cannot refer to it.
func TestASecretValueIsComparedWithoutForeignFields(t *testing.T) {
	f, m := claudeFile(), newMachine(t)
	m.engine.Providers[0] = file.Provider{Seal: file.NewSeal([]byte("key"))}
	s := spec.MCPServer{Name: "a", Command: "one", Env: []spec.EnvVar{{Name: "A", Secret: &spec.Secret{Env: "TOKEN"}}, {Name: "B", Value: "b ${TOKEN} ${OTHER:-else}"}}}
	word := "hunter2 ${TOKEN}"
	declare := func() []reconcile.Declaration {
		t.Helper()
		b := newBuilder(m.owner)
		b.secrets = &sealed.Secrets{
			Seal: file.NewSeal([]byte("key")),
			Value: func(from spec.Secret) (string, error) {
				if from.Env != "TOKEN" || word == "" {
					return "", os.ErrNotExist
				}
				return word, nil
			},
			Recorded: func(reconcile.Address, reconcile.LeafKey) (reconcile.Fingerprint, bool) { return "", false },
		}
		body, _, err := b.server(f, s, fileAt(f.Path), "/mcpServers/a")
		if err != nil {
			t.Fatal(err)
		}
		if text := string(body.Redacted()); strings.Contains(text, "hunter") {
			t.Errorf("the plan shows %s", text)
		}
		return []reconcile.Declaration{{Target: fileAt(f.Path), Owner: m.owner, Format: f.Format, Leaves: []reconcile.Leaf{{Key: "/mcpServers/a", Own: reconcile.Member, Body: body}}}}
	}
	m.decide(t, declare(), reconcile.Choice{})
	at := filepath.Join(m.project, f.Path)
	b, _ := os.ReadFile(at)
	if want := `"A": "hunter2 ${TOKEN}",` + "\n        " + `"B": "b hunter2 ${TOKEN} else"`; !strings.Contains(string(b), want) {
		t.Fatalf("want %s in:\n%s", want, b)
	}
	if err := os.WriteFile(at, []byte(strings.Replace(string(b), `"command"`, `"trust": true, "command"`, 1)), 0o600); err != nil {
		t.Fatal(err)
	}
	if m.decide(t, declare(), reconcile.Choice{}) {
		t.Error("a field of the person is a conflict")
	}
	word = "hunter3"
	if m.decide(t, declare(), reconcile.Choice{}) {
		t.Error("a new secret is a conflict")
	}
	if b, _ := os.ReadFile(at); !strings.Contains(string(b), `"trust": true`) || !strings.Contains(string(b), `"hunter3"`) || strings.Contains(string(b), "hunter2") {
		t.Errorf("it became:\n%s", b)
	}
}

// decide plans and applies with a choice, and reports whether something is
// undecided; then nothing is written.
func (m *machine) decide(t *testing.T, decls []reconcile.Declaration, choice reconcile.Choice) bool {
	t.Helper()
	m.runs++
	store, err := reconcile.OpenStore(m.disk, "/home/me/state/aisync")
	if err != nil {
		t.Fatal(err)
	}
	var lock *reconcile.Lock
	if b, err := os.ReadFile(filepath.Join(m.project, "aisync.lock")); err == nil {
		if lock, err = reconcile.ParseLock("aisync.lock", b); err != nil {
			t.Fatal(err)
		}
	}
	store.UseLock(m.owner, "aisync.lock", lock)
	plan, err := m.engine.Plan(t.Context(), m.read, store, reconcile.Input{Declarations: decls, Owners: []reconcile.Owner{m.owner}, Choice: choice})
	if err != nil {
		t.Fatal(err)
	}
	if len(plan.Undecided()) > 0 {
		return true
	}
	id := "step" + string(rune('a'+m.runs))
	write := reconcile.WriteEnv{ReadEnv: m.read, FS: m.disk}
	result, err := m.engine.Apply(t.Context(), write, store, plan, reconcile.ApplyOptions{ID: id, Command: "test", Version: "0"})
	if err != nil || len(result.Failed) > 0 {
		t.Fatalf("apply: %v %+v", err, result.Failed)
	}
	return false
}

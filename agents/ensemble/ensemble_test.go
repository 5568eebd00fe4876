package ensemble

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"aisync.dev/aisync/agents/ensemble/page"
	"aisync.dev/aisync/agents/process"
	"aisync.dev/aisync/catalog"
)

// user is a person at a shell in a folder.
type user struct {
	t    *testing.T
	dir  string
	env  map[string]string
	tool bool // calls aisync ledger
	here process.Table
}

func newUser(t *testing.T) *user {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	return &user{t: t, dir: dir, env: map[string]string{"USER": "pi"}}
}

func (u *user) run(words ...string) (stdout, stderr string, code int) {
	u.t.Helper()
	var out, errs bytes.Buffer
	code = Run(Program{Args: words, Out: &out, Err: &errs, Getenv: func(k string) string { return u.env[k] }, Dir: u.dir, Plain: u.tool, Page: page.Write, Table: u.here, Runtimes: catalog.Runtimes})
	return out.String(), errs.String(), code
}

// must runs what has to go well, and returns what it printed.
func (u *user) must(words ...string) string {
	u.t.Helper()
	out, errs, code := u.run(words...)
	if code != 0 {
		u.t.Fatalf("%v: exit %d: %s", words, code, errs)
	}
	return out
}

func (u *user) audit() string {
	b, err := os.ReadFile(filepath.Join(u.dir, ".pi-ensemble/audit.jsonl"))
	if err != nil {
		u.t.Fatal(err)
	}
	return string(b)
}

var (
	id    = regexp.MustCompile(`msg_[0-9a-f]{16}`)
	times = regexp.MustCompile(`\d{4}-\d\d-\d\dT[\d:.-]+Z`)
)

func TestTextsAndExitCodesMatchOriginal(t *testing.T) {
	u := newUser(t)
	if _, errs, code := u.run("status"); code != 1 || errs != "No .pi-ensemble/ found. Run `ensemble init` first.\n" {
		t.Errorf("%d %q", code, errs)
	}
	if out := u.must("init", "--agent", "pi"); out != "initialized "+u.dir+"/.pi-ensemble (agent: pi)\n" {
		t.Errorf("%q", out)
	}
	u.must("claim", "taken", "--agent", "codex")
	where := filepath.Join(u.dir, "taken")
	for _, c := range []struct {
		words     string
		code      int
		out, errs string
	}{
		{"note hello world", 0, "noted\n", ""},
		{"note", 1, "", "note body is required\n"},
		{"note --json", 1, "", "note body is required\n"},
		{"send codex hello", 0, "sent to codex: ID\n", ""},
		{"send codex hello --reply-to msg_0123456789abcdef --type result", 0, "sent to codex: ID (reply to ID)\n", ""},
		{"send", 1, "", "agent name is required\n"},
		{"send codex", 1, "", "message body is required\n"},
		{"send co/dex x", 1, "", "Invalid agent name: co/dex. Use 1-64 chars: letters, numbers, dot, underscore, hyphen.\n"},
		{"send codex x --type odd", 1, "", "Invalid type: odd\n"},
		{"send codex x --reply-to nope", 1, "", "Invalid message id: nope\n"},
		{"ack", 1, "", "message id is required\n"},
		{"done nope", 1, "", "Invalid message id: nope\n"},
		{"ack msg_never-sent", 0, "acked msg_never-sent\n", ""},
		{"done msg_never-sent all fine", 0, "resolved msg_never-sent\n", ""},
		{"claim", 1, "", "path is required\n"},
		{"claim taken", 1, "", "Path already claimed by codex: " + where + ". Use --force to override.\n"},
		{"release taken", 1, "", "Path claimed by codex, not pi: " + where + ". Use --force to release anyway.\n"},
		{"claim ./src/", 0, "claimed ./src/\n", ""},
		{"release ./src/", 0, "released ./src/\n", ""},
		{"release unclaimed", 0, "released unclaimed\n", "warning: unclaimed was not claimed\n"},
		{"claim taken --force", 0, "claimed taken\n", ""},
		{"retire", 0, "no agents given (use AGENT... or --stale N)\n", ""},
		{"retire nobody", 1, "", "Unknown agent: nobody\n"},
		{"retire --stale 0", 1, "", "--stale requires a positive number of days\n"},
		{"retire --stale 5", 0, "nothing to retire\n", ""},
		{"inbox --agent ghost", 0, "", "warning: unknown agent ghost; known: codex, pi\n"},
		{"inbox --agent codex --no-such-flag", 1, "", "inbox: unknown flag --no-such-flag; run: ensemble help\n"},
	} {
		out, errs, code := u.run(strings.Fields(c.words)...)
		if out = id.ReplaceAllString(out, "ID"); code != c.code || out != c.out || errs != c.errs {
			t.Errorf("%s: exit %d\n%q\n%q", c.words, code, out, errs)
		}
	}
	for _, words := range [][]string{{"nonsense"}, {"nonsense", "--json"}} {
		if out, _, code := u.run(words...); code != 2 || !strings.HasPrefix(out, "usage: ensemble") {
			t.Errorf("%v: exit %d, %q", words, code, out)
		}
	}
	for _, words := range [][]string{{}, {"help"}, {"--help"}} {
		if out, _, code := u.run(words...); code != 0 || !strings.HasPrefix(out, "usage: ensemble") {
			t.Errorf("%v: exit %d, %q", words, code, out)
		}
	}
	if _, err := os.Stat(filepath.Join(u.dir, ".pi-ensemble/agents/ghost")); err == nil {
		t.Error("a reading has made an agent")
	}
}

// keys lists the keys of an object, or of the first object in an array, in
// their order.
func keys(t *testing.T, text string) []string {
	t.Helper()
	dec := json.NewDecoder(strings.NewReader(text))
	var out []string
	for depth, isKey := 0, false; ; {
		tok, err := dec.Token()
		if err != nil {
			t.Fatalf("%v: %s", err, text)
		}
		switch tok {
		case json.Delim('['):
			if depth == 0 && len(out) == 0 {
				continue
			}
			depth++
		case json.Delim('{'):
			if depth++; depth == 1 {
				isKey = true
				continue
			}
		case json.Delim('}'), json.Delim(']'):
			if depth--; depth <= 0 {
				return out
			}
		default:
			if depth == 1 && isKey {
				out, isKey = append(out, tok.(string)), false
				continue
			}
		}
		if depth == 1 {
			isKey = true
		}
	}
}

func TestJSONMatchesOriginal(t *testing.T) {
	u := newUser(t)
	u.must("init")
	sent := id.FindString(u.must("send", "codex", "a", "question", "--type", "question"))
	u.must("ack", sent, "--from", "codex", "--body", "seen")
	for _, c := range [][2]string{
		{"note x --json", "ts action from type body"},
		{"send codex x --type note --json", "ts action from to type body messageId"},
		{"ack " + sent + " --json", "ts action from messageId"},
		{"claim a --json", "ts action agent path force"},
		{"claim a --json", "ts action agent path previous force"},
		{"release a --json", "ts action agent path previous force"},
		{"inbox --agent codex --no-clear --json", "agent clear sinceLastRead content"},
		{"board --json", "content"},
		{"audit --json", "ts action actor root"},
		{"timeline --json", "ts action summary record"},
		{"messages --json", "messageId ts from to type body replyTo status ackedBy doneBy doneAt events"},
		{"messages --open --json", "messageId ts from to type body replyTo status ackedBy doneBy doneAt events"},
		{"status", "root version agents worktrees"},
		{"overview --json", "root version agents pending unread stale claims openMessages recent malformed"},
		{"doctor --json", "root ok summary checks"},
		{"stale --days 0 --json", "agent lastActiveAt idleDays pending claims"},
		{"retire codex --dry-run --json", "dryRun targets"},
	} {
		if got := strings.Join(keys(t, u.must(strings.Fields(c[0])...)), " "); got != c[1] {
			t.Errorf("%s: %s", c[0], got)
		}
	}
	var messages []struct {
		AckedBy []struct{ From, TS, Body string }
	}
	if err := json.Unmarshal([]byte(u.must("messages", "--open", "--json")), &messages); err != nil || messages[0].AckedBy[0].Body != "seen" {
		t.Errorf("%+v %v", messages, err)
	}
	if got := strings.Join(keys(t, u.must("retire", "codex", "--by", "pi", "--reason", "x", "--json")), " "); got != "ts action agent by reason pendingMessages releasedClaims archivedTo" {
		t.Error(got)
	}
	if out := u.must("claims"); out != "{}\n" {
		t.Errorf("%q", out)
	}
	var h struct{ Checks []struct{ Name string } }
	if err := json.Unmarshal([]byte(u.must("doctor", "--json")), &h); err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, c := range h.Checks {
		names = append(names, c.Name)
	}
	if want := strings.Fields("root file:config.yaml file:blackboard.md file:worktrees.json file:audit.jsonl protocol-version audit-jsonl agents inbox-unread inbox-retained claims nested-ledgers audit-agrees"); !slices.Equal(names, want) {
		t.Error(names)
	}
}

func TestOnlyEnsembleAuditsReads(t *testing.T) {
	u := newUser(t)
	u.must("init")
	reads := [][]string{{"status"}, {"board"}, {"claims"}, {"doctor"}, {"messages"}, {"audit"}, {"timeline"}, {"overview"}, {"stale"}, {"verify"}, {"inbox", "--peek"}, {"retire", "pi", "--dry-run"}}
	u.tool = true
	before := u.audit()
	for _, words := range reads {
		u.must(words...)
	}
	if u.audit() != before {
		t.Error("aisync ledger has left lines:", u.audit())
	}
	u.tool = false
	for _, words := range reads {
		u.must(words...)
	}
	var actions []string
	for _, m := range regexp.MustCompile(`"action":"([a-z_]+)"`).FindAllStringSubmatch(strings.TrimPrefix(u.audit(), before), -1) {
		actions = append(actions, m[1])
	}
	if want := []string{"status", "board_read", "claims_read", "doctor"}; !slices.Equal(actions, want) {
		t.Error(actions)
	}
}

func TestRootMatchesOriginal(t *testing.T) {
	u := newUser(t)
	u.must("init")
	top := u.dir
	deep := filepath.Join(top, "a/b")
	if err := os.MkdirAll(deep, 0o755); err != nil {
		t.Fatal(err)
	}
	u.dir = t.TempDir()
	for _, how := range []func() []string{
		func() []string { return []string{"--root", deep, "status"} },
		func() []string { return []string{"status", "--root=" + top} },
		func() []string { u.env["PI_ENSEMBLE_ROOT"] = deep; return []string{"status"} },
		func() []string { delete(u.env, "PI_ENSEMBLE_ROOT"); u.dir = deep; return []string{"status"} },
	} {
		words := how()
		if out := u.must(words...); !strings.Contains(out, `"root": "`+top+`"`) {
			t.Errorf("%v in %s: %s", words, u.dir, out)
		}
	}
	u.env["PI_ENSEMBLE_AGENT"] = "not valid"
	if out := u.must("note", "x", "--json"); !strings.Contains(out, `"from": "agent"`) {
		t.Error(out)
	}
}

func TestFlagForms(t *testing.T) {
	u := newUser(t)
	u.must("init")
	if out := u.must("send", "codex", "--type=note", "--json", "--", "--type", "is a flag"); !strings.Contains(out, `"body": "--type is a flag"`) || !strings.Contains(out, `"type": "note"`) {
		t.Error(out)
	}
	if out := u.must("note", "the", "--unknown", "flag", "stays", "--json"); !strings.Contains(out, `"body": "the --unknown flag stays"`) {
		t.Error(out)
	}
}

func TestClaimWaits(t *testing.T) {
	u := newUser(t)
	u.must("init")
	u.must("claim", "x", "--agent", "codex")
	if _, errs, code := u.run("claim", "x", "--wait=0.2"); code != 124 || !strings.Contains(errs, "waiting: Path already claimed by codex") {
		t.Errorf("%d %s", code, errs)
	}
	freed := make(chan struct{})
	go func() {
		defer close(freed)
		time.Sleep(150 * time.Millisecond)
		u.run("release", "x", "--agent", "codex")
	}()
	if out := u.must("claim", "x", "--wait=20"); out != "claimed x\n" {
		t.Error(out)
	}
	<-freed
}

func TestOverlapsAreRefused(t *testing.T) {
	u := newUser(t)
	u.must("init")
	if err := os.MkdirAll(filepath.Join(u.dir, "real/deep"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("real", filepath.Join(u.dir, "alias")); err != nil {
		t.Fatal(err)
	}
	u.must("claim", "alias", "--agent", "codex")
	if _, errs, code := u.run("claim", "other", "real/deep"); code != 1 || !strings.Contains(errs, "alias, which codex claims. Use --force to override") {
		t.Errorf("%d %q", code, errs)
	}
	out, errs, code := u.run("claim", "real/deep", "--force")
	if code != 0 || out != "claimed real/deep\n" || !strings.Contains(errs, "alias, which codex claims") {
		t.Errorf("%d %q %q", code, out, errs)
	}
}

func TestSeveralPathsAtOnce(t *testing.T) {
	u := newUser(t)
	u.must("init")
	if out := u.must("claim", "a", "src/**", "a"); out != "claimed a\nclaimed src/**\n" {
		t.Error(out)
	}
	if _, errs, code := u.run("claim", "b", "src/x.go", "--agent", "codex"); code != 1 || !strings.Contains(errs, "src/**, which") || strings.Contains(u.must("claims"), "codex") {
		t.Errorf("%d %q", code, errs)
	}
	if out := u.must("release", "a", "src/**"); out != "released a\nreleased src/**\n" || u.must("claims") != "{}\n" {
		t.Error(out)
	}
}

func TestGlobClaimIsAtomic(t *testing.T) {
	u := newUser(t)
	u.must("init")
	for _, f := range []string{"src/a.go", "src/b.go", "src/in/c.go", "src/d.txt"} {
		if err := os.MkdirAll(filepath.Dir(filepath.Join(u.dir, f)), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(u.dir, f), nil, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if out := u.must("claim", "--glob", "src/**/*.go"); out != "claimed src/a.go\nclaimed src/b.go\nclaimed src/in/c.go\n" {
		t.Error(out)
	}
	if _, _, code := u.run("claim", "--glob", "src/*", "--agent", "codex"); code != 1 || strings.Contains(u.must("claims"), "codex") {
		t.Error("half of a pattern was claimed")
	}
	if _, errs, code := u.run("claim", "--glob", "nothing/*"); code != 1 || !strings.Contains(errs, "no path matches") {
		t.Error(errs)
	}
}

func TestSecretWarning(t *testing.T) {
	u := newUser(t)
	u.must("init")
	token := "ghp_" + strings.Repeat("a1B2", 9)
	if _, errs, code := u.run("note", "use", token); code != 0 || !strings.Contains(errs, "a GitHub token") || strings.Contains(errs, token) {
		t.Errorf("%d %q", code, errs)
	}
	before := u.audit()
	if _, errs, code := u.run("send", "codex", "use "+token, "--strict"); code != 1 || !strings.Contains(errs, "nothing was written") || u.audit() != before {
		t.Errorf("%d %q", code, errs)
	}
}

func TestVerifyRepairAndCompactOutput(t *testing.T) {
	u := newUser(t)
	u.must("init")
	u.must("claim", "x")
	if out := u.must("verify"); out != "the files agree with the audit trail\n" {
		t.Error(out)
	}
	claims := filepath.Join(u.dir, ".pi-ensemble/worktrees.json")
	if err := os.WriteFile(claims, []byte("{}\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if out, _, code := u.run("verify"); code != 1 || !strings.Contains(out, "claim it again for pi") {
		t.Errorf("%d %s", code, out)
	}
	if _, errs, code := u.run("repair"); code != 0 || !strings.Contains(errs, ".pi-ensemble/.backup/") {
		t.Errorf("%d %s", code, errs)
	}
	if out := u.must("claims"); !strings.Contains(out, `"agent": "pi"`) {
		t.Error(out)
	}
	if out := u.must("compact", "--days", "0"); !strings.HasPrefix(out, "archived ") {
		t.Error(out)
	}
	if out := u.must("audit", "--limit", "0"); !strings.Contains(out, `"action":"init"`) || !strings.Contains(out, `"action":"compact"`) {
		t.Error(out)
	}
	u.must("verify")
}

func TestWatchPrintsNewMessages(t *testing.T) {
	u := newUser(t)
	u.must("init")
	u.must("send", "codex", "before")
	done := make(chan struct{})
	read, write, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	ended := make(chan int)
	go func() {
		ended <- Run(Program{Args: []string{"watch", "--agent", "codex"}, Out: write, Err: &bytes.Buffer{}, Getenv: func(string) string { return "" }, Dir: u.dir, Done: done})
		write.Close()
	}()
	time.Sleep(50 * time.Millisecond)
	u.must("send", "pi", "not for codex", "--from", "codex")
	u.must("send", "codex", "after\x1b[2J \u200e\u200f\u061c\u2028\u2029\u202e")
	buf := make([]byte, 4096)
	n, err := read.Read(buf)
	if err != nil {
		t.Fatal(err)
	}
	if got := string(buf[:n]); !strings.Contains(got, "pi → codex [handoff]") || !strings.Contains(got, "    after·[2J ······\n") || strings.Contains(got, "before") {
		t.Errorf("%q", got)
	}
	close(done)
	if code := <-ended; code != 0 {
		t.Error(code)
	}
}

func TestTopFitsScreen(t *testing.T) {
	u := newUser(t)
	u.must("init")
	u.must("send", "claude-lead", strings.Repeat("a long text ", 30))
	u.must("claim", "src/parser", "--agent", "claude-lead")
	l, _, err := Program{Args: nil, Dir: u.dir, Getenv: func(string) string { return "" }}.Open()
	if err != nil {
		t.Fatal(err)
	}
	before := u.audit()
	for _, size := range [][2]int{{80, 24}, {120, 12}, {40, 6}} {
		text, err := (&call{ledger: l}).screen(size[0], size[1])
		if err != nil {
			t.Fatal(err)
		}
		lines := strings.Split(strings.TrimSuffix(text, "\n"), "\n")
		if len(lines) > size[1] {
			t.Errorf("%d lines on %d", len(lines), size[1])
		}
		for _, line := range lines {
			if n := len([]rune(line)); n > size[0] {
				t.Errorf("%d columns on %d: %s", n, size[0], line)
			}
		}
		if size[1] == 24 && (!strings.Contains(text, "2 agents, 1 claim, 1 message open") || !strings.Contains(text, "handoff of pi: a long text") || !strings.Contains(text, "claude-lead claimed src/parser")) {
			t.Error(text)
		}
	}
	if u.audit() != before {
		t.Error("looking has left a trace")
	}
}

func TestExportIsCompleteAndScriptless(t *testing.T) {
	u := newUser(t)
	u.must("init")
	u.must("send", "codex", "<script>alert(1)</script> & more", "--type", "question")
	u.must("note", "<img src=x onerror=alert(1)>")
	page := filepath.Join(u.dir, "story.html")
	u.must("export", "--html", page)
	b, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"&lt;script&gt;alert(1)", "&lt;img src=x", "ledger initialized", "question"} {
		if !strings.Contains(string(b), want) {
			t.Errorf("no %q", want)
		}
	}
	for _, never := range []string{"<script", "<img", "http://", "https://", "<link", "@import"} {
		if strings.Contains(string(b), never) {
			t.Errorf("the page holds %q", never)
		}
	}
	if info, err := os.Stat(page); err != nil || info.Mode().Perm() != 0o600 {
		t.Error(info, err)
	}
	if _, errs, code := u.run("export", "--html", page); code != 1 || !strings.Contains(errs, "already exists") {
		t.Error(code, errs)
	}
}

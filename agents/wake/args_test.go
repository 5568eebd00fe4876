package wake

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestUnknownFlagsAreRefused(t *testing.T) {
	d := newDesk(t)
	for _, c := range []struct {
		words []string
		errs  string
	}{
		{[]string{"send", "codex", "do it", "--nowake"}, "send: unknown flag --nowake"},
		{[]string{"task", "codex", "do it", "--no-wake=1"}, "task: unknown flag --no-wake=1"},
		{[]string{"wake", "codex", "--type", "note"}, "wake: unknown flag --type"},
		{[]string{"wait", "msg_0123456789abcdef", "--from", "x"}, "wait: unknown flag --from"},
		{[]string{"note", "a", "--wait"}, "note: unknown flag --wait"},
		{[]string{"status", "--json"}, "status: unknown flag --json"},
		{[]string{"panes", "x"}, "panes takes no words"},
		{[]string{"send", "codex", "x", "--pane"}, "--pane requires a value"},
		{[]string{"send", "codex", "x", "--timeout", "soon"}, "--timeout soon: want a number of seconds"},
		{[]string{"wait", "msg_0123456789abcdef", "--interval", "0"}, "--interval 0: want a number of seconds"},
		{[]string{"wake"}, "wake takes an agent"},
		{[]string{"send"}, "send takes an agent and a message"},
		{[]string{"wait"}, "wait takes one message id"},
	} {
		if out, errs, code := d.run(c.words...); code != 2 || out != "" || !strings.Contains(errs, c.errs) || !strings.Contains(errs, "; run: ensemble-tmux help\n") {
			t.Errorf("%q: %d %q %q", c.words, code, out, errs)
		}
	}
	if got := d.ensemble("messages"); got != "no messages\n" {
		t.Errorf("a refused command has written: %s", got)
	}
	if _, _, code := d.run("send", "codex", "--no-wake", "--from", "pi", "--", "--force", "it"); code != 0 || !strings.Contains(d.ensemble("inbox", "--agent", "codex", "--peek"), "\n--force it\n") {
		t.Errorf("words behind a --: %d", code)
	}
}

func TestFlagsOfTheOriginal(t *testing.T) {
	d := newDesk(t)
	pane, shown := d.tmux()
	if _, errs, code := d.run("send", "codex", "do it", "--no-wake", "--pane", pane); code != 0 || strings.Contains(shown(), "pi-ensemble") {
		t.Errorf("--no-wake: %d %s %s", code, errs, shown())
	}
	if out, errs, code := d.run("send", "codex", "do it", "--pane="+pane, "--wait", "--timeout", "0.3", "--interval", "0.1"); code != 124 || !strings.Contains(out, "sent to codex") || !strings.Contains(errs, "no answer to msg_") {
		t.Errorf("--wait: %d %s %s", code, out, errs)
	}
	eventually(t, "the ping", func() bool { return strings.Contains(shown(), "handoff from pi msg_") })
	if got := d.ensemble("inbox", "--agent", "codex", "--peek"); strings.Contains(got, "--") && strings.Contains(got, "do it --") {
		t.Error("a flag became a part of the text:", got)
	}

	// The variables of the original.
	elsewhere := newDesk(t)
	elsewhere.env["ENSEMBLE_ROOT"], elsewhere.env["ENSEMBLE_FROM"] = d.dir, "lead"
	config := filepath.Join(elsewhere.home, "panes.env")
	if err := os.WriteFile(config, []byte("ENSEMBLE_TMUX_CODEX_PANE="+pane+"\nENSEMBLE_TMUX_SOCKET="+d.env["ENSEMBLE_TMUX_SOCKET"]+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	elsewhere.env["ENSEMBLE_TMUX_CONFIG"] = config
	if out, errs, code := elsewhere.run("send", "codex", "from afar"); code != 0 {
		t.Errorf("%d %s %s", code, out, errs)
	}
	eventually(t, "the ping from afar", func() bool { return strings.Contains(shown(), "handoff from lead msg_") })
	if got := d.ensemble("inbox", "--agent", "codex", "--peek"); !strings.Contains(got, "— lead → codex [handoff]") || !strings.Contains(got, "from afar") {
		t.Error(got)
	}
	if out, errs, code := elsewhere.run("wake", "codex", "hurry", "up"); code != 0 || out != "" {
		t.Errorf("%d %s %s", code, out, errs)
	}
	eventually(t, "the words", func() bool { return strings.Contains(shown(), "- hurry up") })
}

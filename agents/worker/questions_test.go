package worker

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// A question is reported whenever it comes: again after an answer, in a window that
// stands still, and in one that never stops printing.
func TestLateQuestionsAreReported(t *testing.T) {
	s := inTmux(t)
	wait := func(file string) string { return "until test -e " + file + "; do sleep 0.05; done; clear; " }
	script := `printf '› Ask me\n'; ` + wait("one") + `printf 'Run ls?\n› 1. Yes\n'; ` + wait("two") + `echo working; ` +
		wait("three") + `printf 'Run ls?\n› 1. Yes\n'; ` + wait("four") + `echo working; ` +
		wait("five") + `printf 'Run rm?\n'; until test -e six; do printf '.'; sleep 0.05; done; clear; exec sleep 60`
	folder, j := job(t, script)
	j.Substrate, j.Ready, j.Dialogs = Tmux, "› ", []string{"Run ls?", "Run rm?"}
	start(t, s, folder, j, "TERM=xterm", "TEST_LATE=1")
	await(t, folder, j, "ready", func(o Observation) bool { return running(o) && o.Ready != nil })
	for _, step := range []struct{ file, asks string }{{"one", "Run ls?"}, {"two", ""}, {"three", "Run ls?"}, {"four", ""}, {"five", "Run rm?"}, {"six", ""}} {
		if err := os.WriteFile(filepath.Join(j.Dir, step.file), nil, 0o600); err != nil {
			t.Fatal(err)
		}
		o := await(t, folder, j, "step "+step.file, func(o Observation) bool {
			return (o.Asks != nil) == (step.asks != "") && (o.Asks == nil || strings.HasPrefix(o.Asks.Text, step.asks))
		})
		if step.asks != "" && o.Window() != "tmux -S "+o.Ticket.Pane.Socket+" attach -t "+o.Ticket.Pane.ID {
			t.Errorf("the window is %q", o.Window())
		}
	}
}

// A question is a late one when it comes after the time in which programs ask about
// their start.
func TestLateQuestionIsAfterTheStart(t *testing.T) {
	ready := &Ready{At: time.Now()}
	for _, c := range []struct {
		o    Observation
		want bool
	}{
		{Observation{}, false}, {Observation{Asks: &Asks{At: ready.At}}, false}, {Observation{Ready: ready}, false},
		{Observation{Ready: ready, Asks: &Asks{At: ready.At.Add(dialogWatch)}}, false},
		{Observation{Ready: ready, Asks: &Asks{At: ready.At.Add(dialogWatch + time.Second)}}, true},
	} {
		if got := c.o.AskedLate(); got != c.want {
			t.Errorf("%+v: %v", c.o, got)
		}
	}
}

// A window is looked at once when it stands still, rarely while it prints, and at
// each chance while a question waits.
func TestPaceOfLooks(t *testing.T) {
	log := filepath.Join(t.TempDir(), "log")
	text, began := "", time.Now()
	var p pace
	p.look(log, false, began.Add(-time.Hour)) // the first
	looks := func(seconds int, prints, asks bool) (n int) {
		for range seconds {
			if prints {
				text += "."
			}
			if err := os.WriteFile(log, []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
			if began = began.Add(time.Second); p.look(log, asks, began) {
				n++
			}
		}
		return n
	}
	got := fmt.Sprint(looks(300, false, false), looks(10, true, false), looks(300, false, false), looks(300, true, false), looks(5, true, true))
	if want := "1 1 1 10 5"; got != want {
		t.Errorf("looks: %s, want %s", got, want)
	}
}

func TestLastLinesOfScreen(t *testing.T) {
	if got := lastLines("a\n\nb\n  \nc\n\n\n", 2); got != "b\nc" {
		t.Errorf("got %q", got)
	}
}

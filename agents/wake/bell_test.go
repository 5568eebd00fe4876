package wake

import (
	"errors"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"aisync.dev/aisync/agents/process"
	"aisync.dev/aisync/agents/seat"
)

// A relay comes before the pane that its program has inherited: an editor may run in
// one, and nothing is typed there.
func TestPingGoesToTheRelay(t *testing.T) {
	d := newDesk(t)
	pane, shown := d.tmux()
	inside, err := strconv.Atoi(d.tmuxCommand("display-message", "-p", "-t", pane, "#{pane_pid}"))
	if err != nil {
		t.Fatal(err)
	}
	d.take("claude", inside)
	bell := seat.At(process.System(), d.dir, time.Now()).Bell("claude")
	if err := os.WriteFile(bell, nil, 0o600); err != nil { // a file is no relay, and is replaced
		t.Fatal(err)
	}
	if rings(bell) {
		t.Error("a file is taken for a relay")
	}
	pings, end, err := Listen(bell)
	if err != nil {
		t.Fatal(err)
	}
	if info, err := os.Stat(bell); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("%v %v", info, err)
	}
	for range 2 { // a writer's end is not that of the relay
		if out, errs, code := d.seated("send", "claude", "please look", "--from", "pi"); code != 0 || !strings.Contains(out, "sent to claude: msg_") {
			t.Errorf("%d %s %s", code, out, errs)
		}
		select {
		case got := <-pings:
			if !strings.HasPrefix(got, "# pi-ensemble: new inbox item, which comes with this prompt - handoff from pi msg_") || strings.Contains(got, "\n") {
				t.Error(got)
			}
		case <-time.After(time.Minute):
			t.Fatal("no ping came")
		}
	}
	if out, _, _ := d.seated("status"); !strings.Contains(out, "by its client, process ") {
		t.Error(out)
	}
	if strings.Contains(shown(), "pi-ensemble") {
		t.Error("the pane was pinged, in which the client runs")
	}
	end()
	if _, err := os.Lstat(bell); !os.IsNotExist(err) {
		t.Error("the pipe stays:", err)
	}
}

// The pipe of a relay that was killed wakes nobody, and its successor replaces it.
func TestPipeWithoutReader(t *testing.T) {
	bell := t.TempDir() + "/claude.wake"
	if rings(bell) {
		t.Error("what does not exist is read")
	}
	for range 2 {
		pings, end, err := Listen(bell)
		if err != nil {
			t.Fatal(err)
		}
		if err := Ring(bell, "hello"); err != nil {
			t.Fatal(err)
		}
		if got := <-pings; got != "hello" {
			t.Error(got)
		}
		if err := os.Rename(bell, bell+"2"); err != nil { // so that its end leaves it
			t.Fatal(err)
		}
		end()
		if err := os.Rename(bell+"2", bell); err != nil {
			t.Fatal(err)
		}
		until := time.Now().Add(time.Minute)
		for rings(bell) && time.Now().Before(until) {
			time.Sleep(time.Millisecond)
		}
		if err := Ring(bell, "hello"); err == nil {
			t.Error("the pipe that Listen made has no reader")
		}
	}
}

func TestRingDoesNotWaitForARelayThatIsStuck(t *testing.T) {
	file := filepath.Join(t.TempDir(), "claude.wake")
	_, end, err := Listen(file) // the test takes nothing that it hears
	if err != nil {
		t.Fatal(err)
	}
	defer end()
	line := strings.Repeat("x", 4000)
	for range 100 {
		if err = Ring(file, line); err != nil {
			break
		}
	}
	if !errors.Is(err, os.ErrDeadlineExceeded) {
		t.Errorf("a pipe that is full: %v", err)
	}
}

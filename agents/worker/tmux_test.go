package worker

import (
	"context"
	"errors"
	"os"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"aisync.dev/aisync/agents/process"
	"aisync.dev/aisync/agents/tmuxtest"
)

// inTmux is a starter with a separate tmux server.
func inTmux(t *testing.T) Starter {
	t.Helper()
	s := starter()
	s.Tmux = Server{Socket: tmuxtest.Socket(t)}
	s.Session = "aisync-r1"
	s.Passed = func(name string) bool { return name == "PATH" }
	return s
}

func TestTmuxWorkerHasMarkerAndLog(t *testing.T) {
	s := inTmux(t)
	folder, j := job(t, `echo "hello from $AISYNC_TASK, $(tty | cut -c1-8)"; exec sleep 60`)
	j.Substrate = Tmux
	start(t, s, folder, j, "AISYNC_TASK=it's a # task")
	o := await(t, folder, j, "running", running)
	pane, err := s.Tmux.find(j.Marker)
	if err != nil || pane == nil || pane.id != o.Ticket.Pane.ID || pane.pid != o.Ticket.Keeper.PID {
		t.Fatalf("the pane is %+v, %v; the ticket says %+v", pane, err, o.Ticket)
	}
	if err := Owned(process.System(), o, j.Marker); err != nil {
		t.Error(err)
	}
	await(t, folder, j, "logged", func(Observation) bool {
		log, _ := os.ReadFile(j.Log)
		return strings.Contains(string(log), "hello from it's a # task, /dev/pts")
	})
	if err := End(context.Background(), process.System(), folder, j.Marker); err != nil {
		t.Fatal(err)
	}
	if pane, err := s.Tmux.find(j.Marker); err != nil || pane != nil {
		t.Errorf("its pane is still there: %+v, %v", pane, err)
	}
	if o := see(t, folder, j); o.State != Ended || !o.Gone() {
		t.Errorf("seen: %s", o)
	}
}

func TestWorkersShareSession(t *testing.T) {
	s := inTmux(t)
	var folders []string
	var jobs []Job
	for range 3 {
		folder, j := job(t, "sleep 60")
		j.Substrate = Tmux
		start(t, s, folder, j)
		folders, jobs = append(folders, folder), append(jobs, j)
	}
	for i := range jobs {
		await(t, folders[i], jobs[i], "running", running)
	}
	out, err := s.Tmux.run("list-panes", "-a", "-F", "#{session_name}")
	if err != nil || out != "aisync-r1\naisync-r1\naisync-r1" {
		t.Errorf("panes are in %q, %v", out, err)
	}
	if err := End(context.Background(), process.System(), folders[1], jobs[1].Marker); err != nil {
		t.Fatal(err)
	}
	for _, i := range []int{0, 2} {
		if o := see(t, folders[i], jobs[i]); o.State != Running {
			t.Errorf("its neighbour was ended too: %s", o)
		}
	}
}

func TestEndKillsUnwillingShell(t *testing.T) {
	s := inTmux(t)
	folder, j := job(t, "")
	j.Substrate, j.Command = Tmux, []string{"sh", "-i"}
	start(t, s, folder, j)
	await(t, folder, j, "running", running)
	if err := End(context.Background(), process.System(), folder, j.Marker); err != nil {
		t.Fatal(err)
	}
	if o := see(t, folder, j); !o.Gone() {
		t.Errorf("seen: %s", o)
	}
}

func TestUnmarkedPaneIsNotOurs(t *testing.T) {
	s := inTmux(t)
	folder, j := job(t, "sleep 60")
	j.Substrate = Tmux
	start(t, s, folder, j)
	o := await(t, folder, j, "running", running)
	for _, c := range []struct{ says, option string }{
		{"another marker", NewMarker()},
		{"no marker", ""},
	} {
		if _, err := s.Tmux.run("set-option", "-p", "-t", o.Ticket.Pane.ID, markerOption, c.option); err != nil {
			t.Fatal(err)
		}
		if err := Owned(process.System(), o, j.Marker); !errors.Is(err, ErrNotOurs) {
			t.Errorf("%s: %v", c.says, err)
		}
		if err := End(context.Background(), process.System(), folder, j.Marker); !errors.Is(err, ErrNotOurs) {
			t.Errorf("%s: ended with %v", c.says, err)
		}
		if err := s.Tmux.closePane(o.Ticket.Pane.ID, j.Marker); err != nil {
			t.Errorf("%s: %v", c.says, err)
		}
		if o := see(t, folder, j); o.State != Running || o.Keeper != Here {
			t.Fatalf("%s: seen: %s", c.says, o)
		}
	}
	// The marker on a foreign pane is not enough either.
	if _, err := s.Tmux.run("new-window", "-d", "-t", "="+s.Session+":", "-n", "theirs", "sleep 60"); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Tmux.run("set-option", "-p", "-t", "="+s.Session+":theirs", markerOption, j.Marker); err != nil {
		t.Fatal(err)
	}
	if err := Owned(process.System(), o, j.Marker); !errors.Is(err, ErrNotOurs) {
		t.Errorf("the marker on another pane: %v", err)
	}
}

func TestEndClosesDeadPane(t *testing.T) {
	s := inTmux(t)
	if _, err := s.Tmux.run("new-session", "-d", "-s", s.Session, "sleep 60"); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Tmux.run("set-option", "-g", "remain-on-exit", "on"); err != nil {
		t.Fatal(err)
	}
	folder, j := job(t, "exit 3")
	j.Substrate = Tmux
	start(t, s, folder, j)
	await(t, folder, j, "ended", gone)
	if pane, err := s.Tmux.find(j.Marker); err != nil || pane == nil {
		t.Fatalf("tmux kept nothing: %+v, %v", pane, err)
	}
	if err := End(context.Background(), process.System(), folder, j.Marker); err != nil {
		t.Fatal(err)
	}
	if pane, err := s.Tmux.find(j.Marker); err != nil || pane != nil {
		t.Errorf("its pane is still there: %+v, %v", pane, err)
	}
}

func TestReadyAtPromptOrDelay(t *testing.T) {
	s := inTmux(t)
	for how, delay := range map[string]int{"shows that it takes input": 0, "waited for": 150} {
		folder, j := job(t, `sleep 0.3; printf 'ready> '; sleep 60`)
		j.Substrate, j.Ready, j.ReadyDelay = Tmux, "ready> ", delay
		start(t, s, folder, j)
		if o := await(t, folder, j, "running", func(o Observation) bool { return o.State == Running }); o.Ready != nil {
			t.Error("it is ready before it shows so")
		}
		if o := await(t, folder, j, "ready", running); o.Ready.How != how {
			t.Errorf("ready: %q, want %q", o.Ready.How, how)
		}
	}
}

func TestKilledTmuxServerEndsWorkers(t *testing.T) {
	s := inTmux(t)
	folder, j := job(t, "sleep 60")
	j.Substrate = Tmux
	start(t, s, folder, j)
	await(t, folder, j, "running", running)
	if _, err := s.Tmux.run("kill-server"); err != nil {
		t.Fatal(err)
	}
	if o := await(t, folder, j, "gone", gone); o.State != Ended || o.Exit.Code != 128+int(unix.SIGHUP) {
		t.Errorf("seen: %s", o)
	}
	if err := End(context.Background(), process.System(), folder, j.Marker); err != nil {
		t.Errorf("without a server: %v", err)
	}
}

package seat

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"aisync.dev/aisync/agents/identity"
	"aisync.dev/aisync/agents/keeper"
	"aisync.dev/aisync/agents/process"
)

func newRoom(t *testing.T) *Room {
	t.Helper()
	root := t.TempDir()
	if err := os.MkdirAll(filepath.Join(root, Records), 0o700); err != nil {
		t.Fatal(err)
	}
	return At(process.System(), root, time.Now())
}

func take(t *testing.T, r *Room, a Ask) *Seat {
	t.Helper()
	s, err := r.Take(a)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// gone is a process that has ended.
func gone(t *testing.T) int {
	t.Helper()
	cmd := exec.Command("true")
	if err := cmd.Run(); err != nil {
		t.Fatal(err)
	}
	return cmd.Process.Pid
}

func self(t *testing.T) (int, uint64) {
	t.Helper()
	p, err := process.System().Read(os.Getpid())
	if err != nil {
		t.Skip(err)
	}
	return p.PID, p.Start
}

func TestTakeChoosesTheName(t *testing.T) {
	const ai = "vm.app.codex.1f3a"
	pid, start := self(t)
	here := keeper.Here(process.System())
	alive := func(s Seat) Seat { s.PID, s.Start, s.Place = pid, start, here; return s }
	for _, c := range []struct {
		name string
		was  Seat
		ask  Ask
		want string
	}{
		{"the first", Seat{}, Ask{Runtime: "codex", Session: "s"}, "codex"},
		{"beside a live one", alive(Seat{Name: "codex", Runtime: "codex", Session: "r"}), Ask{Runtime: "codex", Session: "s"}, "codex-2"},
		{"after one whose process has ended", Seat{Name: "codex", Runtime: "codex", Session: "r", PID: gone(t), Start: 1, Place: here}, Ask{Runtime: "codex", Session: "s"}, "codex"},
		{"after one that said so", alive(Seat{Name: "codex", Runtime: "codex", Session: "r", Ended: true}), Ask{Runtime: "codex", Session: "s"}, "codex"},
		{"beside one on another machine, long ago", Seat{Name: "codex", Runtime: "codex", PID: 7, Place: keeper.Place{Host: "far"}}, Ask{Runtime: "codex", Session: "s"}, "codex-2"},
		{"beside one in another namespace, long ago", Seat{Name: "codex", Runtime: "codex", PID: 7, Place: keeper.Place{Host: here.Host, Machine: here.Machine, Boot: here.Boot, Namespace: "pid:[1]"}}, Ask{Runtime: "codex", Session: "s"}, "codex-2"},
		{"after a restart of the machine", Seat{Name: "codex", Runtime: "codex", PID: pid, Start: start, Place: keeper.Place{Host: here.Host, Machine: here.Machine, Boot: "0", Namespace: here.Namespace}}, Ask{Runtime: "codex", Session: "s"}, "codex"},
		{"a session goes on", alive(Seat{Name: "codex-4", Runtime: "codex", Session: "s"}), Ask{Runtime: "codex", Session: "s"}, "codex-4"},
		{"a session of another program", alive(Seat{Name: "codex", Runtime: "codex", Session: "s"}), Ask{Runtime: "claude", Session: "s"}, "claude"},
		{"another session of a process", alive(Seat{Name: "codex-4", Runtime: "codex", Session: "r"}), Ask{Runtime: "codex", Session: "s", PID: pid, Start: start}, "codex-4"},
		{"what the launcher took for it", alive(Seat{Name: "codex", Runtime: "codex", ID: ai, Launch: "l"}), Ask{Runtime: "codex", Given: "codex", ID: ai, Launch: "l", Session: "s"}, "codex"},
		{"an agent within it inherits the launch", alive(Seat{Name: "codex", Runtime: "codex", ID: ai, Launch: "l", Session: "r"}), Ask{Runtime: "codex", Given: "codex", ID: ai, Launch: "l", Session: "s"}, "codex-2"},
		{"a second launch by one process", alive(Seat{Name: "codex", Runtime: "codex", Launch: "l"}), Ask{Runtime: "codex", Launch: "m", PID: pid, Start: start}, "codex-2"},
		{"a name that a person chose", Seat{}, Ask{Runtime: "codex", Given: "reviewer", Session: "s"}, "reviewer"},
		{"an inherited name", alive(Seat{Name: "reviewer", Runtime: "codex", Session: "r"}), Ask{Runtime: "claude", Given: "reviewer", Session: "s"}, "claude"},
		{"the person's name is given", Seat{}, Ask{Runtime: "claude", Given: "craig", Person: "craig"}, "claude"},
		{"the person has the program's name", Seat{}, Ask{Runtime: "claude", Person: "claude"}, "claude-2"},
		{"a role's name is given", Seat{}, Ask{Runtime: "claude", Given: Primary}, "claude"},
		{"the name of all is given", Seat{}, Ask{Runtime: "claude", Given: All}, "claude"},
	} {
		r := newRoom(t)
		if c.was.Name != "" {
			if err := r.Write(c.was.Name, c.was); err != nil {
				t.Fatal(err)
			}
		}
		if s := take(t, r, c.ask); s.Name != c.want {
			t.Errorf("%s: %q, want %q", c.name, s.Name, c.want)
		}
	}
}

func TestUnreadableRecordIsNotFree(t *testing.T) {
	r := newRoom(t)
	take(t, r, Ask{Runtime: "codex", Session: "s"})
	for _, spoil := range []func(string) error{
		func(p string) error { return os.WriteFile(p, []byte("{"), 0o600) },
		func(p string) error { return os.Remove(p) },
	} {
		if err := spoil(r.Path("codex")); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Mkdir(r.Path("codex"), 0o700); err != nil {
		t.Fatal(err)
	}
	if s := take(t, r, Ask{Runtime: "codex", Session: "t"}); s.Name != "codex-2" {
		t.Errorf("%q", s.Name)
	}
	if all, err := r.List(); len(all) != 1 || err == nil || !strings.Contains(err.Error(), "remove "+r.Path("codex")+" if its agent has ended") {
		t.Errorf("%v, error %v", all, err)
	}
}

func TestOnePrimary(t *testing.T) {
	r := newRoom(t)
	pid, start := self(t)
	a := take(t, r, Ask{Runtime: "claude", Session: "a", PID: pid, Start: start})
	b := take(t, r, Ask{Runtime: "codex", Session: "b"})
	h := take(t, r, Ask{Runtime: "codex", Session: "h", ID: "helper-1f3a", Helper: true})
	if got := a.Inboxes("craig"); !slices.Equal(got, []string{"claude", "primary"}) {
		t.Errorf("the primary has %v", got)
	}
	if got := a.Inboxes("primary"); !slices.Equal(got, []string{"claude"}) {
		t.Errorf("beside a person of that name: %v", got)
	}
	if b.Primary || h.Primary {
		t.Errorf("more than one primary: %+v %+v", b, h)
	}
	if got := h.Inboxes("craig"); !slices.Equal(got, []string{"codex-2", "helper-1f3a"}) {
		t.Errorf("a helper has %v", got)
	}
	a.Ended = true
	if err := r.Write(a.Name, a); err != nil {
		t.Fatal(err)
	}
	c := take(t, r, Ask{Runtime: "qwen", Session: "c"})
	if c.Primary {
		t.Errorf("beside one that was here before: %+v", c)
	}
	all, err := r.List()
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]string{"primary": "codex", "helper-1f3a": "codex-2", "claude": "claude", "nemo": ""} {
		got := ""
		if s := r.Reader(all, name, "craig"); s != nil {
			got = s.Name
		}
		if got != want {
			t.Errorf("mail to %s is read by %q, want %q", name, got, want)
		}
	}
}

// The role of the primary passes on with its end to the agent that may lead and has
// been here longest, and comes back to none that returns.
func TestPrimaryPassesOn(t *testing.T) {
	r := newRoom(t)
	begin := r.Now
	enter := func(minute int, a Ask) {
		t.Helper()
		r.Now = begin.Add(time.Duration(minute) * time.Minute)
		take(t, r, a)
	}
	leaves := func(name string) {
		t.Helper()
		var s Seat
		if err := r.Read(name, &s); err != nil {
			t.Fatal(err)
		}
		s.Ended = true
		if err := r.Write(name, &s); err != nil {
			t.Fatal(err)
		}
	}
	leads := func(want string) {
		t.Helper()
		all, err := r.List()
		if err != nil {
			t.Fatal(err)
		}
		got := []string{}
		for _, s := range all {
			if s.Primary && !s.Ended {
				got = append(got, s.Name)
			}
		}
		if s := r.Reader(all, Primary, ""); strings.Join(got, " ") != want || want != "" && s.Name != want {
			t.Errorf("%v lead, %+v reads the mail; want %q", got, s, want)
		}
	}
	enter(0, Ask{Runtime: "claude", Session: "a"})
	enter(1, Ask{Runtime: "aider", Session: "h", ID: "helper-1f3a", Helper: true})
	enter(2, Ask{Runtime: "aider", Session: "i", ID: "vm.app.aider.1f3a"})
	enter(3, Ask{Runtime: "qwen", Session: "b"})
	enter(4, Ask{Runtime: "codex", Session: "c"})
	leads("claude")
	leaves("claude")
	leads("qwen")
	enter(5, Ask{Runtime: "claude", Session: "d"})
	leads("qwen")
	enter(6, Ask{Runtime: "qwen", Session: "b"}) // after a compaction
	leads("qwen")
	leaves("qwen")
	leads("codex")
	leaves("codex")
	leaves("claude")
	leads("")
	enter(7, Ask{Runtime: "pi", Session: "e"})
	leads("pi")
}

func TestGiven(t *testing.T) {
	for _, c := range []struct{ ledger, id, want string }{
		{"", "", ""},
		{"lead", "", "lead"},
		{"", "mine", "mine"},
		{"", "vm.app.codex.1f3a", ""},
		{"", "helper-1f3a", ""},
		{"vm.app.codex.1f3a", "vm.app.codex.1f3a", ""},
		{"codex-2", "vm.app.codex.1f3a", "codex-2"},
		{"not a name", "mine", "mine"},
	} {
		env := map[string]string{identity.VarLedger: c.ledger, identity.VarID: c.id}
		if got := Given(func(n string) string { return env[n] }); got != c.want {
			t.Errorf("%+v: %q", c, got)
		}
	}
}

func TestLaunchBindsAndLeaves(t *testing.T) {
	r := newRoom(t)
	s := take(t, r, Ask{Runtime: "codex", Launch: "l"})
	read := func() Seat {
		var s Seat
		if err := r.Read("codex", &s); err != nil {
			t.Fatal(err)
		}
		return s
	}
	if err := r.Bind(s.Name, "other", 5, 6); err != nil || read().PID != 0 {
		t.Errorf("another launch: %+v, error %v", read(), err)
	}
	if err := r.Bind(s.Name, "l", 5, 6); err != nil || read().PID != 5 {
		t.Errorf("%+v, error %v", read(), err)
	}
	if err := r.Leave(s.Name, "other"); err != nil || read().Ended {
		t.Errorf("left by another launch: %+v, error %v", read(), err)
	}
	if err := r.Leave(s.Name, "l"); err != nil || !read().Ended {
		t.Errorf("%+v, error %v", read(), err)
	}
}

func TestOwn(t *testing.T) {
	r := newRoom(t)
	parent, err := process.System().Read(os.Getppid())
	if err != nil {
		t.Skip(err)
	}
	all := []*Seat{{Name: "a", Session: "s"}, {Name: "b", Launch: "l"}, {Name: "c", ID: "i"}, {Name: "gone", Session: "old", Ended: true}}
	above := append(slices.Clone(all), &Seat{Name: "d", PID: parent.PID, Start: parent.Start, Place: r.Here()})
	for _, c := range []struct {
		all     []*Seat
		env     map[string]string
		session string
		want    string
	}{
		{all, nil, "", ""},
		{all, nil, "s", "a"},
		{all, nil, "old", ""},
		{all, map[string]string{identity.VarLaunch: "l"}, "", "b"},
		{all, map[string]string{identity.VarLaunch: "l"}, "s", "a"},
		{all, map[string]string{identity.VarID: "i"}, "", "c"},
		{above, map[string]string{identity.VarLaunch: "l"}, "s", "d"},
		{nil, nil, "s", ""},
	} {
		got := ""
		if s := r.Own(c.all, func(n string) string { return c.env[n] }, func() string { return c.session }); s != nil {
			got = s.Name
		}
		if got != c.want {
			t.Errorf("%v %q: %q, want %q", c.env, c.session, got, c.want)
		}
	}
}

// Processes that ask at once get different seats.
func TestProcessesTakeDifferentSeats(t *testing.T) {
	if root := os.Getenv("SEAT_TEST_ROOT"); root != "" {
		s, err := At(process.System(), root, time.Now()).Take(Ask{Runtime: "codex", Session: os.Getenv("SEAT_TEST_SESSION")})
		if err != nil {
			t.Fatal(err)
		}
		os.Stdout.WriteString("seat=" + s.Name + "\n")
		return
	}
	root := t.TempDir()
	const n = 24
	out := make(chan string, n)
	for i := range n {
		go func() {
			cmd := exec.Command(os.Args[0], "-test.run=^TestProcessesTakeDifferentSeats$")
			cmd.Env = append(os.Environ(), "SEAT_TEST_ROOT="+root, "SEAT_TEST_SESSION="+string(rune('a'+i)))
			text, err := cmd.Output()
			_, rest, _ := strings.Cut(string(text), "seat=")
			name, _, _ := strings.Cut(rest, "\n")
			if err != nil {
				name = err.Error()
			}
			out <- name
		}()
	}
	seen := map[string]bool{}
	for range n {
		name := <-out
		if seen[name] || !strings.HasPrefix(name, "codex") {
			t.Errorf("%q twice, or no seat", name)
		}
		seen[name] = true
	}
	if !seen["codex"] || !seen["codex-24"] {
		t.Errorf("seats %v", seen)
	}
}

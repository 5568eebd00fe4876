package lease

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/anishathalye/porcupine"
	"golang.org/x/sys/unix"

	"aisync.dev/aisync/agents/clock"
	"aisync.dev/aisync/agents/keeper"
	"aisync.dev/aisync/agents/ledger"
	"aisync.dev/aisync/agents/process"
	"aisync.dev/aisync/internal/proof"
)

// TestMain lets the test be an agent: a process that does what it reads.
func TestMain(m *testing.M) {
	if os.Getenv("LEASE_TEST_AGENT") == "" {
		os.Exit(m.Run())
	}
	if err := serve(os.Stdin, os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	os.Exit(0)
}

// order is a call as an agent's process reads it.
type order struct {
	Root   string
	Name   string
	Number int // of the agent in its history
	Hidden bool
	Call   call
	Jump   time.Duration // of the wall clock
	Up     bool          // the time since boot is known, and does not jump
}

// serve answers one order a line.
func serve(in io.Reader, out io.Writer) error {
	table := process.System()
	self, err := table.Read(table.Self())
	if err != nil {
		return err
	}
	read := json.NewDecoder(in)
	for {
		var o order
		if err := read.Decode(&o); errors.Is(err, io.EOF) {
			return nil
		} else if err != nil {
			return err
		}
		h := Holder{Session: strconv.Itoa(o.Number), PID: self.PID, Start: self.Start, Place: keeper.Here(table)}
		if o.Hidden {
			h.Namespace = "pid:[1]"
		}
		answer, err := o.do(h, table)
		if err != nil {
			return err
		}
		text, err := json.Marshal(answer)
		if err == nil {
			_, err = out.Write(append(text, '\n'))
		}
		if err != nil {
			return err
		}
	}
}

// do does what an order says as the agent h.
func (o order) do(h Holder, table process.Table) (out result, err error) {
	l, err := ledger.Find(o.Root)
	if err != nil {
		return out, err
	}
	l.Leases = &Leases{Table: table, Project: o.Root, Holder: func() (Holder, bool) { return h, true }, Clock: func() clock.Moment {
		m := clock.Now()
		m.Wall += o.Jump.Milliseconds()
		if !o.Up {
			m.Boot, m.Up = "", 0
		}
		return m
	}}
	var names []string
	for _, p := range o.Call.Paths {
		names = append(names, paths[p])
	}
	switch o.Call.Do {
	case "claim":
		_, err = l.ClaimAll(o.Name, names, o.Call.Force)
	case "release":
		var free []string
		_, free, err = l.ReleaseAll(o.Name, names, o.Call.Force)
		for _, f := range free {
			out.Free = append(out.Free, slices.Index(paths, f))
		}
	case "renew":
		err = l.Renew(o.Name)
	case "read", "drop":
		var claims, ended []ledger.Claim
		if claims, err = l.Claims(); err != nil {
			return out, err
		}
		for _, c := range claims {
			rel, _ := filepath.Rel(o.Root, c.Path)
			p := slices.Index(paths, rel)
			lease, ok := parse(c)
			if p < 0 || !ok {
				return out, fmt.Errorf("%s is claimed by %s with the lease %s", rel, c.Agent, c.Lease)
			}
			number, _ := strconv.Atoi(lease.Session)
			out.Owners[p], out.States[p] = number, string(c.State)
			if c.State == ledger.Ended {
				ended = append(ended, c)
			}
		}
		if o.Call.Do == "drop" {
			err = l.Drop(o.Name, ended)
		}
	}
	if out.Refused = errors.Is(err, ledger.ErrClaimed) || errors.Is(err, ledger.ErrOverlap); out.Refused {
		err = nil
	}
	return out, err
}

// slot runs the processes of one agent's name, one after the other.
type slot struct {
	name  int
	cmd   *exec.Cmd
	in    io.WriteCloser
	out   *bufio.Reader
	agent int // in the list of the history
	err   strings.Builder
}

func (s *slot) start() error {
	s.cmd = exec.Command(os.Args[0])
	s.cmd.Env = append(os.Environ(), "LEASE_TEST_AGENT=1", "GOMAXPROCS=1", "GORACE=atexit_sleep_ms=0")
	s.cmd.Stderr = &s.err
	in, err := s.cmd.StdinPipe()
	if err != nil {
		return err
	}
	out, err := s.cmd.StdoutPipe()
	if err != nil {
		return err
	}
	s.in, s.out = in, bufio.NewReader(out)
	return s.cmd.Start()
}

// stop ends the slot's process for good, and returns once it is gone.
func (s *slot) stop() {
	_ = s.cmd.Process.Kill()
	_, _ = io.Copy(io.Discard, s.out)
	_ = s.cmd.Wait()
}

// history is one run of agents against a ledger, as it was observed.
type history struct {
	mu     sync.Mutex
	root   string
	began  time.Time
	agents specification
	done   []porcupine.Operation
	kills  int
}

func (h *history) now() int64 { return time.Since(h.began).Nanoseconds() }

func (h *history) add(client int, c call, out result, from, to int64) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.done = append(h.done, porcupine.Operation{ClientId: client, Input: c, Output: out, Call: from, Return: to})
}

// join adds the slot's process as a new agent.
func (h *history) join(s *slot, hidden bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.agents = append(h.agents, agent{s.name, hidden})
	s.agent = len(h.agents) - 1
}

// work lets a slot do n calls. It kills the slot's process at some of them, and
// starts another.
func (h *history) work(s *slot, dice *rand.Rand, n int) error {
	for range n {
		c := call{Agent: s.agent, Do: []string{"claim", "claim", "claim", "release", "renew", "drop", "read", "read"}[dice.IntN(8)]}
		switch c.Do {
		case "claim":
			c.Paths = dice.Perm(len(paths))[:1+dice.IntN(2)]
			c.Force = dice.IntN(20) == 0
		case "release":
			c.Paths = dice.Perm(len(paths))[:1+dice.IntN(3)]
			c.Force = dice.IntN(20) == 0
		}
		h.mu.Lock()
		hidden := h.agents[s.agent].Hidden
		h.mu.Unlock()
		o := order{h.root, fmt.Sprint("a", s.name), s.agent + 1, hidden, c, time.Duration(dice.IntN(97)-48) * time.Hour, dice.IntN(2) == 0}
		text, err := json.Marshal(o)
		if err != nil {
			return err
		}
		from := h.now()
		if _, err := s.in.Write(append(text, '\n')); err != nil {
			return fmt.Errorf("%w: %s", err, s.err.String())
		}
		var killed chan int64
		switch chance := dice.IntN(10); {
		case chance == 0: // while it works
			killed = make(chan int64, 1)
			wait := time.Duration(dice.IntN(2000)) * time.Microsecond
			go func() {
				time.Sleep(wait)
				at := h.now()
				_ = s.cmd.Process.Kill()
				killed <- at
			}()
		case chance < 4:
			go func(p *os.Process, wait, stopped time.Duration) {
				time.Sleep(wait)
				_ = p.Signal(unix.SIGSTOP)
				time.Sleep(stopped)
				_ = p.Signal(unix.SIGCONT)
			}(s.cmd.Process, time.Duration(dice.IntN(1000))*time.Microsecond, time.Duration(dice.IntN(3000))*time.Microsecond)
		}
		line, err := s.out.ReadBytes('\n')
		to := h.now()
		var out result
		if err == nil {
			if err := json.Unmarshal(line, &out); err != nil {
				return err
			}
		}
		if killed == nil && err != nil {
			return fmt.Errorf("agent %d ended: %s", s.agent, s.err.String())
		}
		if killed != nil {
			died := <-killed
			_ = s.cmd.Wait()
			gone := h.now()
			if err != nil {
				out.Killed, to = true, gone
			}
			h.add(4+s.name, call{Do: "kill", Agent: s.agent}, result{}, died, gone)
		}
		h.add(s.name, c, out, from, to)
		if killed != nil {
			h.mu.Lock()
			h.kills++
			h.mu.Unlock()
			if err := s.start(); err != nil {
				return err
			}
			h.join(s, dice.IntN(3) == 0)
		}
	}
	return nil
}

// histories is the number of histories, and of their calls per agent.
func histories() (n, calls int) {
	if text := os.Getenv("LEASE_HISTORIES"); text != "" {
		if n, _ = strconv.Atoi(text); n > 0 {
			return n, 8
		}
	}
	return 40, 8
}

// Claims of agents that are killed, stopped and live with clocks that jump are
// those of agents that act one after the other. LEASE_HISTORIES=10000 is the
// long form.
func TestHistoriesAreLinearizable(t *testing.T) {
	proved := proof.Start(t, 15)
	n, calls := histories()
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	var slots []*slot
	for i := range 4 {
		s := &slot{name: i}
		if err := s.start(); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(s.stop)
		slots = append(slots, s)
	}
	kills, operations := 0, 0
	top := t.TempDir()
	for i := range n {
		h := &history{root: filepath.Join(top, strconv.Itoa(i)), began: time.Now()}
		if err := os.Mkdir(h.root, 0o700); err != nil {
			t.Fatal(err)
		}
		if _, _, err := ledger.Init(h.root, "a0"); err != nil {
			t.Fatal(err)
		}
		dice := rand.New(rand.NewPCG(seed, uint64(i)))
		for _, s := range slots {
			h.join(s, dice.IntN(3) == 0)
		}
		var all sync.WaitGroup
		for _, s := range slots {
			own := rand.New(rand.NewPCG(dice.Uint64(), 1))
			all.Go(func() {
				if err := h.work(s, own, calls); err != nil {
					t.Errorf("history %d: %v", i, err)
				}
			})
		}
		all.Wait()
		if t.Failed() {
			return
		}
		if got := porcupine.CheckOperationsTimeout(h.agents.model(), h.done, time.Minute); got != porcupine.Ok {
			t.Fatalf("history %d is not linearizable (%s):\n%s", i, got, h)
		}
		kills, operations = kills+h.kills, operations+len(h.done)
		if err := os.RemoveAll(h.root); err != nil {
			t.Fatal(err)
		}
	}
	proved("histories", n, "operations", operations, "kills", kills)
}

// String lists what happened, in the order of the calls.
func (h *history) String() string {
	slices.SortFunc(h.done, func(a, b porcupine.Operation) int { return int(a.Call - b.Call) })
	var b strings.Builder
	for i, a := range h.agents {
		fmt.Fprintf(&b, "agent %d: %+v\n", i, a)
	}
	for _, o := range h.done {
		fmt.Fprintf(&b, "%9d-%9d %+v → %+v\n", o.Call, o.Return, o.Input, o.Output)
	}
	return b.String()
}

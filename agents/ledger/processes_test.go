package ledger

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"aisync.dev/aisync/internal/proof"
)

// TestMain lets the test be one of many processes that use one ledger: what it
// did is what it prints.
func TestMain(m *testing.M) {
	root := os.Getenv("LEDGER_TEST_ROOT")
	if root == "" {
		os.Exit(m.Run())
	}
	seed, _ := strconv.ParseUint(os.Getenv("LEDGER_TEST_SEED"), 10, 64)
	n, _ := strconv.Atoi(os.Getenv("LEDGER_TEST_OPERATIONS"))
	part := map[string]func(string, string, uint64, int, io.Writer) error{"ours": participant, "lockless": lockless, "killed": killed}[os.Getenv("LEDGER_TEST_PART")]
	out := bufio.NewWriter(os.Stdout)
	err := part(root, os.Getenv("LEDGER_TEST_AGENT"), seed, n, out)
	if err = errors.Join(err, out.Flush()); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	os.Exit(0)
}

// run starts this test as a process with a part, and returns what it
// printed.
func run(l *Ledger, part, agent string, seed uint64, n int) ([]string, error) {
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), "LEDGER_TEST_ROOT="+l.Root, "LEDGER_TEST_PART="+part, "LEDGER_TEST_AGENT="+agent,
		"GORACE=atexit_sleep_ms=0", fmt.Sprint("LEDGER_TEST_SEED=", seed), fmt.Sprint("LEDGER_TEST_OPERATIONS=", n))
	var stderr strings.Builder
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		err = fmt.Errorf("%s as %s: %w: %s", agent, part, err, stderr.String())
	}
	return strings.Split(strings.TrimSpace(string(out)), "\n"), err
}

// shared are the paths that all processes claim; each also has private ones.
var shared = []string{"shared/a", "shared/b", "shared/c"}

// participant does n commands in an order that seed decides.
func participant(root, agent string, seed uint64, n int, out io.Writer) error {
	l, err := Find(root)
	if err != nil {
		return err
	}
	dice := rand.New(rand.NewPCG(seed, 1))
	for i := range n {
		body := fmt.Sprintf("%s-%d", agent, i)
		path := body
		if dice.IntN(2) == 0 {
			path = shared[dice.IntN(len(shared))]
		}
		receiver := fmt.Sprint("a", dice.IntN(4))
		var err error
		switch dice.IntN(9) {
		case 0, 1:
			var rec json.RawMessage
			if rec, err = l.Send(Message{agent, receiver, Types[dice.IntN(len(Types))], body, ""}); err == nil {
				fmt.Fprintln(out, "sent", anyID.FindString(string(rec)))
			}
		case 2:
			if _, err = l.Note(agent, body); err == nil {
				fmt.Fprintln(out, "noted", body)
			}
		case 3, 4:
			if _, _, err = l.claim(agent, path, false); err == nil {
				fmt.Fprintln(out, "claimed", path)
			}
		case 5:
			_, held, failed := l.Release(agent, path, false)
			if err = failed; err == nil && held {
				fmt.Fprintln(out, "released", path)
			}
		case 6:
			_, err = l.Inbox(Reading{Agent: receiver, Clear: true})
		case 7:
			_, err = l.Inbox(Reading{Agent: receiver, Since: true, Clear: dice.IntN(2) == 0})
		case 8:
			_, err = l.Overview(3)
		}
		// A claims file that is being written for longer than we wait is refused:
		// nothing was done, and nothing said to be.
		refused := err != nil && strings.HasSuffix(err.Error(), "nothing was changed; mend it by hand or run: ensemble repair")
		if err != nil && !refused && !errors.Is(err, ErrClaimed) {
			return err
		}
	}
	return nil
}

// together lets every one of parts do n operations at once and returns what each
// agent says that it did.
func together(t *testing.T, l *Ledger, parts []string, n int) map[string][]string {
	t.Helper()
	did := map[string][]string{}
	var all sync.WaitGroup
	var mu sync.Mutex
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	for i, part := range parts {
		all.Go(func() {
			agent := fmt.Sprint("a", i)
			lines, err := run(l, part, agent, seed+uint64(i), n)
			if err != nil {
				t.Error(err)
			}
			mu.Lock()
			defer mu.Unlock()
			did[agent] = lines
		})
	}
	all.Wait()
	return did
}

// account checks that every confirmed action is recorded, once. Only where all take
// the lock is no path given to two: a writer without it may take a claim out of
// worktrees.json again, after which the path looks free.
func account(t *testing.T, l *Ledger, did map[string][]string, allLock bool) {
	t.Helper()
	var sent, noted []string
	owner := map[string]string{} // of the paths that one agent alone wanted
	for agent, lines := range did {
		for _, line := range lines {
			what, of, _ := strings.Cut(line, " ")
			switch what {
			case "sent":
				sent = append(sent, of)
			case "noted":
				noted = append(noted, of)
			case "claimed":
				owner[filepath.Join(l.Root, of)] = agent
			case "released":
				delete(owner, filepath.Join(l.Root, of))
			}
		}
	}
	inboxes := map[string]int{}
	agents, _, err := l.Agents()
	if err != nil {
		t.Fatal(err)
	}
	for _, a := range agents {
		for _, f := range []string{inboxFile, clearing, archive} {
			b, err := l.read(l.agentPath(a, f))
			if err != nil {
				t.Fatal(err)
			}
			for _, e := range entries(string(b)) {
				inboxes[e.ID]++
			}
		}
	}
	audited := map[string]int{}
	held := map[string]string{}
	for e, err := range l.Events() {
		if err != nil || e.Malformed != nil {
			t.Fatal(err, e.Malformed)
		}
		switch e.Action {
		case "send":
			audited[e.MessageID]++
		case "claim", "claim_update":
			if had := held[e.Path]; had != "" && had != e.Agent && !e.Force && allLock {
				t.Errorf("%s was told that %s is its own while it was %s's", e.Agent, e.Path, had)
			}
			held[e.Path] = e.Agent
		case "release":
			delete(held, e.Path)
		}
	}
	for _, id := range sent {
		if inboxes[id] != 1 || audited[id] != 1 {
			t.Errorf("%s: %d times in the inboxes, %d times in the audit trail", id, inboxes[id], audited[id])
		}
	}
	if len(sent) != len(inboxes) || len(sent) != len(audited) {
		t.Errorf("%d sent, %d delivered, %d audited", len(sent), len(inboxes), len(audited))
	}
	var board []string
	for _, e := range entries(text(t, l, boardFile)) {
		_, body, _ := e.note()
		board = append(board, body)
	}
	if slices.Sort(board); !slices.Equal(slices.Sorted(slices.Values(noted)), board) {
		t.Errorf("%d notes, %d on the board", len(noted), len(board))
	}
	claims, err := l.Claims()
	if err != nil {
		t.Fatal(err)
	}
	own, now := maps.Clone(owner), map[string]string{}
	isShared := func(path, _ string) bool {
		rel, _ := filepath.Rel(l.Root, path)
		return slices.Contains(shared, rel)
	}
	for _, c := range claims {
		now[c.Path] = c.Agent
	}
	maps.DeleteFunc(own, isShared)
	maps.DeleteFunc(now, isShared)
	if !maps.Equal(own, now) {
		t.Errorf("%d claims were given, %d are there", len(own), len(now))
	}
	if d, err := l.Verify(); err != nil || len(d) > 0 {
		t.Error(d, err)
	}
}

// size is that of the test, or with LEDGER_LONG=1 that of the promise.
func size() (processes, operations int) {
	if os.Getenv("LEDGER_LONG") != "" {
		return 64, 200
	}
	return 8, 40
}

func TestConcurrentProcessesLoseNothing(t *testing.T) {
	proved := proof.Start(t, 15)
	l := fresh(t)
	processes, operations := size()
	did := together(t, l, slices.Repeat([]string{"ours"}, processes), operations)
	account(t, l, did, true)
	proved("processes", processes, "operations", processes*operations)
}

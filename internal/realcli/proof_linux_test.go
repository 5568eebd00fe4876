package realcli

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"aisync.dev/aisync/catalog"
)

// seenParts collects what the tests see.
type seenParts struct {
	mu sync.Mutex
	of Seen
}

var parts = seenParts{of: Seen{}}

// add notes what t saw of a part in the scope "host" or "project".
func (s *seenParts) add(t testing.TB, id, scope, part string, right bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	scope = map[string]string{"host": "user", "project": "project"}[scope]
	if s.of[id] == nil {
		s.of[id] = map[string]map[string]SeenPart{"user": {}, "project": {}}
	}
	if before, known := s.of[id][scope][part]; !known || before.Right {
		s.of[id][scope][part] = SeenPart{right, t.Name()}
	}
}

// writeSeen writes what the tests saw into file.
func writeSeen(file string) error {
	parts.mu.Lock()
	defer parts.mu.Unlock()
	b, err := json.MarshalIndent(parts.of, "", "  ")
	if err != nil {
		return err
	}
	return os.WriteFile(file, append(b, '\n'), 0o644)
}

// proved is catalog/proved.json as this run would write it. What was seen before
// keeps its date.
func (s *seenParts) proved() []byte {
	s.mu.Lock()
	defer s.mu.Unlock()
	right := func(m map[string]SeenPart) []string {
		maps.DeleteFunc(m, func(_ string, p SeenPart) bool { return !p.Right })
		return append([]string{}, slices.Sorted(maps.Keys(m))...)
	}
	runtimes := map[string]catalog.Proof{}
	for _, p := range Agents {
		of := s.of[p.ID]
		now := catalog.Proof{Version: p.Version, Date: time.Now().Format(time.DateOnly), User: right(of["user"]), Project: right(of["project"])}
		if before, _ := catalog.ProofOf(p.ID); before.Version == now.Version && slices.Equal(before.User, now.User) && slices.Equal(before.Project, now.Project) {
			now.Date = before.Date
		}
		runtimes[p.ID] = now
	}
	b, err := json.MarshalIndent(map[string]any{"format_version": 2, "runtimes": runtimes}, "", "  ")
	if err != nil {
		panic(err) // strings and maps of strings
	}
	return append(b, '\n')
}

const provedFile = "../../catalog/proved.json"

// compareProved wants the committed file to say what was seen, no more and no
// less; with -update it writes it.
func compareProved() error {
	want := parts.proved()
	if *update {
		return os.WriteFile(provedFile, want, 0o644)
	}
	if got, err := os.ReadFile(provedFile); err != nil || string(got) != string(want) {
		return fmt.Errorf("catalog/proved.json is not what was seen (error %v); make test-runtimes ARGS=-update writes it:\n%s", err, want)
	}
	return nil
}

// compareTried is compareProved for the short form, which tries each part less
// often: the committed file says no part that went wrong. It prints the parts that
// were not tried: of those a run with -short proves nothing.
func compareTried() error {
	parts.mu.Lock()
	defer parts.mu.Unlock()
	var wrong []string
	for _, p := range Agents {
		proof, _ := catalog.ProofOf(p.ID)
		for scope, listed := range map[string][]string{"user": proof.User, "project": proof.Project} {
			for _, part := range listed {
				seen, tried := parts.of[p.ID][scope][part]
				if !tried {
					fmt.Printf("%-9s %s, %s: not tried with -short\n", p.ID, part, scope)
				} else if !seen.Right {
					wrong = append(wrong, p.ID+" "+part+" "+scope)
				}
			}
		}
	}
	if len(wrong) > 0 {
		slices.Sort(wrong)
		return fmt.Errorf("catalog/proved.json says what was not seen: %s", strings.Join(wrong, ", "))
	}
	return nil
}

// times are how long each program took for a question.
var times = timesOf{of: map[string][]time.Duration{}}

type timesOf struct {
	mu sync.Mutex
	of map[string][]time.Duration
}

func (t *timesOf) add(id string, d time.Duration) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.of[id] = append(t.of[id], d)
}

// print is a line a program, for the log of a run.
func (t *timesOf) print() {
	for _, id := range slices.Sorted(maps.Keys(t.of)) {
		all := t.of[id]
		slices.Sort(all)
		fmt.Printf("%-9s %3d questions, median %.1f s, slowest %.1f s\n", id, len(all), all[len(all)/2].Seconds(), all[len(all)-1].Seconds())
	}
}

package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	runs "aisync.dev/aisync/agents/run"
)

const runsPage = "../../docs/runs.md"

// What varies from run to run, as docs/runs.md has it.
var varyingRuns = unsteady{
	{regexp.MustCompile(`\b\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z`), "2026-02-02T10:00:00.123Z"},
	{regexp.MustCompile(`\b\d{8}-\d{6}\b`), "20260202-100000"},
	{regexp.MustCompile(`\be-[0-9a-f]{12}\b`), "e-1a2b3c4d5e6f"},
	{regexp.MustCompile(`\b[0-9a-f]{64}\b`), "4f1c…"},
	{regexp.MustCompile(`\bbyte \d+`), "byte 7180"},
	{regexp.MustCompile(`"offset": ?\d+`), `"offset":7180`},
	{regexp.MustCompile(`(events\.jsonl:|at line |events-from-|"line":)\d+`), "${1}24"}, // a slow worker has heartbeats
}

// The commands of docs/runs.md are one session, run here with real workers;
// -update writes what they print.
func TestRunWalkthrough(t *testing.T) {
	doc, err := os.ReadFile(runsPage)
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	project := filepath.Join(dir, "p")
	if err := os.MkdirAll(project, 0o755); err != nil {
		t.Fatal(err)
	}
	graph := regexp.MustCompile("(?ms)^```json tasks.json\n(.*?)^```$").FindSubmatch(doc)
	if graph == nil {
		t.Fatal("the page shows no graph")
	}
	for name, text := range map[string]string{"tasks.json": string(graph[1]), "../home/.keep": ""} {
		at := filepath.Join(project, name)
		_ = os.MkdirAll(filepath.Dir(at), 0o755)
		if err := os.WriteFile(at, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	env := []string{"HOME=" + filepath.Join(dir, "home"), "PATH=" + os.Getenv("PATH"), "LANG=C.UTF-8", "TZ=UTC", "TERM=dumb", quickRaceExit}
	walk(t, runsPage, string(doc), func(command string) string {
		cmd := exec.Command("sh", "-c", command)
		cmd.Dir, cmd.Env = project, env
		out, _ := cmd.CombinedOutput() // some shall fail: what they print is compared
		return string(out)
	}, func(text string) string {
		return varyingRuns.settle(strings.ReplaceAll(text, project, "/home/me/p"))
	})
}

// The table of docs/runs.md has the rules that the program has.
func TestWorkerTransitionsAreDocumented(t *testing.T) {
	doc, err := os.ReadFile(runsPage)
	if err != nil {
		t.Fatal(err)
	}
	asOnPage(t, runsPage, string(doc), withTransitions(string(doc)))
}

// withTransitions puts the rules that the program has into the page's table.
func withTransitions(doc string) string {
	const head = "| from | to | who | when |\n|---|---|---|---|\n"
	var rows strings.Builder
	for _, t := range runs.Transitions {
		fmt.Fprintf(&rows, "| `%s` | `%s` | %s | %s |\n", t.From, t.To, strings.Join(t.By, " or "), t.Means)
	}
	return regexp.MustCompile(regexp.QuoteMeta(head)+`(\| .*\n)*`).ReplaceAllString(doc, head+strings.ReplaceAll(rows.String(), "$", "$$"))
}

// The picture of docs/runs.md has an arrow for each transition, and no other: it
// is drawn here from the table.
func TestStateDiagramMatchesTransitions(t *testing.T) {
	doc, err := os.ReadFile(runsPage)
	if err != nil {
		t.Fatal(err)
	}
	picture := regexp.MustCompile("(?ms)^```states\n(.*?)^```$").FindStringSubmatch(string(doc))
	if picture == nil {
		t.Fatal("the page shows no picture")
	}
	want := map[string]bool{}
	for _, t := range runs.Transitions {
		want[fmt.Sprintf("%s → %s", t.From, t.To)] = true
	}
	if diff := cmp.Diff(want, arrows(picture[1])); diff != "" {
		t.Errorf("docs/runs.md draws other transitions than there are (-want +got):\n%s", diff)
	}
}

// arrows follows the lines of a picture from state to state.
func arrows(picture string) map[string]bool {
	var grid [][]rune
	for line := range strings.Lines(picture) {
		grid = append(grid, []rune(strings.TrimSuffix(line, "\n")))
	}
	at := func(y, x int) rune {
		if y < 0 || y >= len(grid) || x < 0 || x >= len(grid[y]) {
			return ' '
		}
		return grid[y][x]
	}
	letter := func(r rune) bool { return r == '-' || r >= 'a' && r <= 'z' }
	word := func(y, x int) string {
		from, to := x, x
		for letter(at(y, from-1)) {
			from--
		}
		for letter(at(y, to+1)) {
			to++
		}
		return string(grid[y][from : to+1])
	}
	type step struct{ dy, dx int }
	right, left, up, down := step{0, 1}, step{0, -1}, step{-1, 0}, step{1, 0}
	turns := map[rune]map[step]step{'┐': {right: down, up: left}, '└': {down: right, left: up}, '┘': {right: up, down: left}, '┌': {left: down, up: right}}
	heads := map[rune]bool{'►': true, '▼': true, '▲': true}
	found := map[string]bool{}
	follow := func(from string, y, x int, d step) {
		for range 200 {
			r := at(y, x)
			if heads[r] {
				y, x = y+d.dy, x+d.dx
				for at(y, x) == ' ' && d.dx != 0 && x < 200 {
					x += d.dx
				}
				if letter(at(y, x)) {
					found[from+" → "+word(y, x)] = true
				}
				return
			}
			if turn, ok := turns[r][d]; ok {
				d = turn
			} else if r != '─' && r != '│' && r != ' ' {
				return
			}
			y, x = y+d.dy, x+d.dx
		}
	}
	for y := range grid {
		for x := range grid[y] {
			if !letter(grid[y][x]) {
				continue
			}
			from := word(y, x)
			if at(y, x+1) == ' ' && at(y, x+2) == '─' {
				follow(from, y, x+2, right)
			}
			if at(y+1, x) == '│' {
				follow(from, y+1, x, down)
			}
			if at(y-1, x) == '│' {
				follow(from, y-1, x, up)
			}
		}
	}
	return found
}

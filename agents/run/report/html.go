package report

import (
	_ "embed"
	"fmt"
	"html/template"
	"io"
	"slices"
	"sync"
	"time"

	"aisync.dev/aisync/internal/termtext"
)

//go:embed page.html.tmpl
var pageText string

var page = sync.OnceValue(func() *template.Template {
	return template.Must(template.New("page").Funcs(template.FuncMap{
		"time":  func(t time.Time) string { return t.UTC().Format("2006-01-02 15:04:05") },
		"clock": func(t time.Time) string { return t.UTC().Format("15:04:05") },
		"span":  func(seconds float64) string { return Span(time.Duration(seconds * float64(time.Second))) },
		"add":   func(a, b int) int { return a + b },
	}).Parse(pageText))
})

// HTML writes the report as one self-contained page: no script, no font, no
// remote picture. All of the page's data are fields, because templates of the
// binary call no methods: see scripts/overlay.
func (d *Report) HTML(w io.Writer) error {
	return page().Execute(w, struct {
		*Report
		Graph    Graph
		Timeline timeline
		Took     string
		Counts   []StatusCount
		ByState  []stateWorkers
		BoxW     int
		BoxH     int
	}{d, draw(d.Tasks), d.timeline(), Span(d.To.Sub(d.From)), d.Counts(), d.byState(), boxWidth, boxHeight})
}

// StatusCount is the number of tasks in a status.
type StatusCount struct {
	Status string
	Tasks  int
}

// Statuses of tasks, the most interesting first.
var statuses = []string{"completed", "claimed", "pending", "failed", "blocked"}

// Counts omits statuses without tasks.
func (d *Report) Counts() []StatusCount {
	var out []StatusCount
	for _, status := range statuses {
		if n := d.Count(status); n > 0 {
			out = append(out, StatusCount{status, n})
		}
	}
	return out
}

// timeline draws the attempts as bars, one lane a task, ordered by their start.
type timeline struct {
	Lanes         []lane
	Width, Height int
	Ticks         []tick
	Left          int // number of tasks beyond the first maxLanes, which are not drawn
}

type lane struct {
	Label string
	Y     int
	Bars  []bar
}

type bar struct {
	X, Width int
	Attempt
}

type tick struct {
	X     int
	Label string
}

const (
	laneHeight, laneLabel, laneWidth = 20, 190, 760
	maxLanes                         = 400
)

func (d *Report) timeline() timeline {
	t := timeline{Width: laneLabel + laneWidth + 4*margin} // the last label extends half beyond the end
	whole := max(d.To.Sub(d.From), time.Millisecond)
	x := func(at time.Time) int {
		return laneLabel + int(float64(laneWidth)*min(max(float64(at.Sub(d.From))/float64(whole), 0), 1))
	}
	at := map[string]int{}
	for _, a := range d.Attempts {
		i, ok := at[a.Task]
		if !ok {
			i = len(t.Lanes)
			at[a.Task] = i
			if i >= maxLanes {
				t.Left++
				continue
			}
			t.Lanes = append(t.Lanes, lane{Label: termtext.Clip(a.Task, maxLabel+2), Y: i * laneHeight})
		}
		if i < len(t.Lanes) {
			from := x(a.From)
			t.Lanes[i].Bars = append(t.Lanes[i].Bars, bar{X: from, Width: max(x(a.To)-from, 2), Attempt: a})
		}
	}
	t.Height = len(t.Lanes)*laneHeight + laneHeight
	for i := range 5 {
		after := whole * time.Duration(i) / 4
		t.Ticks = append(t.Ticks, tick{X: x(d.From.Add(after)), Label: "+" + Span(after)})
	}
	return t
}

// Span formats a duration for people: "0.4 s", "12 s", "3 min 20 s", "2 h 5
// min".
func Span(d time.Duration) string {
	switch {
	case d < 10*time.Second:
		return fmt.Sprintf("%.1f s", d.Seconds())
	case d < time.Minute:
		return fmt.Sprintf("%.0f s", d.Seconds())
	case d < time.Hour:
		return two(d, time.Minute, "min", time.Second, "s")
	case d < 24*time.Hour:
		return two(d, time.Hour, "h", time.Minute, "min")
	}
	return two(d, 24*time.Hour, "d", time.Hour, "h")
}

func two(d, big time.Duration, bigName string, small time.Duration, smallName string) string {
	if rest := d % big / small; rest > 0 {
		return fmt.Sprintf("%d %s %d %s", d/big, bigName, rest, smallName)
	}
	return fmt.Sprintf("%d %s", d/big, bigName)
}

// stateWorkers are the workers of a state.
type stateWorkers struct {
	State   string
	Workers []Worker
}

// byState groups the workers in the order of States, without empty groups.
func (d *Report) byState() []stateWorkers {
	var out []stateWorkers
	for _, s := range d.States {
		in := slices.DeleteFunc(slices.Clone(d.Workers), func(w Worker) bool { return w.State != s.State })
		if len(in) > 0 {
			out = append(out, stateWorkers{s.State, in})
		}
	}
	return out
}

package report

import (
	"cmp"
	"fmt"
	"sort"

	"aisync.dev/aisync/internal/termtext"
)

// Graph is a picture of the task graph: boxes in columns, dependencies to the
// left. All lengths are pixels.
type Graph struct {
	Width, Height int
	Boxes         []Box
	Edges         []Edge
	Left          int // number of tasks beyond the first maxBoxes, which are not drawn
}

// Box is one task.
type Box struct {
	Task  Task
	Label string
	X, Y  int // of its upper left corner
}

// Edge is an arrow from a task to a dependent one, as the d of a path.
type Edge struct {
	Path   string
	Status string // of the task at its start
}

const (
	boxWidth, boxHeight = 190, 40
	gapX, gapY, margin  = 56, 14, 8
	maxBoxes            = 400
	maxLabel            = 25
)

// draw lays out the first maxBoxes tasks. Dependencies precede their dependents.
func draw(tasks []Task) Graph {
	g := Graph{Left: max(len(tasks)-maxBoxes, 0)}
	tasks = tasks[:len(tasks)-g.Left]
	column := map[string]int{}
	var columns [][]Task
	for _, t := range tasks {
		c := 0
		for _, d := range t.DependsOn {
			if at, ok := column[d]; ok {
				c = max(c, at+1)
			}
		}
		column[t.ID] = c
		if c == len(columns) {
			columns = append(columns, nil)
		}
		columns[c] = append(columns[c], t)
	}
	row := map[string]float64{}
	tallest := 0
	for _, col := range columns {
		tallest = max(tallest, len(col))
	}
	for x, col := range columns {
		if x > 0 {
			settle(col, row)
		}
		top := (tallest - len(col)) * (boxHeight + gapY) / 2
		for y, t := range col {
			row[t.ID] = float64(y) + float64(tallest-len(col))/2
			g.Boxes = append(g.Boxes, Box{Task: t, Label: termtext.Clip(cmp.Or(t.Title, t.ID), maxLabel),
				X: margin + x*(boxWidth+gapX), Y: margin + top + y*(boxHeight+gapY)})
		}
	}
	g.Width = 2*margin + len(columns)*(boxWidth+gapX) - gapX
	g.Height = 2*margin + tallest*(boxHeight+gapY) - gapY
	g.connect()
	return g
}

// settle sorts a column by the average row of each task's dependencies, which
// avoids most crossings.
func settle(col []Task, row map[string]float64) {
	middle := func(t Task) float64 {
		sum := 0.0
		for _, d := range t.DependsOn {
			sum += row[d]
		}
		return sum / float64(max(len(t.DependsOn), 1))
	}
	sort.SliceStable(col, func(i, j int) bool { return middle(col[i]) < middle(col[j]) })
}

func (g *Graph) connect() {
	at := map[string]Box{}
	for _, b := range g.Boxes {
		at[b.Task.ID] = b
	}
	for _, b := range g.Boxes {
		for _, d := range b.Task.DependsOn {
			from, ok := at[d]
			if !ok {
				continue
			}
			x1, y1 := from.X+boxWidth, from.Y+boxHeight/2
			x2, y2 := b.X-5, b.Y+boxHeight/2 // the arrow head is 5 long
			bend := max((x2-x1)/2, gapX/2)
			g.Edges = append(g.Edges, Edge{Status: from.Task.Status, Path: fmt.Sprintf("M%d %dC%d %d %d %d %d %d", x1, y1, x1+bend, y1, x2-bend, y2, x2, y2)})
		}
	}
}

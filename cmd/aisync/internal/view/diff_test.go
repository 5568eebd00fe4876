package view

import (
	"fmt"
	"strings"
	"testing"

	"aisync.dev/aisync/cmd/aisync/internal/cli"
	"aisync.dev/aisync/reconcile"
)

func TestLongDiffsAreCutAndSayHowToSeeTheRest(t *testing.T) {
	var lines []reconcile.Line
	for i := range 77 {
		lines = append(lines, reconcile.Line{Op: '+', Text: fmt.Sprint(i)})
	}
	var short, full strings.Builder
	RenderDiff(&short, false, lines, cli.DiffShort, "", "aisync plan")
	if got := strings.Split(strings.TrimSpace(short.String()), "\n"); len(got) != DiffLines+1 || got[DiffLines] != "… 57 more lines (aisync plan --diff=full)" {
		t.Errorf("cut to %d lines, the last %q", len(got), got[len(got)-1])
	}
	RenderDiff(&full, false, lines, cli.DiffFull, "", "aisync plan")
	if got := strings.Count(full.String(), "\n"); got != len(lines) {
		t.Errorf("full shows %d of %d lines", got, len(lines))
	}
}

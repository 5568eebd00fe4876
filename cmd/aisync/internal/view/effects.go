package view

import (
	"fmt"
	"io"
	"strings"

	"aisync.dev/aisync/adapter/trust"
	"aisync.dev/aisync/app/effects"
	"aisync.dev/aisync/app/stack"
	"aisync.dev/aisync/internal/termtext"
)

// foldAt is how many effects that loosen one program a plan lists. What runs or
// sends is listed whole: harm could hide behind what is harmless.
const foldAt = 8

// Effects lists what waits for an answer, by program, the gravest first.
func (t PlanText) Effects(w io.Writer, list []effects.Effect) {
	if len(list) == 0 {
		return
	}
	most := foldAt
	if t.Unchanged {
		most = len(list)
	}
	fmt.Fprintln(w, t.Paint.Bold("Waits for your yes: what programs and git obey here (aisync apply asks)"))
	for len(list) > 0 {
		n := 1
		for n < len(list) && list[n].Program == list[0].Program && list[n].Class == list[0].Class {
			n++
		}
		first := list[0]
		fmt.Fprintf(w, "  %s %s\n", t.Paint.Bold(termtext.Safe(first.Program)), t.Paint.Yellow(first.Class.Title()))
		shown, more := list[:n], ""
		if first.Class == effects.Loosens {
			shown, more = effects.Fold(shown, most)
		}
		for _, e := range shown {
			where := ", in " + e.File
			if strings.Contains(e.Text, e.File) {
				where = ""
			}
			fmt.Fprintf(w, "    %s%s%s\n", termtext.Safe(e.Text), t.Paint.Dim(termtext.Safe(where)), t.Paint.Dim(from(e.Origin)))
		}
		if more != "" {
			fmt.Fprintf(w, "    %s\n", t.Paint.Dim(more+"; all of them: "+t.Command+" --verbose"))
		}
		list = list[n:]
	}
	fmt.Fprintln(w)
}

// notTrusted lists what programs will not load before a person allows it.
func (t PlanText) notTrusted(w io.Writer, rows []trust.Row) {
	if len(rows) == 0 {
		return
	}
	fmt.Fprintln(w, t.Paint.Bold("Not trusted (the program loads it only once you allow that there)"))
	for _, r := range rows {
		fmt.Fprintf(w, "  %s %s  %s%s\n", t.Paint.Yellow("T"), termtext.Safe(r.Runtime), termtext.Safe(stack.TrustText(r)), t.Paint.Dim(from(r.Origin)))
		fmt.Fprintln(w, "    "+t.Paint.Yellow("→ "+termtext.Safe(r.Do)))
	}
	fmt.Fprintln(w)
}

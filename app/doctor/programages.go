package doctor

import (
	"context"
	"fmt"
)

// checkProgramAges reports parts that the installed version of a program takes in
// another form than aisync writes. Required hooks among them fail: they keep an agent
// from something.
func checkProgramAges(ctx context.Context, e *Env) Outcome {
	if why := e.brokenInput(ctx); why != nil {
		return found(why...)
	}
	v, _, err := e.plan()
	if err != nil {
		return found(skip("not checked: the check of drift says why"))
	}
	var out []Finding
	for _, a := range v.ProgramAges() {
		program := a.Runtime.Command
		fix := fmt.Sprintf("install a version of %s that aisync writes for, or leave out what it does not take", program)
		for _, text := range a.Misfits() {
			out = append(out, warn(fix, "%s: %s", a.Origin[0], text))
		}
		for _, h := range v.Declared.Required {
			if h.Runtime == a.Runtime.ID && a.Lacks("hooks") {
				out = append(out, fail(fix, "%s: the required hook %s %s does not run in %s %s", h.Origin[0], h.Event, h.Command, program, a.Version))
			}
		}
		if text := a.Other(); text != "" {
			out = append(out, Finding{Level: "ok", What: text})
		}
	}
	return found(out...)
}

package schema

import (
	"strconv"
	"strings"

	"aisync.dev/aisync/schema/spec"
)

// checkLaunch refuses lasting arguments and variables that aisync itself gives the
// program of u, or that no process can have.
func (x inventory) checkLaunch(n node, u spec.RuntimeUse) {
	rt, _ := x.Runtime(u.ID)
	programs := []spec.Runtime{rt}
	for _, d := range x.Runtimes() {
		if rt.Local && d.Driver != nil && (u.CLI == "" || u.CLI == d.ID) {
			programs = append(programs, d)
		}
	}
	pointed := rt.Local || u.Endpoint != nil && u.Endpoint.On
	refuse := func(at node, pos spec.Position, what, why, instead string) {
		at.doc.add(Problem{Pos: pos, Path: pathText(at.path), Message: what + ": " + why, Hint: instead})
	}
	for i, a := range u.Args {
		at := n.get("args").get(strconv.Itoa(i))
		for _, p := range programs {
			if p.GivesArgument(a.Value, i == 0) {
				refuse(at, a.Pos, "args may not have "+strconv.Quote(a.Value), "aisync itself gives it to "+p.ID+" in some launches", "leave it out, or give it to one launch: aisync launch -- ARG")
				break
			}
		}
		if strings.ContainsRune(a.Value, 0) {
			refuse(at, a.Pos, "bad argument "+strconv.Quote(a.Value), "it holds a zero byte", "leave the byte out")
		}
	}
	for _, v := range u.Env {
		at := n.get("env").get(v.Name)
		for _, p := range programs {
			if does, instead := p.GivesVariable(v.Name, pointed); does != "" {
				refuse(at, v.Pos, "env may not set "+v.Name, does, instead)
				break
			}
		}
		if strings.ContainsRune(v.Value, 0) {
			refuse(at, v.Pos, "bad value of "+v.Name, "it holds a zero byte", "leave the byte out")
		}
	}
}

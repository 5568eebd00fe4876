// Package role says which role the calling agent has in its project, from the
// seats, which the hooks write, and the processes. It answers aisync detect --role
// before the heavy packages initialise; package quick explains the order of
// initialisation, and package seat decides. It changes nothing. Call Of.
package role

import (
	"cmp"
	"errors"
	"os"
	"slices"
	"time"

	"aisync.dev/aisync/agents/identity"
	"aisync.dev/aisync/agents/ledger"
	"aisync.dev/aisync/agents/process"
	"aisync.dev/aisync/agents/roster"
	"aisync.dev/aisync/agents/seat"
	"aisync.dev/aisync/cmd/aisync/quick"
	"aisync.dev/aisync/schema/spec"
)

func init() {
	if !slices.Contains(os.Args, "--role") {
		return
	}
	p := quick.Process{Args: os.Args, Environ: os.Environ(), Out: os.Stdout, Err: os.Stderr, RoleOf: Of}
	if code, ok := p.Answer(); ok {
		os.Exit(code)
	}
}

// errHidden reports a caller whose process and parents are out of sight.
var errHidden = errors.New("the processes above this one are not visible here, and no variable tells; set " + identity.VarID)

// Of implements quick.RoleOf.
func Of(c quick.Call, root string, runtimes []spec.Runtime, table process.Table) (role, name string, err error) {
	at := cmp.Or(c.Getenv("PI_ENSEMBLE_ROOT"), root)
	switch l, err := ledger.Find(at); {
	case err == nil:
		at = l.Root
	case errors.Is(err, ledger.ErrNoLedger):
		at = root
	default:
		return "", "", err
	}
	room := seat.At(table, at, time.Now())
	all, err := room.List()
	if err != nil {
		return "", "", err
	}
	told := c.Caller(runtimes)
	if own := room.Own(all, c.Getenv, func() string { return told().Session }); own != nil {
		return string(room.Role(all, own, c.Getenv)), own.Name, nil
	}
	_, seen := roster.Own(table, room.Project, runtimes)
	switch {
	case seen, seat.IsWorker(c.Getenv), c.Getenv(identity.VarID) != "":
	case table.Partial() == "":
		return string(seat.Nothing), "", nil
	case roster.Look(table, room.Project, runtimes, told).Own == nil && told().Session == "":
		return "", "", errHidden
	}
	return string(room.Role(all, nil, c.Getenv)), "", nil
}

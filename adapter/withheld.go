package adapter

import (
	"aisync.dev/aisync/adapter/start"
	"aisync.dev/aisync/reconcile"
	"aisync.dev/aisync/schema/spec"
)

// withheld reports that a runtime is not pointed at s, because this plan
// neither starts s nor finds it, and adds the row that says so. What an earlier
// apply pointed there shares the fate of the service: it goes where the spec
// takes the service away, with the prior restored, and stays where the machine
// lacks something, as the service's own files do. A program that a person sent
// to a local server is not sent back to its maker because a server is out of
// PATH for a while.
func (h Host) withheld(b *builder, use spec.RuntimeUse, rt spec.Runtime, s spec.Service, origin []reconcile.Position) bool {
	why, forGood := h.starts().Absence(s)
	if why == "" || !rt.Local && !start.Pointable(rt) {
		return false
	}
	address := endpointOf(use)
	switch {
	case forGood:
		b.cannot(address, origin, `%s is not pointed at service %s: %s`, use.ID, s.Name, why)
	case h.stands(b, use, rt, h.target(s), origin):
		h.write(b, use, rt, h.target(s), origin)
		b.cannot(address, origin, "%s stays pointed at service %s, as an earlier apply left it: %s; see %s, or write endpoint: false for %s",
			use.ID, s.Name, why, h.target(s).runs, use.ID)
	default:
		b.cannot(address, origin, "%s is not pointed at service %s: %s; see %s", use.ID, s.Name, why, h.target(s).runs)
	}
	return true
}

// stands reports whether an earlier apply made every leaf that points a runtime
// at t.
func (h Host) stands(b *builder, use spec.RuntimeUse, rt spec.Runtime, t target, origin []reconcile.Position) bool {
	if h.Recorded == nil {
		return false
	}
	try := newBuilder(b.owner)
	try.index = b.index
	h.write(try, use, rt, t, origin)
	for a, d := range try.targets {
		for _, l := range d.Leaves {
			if !h.Recorded(a, l.Key, l.Body.Fingerprint()) {
				return false
			}
		}
	}
	return len(try.targets) > 0
}

// write adds the leaves that point a runtime at t, none where it has no file
// for that.
func (h Host) write(b *builder, use spec.RuntimeUse, rt spec.Runtime, t target, origin []reconcile.Position) {
	if rt.Local {
		h.drive(b, use, rt, t, origin)
		return
	}
	h.point(b, rt, t, origin)
}

// endpointOf is the address of the row about where a runtime is pointed.
func endpointOf(use spec.RuntimeUse) reconcile.Address {
	return reconcile.Address("endpoint:" + use.ID)
}

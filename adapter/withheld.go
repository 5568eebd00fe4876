package adapter

import "aisync.dev/aisync/adapter/start"

// withheld reports that a runtime is not pointed at its service, because this
// plan neither starts nor finds it, and adds the row that says so.
//
// What an earlier apply pointed there shares the fate of the service: it goes,
// with the prior restored, if the spec drops the service, and stays if the
// machine lacks something, as the service's files do. A program that a person
// sent to a local server must not return to its vendor because a server is
// missing from PATH for a while.
func (p *pointing) withheld(b *builder) bool {
	id, service := p.rt.ID, p.service.Name
	why, forGood := p.host.starts().Absence(p.service)
	switch {
	case why == "" || !p.rt.Local && !start.Pointable(p.rt):
		return false
	case forGood:
		p.cannot(b, "%s is not pointed at service %s: %s", id, service, why)
	case p.stands(b):
		p.write(b)
		p.cannot(b, "%s stays pointed at service %s, as an earlier apply left it: %s; see %s, or write endpoint: false for %s", id, service, why, p.runs(), id)
	default:
		p.cannot(b, "%s is not pointed at service %s: %s; see %s", id, service, why, p.runs())
	}
	return true
}

// stands reports whether an earlier apply made every leaf that points the
// program at the service.
func (p *pointing) stands(b *builder) bool {
	if p.host.Recorded == nil {
		return false
	}
	try := newBuilder(b.owner)
	try.index, try.texts, try.secrets = b.index, b.texts, b.secrets
	p.write(try)
	for a, d := range try.targets {
		for _, l := range d.Leaves {
			if !p.host.Recorded(a, l.Key, l.Body.Fingerprint()) {
				return false
			}
		}
	}
	return len(try.targets) > 0
}

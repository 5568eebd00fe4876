package process

// Once returns t for one short look: it reads each process once. A process that ends
// meanwhile is there still.
func Once(t Table) Table { return once{t, map[int]reading{}} }

type reading struct {
	process Process
	err     error
}

type once struct {
	Table
	read map[int]reading
}

func (o once) Read(pid int) (Process, error) {
	r, ok := o.read[pid]
	if !ok {
		r.process, r.err = o.Table.Read(pid)
		o.read[pid] = r
	}
	return r.process, r.err
}

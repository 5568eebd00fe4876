package hosts

import (
	"slices"

	"aisync.dev/aisync/hosts/facts"
	"aisync.dev/aisync/schema/spec"
)

// Stock is one model that a machine serves for work without a network.
type Stock struct {
	Service string // its name; the first one is the endpoint
	id      string
	Model   spec.Model
	Quant   string // of the spec: "auto", or one by name
	Choice  Choice // what Quant is on this machine
	Port    int
	Context int64 // tokens; 0: what the service has without one
	Off     bool  // the service waits until a person enables it
}

// Size returns the bytes to fetch.
func (s Stock) Size() int64 {
	i := slices.IndexFunc(s.Model.Quants, func(q spec.Quant) bool { return q.Name == s.Choice.Quant })
	if i < 0 {
		return 0
	}
	return s.Model.Quants[i].Size()
}

// Stocks returns the models to serve on this machine: a model for coding, and beside
// it a larger one where graphics memory holds both, else a small one for quick
// edits, which waits. It returns nil where the model for coding does not fit memory
// or disk, or would keep a person waiting.
func Stocks(models []spec.Model, f facts.Facts) []Stock {
	rooms := roomsFor(f)
	if len(rooms) == 0 {
		return nil
	}
	both := []Stock{
		{Service: "coder", id: "qwen3-coder-30b", Quant: "auto", Port: 8081, Context: 65536},
		{Service: "big", id: "qwen3-next-80b", Quant: smallestGood, Port: 8082, Context: 262144},
	}
	if rooms[0].fast() && complete(models, f, both) {
		return both
	}
	one := []Stock{
		{Service: "coder", id: "qwen3-coder-30b", Quant: "auto", Port: 8081, Context: 32768},
		{Service: "quick", id: "qwen3-8b", Quant: smallestGood, Port: 8082, Off: true},
	}
	if complete(models, f, one) && (rooms[0].fast() || one[0].Size() <= comfortable) {
		return one
	}
	return nil
}

// complete adds the models and their quantizations to stocks, and reports whether
// memory holds those that run at the same time, and the disk all of them.
func complete(models []spec.Model, f facts.Facts, stocks []Stock) bool {
	var loads []Load
	var size int64
	for i := range stocks {
		s := &stocks[i]
		at := slices.IndexFunc(models, func(m spec.Model) bool { return m.ID == s.id })
		if at < 0 {
			return false
		}
		s.Model = models[at]
		m, use := s.Model, Use{Context: s.Context, Others: loads}
		if s.Quant != "auto" {
			m.Quants = slices.DeleteFunc(slices.Clone(m.Quants), func(q spec.Quant) bool { return q.Name != s.Quant })
		}
		if s.Off {
			use.Others = nil
		}
		s.Choice = PickQuantFor(m, f, use)
		size += s.Size()
		if !s.Choice.Fits {
			return false
		}
		if !s.Off {
			loads = append(loads, Load{Name: s.Service, Model: s.id, Quant: s.Choice.Quant, Weights: s.Size(), Context: s.Context})
		}
	}
	return Fit(loads, f).Level != No && FitDisk(size, homeOf(f), f).Level != No
}

// homeOf returns the folder of the disk with the most room, which stands for the home.
func homeOf(f facts.Facts) string {
	var most facts.Disk
	for _, d := range f.Disks {
		if d.Free >= most.Free {
			most = d
		}
	}
	return most.Path
}

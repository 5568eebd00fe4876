package hosts

import (
	"slices"
	"sort"

	"aisync.dev/aisync/hosts/facts"
	"aisync.dev/aisync/hosts/graphics"
)

// ServerDecides is the number of layers where llama-server looks for itself what
// fits: the memory of a unit is unknown.
const ServerDecides = -1

// EveryLayer is more layers than any model has.
const EveryLayer = 999

// fill is the part of graphics memory that is filled where some of a model stays
// in main memory: what is left over is for what the estimate does not see.
func fill(bytes int64) int64 { return bytes - bytes/12 }

// units returns how many parts of l can lie in graphics memory: its layers and the
// output, which llama-server counts as one more.
func (n Need) units() int64 { return n.Layers + 1 }

// keep moves all but layers of n into main memory, and returns n. The layers'
// weights count as equal.
func (n Need) keep(layers int64) Need {
	switch {
	case n.Layers == 0: // the header is unknown, and so is what a layer takes
		n.GPULayers = layers
		return n
	case layers >= n.units():
		n.GPULayers = EveryLayer
		return n
	}
	n.GPULayers = max(0, layers)
	away := n.units() - n.GPULayers
	experts := n.Experts - n.expertsAway()
	n.Main = add(n.Main, share(n.Weights-n.Experts, away, n.units()))
	n.Main = add(n.Main, share(experts, away, n.units()))
	n.Main = add(n.Main, share(add(n.KV, n.State), away, n.units()))
	return n
}

// expertsAway is the bytes of the experts that lie in main memory.
func (n Need) expertsAway() int64 { return share(n.Experts, n.CPUExperts, max(1, n.Layers)) }

// withoutExperts keeps the experts of the first layers in main memory.
func (n Need) withoutExperts(layers int64) Need {
	n.CPUExperts = min(max(0, layers), n.Layers)
	n.Main = n.expertsAway()
	return n
}

// graphics is the part of n in graphics memory.
func (n Need) graphics() int64 { return max(0, n.Total-n.Main) }

// placed returns n as the spec, or the arguments of its server, place it; free is
// false where they leave nothing to decide.
func (l Load) placed(n Need) (_ Need, free bool) {
	if l.CPUExperts != nil && n.Experts > 0 {
		n = n.withoutExperts(int64(*l.CPUExperts))
	}
	if l.GPULayers != nil && *l.GPULayers >= 0 {
		n = n.keep(int64(*l.GPULayers))
	}
	return n, (l.GPULayers == nil || *l.GPULayers == ServerDecides) && l.CPUExperts == nil
}

// onProcessor reports whether the processor alone computes for l.
func (l Load) onProcessor(f facts.Facts) bool {
	backend, _ := l.computes(f)
	return backend == "cpu" || l.GPULayers != nil && *l.GPULayers == 0
}

// spread places what does not fit graphics memory: experts first, which are read
// in part, then whole layers; those of the largest model first.
func (r room) spread(v *Verdict, free []bool) {
	order := make([]int, 0, len(v.Loads))
	for i := range v.Loads {
		if free[i] {
			order = append(order, i)
		}
	}
	target := fill(r.bytes)
	step := func(size func(Need) int64, most func(Need) int64, move func(Need, int64) Need) {
		sort.SliceStable(order, func(i, j int) bool { return size(v.Loads[order[j]]) < size(v.Loads[order[i]]) })
		for _, i := range order {
			n := v.Loads[i]
			others := v.Need - n.graphics()
			least := sort.Search(int(most(n)), func(k int) bool { return others+move(n, int64(k)).graphics() <= target })
			if v.Need > target && most(n) > 0 {
				v.Loads[i] = move(n, int64(least))
				v.Need = others + v.Loads[i].graphics()
			}
		}
	}
	step(func(n Need) int64 { return n.Experts },
		func(n Need) int64 {
			if n.Experts == 0 {
				return 0
			}
			return n.Layers
		}, Need.withoutExperts)
	step(func(n Need) int64 { return n.graphics() },
		func(n Need) int64 {
			if n.Layers == 0 {
				return 0
			}
			return n.units()
		}, func(n Need, away int64) Need { return n.keep(n.units() - away) })
	v.MainNeed = 0
	for _, n := range v.Loads {
		v.MainNeed = add(v.MainNeed, n.Main)
	}
	v.Level = levelOf(v.MainNeed, r.main)
	if v.Need > r.bytes {
		v.Level = No
	}
	for i, n := range v.Loads {
		if free[i] && n.GPULayers < EveryLayer && v.Level == Fits {
			v.Level = Tight // it runs, at the pace of the processor
		}
	}
}

// split is how layers are spread over the cards of a vendor, as llama-server's
// --tensor-split takes it: GiB of each, by address. It is empty for one card, and
// for equal ones, over which llama-server spreads evenly by itself.
func split(f facts.Facts, vendor string) []int64 {
	cards := slices.DeleteFunc(slices.Clone(f.GPUs), func(g facts.GPU) bool { return g.Vendor != vendor || g.Unified || g.Integrated || g.VRAM == 0 })
	sort.Slice(cards, func(i, j int) bool { return cards[i].Address < cards[j].Address })
	var out []int64
	equal := true
	for _, g := range cards {
		size := int64(0)
		if own := ownMemory(g); own > smallCard {
			size = (own + gib64/2) / gib64
		}
		out = append(out, size)
		equal = equal && size == out[0]
	}
	if equal {
		return nil
	}
	return out
}

// processorBandwidth is what two channels of usual memory give, bytes a second:
// no file that a person may read has the machine's own figure.
const processorBandwidth = int64(60e9)

// Of returns where the model id of a service lies. One that no load is about, as
// the smaller models of a server that keeps one at a time, is placed like the
// service's other.
func (v Verdict) Of(service, id string) Need {
	other := Need{GPULayers: ServerDecides}
	for _, n := range v.Loads {
		switch {
		case n.Name != service && n.Name != service+"/"+n.Model:
		case n.Model == id:
			return n
		default:
			other.Backend, other.Prompts, other.Checkpoints = n.Backend, n.Prompts, n.Checkpoints
			if n.GPULayers == 0 || n.GPULayers == EveryLayer && n.CPUExperts == 0 {
				other.GPULayers = n.GPULayers
			}
		}
	}
	return other
}

// MemoryOf returns the main memory and the graphics memory that serving takes with
// what the server keeps of old conversations; 0 where it is estimated.
func (v Verdict) MemoryOf(service string) int64 {
	var sum int64
	for _, n := range v.Loads {
		if n.Name != service && n.Name != service+"/"+n.Model {
			continue
		}
		if n.Estimated {
			return 0
		}
		sum = add(sum, add(n.Total, add(n.Prompts, n.kept())))
	}
	return sum
}

// speed estimates the tokens a second of n: weights are read once for each, at six
// tenths of the memory's bandwidth. It returns 0 where a bandwidth or the active
// experts are unknown.
func (r room) speed(n Need, f facts.Facts) float64 {
	bandwidth, unknown := int64(0), false
	for _, g := range f.GPUs {
		if g.Integrated || !g.Unified && ownMemory(g) <= smallCard || g.Unified != (r.place == InUnified) {
			continue
		}
		b := graphics.Bandwidth(g)
		if unknown = unknown || b == 0; bandwidth == 0 || b < bandwidth { // all cards wait for the slowest
			bandwidth = b
		}
	}
	dense := n.Weights - n.Experts
	if n.Estimated || n.Experts > 0 && n.Active == 0 || r.place != InRAM && (bandwidth == 0 || unknown) {
		return 0
	}
	active := func(weights int64) float64 { return float64(weights) * float64(n.Active) / float64(max(1, n.Experts)) }
	total := float64(dense) + active(n.Experts)
	if r.place == InRAM || n.GPULayers == 0 {
		return 0.6 * float64(processorBandwidth) / total
	}
	moved := n.expertsAway()
	away := float64(max(0, n.units()-n.GPULayers)) / float64(n.units())
	slow := active(moved) + away*(float64(dense)+active(n.Experts-moved))
	return 0.6 / ((total-slow)/float64(bandwidth) + slow/float64(processorBandwidth))
}

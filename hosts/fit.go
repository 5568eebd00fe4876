package hosts

import (
	"fmt"
	"slices"

	"aisync.dev/aisync/hosts/facts"
	"aisync.dev/aisync/schema/spec"
)

// Choice is the quantization of a model for one machine.
type Choice struct {
	Quant  string
	Reason string // one clause, for people
	Fits   bool
}

// smallestGood is the quantization below which quality suffers visibly.
const smallestGood = "Q4_K_M"

// PickQuant chooses from what a machine has in all, never from what is free
// now, so that the choice is the same tomorrow. A graphics unit with fast
// memory gets the best quantization that fits into it; where the processor's
// memory bandwidth decides, the smallest one from Q4_K_M up is the quickest
// and is preferred. Where nothing fits it is the smallest, with Fits false.
func PickQuant(m spec.Model, f facts.Facts) Choice {
	if len(m.Quants) == 0 {
		return Choice{Reason: "the catalog has no quantization of it"}
	}
	quants := slices.Clone(m.Quants)
	slices.SortStableFunc(quants, func(a, b spec.Quant) int { return int(min(1, max(-1, a.Size()-b.Size()))) })
	smallest := quants[0]
	if len(quants) == 1 {
		c := Choice{Quant: smallest.Name, Reason: "the only quantization", Fits: true}
		if b := budget(f); b.bytes > 0 && need(smallest) > b.bytes {
			c.Fits, c.Reason = false, fmt.Sprintf("the only quantization, and it does not fit %s of %s", gigabytes(b.bytes), b.of)
		}
		return c
	}
	b := budget(f)
	if b.bytes == 0 {
		return Choice{Quant: smallest.Name, Reason: "the smallest, because the machine's memory is unknown"}
	}
	if need(smallest) > b.bytes {
		return Choice{Quant: smallest.Name, Reason: fmt.Sprintf("the smallest; even it does not fit %s of %s", gigabytes(b.bytes), b.of)}
	}
	if !b.fast {
		from := max(0, slices.IndexFunc(quants, func(q spec.Quant) bool { return q.Name == smallestGood }))
		q := quants[from]
		if need(q) > b.bytes {
			q = smallest
		}
		return Choice{Quant: q.Name, Reason: fmt.Sprintf("the quickest good one where the processor's memory bandwidth decides; fits %s of %s", gigabytes(b.bytes), b.of), Fits: true}
	}
	best := smallest
	for _, q := range quants {
		if need(q) <= b.bytes {
			best = q
		}
	}
	return Choice{Quant: best.Name, Reason: fmt.Sprintf("the best that fits %s of %s", gigabytes(b.bytes), b.of), Fits: true}
}

// Recommend returns the model that a person on this machine would try first:
// the largest that fits, at the quantization that fits.
func Recommend(models []spec.Model, f facts.Facts) (spec.Model, Choice, bool) {
	var best spec.Model
	var choice Choice
	var size int64
	if budget(f).bytes == 0 {
		return best, choice, false
	}
	for _, m := range models {
		c := PickQuant(m, f)
		i := slices.IndexFunc(m.Quants, func(q spec.Quant) bool { return q.Name == c.Quant })
		if !c.Fits || i < 0 || m.Quants[i].Size() <= size || !budget(f).fast && m.Quants[i].Size() > comfortable {
			continue
		}
		best, choice, size = m, c, m.Quants[i].Size()
	}
	return best, choice, size > 0
}

// comfortable is the size of weights up to which a processor alone answers
// while a person waits, if only few of them are active.
const comfortable = 24_000_000_000

// room is where the weights may lie.
type room struct {
	bytes int64
	of    string // for people
	fast  bool   // read with the bandwidth of graphics memory
}

const gib64 = int64(1) << 30

// budget is the memory for weights, cache and buffers. A unified unit reaches
// what its driver maps, less what the system needs; a card its own memory less
// what the desktop and the driver take; a processor all but an eighth.
func budget(f facts.Facts) room {
	best := room{}
	for _, g := range f.GPUs {
		r := room{bytes: g.VRAM*92/100 - gib64/2, of: "graphics memory", fast: true}
		if g.Unified {
			mapped := min(g.VRAM+g.GTT, f.Memory.Total-max(8*gib64, f.Memory.Total/10))
			r = room{bytes: max(mapped, r.bytes), of: "unified memory", fast: true} // the firmware may have given most of it to the unit
		}
		if r.bytes > best.bytes && r.bytes > 4*gib64 {
			best = r
		}
	}
	if best.bytes > 0 {
		return best
	}
	if f.Memory.Total == 0 {
		return room{}
	}
	return room{bytes: max(1, f.Memory.Total-max(4*gib64, f.Memory.Total*12/100)), of: "memory"}
}

// need is what serving q takes: its weights, a tenth for the cache of a usual
// context, and 2 GiB for buffers.
func need(q spec.Quant) int64 { return q.Size() + q.Size()/10 + 2*gib64 }

func gigabytes(n int64) string { return fmt.Sprintf("%.1f GB", float64(n)/1e9) }

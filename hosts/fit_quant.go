package hosts

import (
	"fmt"
	"slices"
	"sort"

	"aisync.dev/aisync/hosts/facts"
	"aisync.dev/aisync/schema/spec"
)

// Choice is the quantization of a model for one machine.
type Choice struct {
	Quant  string
	Reason string // one clause, for people
	Fits   bool
}

// Use says how a model will be served.
type Use struct {
	Shape     *spec.Shape // of any of its quantizations; nil: unknown
	Context   int64       // as in Load
	Sequences int64
	Cache     string
	Others    []Load // loads served beside it
	Prefer    string // "speed": the smallest good one; "quality": the best that fits; "": by the machine
}

// smallestGood is the quantization below which quality suffers visibly.
const smallestGood = "Q4_K_M"

// PickQuant is PickQuantFor without a known use.
func PickQuant(m spec.Model, f facts.Facts) Choice { return PickQuantFor(m, f, Use{}) }

// PickQuantFor chooses by what a machine has in all, never by what is free now,
// so that the choice is stable. Where weights are read with the bandwidth of
// graphics memory it returns the best quantization that fits; where the
// processor's memory bandwidth decides, it prefers the smallest from Q4_K_M up,
// which is the fastest. Where none fits it returns the smallest, with Fits
// false.
//
// Where the memory of a unit cannot be read, the choice is made without it, and
// the reason says so.
func PickQuantFor(m spec.Model, f facts.Facts, use Use) Choice {
	c := pickQuant(m, f, use)
	for _, g := range f.GPUs {
		if g.MemoryUnknown != "" {
			c.Reason += "; the memory of " + g.Label() + " is unknown"
		}
	}
	return c
}

func pickQuant(m spec.Model, f facts.Facts, use Use) Choice {
	if len(m.Quants) == 0 {
		return Choice{Reason: "the catalog has no quantization of it"}
	}
	quants := slices.Clone(m.Quants)
	sort.SliceStable(quants, func(i, j int) bool { return quants[i].Size() < quants[j].Size() })
	rooms := roomsFor(f)
	small := quants[0].Name
	switch {
	case len(rooms) == 0 && len(quants) == 1:
		return Choice{Quant: small, Reason: "the only quantization", Fits: true}
	case len(rooms) == 0:
		return Choice{Quant: small, Reason: "the smallest, because the machine's memory is unknown"}
	}
	if use.Shape == nil && rooms[0].fast() {
		rooms = rooms[:1] // without a header the place of experts is unknown
	}
	for _, r := range rooms {
		fitting := slices.DeleteFunc(slices.Clone(quants), func(q spec.Quant) bool { return r.verdict(use.loads(m, q), f).Level == No })
		if len(fitting) == 0 {
			continue
		}
		room := fmt.Sprintf("%s of %s", gigabytes(r.bytes+r.main), r.of())
		switch {
		case len(quants) == 1:
			return Choice{Quant: small, Reason: "the only quantization", Fits: true}
		case use.Prefer == "quality" && !r.fast():
			return Choice{Quant: fitting[len(fitting)-1].Name, Reason: "the best that fits " + room + ", as the spec prefers quality", Fits: true}
		case r.fast() && use.Prefer != "speed":
			return Choice{Quant: fitting[len(fitting)-1].Name, Reason: "the best that fits " + room, Fits: true}
		}
		from := max(0, slices.IndexFunc(fitting, func(q spec.Quant) bool { return q.Name == smallestGood }))
		if use.Prefer == "speed" {
			return Choice{Quant: fitting[from].Name, Reason: "the quickest good one, as the spec prefers speed; fits " + room, Fits: true}
		}
		return Choice{Quant: fitting[from].Name, Reason: "the quickest good one where the processor's memory bandwidth decides; fits " + room, Fits: true}
	}
	room := fmt.Sprintf("%s of %s", gigabytes(rooms[0].bytes), rooms[0].of())
	if len(quants) == 1 {
		return Choice{Quant: small, Reason: "the only quantization, but it does not fit " + room}
	}
	return Choice{Quant: small, Reason: "the smallest; even it does not fit " + room}
}

// loads returns all loads if the model has quantization q.
func (u Use) loads(m spec.Model, q spec.Quant) []Load {
	return append(slices.Clone(u.Others), Load{
		Name: m.ID, Model: m.ID, Quant: q.Name, Weights: q.Size(),
		Shape: u.Shape, Context: u.Context, Sequences: u.Sequences, Cache: u.Cache,
	})
}

// Recommend returns the model to try first on this machine: the largest that
// fits, at the quantization that fits. Models whose form of prompts is known come
// before others, because their tools work with every server.
func Recommend(models []spec.Model, f facts.Facts) (spec.Model, Choice, bool) {
	known := slices.DeleteFunc(slices.Clone(models), func(m spec.Model) bool { return m.Chat == "" })
	if m, choice, ok := largest(known, f); ok {
		return m, choice, true
	}
	return largest(models, f)
}

func largest(models []spec.Model, f facts.Facts) (spec.Model, Choice, bool) {
	var best spec.Model
	var choice Choice
	var size int64
	rooms := roomsFor(f)
	if len(rooms) == 0 {
		return best, choice, false
	}
	for _, m := range models {
		c := PickQuant(m, f)
		i := slices.IndexFunc(m.Quants, func(q spec.Quant) bool { return q.Name == c.Quant })
		if !c.Fits || i < 0 || m.Quants[i].Size() <= size || !rooms[0].fast() && m.Quants[i].Size() > comfortable {
			continue
		}
		best, choice, size = m, c, m.Quants[i].Size()
	}
	return best, choice, size > 0
}

// comfortable is the size of weights up to which a processor alone answers while
// a person waits, if only few of them are active.
const comfortable = 24_000_000_000

func gigabytes(n int64) string { return fmt.Sprintf("%.1f GB", float64(n)/1e9) }

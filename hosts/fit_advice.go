package hosts

import (
	"fmt"
	"slices"
	"sort"

	"aisync.dev/aisync/hosts/facts"
	"aisync.dev/aisync/schema/spec"
)

// Advice is one change that would make everything fit.
type Advice struct {
	Change string `json:"change"` // "cache", "context", "quant", "without", "graphics-limit" or "all": the smallest of everything
	Name   string `json:"name"`   // of the load; "" for the machine or all
	Value  string `json:"value"`  // the new value: "q8_0", "65536", "Q4_K_M"
	Level  Level  `json:"verdict"`
	Need   int64  `json:"need_bytes"`
	Text   string `json:"text"` // for people
}

// leastContext is the minimum for agents.
const leastContext = 16384

// advise returns single changes that make loads fit, those of the largest load
// first and the least painful first; without any, combined smaller ones.
func advise(loads []Load, f facts.Facts) []Advice {
	out := []Advice{}
	try := func(a Advice, changed []Load) bool {
		v := fit(changed, f)
		if v.Level != Fits && v.Level != Tight {
			return false
		}
		a.Level, a.Need = v.Level, v.Need
		out = append(out, a)
		return true
	}
	if a, raised, ok := raiseLimit(f); ok {
		if v := fit(loads, raised); v.Level != No {
			a.Level, a.Need = v.Level, v.Need
			out = append(out, a)
		}
	}
	order := make([]int, len(loads))
	for i := range order {
		order[i] = i
	}
	sort.SliceStable(order, func(i, j int) bool { return loads[order[j]].need(false).Total < loads[order[i]].need(false).Total })
	for _, i := range order {
		change := func(by func(*Load)) []Load {
			changed := slices.Clone(loads)
			by(&changed[i])
			return changed
		}
		l := loads[i]
		if smallerCache(l) {
			try(Advice{Change: "cache", Name: l.Name, Value: "q8_0", Text: fmt.Sprintf("%s with a cache of type q8_0 (--cache-type-k q8_0 --cache-type-v q8_0)", l.Name)}, change(func(l *Load) { l.Cache = "q8_0" }))
		}
		for tokens := l.context() / 2; l.Shape != nil && tokens >= leastContext; tokens /= 2 {
			if try(Advice{Change: "context", Name: l.Name, Value: fmt.Sprint(tokens), Text: fmt.Sprintf("%s with a context of %d tokens", l.Name, tokens)}, change(func(l *Load) { l.Context = tokens })) {
				break
			}
		}
		for _, q := range smallerQuants(l) {
			if try(Advice{Change: "quant", Name: l.Name, Value: q.Name, Text: fmt.Sprintf("%s at %s", l.Name, q.Name)}, change(func(l *Load) { l.Quant, l.Weights = q.Name, q.Size() })) {
				break
			}
		}
	}
	for _, i := range order {
		if len(loads) > 1 {
			rest := slices.Delete(slices.Clone(loads), i, i+1)
			try(Advice{Change: "without", Name: loads[i].Name, Text: "without " + loads[i].Name}, rest)
		}
	}
	if len(out) == 0 {
		try(Advice{Change: "all", Text: fmt.Sprintf("the smallest quantization, a cache of type q8_0 and a context of %d tokens", leastContext)}, smallest(loads))
	}
	return out
}

// raiseLimit returns how to let the graphics driver map more of the memory.
func raiseLimit(f facts.Facts) (Advice, facts.Facts, bool) {
	raised := f
	raised.GPUs = slices.Clone(f.GPUs)
	for i, g := range raised.GPUs {
		if reach := f.Memory.Total - max(8*gib64, f.Memory.Total/10); g.Unified && g.VRAM+g.GTT < reach {
			raised.GPUs[i].GTT = reach - g.VRAM
			pages := raised.GPUs[i].GTT / 4096
			return Advice{Change: "graphics-limit", Value: fmt.Sprint(pages), Text: fmt.Sprintf("a higher limit for the memory that graphics may use: ttm.pages_limit=%d on the kernel's command line", pages)}, raised, true
		}
	}
	return Advice{}, f, false
}

func smallerCache(l Load) bool {
	n := l.need(false)
	return l.Shape != nil && n.KV > 0 && cacheTypes[n.Cache] > cacheTypes["q8_0"]
}

// smallerQuants returns the quantizations smaller than the load's, the largest
// first.
func smallerQuants(l Load) []spec.Quant {
	var out []spec.Quant
	for _, q := range l.Quants {
		if size := q.Size(); size > 0 && size < l.Weights {
			out = append(out, q)
		}
	}
	sort.SliceStable(out, func(i, j int) bool { return out[j].Size() < out[i].Size() })
	return out
}

// smallest returns every load at its minimum.
func smallest(loads []Load) []Load {
	out := slices.Clone(loads)
	for i := range out {
		l := &out[i]
		if qs := smallerQuants(*l); len(qs) > 0 {
			l.Quant, l.Weights = qs[len(qs)-1].Name, qs[len(qs)-1].Size()
		}
		if smallerCache(*l) {
			l.Cache = "q8_0"
		}
		l.Context = min(l.context(), leastContext)
	}
	return out
}

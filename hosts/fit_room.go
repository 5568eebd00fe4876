package hosts

import (
	"sort"

	"aisync.dev/aisync/hosts/facts"
	"aisync.dev/aisync/hosts/graphics"
)

const gib64 = int64(1) << 30

// room is a place for models, and its size.
type room struct {
	place Place
	bytes int64
	main  int64 // main memory beside graphics memory, for InBoth

	vendor string // of the cards
	wide   bool   // of unified memory: it is faster than a usual processor's
}

// wideMemory is the bandwidth from which unified memory counts as graphics memory,
// bytes a second: twice that of a usual processor.
const wideMemory = int64(200e9)

// fast reports whether weights are read with the bandwidth of graphics memory.
func (r room) fast() bool { return r.place == InUnified && r.wide || r.place == InVRAM }

// of names the room for people.
func (r room) of() string {
	switch r.place {
	case InUnified:
		return "unified memory"
	case InVRAM:
		return "graphics memory"
	case InBoth:
		return "graphics and main memory"
	}
	return "memory"
}

// smallCard is the graphics memory up to which it serves no model.
const smallCard = 4 * gib64

// ownMemory is what models may have of a unit's own memory: the desktop and the
// driver take the rest.
func ownMemory(g facts.GPU) int64 { return g.VRAM*92/100 - gib64/2 }

// mainMemory is what models may have of the main memory.
func mainMemory(f facts.Facts) int64 {
	return max(1, f.Memory.Total-max(4*gib64, f.Memory.Total*12/100))
}

// roomsFor returns the places of a machine, the best first. A unified unit has
// what its driver maps, less the system's need; cards of one vendor share a model
// by its layers (llama.cpp's default); a processor has all but an eighth. Without
// rooms the machine's memory is unknown.
func roomsFor(f facts.Facts) []room {
	var rooms []room
	cards := map[string]int64{}
	for _, g := range f.GPUs {
		own := ownMemory(g)
		switch {
		case g.Integrated || f.Backends()[0] == "cpu":
			continue
		case !g.Unified:
			if own > smallCard {
				cards[g.Vendor] += own
			}
			continue
		}
		// On a unified unit either most memory is mapped, or the firmware has
		// reserved it.
		if reach := max(own, min(g.VRAM+g.GTT, f.Memory.Total-max(8*gib64, f.Memory.Total/10))); reach > smallCard {
			rooms = append(rooms, room{place: InUnified, bytes: reach, wide: graphics.Bandwidth(g) == 0 || graphics.Bandwidth(g) >= wideMemory})
		}
	}
	for vendor, own := range cards {
		rooms = append(rooms, room{place: InVRAM, bytes: own, vendor: vendor})
	}
	sort.Slice(rooms, func(i, j int) bool { return rooms[j].bytes < rooms[i].bytes })
	rooms = rooms[:min(1, len(rooms))]
	if f.Memory.Total == 0 {
		return rooms
	}
	main := mainMemory(f)
	if len(rooms) == 1 && rooms[0].place == InVRAM {
		rooms = append(rooms, room{place: InBoth, bytes: rooms[0].bytes, main: main, vendor: rooms[0].vendor})
	}
	if len(rooms) == 0 || rooms[0].place == InVRAM {
		rooms = append(rooms, room{place: InRAM, bytes: main})
	}
	return rooms
}

// verdict returns how loads fit this room alone.
func (r room) verdict(loads []Load, f facts.Facts) Verdict {
	v := Verdict{Place: r.place, Budget: r.bytes, MainBudget: r.main, Loads: []Need{}, Advice: []Advice{}, Notes: []string{}}
	free := make([]bool, len(loads))
	for i, l := range loads {
		processor := r.place == InRAM || l.onProcessor(f)
		n := l.need(processor)
		n.Backend, _ = l.computes(f)
		switch {
		case processor && r.place != InRAM && r.place != InUnified:
			n.Main = n.Total
		case !processor:
			n.GPULayers = EveryLayer
			n, free[i] = l.placed(n)
		}
		v.Loads, v.Need, v.MainNeed = append(v.Loads, n), add(v.Need, n.graphics()), add(v.MainNeed, n.Main)
	}
	v.Level = levelOf(v.Need, v.Budget)
	switch {
	case r.place == InBoth:
		r.spread(&v, free)
	case r.place != InVRAM: // one memory
		v.Need, v.MainNeed = add(v.Need, v.MainNeed), 0
		for i := range v.Loads {
			v.Loads[i].Main = 0
		}
		v.Level = levelOf(v.Need, v.Budget)
	case v.MainNeed > 0:
		v.Level = No // the spec keeps some in main memory
	}
	if r.vendor != "" {
		v.Split = split(f, r.vendor)
	}
	for i := range v.Loads {
		v.Loads[i].Speed = r.speed(v.Loads[i], f)
	}
	return v
}

package hosts

import (
	"slices"
	"sort"

	"aisync.dev/aisync/hosts/facts"
)

const gib64 = int64(1) << 30

// room is a place for models, and its size.
type room struct {
	place Place
	bytes int64
	main  int64 // main memory beside graphics memory, for InBoth
}

// fast reports whether weights are read with the bandwidth of graphics memory.
func (r room) fast() bool { return r.place == InUnified || r.place == InVRAM }

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

// roomsFor returns the places of a machine, the best first. A unified unit has
// what its driver maps, less the system's need; cards have their memory less the
// desktop's and driver's, and cards of one vendor share a model by its layers
// (llama.cpp's default); a processor has all but an eighth. Without rooms the
// machine's memory is unknown.
func roomsFor(f facts.Facts) []room {
	var rooms []room
	cards := map[string]int64{}
	for _, g := range f.GPUs {
		own := g.VRAM*92/100 - gib64/2
		if !g.Unified {
			if own > smallCard {
				cards[g.Vendor] += own
			}
			continue
		}
		// On a unified unit either most memory is mapped, or the firmware has
		// reserved it.
		if reach := max(own, min(g.VRAM+g.GTT, f.Memory.Total-max(8*gib64, f.Memory.Total/10))); reach > smallCard {
			rooms = append(rooms, room{place: InUnified, bytes: reach})
		}
	}
	for _, own := range cards {
		rooms = append(rooms, room{place: InVRAM, bytes: own})
	}
	sort.Slice(rooms, func(i, j int) bool { return rooms[j].bytes < rooms[i].bytes })
	rooms = rooms[:min(1, len(rooms))]
	if f.Memory.Total == 0 {
		return rooms
	}
	main := max(1, f.Memory.Total-max(4*gib64, f.Memory.Total*12/100))
	if len(rooms) == 1 && rooms[0].place == InVRAM {
		rooms = append(rooms, room{place: InBoth, bytes: rooms[0].bytes, main: main})
	}
	if len(rooms) == 0 || rooms[0].place == InVRAM {
		rooms = append(rooms, room{place: InRAM, bytes: main})
	}
	return rooms
}

// verdict returns how loads fit this room alone.
func (r room) verdict(loads []Load) Verdict {
	v := Verdict{Place: r.place, Budget: r.bytes, MainBudget: r.main, Loads: []Need{}}
	for _, l := range loads {
		n := l.need(r.place == InRAM)
		v.Loads, v.Need = append(v.Loads, n), add(v.Need, n.Total)
	}
	v.Level = levelOf(v.Need, v.Budget)
	if r.place == InBoth {
		r.moveExperts(&v)
	}
	return v
}

// moveExperts moves experts into main memory, those of the largest model first, until
// the rest fits the graphics memory.
func (r room) moveExperts(v *Verdict) {
	order := slices.Clone(v.Loads)
	sort.SliceStable(order, func(i, j int) bool { return order[j].Experts < order[i].Experts })
	for _, n := range order {
		if v.Need <= r.bytes {
			break
		}
		v.Need, v.MainNeed = v.Need-n.Experts, add(v.MainNeed, n.Experts)
	}
	v.Level = levelOf(v.Need, r.bytes)
	switch main := levelOf(v.MainNeed, r.main); {
	case v.Level == No || main == No:
		v.Level = No
	case main == Tight:
		v.Level = Tight
	}
}

package hosts

import (
	"fmt"
	"slices"

	"aisync.dev/aisync/hosts/facts"
	"aisync.dev/aisync/schema/spec"
)

// Level is how well something fits.
type Level string

// Fits leaves 15% of the budget free, Tight less, No does not fit; Unknown means
// unknown memory. What fits only the processor beside a card is Tight at best.
const (
	Fits    Level = "fits"
	Tight   Level = "tight"
	No      Level = "no"
	Unknown Level = "unknown"
)

// Place is where models lie while they are served.
type Place string

const (
	InUnified Place = "unified" // one memory for processor and graphics
	InVRAM    Place = "gpu"     // graphics memory
	InBoth    Place = "gpu+ram" // experts in main memory, all else in graphics memory
	InRAM     Place = "cpu"     // main memory, read by the processor
)

// Load is one model being served.
type Load struct {
	Name      string // for people: the service's name, or the model's id
	Model     string
	Quant     string
	Weights   int64        // bytes of all its files
	Shape     *spec.Shape  // nil: unknown; the need is estimated from Weights alone
	Context   int64        // tokens of one conversation; 0: 32768, or the model's own limit if that is less
	Sequences int64        // conversations at once, each with Context tokens; 0 is one
	Cache     string       // type of the cache's keys: "f16" (also ""), "bf16", "f32", "q8_0", "q5_1", "q5_0", "q4_1", "q4_0", "iq4_nl"
	Values    string       // type of the cache's values; "": as Cache
	Quants    []spec.Quant // all of the model, for advice
	Ignore    bool         // the spec silences the warning

	// What the spec or the arguments of its server decide.
	Backend    string   // "": the machine's best
	Build      []string // what its server can compute on; empty: unknown
	Remedy     string   // how to get a build that can do more, as a clause; "": unknown
	GPULayers  *int     // in graphics memory; nil: as many as fit; ServerDecides: left to the server
	CPUExperts *int     // layers whose experts lie in main memory; nil: as few as fit
	Prompts    *int64   // bytes of old conversations that its server keeps; nil: aisync bounds them

	Checkpoints *int64 // that its server keeps of a conversation; nil: aisync bounds them
	Batch       int64  // tokens computed at once; 0: 512
	Projector   int64  // bytes of a projector beside it, and of the largest picture
}

// Need is the memory of one load.
type Need struct {
	Name      string `json:"name"`
	Model     string `json:"model"`
	Quant     string `json:"quant"`
	Context   int64  `json:"context_tokens"`
	Sequences int64  `json:"sequences"`
	Cache     string `json:"cache_type"`
	Weights   int64  `json:"weights_bytes"`
	Experts   int64  `json:"experts_bytes"`             // part of Weights that could lie in main memory beside a card
	PerToken  int64  `json:"cache_bytes_per_token"`     // of one more token, once windows are full
	KV        int64  `json:"cache_bytes"`               // keys and values of all tokens and sequences
	State     int64  `json:"state_bytes"`               // of recurrent layers
	Compute   int64  `json:"compute_bytes"`             // buffers
	Projector int64  `json:"projector_bytes,omitempty"` // with its buffers
	Total     int64  `json:"need_bytes"`                // the sum
	Layers    int64  `json:"layers,omitempty"`          // of all kinds
	Attention int64  `json:"cache_layers,omitempty"`    // that keep tokens, windowed ones included
	Estimated bool   `json:"estimated"`                 // from the size of the files alone: KV is a tenth of it, Compute 2 GiB
	Warn      bool   `json:"warn"`                      // does not fit, and the spec does not silence it

	Backend    string `json:"backend,omitempty"`
	GPULayers  int64  `json:"gpu_layers"`                  // layers in graphics memory, the output counted as one; 999: all; -1: the server decides
	CPUExperts int64  `json:"cpu_expert_layers,omitempty"` // layers whose experts lie in main memory
	Main       int64  `json:"main_bytes,omitempty"`        // part of Total in main memory beside a card
	Prompts    int64  `json:"prompt_cache_bytes"`          // main memory for old conversations, beside Total

	// Checkpoint is the main memory of one checkpoint of a conversation: what
	// windowed and recurrent layers keep, without which a server reads a prompt
	// anew. It is 0 for models that need none.
	Checkpoint  int64   `json:"checkpoint_bytes,omitempty"`
	Checkpoints int64   `json:"checkpoints,omitempty"`                // of each conversation, beside Total
	Active      int64   `json:"active_experts_bytes,omitempty"`       // part of Experts that is read for a token; 0: unknown
	Speed       float64 `json:"tokens_per_second_estimate,omitempty"` // 0: unknown
}

// Verdict says whether loads fit a machine together. It is a plain value whose
// JSON names contain the units.
type Verdict struct {
	Level      Level    `json:"verdict"`
	Place      Place    `json:"place"`
	Need       int64    `json:"need_bytes"`
	Budget     int64    `json:"budget_bytes"`                // of Place; with InBoth that of the graphics memory
	MainNeed   int64    `json:"main_need_bytes,omitempty"`   // only with InBoth; Need is then the part in graphics memory
	MainBudget int64    `json:"main_budget_bytes,omitempty"` // likewise
	Loads      []Need   `json:"loads"`
	Advice     []Advice `json:"advice"` // what would make it fit; empty if it fits
	Warn       bool     `json:"warn"`   // a load has Warn
	Free       Free     `json:"free_now"`
	Split      []int64  `json:"tensor_split,omitempty"` // of unequal cards, by address
	Notes      []string `json:"notes"`                  // what is unknown, idle or cut off, as sentences
}

// Free is shown beside a verdict but decides nothing, because it changes all the
// time.
type Free struct {
	Main     int64 `json:"main_bytes"`
	Graphics int64 `json:"graphics_bytes"`
}

// Fit says whether loads fit the machine at the same time. It depends only on
// its arguments, never on what is free now. Memory is counted as bytes:
//
//	weights   the files' sizes
//	cache     sequences × tokens × numbers kept for a token × bytes of a number;
//	          a layer with a window keeps window+512 tokens at most
//	state     sequences × the recurrent layers' states
//	compute   512 × (4 × numbers that a token holds at once + 2 × tokens of a
//	          sequence), at least 512 MiB on a card; on the processor the program
//	          too, and 5% of the weights, which it repacks
//
// after llama.cpp's src/llama-kv-cache-iswa.cpp and src/llama-hparams.cpp, and
// compared with what llama-server says of itself in the table of docs/models.md.
func Fit(loads []Load, f facts.Facts) Verdict {
	v := fit(loads, f)
	unread := f.Unread()
	hidden := slices.ContainsFunc(f.GPUs, func(g facts.GPU) bool { return g.MemoryUnknown != "" && len(g.Backends) > 0 })
	if v.Level == No && hidden {
		v.Level = Unknown // a card may hold what main memory cannot
	}
	if v.Level == No {
		v.Advice = advise(loads, f)
	}
	for i, l := range loads {
		v.Loads[i].Warn = v.Level == No && !l.Ignore
		v.Warn = v.Warn || v.Loads[i].Warn
	}
	v.prompts(loads, f)
	note := func(text string) {
		if text != "" && !slices.Contains(v.Notes, text) {
			v.Notes = append(v.Notes, text)
		}
	}
	for i, l := range loads {
		backend, problem := l.computes(f)
		for _, text := range unread {
			if l.Backend != "cpu" {
				note(text)
			}
		}
		switch n := &v.Loads[i]; {
		case v.Place != InRAM || n.Backend == "cpu":
		case l.GPULayers != nil:
			n.GPULayers = int64(*l.GPULayers)
		case l.Backend != "" || hidden:
			n.GPULayers, n.Speed = ServerDecides, 0 // the spec wants it, or its memory is unknown
		default:
			backend = "cpu"
		}
		v.Loads[i].Backend = backend
		note(problem)
		if l.Shape != nil && l.Shape.Context > 0 && l.Context > l.Shape.Context {
			note(fmt.Sprintf("%s: the context of %d tokens is more than the %d that the model was made for: the server grants those, and takes the memory of all", l.Name, l.Context, l.Shape.Context))
		}
	}
	return v
}

// mostPrompts bounds the main memory for old conversations of one server;
// llama-server's own bound is 8 GiB.
const mostPrompts = 2 * gib64

// mostCheckpoints is llama-server's own bound, for each conversation. A checkpoint
// of a model with windows can be 200 MiB.
const mostCheckpoints = 32

// prompts bounds what servers keep of conversations by what the models leave: a
// quarter of it for checkpoints, at least one of each conversation, and half of the
// rest, in steps of 256 MiB, for old conversations. All servers share it.
func (v *Verdict) prompts(loads []Load, f facts.Facts) {
	left := v.Budget - v.Need
	if v.Place == InVRAM || v.Place == InBoth {
		left = mainMemory(f) - v.MainNeed
	}
	servers, kept := int64(max(1, len(loads))), int64(0)
	for i, l := range loads {
		n := &v.Loads[i]
		switch {
		case n.Checkpoint == 0:
		case l.Checkpoints != nil:
			n.Checkpoints = *l.Checkpoints
		default:
			n.Checkpoints = min(mostCheckpoints, max(1, left/4/servers/max(1, mul(n.Sequences, n.Checkpoint))))
		}
		kept = add(kept, n.kept())
	}
	for i, l := range loads {
		if n := &v.Loads[i]; l.Prompts != nil {
			n.Prompts = *l.Prompts
		} else {
			n.Prompts = min(mostPrompts, max(0, (left-kept)/2/servers)>>28<<28)
		}
	}
}

// kept is the main memory of the checkpoints of all conversations.
func (n Need) kept() int64 { return mul(mul(n.Sequences, n.Checkpoints), n.Checkpoint) }

// fit is Fit without advice, warnings and notes.
func fit(loads []Load, f facts.Facts) Verdict {
	v := Verdict{Level: Unknown, Loads: []Need{}, Advice: []Advice{}, Notes: []string{}}
	rooms := roomsFor(f)
	if len(loads) > 0 && !slices.ContainsFunc(loads, func(l Load) bool { return !l.onProcessor(f) }) {
		alone := f
		alone.GPUs = nil
		rooms = roomsFor(alone)
	}
	forced := slices.ContainsFunc(loads, func(l Load) bool { return l.GPULayers != nil && *l.GPULayers > 0 })
	for i, r := range rooms {
		if i > 0 && r.place == InRAM && forced {
			break // the spec's layers go to the card in any case
		}
		w := r.verdict(loads, f)
		if r.place == InRAM && i > 0 && w.Level == Fits {
			w.Level = Tight // it runs, but the card is idle
		}
		if i == 0 || w.Level != No {
			v = w
		}
		if v.Level != No {
			break
		}
	}
	if len(rooms) == 0 {
		for _, l := range loads {
			n := l.need(false)
			v.Loads, v.Need = append(v.Loads, n), add(v.Need, n.Total)
		}
	}
	v.Free = freeNow(f)
	return v
}

// levelOf compares a need with a budget.
func levelOf(need, budget int64) Level {
	switch {
	case need > budget:
		return No
	case need > budget-budget/20*3:
		return Tight
	}
	return Fits
}

// Reason returns a clause such as "needs 77.1 of 108.5 GiB of unified memory".
func (v Verdict) Reason() string {
	switch v.Place {
	case InUnified:
		return fmt.Sprintf("needs %s of %s of unified memory", gibibytes(v.Need), gibibytes(v.Budget))
	case InVRAM:
		return fmt.Sprintf("needs %s of %s of graphics memory", gibibytes(v.Need), gibibytes(v.Budget))
	case InBoth:
		return fmt.Sprintf("needs %s of %s of graphics memory, and %s of %s of main memory", gibibytes(v.Need), gibibytes(v.Budget), gibibytes(v.MainNeed), gibibytes(v.MainBudget))
	case InRAM:
		return fmt.Sprintf("needs %s of %s of memory", gibibytes(v.Need), gibibytes(v.Budget))
	}
	return fmt.Sprintf("needs %s, but the memory of this machine is unknown", gibibytes(v.Need))
}

func freeNow(f facts.Facts) Free {
	free := Free{Main: f.Memory.Available}
	for _, g := range f.GPUs {
		free.Graphics += g.VRAMFree
	}
	return free
}

func gibibytes(n int64) string { return fmt.Sprintf("%.1f GiB", float64(n)/float64(gib64)) }

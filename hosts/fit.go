package hosts

import (
	"fmt"

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
	Cache     string       // type of the cache's numbers: "f16" (also ""), "bf16", "f32", "q8_0", "q5_1", "q5_0", "q4_1", "q4_0"
	Quants    []spec.Quant // all of the model, for advice
	Ignore    bool         // the spec silences the warning
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
	Experts   int64  `json:"experts_bytes"`          // part of Weights that could lie in main memory beside a card
	PerToken  int64  `json:"cache_bytes_per_token"`  // of one more token, once windows are full
	KV        int64  `json:"cache_bytes"`            // keys and values of all tokens and sequences
	State     int64  `json:"state_bytes"`            // of recurrent layers
	Compute   int64  `json:"compute_bytes"`          // buffers
	Total     int64  `json:"need_bytes"`             // the sum
	Layers    int64  `json:"layers,omitempty"`       // of all kinds
	Attention int64  `json:"cache_layers,omitempty"` // that keep tokens, windowed ones included
	Estimated bool   `json:"estimated"`              // from the size of the files alone: KV is a tenth of it, Compute 2 GiB
	Warn      bool   `json:"warn"`                   // does not fit, and the spec does not silence it
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
//	compute   4 × 512 × (vocabulary + 4 × embedding), at least 512 MiB; and 5% of
//	          the weights where the processor repacks them
//
// after llama.cpp's src/llama-kv-cache-iswa.cpp and src/llama-hparams.cpp; the
// last line is a rule of thumb.
func Fit(loads []Load, f facts.Facts) Verdict {
	v := fit(loads, f)
	if v.Level == No {
		v.Advice = advise(loads, f)
	}
	for i, l := range loads {
		v.Loads[i].Warn = v.Level == No && !l.Ignore
		v.Warn = v.Warn || v.Loads[i].Warn
	}
	return v
}

// fit is Fit without advice and warnings.
func fit(loads []Load, f facts.Facts) Verdict {
	v := Verdict{Level: Unknown, Loads: []Need{}, Advice: []Advice{}, Free: freeNow(f)}
	rooms := roomsFor(f)
	for i, r := range rooms {
		w := r.verdict(loads)
		if r.place == InRAM && i > 0 && w.Level == Fits {
			w.Level = Tight // it runs, but the card is idle
		}
		w.Free, w.Advice = v.Free, v.Advice
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
		return fmt.Sprintf("needs %s of %s of graphics memory, and for its experts %s of %s of main memory", gibibytes(v.Need), gibibytes(v.Budget), gibibytes(v.MainNeed), gibibytes(v.MainBudget))
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

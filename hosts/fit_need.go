package hosts

import (
	"cmp"
	"math"
	"math/bits"
)

const (
	ubatch         = 512   // tokens computed at once: llama-server's default
	cells          = 256   // caches are a multiple of so many tokens
	usualContext   = 32768 // tokens
	minimumCompute = 512 << 20
	minimumProgram = 32 << 20
	unknownCompute = 2 * gib64
)

// cacheTypes maps cache types to the bytes of 32 numbers (ggml's block sizes).
var cacheTypes = map[string]int64{
	"f32": 128, "f16": 64, "bf16": 64, "q8_0": 34, "q5_1": 24, "q5_0": 22, "q4_1": 20, "q4_0": 18, "iq4_nl": 18,
}

// context returns the tokens of one conversation. llama-server grants no more than
// the model was made for, and still takes the memory of all that is asked for.
func (l Load) context() int64 {
	switch {
	case l.Context > 0:
		return l.Context
	case l.Shape != nil && l.Shape.Context > 0:
		return min(usualContext, l.Shape.Context)
	}
	return usualContext
}

// need returns the memory of a load; repacked: the processor computes with the
// weights and makes a faster copy of some of them.
func (l Load) need(repacked bool) Need {
	n := Need{
		Name: l.Name, Model: l.Model, Quant: l.Quant, Weights: l.Weights, Cache: l.Cache,
		Context: l.context(), Sequences: max(1, l.Sequences), Projector: l.Projector,
	}
	per, known := cacheTypes[l.Cache]
	if !known {
		n.Cache, per = "f16", cacheTypes["f16"]
	}
	switch s := l.Shape; {
	case s.Projects():
		n.Context, n.Compute = 0, s.Picture
	case s == nil:
		n.Estimated, n.KV, n.Compute = true, l.Weights/10, unknownCompute
	default:
		values := per
		if v, ok := cacheTypes[l.Values]; ok {
			values = v
		}
		bytes := func(keys, value int64) int64 { return add(mul(keys, per), mul(value, values)) / 32 }
		n.Layers, n.Attention = s.Layers, s.Attention+s.Windowed
		n.PerToken = bytes(s.Key, s.Value)
		windowed := bytes(s.WindowKey, s.WindowValue)
		window := min(n.Context, (add(s.Window, cmp.Or(l.Batch, ubatch))+cells-1)/cells*cells)
		n.KV = mul(n.Sequences, add(mul(n.Context, n.PerToken), mul(window, windowed)))
		n.State = mul(n.Sequences, s.State)
		n.Checkpoint = add(mul(min(n.Context, s.Window), windowed), s.State)
		n.Compute = l.buffers(n.Context, window, repacked)
		n.Experts = share(l.Weights, s.ExpertsBytes, s.TensorBytes)
		n.Active = share(n.Experts, s.ExpertsActive, s.ExpertsBytes)
	}
	if repacked && !n.Estimated { // an estimate includes it
		n.Compute = add(n.Compute, l.Weights/20)
	}
	n.Total = add(add(add(n.Weights, n.Projector), n.KV), add(n.State, n.Compute))
	return n
}

// buffers is the memory in which tokens are computed: what a batch of them holds at
// once, with a mask of 16 bits for each of its tokens and each of a cache. On the
// processor it includes the program with its vocabulary, on a card what the driver
// takes, which is not measured, but for small models.
func (l Load) buffers(context, window int64, processor bool) int64 {
	s := l.Shape
	if s.Buffer == 0 { // pinned by an older aisync
		return max(minimumCompute, mul(4*ubatch, add(s.Vocabulary, mul(4, s.Embedding))))
	}
	var masks int64
	if s.Attention > 0 {
		masks = context
	}
	if s.Windowed > 0 {
		masks = add(masks, window)
	}
	bytes := mul(cmp.Or(l.Batch, ubatch), add(mul(4, s.Buffer), mul(2, masks)))
	if processor {
		return add(bytes, add(minimumProgram, mul(256, s.Vocabulary)))
	}
	return max(minimumCompute, bytes)
}

// maxSize is a size larger than any machine's that can still be summed.
const maxSize = math.MaxInt64 / 1024

func add(a, b int64) int64 { return min(maxSize, a+b) }

func mul(a, b int64) int64 {
	hi, lo := bits.Mul64(uint64(max(0, a)), uint64(max(0, b)))
	if hi != 0 || lo > maxSize {
		return maxSize
	}
	return int64(lo)
}

// share returns n × part / whole: quantizations of a model have nearly the same
// share of experts.
func share(n, part, whole int64) int64 {
	if whole <= 0 || part <= 0 || n <= 0 {
		return 0
	}
	hi, lo := bits.Mul64(uint64(n), uint64(min(part, whole)))
	q, _ := bits.Div64(hi, lo, uint64(whole))
	return int64(q)
}

// Package limit watches work that only the end of the program can stop: it
// reports when this process exceeds limits of memory, depth or time. It never
// ends the process. Call Watch.
package limit

import (
	"fmt"
	"os"
	"runtime/debug"
	"runtime/metrics"
	"strings"
	"sync"
	"syscall"
	"time"
)

// Limits bound this process while work is watched.
type Limits struct {
	Memory uint64        // that the process has from the system
	Stack  uint64        // bytes of all stacks
	Time   time.Duration // of processor and clock, so that a busy machine does not count
}

// Default are the limits of evaluating a spec.
var Default = Limits{Memory: 1 << 30, Stack: 128 << 20, Time: 10 * time.Second}

// Exceeded reports a limit that was exceeded.
type Exceeded struct{ What string }

func (e Exceeded) Error() string { return "takes more than " + e.What }

// tick is the sampling interval: within it, memory grows by some MB.
const tick = 5 * time.Millisecond

// Watch samples this process until stop is called. It calls soft once, when a
// limit is reached, and hard when the work continues to twice the limit, or for
// a second more; both from another goroutine. Meanwhile the garbage collector is
// set so that garbage hardly counts.
func Watch(l Limits, soft, hard func(Exceeded)) (stop func()) {
	l.Memory = min(l.Memory, addressSpace()/3)
	unlimit := tuneRuntime(l)
	end := make(chan struct{})
	go func() {
		t := time.NewTicker(tick)
		defer t.Stop()
		s := newSample()
		var over Exceeded
		var since time.Time
		for {
			select {
			case <-end:
				return
			case <-t.C:
			}
			s.take()
			switch {
			case since.IsZero():
				if over = s.exceeds(l); over.What != "" {
					since = time.Now()
					soft(over)
				}
			case s.memory > l.Memory/2*3 || s.stack > 2*l.Stack || time.Since(since) > time.Second:
				hard(over)
				return
			}
		}
	}()
	return sync.OnceFunc(func() { close(end); unlimit() })
}

// holding counts the active watches, which share the runtime's settings.
var holding struct {
	sync.Mutex
	n             int
	memory, stack int64
}

// tuneRuntime makes the garbage collector run before l is reached, and raises the stack
// limit beyond it.
func tuneRuntime(l Limits) (release func()) {
	holding.Lock()
	defer holding.Unlock()
	if holding.n++; holding.n == 1 {
		holding.memory = debug.SetMemoryLimit(int64(l.Memory / 4 * 3))
		holding.stack = int64(debug.SetMaxStack(maxStack))
	}
	return func() {
		holding.Lock()
		defer holding.Unlock()
		if holding.n--; holding.n == 0 {
			debug.SetMemoryLimit(holding.memory)
			debug.SetMaxStack(int(holding.stack))
		}
	}
}

// maxStack is the largest stack that Go lets one goroutine have on 64 bits.
const maxStack = 2_000_000_000

// sample is the use of the process since it was taken.
type sample struct {
	began         time.Time
	used          time.Duration // of processor, when it was taken
	memory, stack uint64
	time          time.Duration
	m             []metrics.Sample
}

func newSample() *sample {
	return &sample{began: time.Now(), used: processor(), m: []metrics.Sample{
		{Name: "/memory/classes/total:bytes"}, {Name: "/memory/classes/heap/released:bytes"}, {Name: "/memory/classes/heap/stacks:bytes"},
	}}
}

func (s *sample) take() {
	metrics.Read(s.m)
	s.memory, s.stack = s.m[0].Value.Uint64()-s.m[1].Value.Uint64(), s.m[2].Value.Uint64()
	s.time = min(time.Since(s.began), processor()-s.used)
}

func (s *sample) exceeds(l Limits) Exceeded {
	switch {
	case s.memory > l.Memory:
		return Exceeded{fmt.Sprintf("%d MiB of memory", l.Memory>>20)}
	case s.stack > l.Stack:
		return Exceeded{fmt.Sprintf("%d MiB of stack", l.Stack>>20)}
	case s.time > l.Time:
		return Exceeded{fmt.Sprintf("%s of the processor", l.Time)}
	}
	return Exceeded{}
}

// processor returns the processor time of this process.
func processor() time.Duration {
	var r syscall.Rusage
	if syscall.Getrusage(syscall.RUSAGE_SELF, &r) != nil {
		return 0
	}
	return time.Duration(r.Utime.Nano() + r.Stime.Nano())
}

// addressSpace returns the process's limit (ulimit -v).
func addressSpace() uint64 {
	var r syscall.Rlimit
	if syscall.Getrlimit(syscall.RLIMIT_AS, &r) != nil {
		return 1 << 62
	}
	return uint64(r.Cur)
}

// ampleAddressSpace is an address space in which Watch reports before Go fails.
const ampleAddressSpace = 8 << 30

// Tight reports whether memory may run out before Watch can report, which ends a
// Go program at once: the address space is limited (ulimit -v), or the system
// does not overcommit.
func Tight() bool {
	text, _ := os.ReadFile("/proc/sys/vm/overcommit_memory") // missing except on Linux
	return addressSpace() < ampleAddressSpace || strings.TrimSpace(string(text)) == "2"
}

// margin is the mapped memory that the parent of a rehearsal may have more.
const margin = 128 << 20

// Bound limits this process to more bytes beyond its mapped memory, less than it
// could have: a single larger allocation then ends it. It does nothing where the
// mapped memory is unknown.
func Bound(more uint64) {
	text, err := os.ReadFile("/proc/self/statm")
	var pages uint64
	if err != nil {
		return
	}
	if _, err := fmt.Sscan(string(text), &pages); err != nil {
		return
	}
	var r syscall.Rlimit
	if syscall.Getrlimit(syscall.RLIMIT_AS, &r) == nil {
		if uint64(r.Cur) < ampleAddressSpace {
			r.Cur -= min(r.Cur, margin)
		}
		if most := pages*uint64(os.Getpagesize()) + more; most < r.Cur || uint64(r.Cur) < ampleAddressSpace {
			r.Cur = min(r.Cur, most)
			_ = syscall.Setrlimit(syscall.RLIMIT_AS, &r) // lowering is always allowed
		}
	}
}

// Package limit watches work that nothing can stop but the end of the program:
// it tells when this process takes more memory, depth or time than it may. It
// ends nothing itself. Start reading at Watch.
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

// Limits are what this process may take while work is watched.
type Limits struct {
	Memory uint64        // bytes that the process has from the system
	Stack  uint64        // bytes of all stacks
	Time   time.Duration // of processor and clock: a busy machine does not count
}

// Default is what a spec may take.
var Default = Limits{Memory: 1 << 30, Stack: 128 << 20, Time: 10 * time.Second}

// Exceeded says that work took more than it may.
type Exceeded struct{ What string }

func (e Exceeded) Error() string { return "takes more than " + e.What }

// tick is how often is looked: between two looks, memory grows by some MB.
const tick = 5 * time.Millisecond

// Watch looks at this process until stop is called. It calls soft once, when a
// limit is reached, and then hard, where the work still goes on and takes twice
// that, or after a second: both from another goroutine. While it watches, the
// collector keeps garbage from counting.
func Watch(l Limits, soft, hard func(Exceeded)) (stop func()) {
	l.Memory = min(l.Memory, addressSpace()/3)
	unlimit := hold(l)
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

// holding counts the watches at work: the settings of the runtime are of all.
var holding struct {
	sync.Mutex
	n             int
	memory, stack int64
}

// hold lets the collector work before l is reached, and stacks grow beyond it.
func hold(l Limits) (release func()) {
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

// sample is what the process has taken since it was made.
type sample struct {
	began         time.Time
	used          time.Duration // of processor, when it was made
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

// processor is the time of it that this process has used.
func processor() time.Duration {
	var r syscall.Rusage
	if syscall.Getrusage(syscall.RUSAGE_SELF, &r) != nil {
		return 0
	}
	return time.Duration(r.Utime.Nano() + r.Stime.Nano())
}

// addressSpace is the limit of it that the process runs under (ulimit -v).
func addressSpace() uint64 {
	var r syscall.Rlimit
	if syscall.Getrlimit(syscall.RLIMIT_AS, &r) != nil {
		return 1 << 62
	}
	return uint64(r.Cur)
}

// roomy is an address space in which Go runs into no limit before Watch does.
const roomy = 8 << 30

// Tight reports whether memory may run out, which ends a Go program at once,
// before Watch can tell: the address space is limited (ulimit -v), or the
// system gives out no more than it has.
func Tight() bool {
	text, _ := os.ReadFile("/proc/sys/vm/overcommit_memory") // elsewhere than on Linux there is none
	return addressSpace() < roomy || strings.TrimSpace(string(text)) == "2"
}

// margin is what the process that asked for a rehearsal may have mapped more.
const margin = 128 << 20

// Bound lets this process map at most more bytes beyond those that it has
// mapped now, and less than it might: one step that asks for more ends it, as
// Go does then. It does nothing where the system does not say how much is mapped.
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
		if uint64(r.Cur) < roomy {
			r.Cur -= min(r.Cur, margin)
		}
		if most := pages*uint64(os.Getpagesize()) + more; most < r.Cur || uint64(r.Cur) < roomy {
			r.Cur = min(r.Cur, most)
			_ = syscall.Setrlimit(syscall.RLIMIT_AS, &r) // lowering is always allowed
		}
	}
}

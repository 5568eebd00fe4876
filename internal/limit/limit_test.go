package limit

import (
	"runtime"
	"strings"
	"testing"
	"time"
)

// ends runs work until the watch says which limit it reached.
func ends(t *testing.T, l Limits, work func(stop <-chan struct{})) string {
	t.Helper()
	over, stop := make(chan Exceeded, 2), make(chan struct{})
	end := Watch(l, func(e Exceeded) { over <- e }, func(Exceeded) {})
	defer end()
	go work(stop)
	defer close(stop)
	select {
	case e := <-over:
		return e.What
	case <-time.After(20 * time.Second):
		t.Fatal("nothing was exceeded")
		return ""
	}
}

func TestWatchReportsExceededLimit(t *testing.T) {
	large := Limits{Memory: 1 << 40, Stack: 1 << 40, Time: time.Hour}
	memory, stack, cpu := large, large, large
	memory.Memory, stack.Stack, cpu.Time = 300<<20, 32<<20, 200*time.Millisecond
	for want, c := range map[string]struct {
		l    Limits
		work func(<-chan struct{})
	}{
		"300 MiB of memory": {memory, func(stop <-chan struct{}) {
			var keep [][]byte
			for {
				select {
				case <-stop:
					return
				default:
				}
				if len(keep) < 800 {
					b := make([]byte, 1<<20)
					for i := range b {
						b[i] = 1
					}
					keep = append(keep, b)
				}
			}
		}},
		"32 MiB of stack": {stack, func(<-chan struct{}) { deep(1_000_000) }},
		"200ms of the processor": {cpu, func(stop <-chan struct{}) {
			for n := 0; ; n++ {
				select {
				case <-stop:
					return
				default:
					n *= 3
				}
			}
		}},
	} {
		if got := ends(t, c.l, c.work); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}

//go:noinline
func deep(n int) int {
	var b [64]byte
	if n == 0 {
		time.Sleep(100 * time.Millisecond)
		return int(b[0])
	}
	return deep(n-1) + int(b[n%64])
}

func TestWatchIgnoresSleep(t *testing.T) {
	var said strings.Builder
	runtime.GC() // what the other tests left is not to be collected meanwhile
	stop := Watch(Limits{Memory: 1 << 40, Stack: 1 << 40, Time: 200 * time.Millisecond}, func(e Exceeded) { said.WriteString(e.What) }, func(Exceeded) {})
	time.Sleep(600 * time.Millisecond)
	stop()
	stop()
	if said.Len() > 0 {
		t.Error(said.String())
	}
}

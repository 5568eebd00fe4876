package cli

import (
	"fmt"
	"io"
	"sort"
	"strings"
	"sync"
	"time"

	"github.com/schollz/progressbar/v3"
	"golang.org/x/term"

	"aisync.dev/aisync/internal/quantity"
	"aisync.dev/aisync/internal/termtext"
)

const (
	lineEvery = 5 * time.Second        // how often progress is said where there is no terminal to draw on
	drawEvery = 100 * time.Millisecond // and how often it is drawn on one
	NameWidth = 26                     // of a name before a bar, at most
	besides   = 46                     // columns of a line that are neither name nor bar, at most
)

// Bars show how far bytes are: a bar a file and one for all on a terminal, with
// rate and remaining time; a line now and then elsewhere. It writes to stderr
// only. Its methods may be called by many goroutines.
type Bars struct {
	a    *App
	draw bool // on a terminal
	mute bool

	mu     sync.Mutex
	width  int // of the terminal
	files  []*FileBar
	all    *FileBar
	first  int64 // bytes that were there when it began, which do not count
	began  time.Time
	drawn  int // lines on the terminal now
	last   time.Time
	stop   chan struct{}
	ticked sync.WaitGroup
}

// FileBar is one bar, drawn to memory.
type FileBar struct {
	name        string
	done, total int64
	bar         *progressbar.ProgressBar
}

// NewBars shows what comes to total bytes. close ends it.
func (a *App) NewBars(what string, total int64) *Bars {
	b := &Bars{a: a, stop: make(chan struct{}), began: time.Now(), width: terminalWidth(a.Err)}
	b.all = NewFileBar(what, total, b.width)
	b.mute, b.draw = a.Flags.Quiet || a.Flags.JSON || total == 0, IsTerminal(a.Err)
	if !b.mute && !b.draw {
		b.ticked.Go(b.sayNowAndThen)
	}
	return b
}

// terminalWidth is that of the terminal behind w, or of an old one.
func terminalWidth(w io.Writer) int {
	if f, ok := w.(interface{ Fd() uintptr }); ok {
		if n, _, err := term.GetSize(int(f.Fd())); err == nil && n > 0 {
			return n
		}
	}
	return 80
}

func NewFileBar(name string, total int64, width int) *FileBar {
	return &FileBar{name: name, total: total, bar: progressbar.NewOptions64(max(total, 1),
		progressbar.OptionSetWriter(io.Discard),
		progressbar.OptionShowBytes(true),
		progressbar.OptionShowCount(),
		progressbar.OptionSetPredictTime(true),
		progressbar.OptionSetWidth(min(30, max(5, width-NameWidth-besides))),
		progressbar.OptionSetDescription(name),
	)}
}

func (f *FileBar) Set(done int64) {
	f.done = min(done, f.total)
	_ = f.bar.Set64(f.done) // to memory: cannot fail
}

// File says how far one file is; the first call for a name adds it.
func (b *Bars) File(name string, done, total int64) {
	b.mu.Lock()
	defer b.mu.Unlock()
	var f *FileBar
	for _, have := range b.files {
		if have.name == name {
			f = have
		}
	}
	if f == nil {
		f = NewFileBar(termtext.Safe(name), total, b.width)
		f.name = name
		b.files = append(b.files, f)
		b.first += done
	}
	f.Set(done)
	var sum int64
	for _, have := range b.files {
		sum += have.done
	}
	b.all.Set(max(0, sum-b.first))
	if b.draw && !b.mute && time.Since(b.last) >= drawEvery {
		b.redraw()
	}
}

// redraw puts the bars of the files that are on their way, and that of all, in
// place of those that are drawn.
func (b *Bars) redraw() {
	b.clear()
	b.last = time.Now()
	var drawn []*FileBar
	for _, f := range b.files {
		if f.done < f.total {
			drawn = append(drawn, f)
		}
	}
	sort.Slice(drawn, func(i, j int) bool { return drawn[i].name < drawn[j].name })
	if len(b.files) > 1 || b.all.total > b.files[0].total || len(drawn) == 0 {
		drawn = append(drawn, b.all)
	}
	longest := 0
	for _, f := range drawn {
		longest = max(longest, len([]rune(f.name)))
	}
	for _, f := range drawn {
		fmt.Fprintln(b.a.Err, f.Line(min(longest, NameWidth), b.width-1))
	}
	b.drawn = len(drawn)
}

// Line is the bar of f after its name, in so many columns at most.
func (f *FileBar) Line(name, most int) string {
	label := []rune(termtext.Safe(f.name))
	if len(label) > name {
		label = append(label[:name-1], '…')
	}
	f.bar.Describe(fmt.Sprintf("%-*s", name, string(label)))
	text := strings.TrimSpace(strings.ReplaceAll(f.bar.String(), "\r", ""))
	if head, times, ok := strings.Cut(text, " ["); ok { // so far, and to go
		_, left, _ := strings.Cut(strings.TrimSuffix(times, "]"), ":")
		text = head + " " + left + " left"
	}
	line := []rune(text)
	return string(line[:min(len(line), most)])
}

// clear takes away what is drawn.
func (b *Bars) clear() {
	if b.drawn > 0 {
		fmt.Fprintf(Bare(b.a.Err), "\x1b[%dA\r\x1b[J", b.drawn)
		b.drawn = 0
	}
}

// above writes what f writes above the bars.
func (b *Bars) above(f func()) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.clear()
	f()
}

// line is how far all of it is, in words.
func (b *Bars) line() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	text := fmt.Sprintf("%s: %s of %s", b.all.name, quantity.Bytes(b.all.done), quantity.Bytes(b.all.total))
	rate := float64(b.all.done) / time.Since(b.began).Seconds()
	if rate >= 1 && b.all.done < b.all.total {
		left := time.Duration(float64(b.all.total-b.all.done) / rate * float64(time.Second))
		text += fmt.Sprintf(", %s/s, %s left", quantity.Bytes(int64(rate)), left.Round(time.Second))
	}
	return text
}

func (b *Bars) sayNowAndThen() {
	tick := time.NewTicker(lineEvery)
	defer tick.Stop()
	last := int64(-1)
	for {
		select {
		case <-b.stop:
			return
		case <-tick.C:
			b.mu.Lock()
			done := b.all.done
			b.mu.Unlock()
			if done != last { // nothing new is not said again
				b.a.Say("%s", b.line())
			}
			last = done
		}
	}
}

// Close ends the showing; nothing is drawn afterwards.
func (b *Bars) Close() {
	close(b.stop)
	b.ticked.Wait()
	b.mu.Lock()
	defer b.mu.Unlock()
	b.clear()
	b.mute = true
}

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
	lineEvery = 5 * time.Second        // between lines of progress where stderr is not a terminal
	drawEvery = 100 * time.Millisecond // between redraws on a terminal
	NameWidth = 26                     // columns of a name before a bar, at most
	figures   = 46                     // columns after the bar, at most
)

// Bars shows the progress of a transfer on stderr, with rate and remaining time: on a
// terminal a bar for each file and one for all, elsewhere a line every few seconds.
// Its methods may be called by several goroutines at once.
type Bars struct {
	a    *App
	draw bool // on a terminal
	mute bool

	mu     sync.Mutex
	width  int // of the terminal
	files  []*FileBar
	all    *FileBar
	first  int64 // bytes that were there at the start, which do not count
	began  time.Time
	drawn  int // lines that are on the terminal now
	last   time.Time
	stop   chan struct{}
	ticked sync.WaitGroup
}

// FileBar is the bar of one file, drawn in memory.
type FileBar struct {
	name        string
	done, total int64
	bar         *progressbar.ProgressBar
}

// NewBars starts to show the progress of what, which is total bytes, until Close.
func (a *App) NewBars(what string, total int64) *Bars {
	b := &Bars{a: a, stop: make(chan struct{}), began: time.Now(), width: terminalWidth(a.Err)}
	b.all = NewFileBar(what, total, b.width)
	b.mute, b.draw = a.Flags.Quiet || a.Flags.JSON || total == 0, IsTerminal(a.Err)
	if !b.mute && !b.draw {
		b.ticked.Go(b.printLines)
	}
	return b
}

// terminalWidth returns the columns of the terminal behind w, or 80.
func terminalWidth(w io.Writer) int {
	if f, ok := w.(interface{ Fd() uintptr }); ok {
		if n, _, err := term.GetSize(int(f.Fd())); err == nil && n > 0 {
			return n
		}
	}
	return 80
}

// NewFileBar returns a bar for a terminal with width columns.
func NewFileBar(name string, total int64, width int) *FileBar {
	return &FileBar{name: name, total: total, bar: progressbar.NewOptions64(max(total, 1),
		progressbar.OptionSetWriter(io.Discard),
		progressbar.OptionShowBytes(true),
		progressbar.OptionShowCount(),
		progressbar.OptionSetPredictTime(true),
		progressbar.OptionSetWidth(min(30, max(5, width-NameWidth-figures))),
		progressbar.OptionSetDescription(name),
	)}
}

// Set moves the bar to done bytes.
func (f *FileBar) Set(done int64) {
	f.done = min(done, f.total)
	_ = f.bar.Set64(f.done) // cannot fail: it draws in memory
}

// File sets the progress of the file name, which the first call adds.
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

// redraw replaces the drawn bars by those of the unfinished files and of all.
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

// Line returns the name of f, in name columns, and its bar, in at most most columns.
func (f *FileBar) Line(name, most int) string {
	label := []rune(termtext.Safe(f.name))
	if len(label) > name {
		label = append(label[:name-1], '…')
	}
	f.bar.Describe(fmt.Sprintf("%-*s", name, string(label)))
	text := strings.TrimSpace(strings.ReplaceAll(f.bar.String(), "\r", ""))
	if head, times, ok := strings.Cut(text, " ["); ok { // [elapsed:remaining]
		_, left, _ := strings.Cut(strings.TrimSuffix(times, "]"), ":")
		text = head + " " + left + " left"
	}
	line := []rune(text)
	return string(line[:min(len(line), most)])
}

// clear erases the drawn bars.
func (b *Bars) clear() {
	if b.drawn > 0 {
		fmt.Fprintf(Bare(b.a.Err), "\x1b[%dA\r\x1b[J", b.drawn)
		b.drawn = 0
	}
}

// above calls f, whose output to stderr appears above the bars.
func (b *Bars) above(f func()) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.clear()
	f()
}

// line returns the progress of the whole transfer in words.
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

// printLines prints the progress every lineEvery, if it changed, until Close.
func (b *Bars) printLines() {
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
			if done != last {
				b.a.Say("%s", b.line())
			}
			last = done
		}
	}
}

// Close erases the bars. Nothing is drawn afterwards.
func (b *Bars) Close() {
	close(b.stop)
	b.ticked.Wait()
	b.mu.Lock()
	defer b.mu.Unlock()
	b.clear()
	b.mute = true
}

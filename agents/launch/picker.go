package launch

import (
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/term"

	"aisync.dev/aisync/internal/termtext"
)

// ErrNothingPicked reports that the person left the picker without choosing.
var ErrNothingPicked = errors.New("no choice made")

// Pick shows rows on a terminal and returns the index of the chosen one: typing
// keeps the rows that contain each word, the arrows move, Enter chooses, Escape
// leaves. It draws on out and erases its drawing.
func Pick(in, out *os.File, title string, rows []string) (int, error) {
	width, height, err := term.GetSize(int(out.Fd()))
	if err != nil {
		width, height = 80, 24
	}
	was, err := term.MakeRaw(int(in.Fd()))
	if err != nil {
		return 0, fmt.Errorf("choose on the terminal: %w", err)
	}
	defer func() { _ = term.Restore(int(in.Fd()), was) }()
	p := newPicker(title, rows, width, height)
	defer p.erase(out)
	buf := make([]byte, 64)
	for {
		p.draw(out)
		n, err := in.Read(buf)
		if err != nil {
			return 0, ErrNothingPicked
		}
		switch p.keys(string(buf[:n])) {
		case taken:
			return p.shown[p.at], nil
		case left:
			return 0, ErrNothingPicked
		}
	}
}

type outcome int

const (
	goesOn outcome = iota
	taken
	left
)

// picker holds the typed text, the rows that match, and the marked one.
type picker struct {
	title         string
	rows          []string
	width, height int
	typed         string
	shown         []int // indices of matching rows
	at            int   // index in shown
	drawn         int   // lines on the screen below the first
}

func newPicker(title string, rows []string, width, height int) *picker {
	p := &picker{title: title, rows: rows, width: max(width, 20), height: max(min(height-2, 12), 1)}
	p.narrow()
	return p
}

func (p *picker) narrow() {
	p.shown, p.at = p.shown[:0], 0
	words := strings.Fields(strings.ToLower(p.typed))
	for i, row := range p.rows {
		low := strings.ToLower(row)
		if !slices.ContainsFunc(words, func(w string) bool { return !strings.Contains(low, w) }) {
			p.shown = append(p.shown, i)
		}
	}
}

// keys handles what a terminal sent: characters, or one escape sequence.
func (p *picker) keys(sent string) outcome {
	switch sent {
	case "\x1b[A", "\x1bOA", "\x10": // up, ctrl-p
		p.at = max(p.at-1, 0)
		return goesOn
	case "\x1b[B", "\x1bOB", "\x0e": // down, ctrl-n
		p.at = max(min(p.at+1, len(p.shown)-1), 0)
		return goesOn
	case "\x1b":
		return left
	}
	if strings.HasPrefix(sent, "\x1b") {
		return goesOn
	}
	for _, r := range sent {
		switch r {
		case '\r', '\n':
			if len(p.shown) > 0 {
				return taken
			}
		case 3, 4: // ctrl-c, ctrl-d
			return left
		case 127, 8:
			_, last := utf8.DecodeLastRuneInString(p.typed)
			p.typed = p.typed[:len(p.typed)-last]
			p.narrow()
		case 21: // ctrl-u
			p.typed = ""
			p.narrow()
		default:
			if unicode.IsPrint(r) {
				p.typed += string(r)
				p.narrow()
			}
		}
	}
	return goesOn
}

// draw shows the typed text, and below it as many rows as fit.
func (p *picker) draw(out io.Writer) {
	var b strings.Builder
	b.WriteString("\r\x1b[J")
	first := max(0, min(p.at-p.height/2, len(p.shown)-p.height))
	last := min(len(p.shown), first+p.height)
	p.drawn = last - first
	line := fmt.Sprintf("%s (%d of %d): %s", p.title, len(p.shown), len(p.rows), p.typed)
	b.WriteString(p.cut(line))
	for i := first; i < last; i++ {
		mark := "  "
		if i == p.at {
			mark = "> "
		}
		b.WriteString("\r\n" + p.cut(mark+p.rows[p.shown[i]]))
	}
	if p.drawn > 0 {
		fmt.Fprintf(&b, "\x1b[%dA", p.drawn)
	}
	fmt.Fprintf(&b, "\r\x1b[%dC", utf8.RuneCountInString(p.cut(line)))
	_, _ = io.WriteString(out, b.String()) // if the terminal is gone, the next read fails
}

func (p *picker) erase(out io.Writer) { _, _ = io.WriteString(out, "\r\x1b[J") }

// cut shortens a line to the width and removes control characters.
func (p *picker) cut(line string) string {
	return termtext.Clip(strings.Map(func(r rune) rune {
		if unicode.IsPrint(r) && !termtext.Hidden(r) {
			return r
		}
		return '?'
	}, line), p.width-1)
}

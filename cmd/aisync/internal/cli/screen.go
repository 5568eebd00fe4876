package cli

import (
	"fmt"
	"io"
	"os"
	"strings"
	"unicode/utf8"

	"golang.org/x/term"

	"aisync.dev/aisync/internal/termtext"
)

// screen is a terminal. Each command makes text of others safe where it shows
// it; what one forgets ends here: of what moves the cursor, renames the window
// or reorders a line nothing gets through, only colours do.
type screen struct {
	io.Writer          // the terminal
	file      *os.File // the same, for who asks what it is
}

// OnScreen is w, guarded where it is a terminal. What goes to files and to other
// programs is theirs to read as it is.
func OnScreen(w io.Writer) io.Writer {
	if f, ok := w.(*os.File); ok && term.IsTerminal(int(f.Fd())) {
		return screen{f, f}
	}
	return w
}

// Palette is what a painter paints with.
var Palette = [...]string{"\x1b[0m", "\x1b[1m", "\x1b[2m", "\x1b[31m", "\x1b[32m", "\x1b[33m", "\x1b[36m"}

func colour(s string) string {
	for _, c := range Palette {
		if strings.HasPrefix(s, c) {
			return c
		}
	}
	return ""
}

func (s screen) Write(b []byte) (int, error) {
	out := make([]byte, 0, len(b)+16)
	for rest := string(b); rest != ""; {
		if c := colour(rest); c != "" {
			out, rest = append(out, c...), rest[len(c):]
			continue
		}
		r, n := utf8.DecodeRuneInString(rest)
		switch {
		case r == '\n':
			out = append(out, '\n')
		case r == utf8.RuneError && n == 1:
			out = fmt.Appendf(out, `\x%02x`, rest[0])
		case termtext.Hidden(r):
			out = fmt.Appendf(out, `\u%04x`, r) // as JSON has it
		default:
			out = append(out, rest[:n]...)
		}
		rest = rest[n:]
	}
	if _, err := s.Writer.Write(out); err != nil {
		return 0, err
	}
	return len(b), nil
}

// Fd is for who wants to know whether this is a terminal.
func (s screen) Fd() uintptr { return s.file.Fd() }

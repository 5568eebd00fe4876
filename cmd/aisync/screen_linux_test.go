package main

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"aisync.dev/aisync/cmd/aisync/internal/cli"
	"aisync.dev/aisync/internal/termtext"
)

// terminal returns both ends of a terminal that changes nothing of what is
// written to it.
func terminal(t *testing.T) (outer, inner *os.File) {
	t.Helper()
	outer, err := os.OpenFile("/dev/ptmx", os.O_RDWR, 0)
	if err != nil {
		t.Skipf("no terminal can be made here: %v", err)
	}
	t.Cleanup(func() { outer.Close() })
	fd := int(outer.Fd())
	n, err := unix.IoctlGetInt(fd, unix.TIOCGPTN)
	if err == nil {
		err = unix.IoctlSetPointerInt(fd, unix.TIOCSPTLCK, 0)
	}
	if err == nil {
		inner, err = os.OpenFile(fmt.Sprintf("/dev/pts/%d", n), os.O_RDWR|unix.O_NOCTTY, 0)
	}
	if err != nil {
		t.Skipf("no terminal can be made here: %v", err)
	}
	t.Cleanup(func() { inner.Close() })
	mode, err := unix.IoctlGetTermios(int(inner.Fd()), unix.TCGETS)
	if err != nil {
		t.Fatal(err)
	}
	mode.Oflag &^= unix.OPOST
	mode.Lflag &^= unix.ECHO
	if err := unix.IoctlSetTermios(int(inner.Fd()), unix.TCSETS, mode); err != nil {
		t.Fatal(err)
	}
	return outer, inner
}

// shown is what a terminal was sent by write.
func shown(t *testing.T, outer, inner *os.File, write func()) string {
	t.Helper()
	const end = "\x00end"
	go func() {
		write()
		_, _ = io.WriteString(inner, end)
	}()
	var all strings.Builder
	for buf := make([]byte, 4096); !strings.HasSuffix(all.String(), end); {
		n, err := outer.Read(buf)
		if err != nil {
			t.Fatal(err)
		}
		all.Write(buf[:n])
	}
	return strings.TrimSuffix(all.String(), end)
}

func TestATerminalGetsNothingButTextAndColours(t *testing.T) {
	outer, inner := terminal(t)
	for text, want := range map[string]string{
		"plain\ttext\nof two lines: ä 日本 🙂\n":     "plain\ttext\nof two lines: ä 日本 🙂\n",
		cli.Painter(true).Red("no") + "\x1b[0m":   "\x1b[31mno\x1b[0m\x1b[0m",
		"\x1b[2J\x1b]0;owned\x07":                 `\u001b[2J\u001b]0;owned\u0007`,
		"\x1b[8mhidden\x1b[31;8m\x1b[5A\x1b[J\r":  `\u001b[8mhidden\u001b[31;8m\u001b[5A\u001b[J\u000d`,
		"\u009b2J\u202e\u2066txt\x7f\x00\b":       `\u009b2J\u202e\u2066txt\u007f\u0000\u0008`,
		"\xff\x9b2J and half of a rune: \xe2\x80": `\xff\x9b2J and half of a rune: \xe2\x80`,
	} {
		w := cli.OnScreen(inner)
		got := shown(t, outer, inner, func() {
			if n, err := io.WriteString(w, text); n != len(text) || err != nil {
				t.Errorf("%q: %d, %v", text, n, err)
			}
		})
		if got != want {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
		if !cli.IsTerminal(w) || !cli.IsTerminal(cli.Unheard(w)) || cli.Bare(w) != io.Writer(inner) || cli.Bare(cli.Unheard(w)) != io.Writer(inner) {
			t.Error("a terminal is not known as one")
		}
	}
	file, err := os.Create(t.TempDir() + "/out")
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	if w := cli.OnScreen(file); w != io.Writer(file) {
		t.Errorf("a file is written to through %T", w)
	}
}

// The whole program on a terminal, with arguments and a folder that play tricks.
func TestTheProgramShowsATerminalNoEscapeOfOthers(t *testing.T) {
	outer, inner := terminal(t)
	evil := "\x1b]0;owned\x07\x1b[2J\u009b1;1H"
	dir := filepath.Join(t.TempDir(), "pro"+evil+"\nject")
	must(t, os.MkdirAll(filepath.Join(dir, ".ai"), 0o755))
	must(t, os.WriteFile(filepath.Join(dir, "aisync.cue"), []byte("package aisync\nproject: {runtimes: [\"claude\"], bundles: [\"core\"]}\n"), 0o644))
	got := shown(t, outer, inner, func() {
		for _, args := range [][]string{
			{"runtimes", "show", evil}, {evil}, {"plan", "--" + evil}, {"apply", evil}, {"models", "fit", evil}, {"show", evil},
			{"--project", dir, "plan", "--scope", "project"}, {"--project", dir, "validate"}, {"--project", dir, "session", "path"},
			{"--project", dir, "who"}, {"--project", dir, "--json", "status"}, {"--project", dir, "drift", "--scope", "project"},
			{"--project", dir, "ledger", "show", evil}, {"--project", dir, "session", "list"}, {"--project", dir, "lint", dir},
		} {
			run(append([]string{"aisync", "--offline"}, args...), strings.NewReader(""), inner, inner,
				[]string{"HOME=" + t.TempDir(), "TERM=xterm", "PATH=" + os.Getenv("PATH")})
		}
	})
	for _, c := range cli.Palette {
		got = strings.ReplaceAll(got, c, "")
	}
	if i := strings.IndexFunc(got, func(r rune) bool { return r != '\n' && termtext.Hidden(r) }); i >= 0 || len(got) < 1000 {
		t.Errorf("of %d bytes, %q got through", len(got), got[max(0, i-80):min(len(got), max(i, 0)+20)])
	}
}

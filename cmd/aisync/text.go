package main

import (
	"fmt"
	"strconv"
	"strings"

	"aisync.dev/aisync/internal/shellquote"
	"aisync.dev/aisync/internal/termtext"
)

// bytesText shows the size of something on disk or on its way, in powers of
// 1000 as disks and hubs count: "18.6 GB".
func bytesText(n int64) string { return sizeText(n, 1000, []string{"B", "kB", "MB", "GB", "TB", "PB"}) }

// memoryText shows a size of memory, in powers of 1024: "62.5 GiB".
func memoryText(n int64) string {
	return sizeText(n, 1024, []string{"B", "KiB", "MiB", "GiB", "TiB", "PiB"})
}

func sizeText(n, base int64, units []string) string {
	if n < base {
		return strconv.FormatInt(n, 10) + " " + units[0]
	}
	v, i := float64(n), 0
	for v >= float64(base) && i < len(units)-1 {
		v /= float64(base)
		i++
	}
	return strconv.FormatFloat(v, 'f', 1, 64) + " " + units[i]
}

// plural counts a noun: "1 change", "3 changes".
func plural(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	if stem, ok := strings.CutSuffix(noun, "y"); ok {
		return strconv.Itoa(n) + " " + stem + "ies"
	}
	return strconv.Itoa(n) + " " + noun + "s"
}

// safe makes text of others harmless on a terminal; see termtext.Safe.
func safe(s string) string { return termtext.Safe(s) }

// shellQuote shows an argument so that a shell reads it as one word; where it
// plays with the terminal, a shell that knows $'…' (bash, zsh, ksh).
func shellQuote(s string) string {
	if safe(s) != s {
		return ansiQuote(s)
	}
	return shellquote.Word(s)
}

// ansiQuote writes all bytes that are no plain text by their numbers.
func ansiQuote(s string) string {
	var b strings.Builder
	for i := range len(s) {
		switch c := s[i]; {
		case c == '\'' || c == '\\':
			b.WriteString(`\` + string(c))
		case c < ' ' || c > '~':
			fmt.Fprintf(&b, `\x%02x`, c)
		default:
			b.WriteByte(c)
		}
	}
	return "$'" + b.String() + "'"
}

// safeLines is safe for text that may have several lines.
func safeLines(s string) string {
	lines := strings.Split(s, "\n")
	for i, l := range lines {
		lines[i] = safe(l)
	}
	return strings.Join(lines, "\n")
}

// oneMessage is safe for a message that may have several lines, of which none
// but the first can be taken for one of its own.
func oneMessage(s string) string {
	lines := strings.Split(safeLines(s), "\n")
	for i, l := range lines[1:] {
		if l != "" && l[0] != ' ' && l[0] != '\t' {
			lines[i+1] = "  " + l
		}
	}
	return strings.Join(lines, "\n")
}

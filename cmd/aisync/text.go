package main

import (
	"strings"

	"aisync.dev/aisync/internal/termtext"
)

// oneMessage is safe for a message that may have several lines, of which none
// but the first can be taken for one of its own.
func oneMessage(s string) string {
	lines := strings.Split(termtext.SafeLines(s), "\n")
	for i, l := range lines[1:] {
		if l != "" && l[0] != ' ' && l[0] != '\t' {
			lines[i+1] = "  " + l
		}
	}
	return strings.Join(lines, "\n")
}

// Package tool answers the calls of hooks that need a parser of command lines, before the
// heavy packages initialise. See package quick/hook, which answers the others
// earlier.
package tool

import (
	"os"

	"aisync.dev/aisync/agents/hook/shell"
	quickhook "aisync.dev/aisync/cmd/aisync/quick/hook"
)

func init() { quickhook.Process(shell.Reader{Environ: os.Environ()}) }

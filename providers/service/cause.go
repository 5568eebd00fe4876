package service

import (
	"context"
	"regexp"
	"slices"
	"strings"

	"aisync.dev/aisync/providers/service/control"
)

// Cause is why a server ended.
type Cause string

// The causes that a server's last lines tell; "" is none of them.
const (
	Gone     Cause = "gone"     // a file of its model is not there
	Damaged  Cause = "damaged"  // a file of its model is
	TooNew   Cause = "too new"  // it knows the architecture or the format of its model not, or not wholly
	Memory   Cause = "memory"   // it got none
	Killed   Cause = "killed"   // by a person or, for want of memory, by the system
	Port     Cause = "port"     // another program has it
	Argument Cause = "argument" // it does not know one, or its value
	Disk     Cause = "disk"     // it has no space left
	Picture  Cause = "picture"  // the projector is of another model, or none
)

// causes are words of llama-server (b11669, and older ones) and ollama (0.9.6), the
// first that fits.
var causes = []struct {
	cause Cause
	words *regexp.Regexp
	text  string // with the group of words
}{
	{Argument, regexp.MustCompile(`error: (invalid argument: .+)|error while handling argument ("[^"]+": .+)|cache type (\S+ with block size \d+ does not divide .+)`), "it does not take an argument: "},
	{Port, regexp.MustCompile(`couldn't bind HTTP server socket|bind: address already in use`), "another program has its port"},
	{Disk, regexp.MustCompile(`(\S+): no space left on device`), "its disk is full: "},
	{Memory, regexp.MustCompile(`insufficient memory|failed to allocate|unable to allocate|bad_alloc|[Cc]annot allocate memory|out of memory|OutOfDeviceMemory`), "it got too little memory"},
	{Gone, regexp.MustCompile(`failed to open GGUF file '([^']+)' \(No such file`), "a file of its model is not there: "},
	{Picture, regexp.MustCompile(`(mismatch between text model \(n_embd = \d+\) and mmproj \(n_embd = \d+\))`), "its projector (mmproj) is of another model: "},
	{Picture, regexp.MustCompile(`(CLIP cannot be used as main model)`), "its model is a projector (mmproj): "},
	{TooNew, regexp.MustCompile(`unknown model architecture: '([^']+)'`), "this version of it does not know the model's architecture "},
	{TooNew, regexp.MustCompile(`(file is version \d+ but this software only supports up to version \d+|tensor \S+ has invalid ggml type \d+|unknown pre-tokenizer type: \S+|unknown (?:vision )?projector type:? \S+|wrong number of tensors.*|key not found in model: \S+|tensor \S+ not found|GGML_ASSERT\(.+\) failed)`), "this version of it does not know the model's format: "},
	{Damaged, regexp.MustCompile(`(data is not within the file bounds|invalid magic|failed to read (?:header|tensor))`), "a file of its model is damaged: "},
	{Picture, regexp.MustCompile(`failed to load multimodal model, '([^']+)'`), "it cannot load its projector (mmproj) "},
}

var killed = regexp.MustCompile(`(?i)^signal kill`)

// CauseOf returns why a server ended, and as a clause what tells so: from how it
// ended, and what it wrote.
func CauseOf(ended string, lines []string) (Cause, string) {
	text := ended + "\n" + strings.Join(lines, "\n")
	for _, c := range causes {
		if x := c.words.FindStringSubmatch(text); x != nil {
			return c.cause, c.text + strings.Join(x[1:], "")
		}
	}
	if killed.MatchString(ended) {
		return Killed, "it was killed, by a person or because memory ran out"
	}
	return "", ""
}

// lastRun is what the last run wrote: aisync's supervisor ends each with a line.
func lastRun(lines []string) []string {
	for i, line := range slices.Backward(lines) {
		if i < len(lines)-1 && strings.HasPrefix(line, "aisync: service ") {
			return lines[i+1:]
		}
	}
	return lines
}

// Why returns why the service of st ended, as a cause and a clause, and the last
// lines of that run.
func Why(ctx context.Context, at control.Controller, st control.State) (Cause, string, []string) {
	lines := lastRun(LastLines(ctx, at, st.Name, 40))
	cause, text := CauseOf(st.Ended, lines)
	return cause, text, lines[max(0, len(lines)-8):]
}

package worker

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"aisync.dev/aisync/internal/atomicfile"
	"aisync.dev/aisync/internal/shellquote"
)

// How the questions of a program are looked for. Tests shorten the times.
var (
	// dialogWatch is how long after its prompt the window is looked at often:
	// codex shows its prompt first, and then asks about trust.
	dialogWatch = 2 * time.Minute
	// stillFor is how long a window prints nothing before it is looked at after
	// that: a question waits.
	stillFor = 3 * time.Second
	// lookAnyway is how often a window that never stops printing is looked at.
	lookAnyway = 30 * time.Second
)

// bottom is how many lines at the end of a screen are looked at for a late
// question: above them such words are more likely the model's.
const bottom = 20

// watchDialogs records each question that follows the prompt, and that it was
// answered, until the command ends.
func (k *keeper) watchDialogs(done <-chan struct{}) {
	clear, began := 0, time.Now()
	var seen pace
	for {
		wait, late := 5*promptPoll, time.Since(began) >= dialogWatch
		if late {
			wait = min(stillFor/3, time.Second)
		}
		select {
		case <-done:
			return
		case <-time.After(wait):
		}
		if late && !seen.look(k.job.Log, k.asks != "", time.Now()) {
			continue
		}
		text, err := k.tmux.run("capture-pane", "-p", "-t", k.ticket.Pane.ID)
		if err != nil {
			continue
		}
		if late {
			text = lastLines(text, bottom)
		}
		switch question := Question(text, k.job.Dialogs); {
		case question != "":
			clear = 0
			k.recordQuestion(question)
		case k.asks != "":
			if clear++; clear == 2 { // not only between two questions
				clear = 0
				k.recordAnswer()
			}
		}
	}
}

// pace decides when a window is worth a look: once when it has stopped printing,
// and now and then while it prints. It reads only the size of the window's log.
type pace struct {
	size            int64
	changed, looked time.Time
}

func (p *pace) look(log string, asks bool, now time.Time) bool {
	if info, err := os.Lstat(log); err == nil && (info.Size() != p.size || p.changed.IsZero()) {
		p.size, p.changed = info.Size(), now
	}
	due := p.looked.Before(p.changed) && now.Sub(p.changed) >= stillFor || now.Sub(p.looked) >= lookAnyway && p.looked.Before(p.changed)
	if asks || due { // an answer is seen at once
		p.looked = now
		return true
	}
	return false
}

// recordQuestion records a question of the command, once while it waits.
func (k *keeper) recordQuestion(text string) {
	if text == k.asks {
		return
	}
	k.asks = text
	k.record(asksFile, text)
}

func (k *keeper) recordAnswer() {
	k.asks = ""
	k.record(saidFile, "answered")
}

// record replaces a file of an Asks in one step.
func (k *keeper) record(file, text string) {
	content, err := json.MarshalIndent(Asks{Schema: schema, Marker: k.job.Marker, Text: text, At: time.Now().UTC()}, "", "  ")
	if err == nil {
		err = atomicfile.Write(filepath.Join(k.folder, file), append(content, '\n'), atomicfile.Options{Temp: "." + file + ".*", Mode: 0o600})
	}
	if err != nil {
		fmt.Fprintf(os.Stderr, "aisync: record a question of the command: %v\n", err)
	}
}

// lastLines returns the last n lines of a screen that are not blank.
func lastLines(screen string, n int) string {
	var lines []string
	for line := range strings.SplitSeq(screen, "\n") {
		if strings.TrimSpace(line) != "" {
			lines = append(lines, line)
		}
	}
	return strings.Join(lines[max(0, len(lines)-n):], "\n")
}

// AskedLate reports whether the command asks something while it works, and not at
// its start.
func (o Observation) AskedLate() bool {
	return o.Asks != nil && o.Ready != nil && o.Asks.At.Sub(o.Ready.At) > dialogWatch
}

// Window returns the command that shows the window of a worker in tmux, "" for one
// without.
func (o Observation) Window() string {
	if o.Ticket == nil || o.Ticket.Pane == nil {
		return ""
	}
	return fmt.Sprintf("tmux -S %s attach -t %s", shellquote.Terminal(o.Ticket.Pane.Socket), shellquote.Terminal(o.Ticket.Pane.ID))
}

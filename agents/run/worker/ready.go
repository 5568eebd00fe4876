package worker

import (
	"fmt"
	"os"
	"strings"
	"time"
)

// promptPoll is the poll interval for a program's prompt.
const promptPoll = 100 * time.Millisecond

// recordReady records that the command is ready: when it shows its prompt, or after
// its delay. A command without either is ready when it has started.
func (k *keeper) recordReady(done <-chan struct{}) {
	how := "started"
	if k.ticket.Pane != nil && (k.job.Ready != "" || k.job.ReadyDelay > 0) {
		shown, alive := k.waitPrompt(done)
		if !alive {
			return
		}
		how = "waited for"
		if shown {
			how = "shows that it takes input"
		}
	}
	if _, err := createOnce(k.folder, readyFile, Ready{Schema: schema, Marker: k.job.Marker, How: how, At: time.Now().UTC()}); err != nil {
		fmt.Fprintf(os.Stderr, "aisync: %v\n", err)
	}
}

// waitPrompt waits until the pane shows the program's prompt.
func (k *keeper) waitPrompt(done <-chan struct{}) (shown, alive bool) {
	delay := time.Duration(k.job.ReadyDelay) * time.Millisecond
	if delay == 0 {
		delay = time.Hour // the supervisor times out earlier
	}
	for began := time.Now(); time.Since(began) < delay; {
		select {
		case <-done:
			return false, false
		case <-time.After(promptPoll):
		}
		if k.job.Ready == "" {
			continue
		}
		// Screen lines have no trailing blanks.
		if text, err := k.tmux.run("capture-pane", "-p", "-t", k.ticket.Pane.ID); err == nil && strings.Contains(text, strings.TrimRight(k.job.Ready, " ")) {
			return true, true
		}
	}
	return false, true
}

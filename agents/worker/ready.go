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
	if k.ticket.Pane != nil && len(k.job.Dialogs) > 0 {
		k.watchDialogs(done)
	}
}

// waitPrompt waits until the pane shows the program's prompt, and no question
// that precedes it: a dialog may look like the prompt. It records the first such
// question.
func (k *keeper) waitPrompt(done <-chan struct{}) (shown, alive bool) {
	delay := time.Duration(k.job.ReadyDelay) * time.Millisecond
	if delay == 0 {
		delay = time.Hour // the supervisor times out earlier
	}
	for began, asked := time.Now(), false; asked || time.Since(began) < delay; {
		select {
		case <-done:
			return false, false
		case <-time.After(promptPoll):
		}
		if k.job.Ready == "" && len(k.job.Dialogs) == 0 {
			continue
		}
		text, err := k.tmux.run("capture-pane", "-p", "-t", k.ticket.Pane.ID)
		if err != nil {
			continue
		}
		question := Question(text, k.job.Dialogs)
		if asked = question != ""; asked {
			k.recordQuestion(question)
			continue
		}
		// Screen lines have no trailing blanks.
		if k.job.Ready != "" && strings.Contains(text, strings.TrimRight(k.job.Ready, " ")) {
			return true, true
		}
	}
	return false, true
}

// Question returns the first line of a screen that has the words of one of dialogs,
// without its frame; "" if it has none.
func Question(screen string, dialogs []string) string {
	for line := range strings.SplitSeq(screen, "\n") {
		for _, words := range dialogs {
			if strings.Contains(line, words) {
				return strings.Trim(line, " \t│┃|△⚠╭╮╰╯─>❯›*●•")
			}
		}
	}
	return ""
}

package ensemble

import (
	_ "embed"
	"errors"
	"fmt"
	"html/template"
	"os"
	"time"

	"aisync.dev/aisync/agents/ledger"
)

//go:embed page.html
var page string

// export writes the ledger as one page that needs nothing else.
func (c *call) export() (int, error) {
	file := c.value["html"]
	if file == "" {
		return exitError, errors.New("export wants --html FILE (or - for the output)")
	}
	c.ledger.Trace = false
	o, err := c.ledger.Overview(1)
	if err != nil {
		return exitError, err
	}
	moments, err := c.ledger.Timeline(0)
	if err != nil {
		return exitError, err
	}
	messages, err := c.ledger.Messages(0, false)
	if err != nil {
		return exitError, err
	}
	board, err := c.ledger.Board()
	if err != nil {
		return exitError, err
	}
	t, err := template.New("page").Parse(page)
	if err != nil {
		return exitError, err
	}
	out := c.Out
	if file != "-" {
		// Messages are for this user's eyes, as the ledger's files are.
		f, err := os.OpenFile(file, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
		if errors.Is(err, os.ErrExist) {
			return exitError, fmt.Errorf("%s is there already; name another file or remove it", file)
		}
		if err != nil {
			return exitError, err
		}
		defer f.Close()
		out = f
	}
	err = t.Execute(out, struct {
		Made     string
		Overview ledger.Overview
		Moments  []ledger.Moment
		Messages []ledger.Thread
		Board    string
	}{time.Now().UTC().Format(time.RFC3339), o, moments, messages, board})
	if err != nil {
		return exitError, fmt.Errorf("write %s: %w", file, err)
	}
	if file != "-" {
		fmt.Fprintf(c.Out, "wrote %s\n", file)
	}
	return exitDone, nil
}

package ensemble

import (
	"bufio"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"time"

	"aisync.dev/aisync/agents/ledger"
	"aisync.dev/aisync/internal/termtext"
)

func (c *call) status() (int, error) {
	s, err := c.ledger.Status()
	if err != nil {
		return exitError, err
	}
	return exitDone, c.json(s)
}

func (c *call) board() (int, error) {
	content, err := c.ledger.Board()
	if err != nil {
		return exitError, err
	}
	if c.on["json"] {
		return exitDone, c.json(struct {
			Content string `json:"content"`
		}{content})
	}
	return exitDone, c.print(c.shown(content))
}

// shown returns foreign text, made safe if the output is a terminal.
func (c *call) shown(text string) string {
	if c.Width == 0 {
		return text
	}
	var b strings.Builder
	for line := range strings.Lines(text) {
		whole := strings.TrimSuffix(line, "\n")
		b.WriteString(safe(strings.ReplaceAll(whole, "\t", "    ")) + line[len(whole):])
	}
	return b.String()
}

func (c *call) claims() (int, error) {
	text, err := c.ledger.ClaimsText()
	if err != nil {
		return exitError, err
	}
	return exitDone, c.json(text)
}

func (c *call) audit() (int, error) {
	events, err := c.ledger.Audit(c.limit(50))
	if err != nil {
		return exitError, err
	}
	records := []json.RawMessage{}
	for _, e := range events {
		records = append(records, e.Record())
	}
	if c.on["json"] {
		return exitDone, c.json(records)
	}
	for _, r := range records {
		if err := c.print(string(r)); err != nil {
			return exitError, err
		}
	}
	return exitDone, nil
}

func (c *call) timeline() (int, error) {
	moments, err := c.ledger.Timeline(c.limit(50))
	if err != nil {
		return exitError, err
	}
	if c.on["json"] {
		return exitDone, c.json(moments)
	}
	for _, m := range moments {
		fmt.Fprintf(c.Out, "%-24s  %-12s  %s\n", m.TS, m.Action, safe(m.Summary))
	}
	return exitDone, nil
}

// safe makes foreign text safe for a terminal and keeps its width.
func safe(s string) string { return termtext.Mask(s, '·') }

func (c *call) messages() (int, error) {
	messages, err := c.ledger.Messages(c.limit(50), c.on["open"])
	if err != nil {
		return exitError, err
	}
	if c.on["json"] {
		return exitDone, c.json(messages)
	}
	if len(messages) == 0 {
		return exitDone, c.print("no messages")
	}
	w := bufio.NewWriterSize(c.Out, 64<<10)
	for _, m := range messages {
		messageLine(w, m)
	}
	return exitDone, w.Flush()
}

// messageLine writes one line without Sprintf and its copies: a ledger may have
// 100,000 of them.
func messageLine(w *bufio.Writer, m ledger.Thread) {
	for _, part := range []string{
		m.Status, "         "[min(len(m.Status), 7):], m.MessageID, "  ", m.TS, "  ", m.From, " → ", m.To, " [", m.Type, "]  ",
		termtext.Clip(safe(termtext.OneLine(m.Body)), 80), "\n",
	} {
		w.WriteString(part)
	}
}

func (c *call) doctor() (int, error) {
	h, err := c.ledger.Doctor()
	if err != nil {
		return exitError, err
	}
	code := exitDone
	if c.Plain && !h.OK {
		code = exitError
	}
	if c.on["json"] {
		return code, c.json(h)
	}
	marks := map[string]string{"pass": "✓", "fail": "✗", "warn": "!", "info": "i"}
	for _, check := range h.Checks {
		fmt.Fprintf(c.Out, "%s %s: %s\n", marks[check.Status], check.Name, safe(check.Message))
		if check.Details != nil {
			details, err := json.Marshal(check.Details)
			if err != nil {
				return exitError, err
			}
			fmt.Fprintf(c.Out, "  details: %s\n", details)
		}
	}
	return code, nil
}

func (c *call) stale() (int, error) {
	days, err := c.days(30)
	if err != nil {
		return exitError, err
	}
	idle, err := c.ledger.Stale(days)
	if err != nil {
		return exitError, err
	}
	if c.on["json"] {
		return exitDone, c.json(idle)
	}
	if len(idle) == 0 {
		return exitDone, c.print("nothing stale")
	}
	for _, i := range idle {
		last := "never"
		if i.LastActiveAt != nil {
			last = *i.LastActiveAt
		}
		fmt.Fprintf(c.Out, "%-20s  last active %s (%d days), %d pending, %d claims\n", i.Agent, last, i.IdleDays, i.Pending, len(i.Claims))
	}
	return exitDone, nil
}

func (c *call) days(otherwise float64) (float64, error) {
	text, ok := c.value["days"]
	if !ok {
		return otherwise, nil
	}
	days, err := strconv.ParseFloat(text, 64)
	if err != nil || days < 0 {
		return 0, fmt.Errorf("--days %s: want a number of days", text)
	}
	return days, nil
}

func (c *call) verify() (int, error) {
	found, err := c.ledger.Verify()
	if err != nil {
		return exitError, err
	}
	code := exitDone
	if len(found) > 0 {
		code = exitError
	}
	return code, c.differences(found, "the files agree with the audit trail")
}

func (c *call) differences(found []ledger.Difference, none string) error {
	if c.on["json"] {
		return c.json(append([]ledger.Difference{}, found...))
	}
	if len(found) == 0 {
		return c.print(none)
	}
	for _, d := range found {
		fmt.Fprintf(c.Out, "%s %s: %s\n", d.Kind, safe(d.Subject), safe(d.Problem))
		if d.Repair != "" {
			fmt.Fprintf(c.Out, "  repair: %s\n", safe(d.Repair))
		}
	}
	return nil
}

func (c *call) repair() (int, error) {
	found, backup, err := c.ledger.Repair(c.caller("by"))
	if err != nil {
		return exitError, err
	}
	if err := c.differences(found, "nothing to repair"); err != nil || backup == "" {
		return exitDone, err
	}
	fmt.Fprintf(c.Err, "repaired; the previous files are in %s\n", backup)
	return exitDone, nil
}

func (c *call) compact() (int, error) {
	days, err := c.days(30)
	if err != nil {
		return exitError, err
	}
	before := time.Now().Add(-time.Duration(days * 24 * float64(time.Hour)))
	name, n, err := c.ledger.Compact(before, c.caller("by"))
	if err != nil {
		return exitError, err
	}
	if c.on["json"] {
		return exitDone, c.json(struct {
			Archive string `json:"archive"`
			Lines   int    `json:"lines"`
		}{name, n})
	}
	if n == 0 {
		return exitDone, c.print(fmt.Sprintf("nothing is older than %g days", days))
	}
	return exitDone, c.print(fmt.Sprintf("archived %d lines in %s", n, name))
}

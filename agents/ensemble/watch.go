package ensemble

import (
	"fmt"
	"regexp"
	"strings"
	"sync"
	"time"

	"aisync.dev/aisync/agents/ledger"
	"aisync.dev/aisync/internal/termtext"
)

// watchInterval is the poll interval of watch.
const watchInterval = 200 * time.Millisecond

// watch prints new messages until it is interrupted.
func (c *call) watch() (int, error) {
	agent := c.value["agent"]
	if agent != "" && !ledger.ValidAgent(agent) {
		return exitError, fmt.Errorf("Invalid agent name: %s. Use 1-64 chars: letters, numbers, dot, underscore, hyphen.", agent) //lint:ignore ST1005 the original's text
	}
	f := ledger.Follow{}
	if _, err := c.ledger.Since(&f); err != nil {
		return exitError, err
	}
	if !c.on["json"] {
		fmt.Fprintln(c.Err, "watching; press ^C to stop")
	}
	for c.pause(watchInterval) {
		events, err := c.ledger.Since(&f)
		if err != nil {
			return exitError, err
		}
		for _, e := range events {
			if e.Action != "send" || agent != "" && e.To != agent {
				continue
			}
			line := string(e.Raw)
			if !c.on["json"] {
				line = fmt.Sprintf("%s  %s → %s [%s] %s\n%s", e.TS, e.From, e.To, e.Type, e.MessageID, indented(e.Body))
			}
			if err := c.print(line); err != nil {
				return exitError, err
			}
		}
	}
	return exitDone, nil
}

func indented(body string) string {
	var b strings.Builder
	for line := range strings.Lines(strings.TrimSpace(body)) {
		b.WriteString("    " + safe(strings.TrimRight(line, "\r\n")) + "\n")
	}
	return b.String()
}

// top redraws the ledger on a terminal; elsewhere it prints it once.
func (c *call) top() (int, error) {
	interval, err := time.ParseDuration(c.valueOr("interval", "2s"))
	if err != nil || interval < 100*time.Millisecond {
		return exitError, fmt.Errorf("--interval %s: want a duration such as 2s, 100ms or more", c.value["interval"])
	}
	c.ledger.Trace = false
	if c.Width == 0 {
		text, err := c.screen(100, 1000)
		if err != nil {
			return exitError, err
		}
		return exitDone, c.print(text)
	}
	screen := c.Screen
	if screen == nil {
		screen = c.Out
	}
	var keys <-chan byte
	if c.Keys != nil {
		typed, restore := c.Keys()
		defer restore()
		keys = typed
	}
	fmt.Fprint(screen, "\x1b[?1049h\x1b[?25l") // alternate screen, no cursor
	defer fmt.Fprint(screen, "\x1b[?25h\x1b[?1049l")
	for {
		text, err := c.screen(c.Width, c.Height)
		if err != nil {
			return exitError, err
		}
		fmt.Fprint(screen, "\x1b[H"+strings.ReplaceAll(strings.TrimSuffix(text, "\n"), "\n", "\x1b[K\r\n")+"\x1b[J")
		for next := time.After(interval); next != nil; {
			select {
			case <-c.Done:
				return exitDone, nil
			case key, open := <-keys:
				switch {
				case !open:
					keys = nil
				case strings.IndexByte("qQ\x03\x04", key) >= 0: // ^C and ^D, which a raw terminal passes on
					return exitDone, nil
				}
			case <-next:
				next = nil
			}
		}
	}
}

// screen returns what top shows on width columns and height lines.
func (c *call) screen(width, height int) (string, error) {
	o, err := c.ledger.Overview(height)
	if err != nil {
		return "", err
	}
	defer o.Close()
	now := time.Now()
	name := len("AGENT") // wide enough for the longest name, up to a limit
	for _, a := range o.Agents {
		name = min(max(name, len(a.Agent)), 24)
	}
	lines := []string{fmt.Sprintf("%s  %s, %s, %s open  %s", now.Format("15:04:05"), count(len(o.Agents), "agent"), count(len(o.Claims), "claim"), count(o.OpenMessages.Len(), "message"), o.Root), ""}
	section := func(title string, empty bool, columns ...any) {
		lines = append(lines, fmt.Sprintf(title, columns...))
		if empty {
			lines = append(lines, "  nothing")
		}
	}
	section("%-*s  UNREAD  KEPT  READ UNTIL", len(o.Agents) == 0, name, "AGENT")
	for _, a := range o.Agents {
		read := "never"
		if a.LastReadAt != nil {
			read = ago(now, *a.LastReadAt)
		}
		lines = append(lines, fmt.Sprintf("%-*s  %6d  %4d  %s", name, a.Agent, a.Unread, a.Stale, read))
	}
	lines = append(lines, "")
	section("%-*s  %-12s  CLAIMS", len(o.Claims) == 0, name, "AGENT", "SINCE")
	for _, k := range o.Claims {
		lines = append(lines, fmt.Sprintf("%-*s  %-12s  %s", name, k.Agent, ago(now, k.Since), strings.TrimPrefix(k.Path, o.Root+"/")+k.Note()))
	}
	lines = append(lines, "")
	section("%-*s  %-12s  IS ASKED", o.OpenMessages.Len() == 0, name, "AGENT", "SENT")
	for m, err := range o.OpenMessages.All() {
		if err != nil {
			return "", err
		}
		if len(lines) > height {
			break // the rest does not fit
		}
		lines = append(lines, fmt.Sprintf("%-*s  %-12s  %s of %s: %s", name, m.To, ago(now, m.TS), m.Type, m.From, termtext.Clip(termtext.OneLine(m.Body), 200)))
	}
	// The latest events fill the rest of the screen.
	lines = append(lines, "", "RECENT")
	if room := height - len(lines); room < len(o.Recent) {
		o.Recent = o.Recent[len(o.Recent)-max(room, 0):]
	}
	for _, m := range o.Recent {
		lines = append(lines, fmt.Sprintf("%-12s  %s", ago(now, m.TS), longID().ReplaceAllString(strings.ReplaceAll(m.Summary, o.Root+"/", ""), "")))
	}
	if len(lines) > height {
		lines = append(lines[:height-1], "…")
	}
	for i, line := range lines {
		lines[i] = termtext.Clip(safe(line), width)
	}
	return strings.Join(lines, "\n") + "\n", nil
}

// longID matches the message id before its text, which is more useful.
var longID = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`msg_[A-Za-z0-9_-]+: `) })

func count(n int, what string) string {
	if n != 1 {
		what += "s"
	}
	return fmt.Sprintf("%d %s", n, what)
}

// ago formats the age of a time.
func ago(now time.Time, stamp string) string {
	t, err := time.Parse(time.RFC3339Nano, stamp)
	if err != nil {
		return "?"
	}
	switch d := now.Sub(t); {
	case d < 0:
		return "in the future"
	case d < time.Minute:
		return fmt.Sprintf("%ds ago", int(d.Seconds()))
	case d < time.Hour:
		return fmt.Sprintf("%dm ago", int(d.Minutes()))
	case d < 48*time.Hour:
		return fmt.Sprintf("%dh ago", int(d.Hours()))
	default:
		return fmt.Sprintf("%dd ago", int(d.Hours()/24))
	}
}

package ledger

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"aisync.dev/aisync/agents/ledger/trail"
)

// heading returns the time and the id of the entry that a line begins. It is the
// original's pattern, without its end of line:
// ^## ([0-9]{4}-[0-9]{2}-[0-9]{2}T[^ ]+) — .*?(?:\{#(msg_[A-Za-z0-9_-]+)\})?\s*$
func heading(line string) (ts, id string, ok bool) {
	end := stampEnd(line)
	if end == 0 {
		return "", "", false
	}
	rest, ok := strings.CutSuffix(strings.TrimRight(line[end+len(dash):], " \t\n\f\r"), "}")
	if i := strings.LastIndex(rest, "{#msg_"); ok && i >= 0 {
		if name := rest[i+len("{#"):]; len(name) > len("msg_") && strings.IndexFunc(name, notInID) < 0 {
			id = name
		}
	}
	return line[len("## "):end], id, true
}

const dash = " — "

// stampEnd returns where the time of a heading ends, which begins behind "## "; 0
// where the line is no heading.
func stampEnd[T string | []byte](line T) int {
	const form = "## 0000-00-00T"
	if len(line) <= len(form) {
		return 0
	}
	for i := range len(form) {
		if c := line[i]; form[i] == '0' && (c < '0' || c > '9') || form[i] != '0' && c != form[i] {
			return 0
		}
	}
	end := len(form)
	for end < len(line) && line[end] != ' ' {
		end++
	}
	if end == len(form) || len(line) < end+len(dash) || string(line[end:end+len(dash)]) != dash {
		return 0
	}
	return end
}

func notInID(r rune) bool {
	return !(r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || r == '_' || r == '-')
}

// countInbox counts what the agent of s has not cleared, and of that what is
// newer than its last reading. It keeps no text. Beside an error it counts what it
// could read.
func (l *Ledger) countInbox(s *AgentStatus, last string) error {
	s.Pending, s.Unread, s.Stale, s.OldestPendingAt, s.NewestPendingAt = 0, 0, 0, nil, nil
	var parts []io.Reader
	var unreadable error
	for _, file := range []string{clearing, inboxFile} {
		f, err := l.open(l.agentPath(s.Agent, file))
		if errors.Is(err, os.ErrNotExist) {
			continue
		}
		if err != nil {
			unreadable = fmt.Errorf("read %s: %w", l.agentPath(s.Agent, file), err)
			break
		}
		defer f.Close()
		parts = append(parts, f)
	}
	mark, known := timeOf(last)
	var first string
	var newest []byte
	r := bufio.NewReaderSize(io.MultiReader(parts...), 64<<10)
	for {
		line, _, err := trail.ReadLine(r)
		if end := stampEnd(line); end > 0 {
			newest = append(newest[:0], line[len("## "):end]...)
			if s.Pending++; s.Pending == 1 {
				first = string(newest)
			}
			if last == "" || isLater(string(newest), mark, known) {
				s.Unread++
			} else {
				s.Stale++
			}
		}
		if err == nil {
			continue
		}
		if s.Pending > 0 {
			s.OldestPendingAt, s.NewestPendingAt = &first, new(string(newest))
		}
		if errors.Is(err, io.EOF) {
			return unreadable
		}
		return fmt.Errorf("read the inbox of %s: %w", s.Agent, err)
	}
}

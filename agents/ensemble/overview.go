package ensemble

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"aisync.dev/aisync/agents/ledger"
	"aisync.dev/aisync/agents/ledger/jsontext"
)

// overviewMemory bounds the heap of an overview, so that it stays small beside a
// ledger that was never cleared: the collector of package main is a lazy one.
const overviewMemory = 40 << 20

func (c *call) overview() (int, error) {
	if c.Heap != nil {
		defer c.Heap(c.Heap(overviewMemory))
	}
	o, err := c.ledger.Overview(c.limit(10))
	if err != nil {
		return exitError, err
	}
	defer o.Close()
	w := bufio.NewWriterSize(c.Out, 64<<10)
	write := overviewText
	if c.on["json"] {
		write = overviewJSON
	}
	if err := errors.Join(write(w, o), w.Flush()); err != nil {
		return exitError, err
	}
	return exitDone, nil
}

// overviewText writes the overview in words, message by message.
func overviewText(w *bufio.Writer, o ledger.Overview) error {
	fmt.Fprintf(w, "ledger  %s (version %s)\n", o.Root, o.Version)
	section := func(title string, n int) { fmt.Fprintf(w, "\n%s (%d)\n", title, n) }
	section("agents", len(o.Agents))
	for _, a := range o.Agents {
		read := "never read"
		if a.LastReadAt != nil {
			read = "read until " + *a.LastReadAt
		}
		fmt.Fprintf(w, "  %-20s  %d unread, %d read and kept; %s\n", a.Agent, a.Unread, a.Stale, read)
	}
	section("claims", len(o.Claims))
	for _, c := range o.Claims {
		fmt.Fprintf(w, "  %-20s  %s  since %s%s\n", c.Agent, safe(c.Path), c.Since, safe(c.Note()))
	}
	section("open messages", o.OpenMessages.Len())
	for m, err := range o.OpenMessages.All() {
		if err != nil {
			return err
		}
		w.WriteString("  ")
		messageLine(w, m)
	}
	section("recent", len(o.Recent))
	for _, m := range o.Recent {
		fmt.Fprintf(w, "  %s  %s\n", m.TS, safe(m.Summary))
	}
	if o.Malformed > 0 {
		fmt.Fprintf(w, "\n%d lines of the audit trail are not records; run: ensemble doctor\n", o.Malformed)
	}
	return nil
}

// overviewJSON writes the overview in the original's format, message by message.
func overviewJSON(w *bufio.Writer, o ledger.Overview) error {
	var whole bytes.Buffer
	enc := json.NewEncoder(&whole)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	open := o.OpenMessages
	o.OpenMessages = &ledger.OpenMessages{} // they follow one by one
	if err := enc.Encode(o); err != nil {
		return err
	}
	// The line ends of a string are escaped, so this is no part of one.
	head, tail, _ := bytes.Cut(whole.Bytes(), []byte("\n  \"openMessages\": []"))
	w.Write(head)
	io.WriteString(w, "\n  \"openMessages\": [")
	one := jsontext.Indented("    ")
	separator := "\n    "
	for m, err := range open.All() {
		if err != nil {
			return err
		}
		one.Text = one.Text[:0]
		m.WriteTo(one)
		w.WriteString(separator)
		w.Write(one.Text)
		separator = ",\n    "
	}
	if open.Len() > 0 {
		io.WriteString(w, "\n  ")
	}
	w.WriteByte(']')
	w.Write(tail)
	return nil
}

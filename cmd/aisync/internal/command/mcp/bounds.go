package mcp

import (
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// more is the tool that continues an answer. It runs no command again, which might
// answer otherwise or, as an inbox that counts as read, no more.
const more = "more"

// Bounds of one answer, in bytes. Claude Code keeps from the model what is longer than
// 50,000 characters or 25,000 tokens, or 11,000 characters of an error:
// https://code.claude.com/docs/en/mcp
const (
	maxAnswer = 45_000
	maxError  = 10_000
)

// bounded returns r, or the first part of it where it is too long.
func (s *server) bounded(r *mcp.CallToolResult) *mcp.CallToolResult {
	var texts []string
	for _, c := range r.Content {
		if t, ok := c.(*mcp.TextContent); ok {
			texts = append(texts, t.Text)
		}
	}
	text, most := strings.Join(texts, "\n"), maxAnswer
	if r.IsError {
		most = maxError
	}
	if len(text) <= most {
		return r
	}
	short := &mcp.CallToolResult{IsError: r.IsError}
	s.part(short, text, most)
	return short
}

// next returns the next part of the last answer that was too long.
func (s *server) next() *mcp.CallToolResult {
	if s.rest == "" {
		return failure("there is no more: the last answer was whole")
	}
	r := &mcp.CallToolResult{}
	s.part(r, s.rest, maxAnswer)
	return r
}

// part adds at most n bytes of a text to r, and how to get the rest.
func (s *server) part(r *mcp.CallToolResult, text string, n int) {
	n = min(n, len(text))
	for n < len(text) && !utf8.RuneStart(text[n]) {
		n--
	}
	add(r, text[:n])
	if s.rest = text[n:]; s.rest != "" {
		add(r, fmt.Sprintf("This part of the answer ends here; %d bytes are left. Call %s for the next part, or ask again with narrower arguments.", len(s.rest), more))
	}
}

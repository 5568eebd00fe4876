package lint

import (
	"bytes"
	"errors"
	"fmt"
	"path"
	"strings"

	"aisync.dev/aisync/internal/frontmatter"
)

// checkHeadings requires a first heading in texts that an agent knows by their
// title.
func checkHeadings(s *source, say func(Finding)) {
	s.each(func(f file, u use) {
		_, body, _, err := frontmatter.Split(f.text)
		if err != nil {
			return // reported by the check "front-matter"
		}
		first, line := firstLine(f.text, body)
		switch {
		case heading().MatchString(first):
		case u == rule && anyHeading().Match(body):
			say(Finding{File: f.name, Line: line, Level: Warning, Text: "does not start with its heading; put a line like \"# Commits\" first"})
		case u == rule:
			say(Finding{File: f.name, Line: line, Level: Error, Text: "has no heading; start it with a line like \"# Commits\""})
		default:
			say(Finding{File: f.name, Line: line, Level: Warning, Text: "has no heading; start it with a line like \"# Project notes\""})
		}
	}, rule, seed)
}

var (
	heading    = lazily(`^# +\S`)
	anyHeading = lazily(`(?m)^#{1,6} +\S`)
)

// firstLine is the first line of body that is not blank, and its offset in
// text.
func firstLine(text, body []byte) (string, int) {
	n := lineOf(text, len(text)-len(body))
	body = bytes.TrimPrefix(body, []byte("\uFEFF"))
	for line := range bytes.Lines(body) {
		if t := bytes.TrimSpace(line); len(t) > 0 {
			return string(bytes.TrimRight(line, "\r\n")), n
		}
		n++
	}
	return "", 0
}

var skillName = lazily(`^[a-z0-9]+(-[a-z0-9]+)*$`)

// checkFrontMatter requires the fields that programs use. The limits are those
// of https://agentskills.io/specification.
func checkFrontMatter(s *source, say func(Finding)) {
	s.each(func(f file, u use) {
		front, _, has, err := frontmatter.Split(f.text)
		var fields frontmatter.Fields
		if err == nil {
			fields, err = frontmatter.Parse(front)
		}
		if err != nil {
			line := 1
			var at *frontmatter.Error
			if errors.As(err, &at) {
				line, err = at.Line, errors.New(at.Reason)
			}
			say(Finding{File: f.name, Line: line, Level: Error, Text: "front matter: " + err.Error()})
			return
		}
		wrong := func(level Level, format string, args ...any) {
			say(Finding{File: f.name, Line: 1, Level: level, Text: fmt.Sprintf(format, args...)})
		}
		name, about := fields.Text("name"), fields.Text("description")
		switch u {
		case skill:
			folder := path.Base(path.Dir(f.name))
			switch {
			case !has || name == "" || about == "":
				wrong(Error, "has no name and description in its front matter; programs find a skill by them")
			case name != folder:
				wrong(Error, "is named %q but lies in %s/; programs want both to match", name, folder)
			case !skillName().MatchString(name) || len(name) > 64:
				wrong(Error, "name %q: want up to 64 small letters, digits and single hyphens", name)
			case len([]rune(about)) > 1024:
				wrong(Error, "its description has %d characters; programs read 1024", len([]rune(about)))
			}
		case agent:
			if about == "" {
				wrong(Error, "has no description in its front matter; programs choose a subagent by it")
			}
			if stem := strings.TrimSuffix(path.Base(f.name), ".md"); name != "" && name != stem {
				wrong(Warning, "is named %q but its file is %s; people look for one name", name, path.Base(f.name))
			}
		case command:
			if about == "" {
				wrong(Warning, "has no description in its front matter; people choose a command by it")
			}
		}
	}, rule, skill, command, agent)
}

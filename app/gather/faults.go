package gather

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"regexp"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/pelletier/go-toml/v2"

	"aisync.dev/aisync/internal/frontmatter"
	"aisync.dev/aisync/internal/merge"
)

// How many bytes a rule, command, agent or skill may have, and a settings file:
// no program reads more at once. Claude Code keeps its state in a settings file.
const (
	maxText     = 1 << 20
	maxSettings = 16 << 20
)

// marker starts the lines of a merge that was not finished.
var marker = regexp.MustCompile(`(?m)^<{7} `)

// readText reads a text whose program can read it; others stay, with the line.
func (g *gatherer) readText(from string) (content []byte, mode fs.FileMode, ok bool) {
	content, mode, ok = g.read(from)
	return content, mode, ok && g.readable(from, content)
}

// readable reports whether content is a text without faults that would make it
// another one elsewhere, and names the first fault.
func (g *gatherer) readable(from string, content []byte) bool {
	why := faultOf(from, content)
	if why != "" {
		g.keep(why.place(from), why.reason())
	}
	return why == ""
}

// toTheEnd are the fields that programs read to the end of their line, whatever
// YAML says: "[file] [line]".
var toTheEnd = regexp.MustCompile(`(?m)^(?:description|argument-hint):[ \t]*\S.*$`)

// fault is the line of a fault and what it is, as "LINE: reason"; a line of 0
// means the whole file.
type fault string

func faultAt(line int, format string, args ...any) fault {
	return fault(strconv.Itoa(line) + ": " + fmt.Sprintf(format, args...))
}

func (f fault) place(from string) string {
	line, _, _ := strings.Cut(string(f), ": ")
	if line == "0" {
		return from
	}
	return from + ":" + line
}

func (f fault) reason() string {
	_, reason, _ := strings.Cut(string(f), ": ")
	return reason
}

// faultOf finds what is wrong with a text of a program, "" if nothing is.
func faultOf(from string, content []byte) fault {
	if f := textFault(content, maxText); f != "" {
		return f
	}
	if strings.HasSuffix(from, ".toml") {
		return tomlFault(content)
	}
	front, _, _, err := frontmatter.Split(content)
	if err == nil {
		_, err = frontmatter.Parse(front)
	}
	if _, lenient := frontmatter.Parse(toTheEnd.ReplaceAll(front, nil)); err != nil && len(front) > 0 && lenient == nil {
		return ""
	}
	var at *frontmatter.Error
	switch {
	case errors.As(err, &at):
		return faultAt(at.Line, "front matter: %s", at.Reason)
	case err != nil:
		return faultAt(0, "%s", err)
	}
	return ""
}

// textFault finds what no text file has.
func textFault(content []byte, limit int) fault {
	switch {
	case len(content) > limit:
		return faultAt(0, "larger than %d MiB", limit>>20)
	case bytes.IndexByte(content, 0) >= 0 || !utf8.Valid(content):
		return faultAt(0, "not a text in UTF-8")
	case !bytes.Contains(content, []byte("<<<<<<< ")):
		return ""
	}
	if at := marker.FindIndex(content); at != nil && bytes.Contains(content, []byte("\n>>>>>>> ")) {
		return faultAt(spot(content, at[0]), "conflict markers of a merge")
	}
	return ""
}

// tomlFault is what makes content no TOML.
func tomlFault(content []byte) fault {
	var at *toml.DecodeError
	err := toml.Unmarshal(content, &object{})
	switch {
	case err == nil:
		return ""
	case errors.As(err, &at):
		line, _ := at.Position()
		return faultAt(line, "%s", strings.TrimPrefix(at.Error(), "toml: "))
	}
	return faultAt(0, "%s", strings.TrimPrefix(err.Error(), "toml: "))
}

// settingsFault finds what makes a settings file unusable: no text, no such
// format, or a key that stands in it twice.
func settingsFault(name string, content []byte) fault {
	if f := textFault(content, maxSettings); f != "" {
		return f
	}
	if strings.HasSuffix(name, ".toml") {
		return tomlFault(content)
	}
	return jsonFault(content)
}

// jsonPlace is where hujson says that something is wrong.
var jsonPlace = regexp.MustCompile(`line (\d+), column \d+: (.*)`)

// jsonFault is what makes content no JSON, comments apart.
func jsonFault(content []byte) fault {
	err := readJSON(content, &object{})
	if err != nil {
		if m := jsonPlace.FindStringSubmatch(err.Error()); m != nil {
			line, _ := strconv.Atoi(m[1])
			return faultAt(line, "%s", m[2])
		}
		return faultAt(0, "%s", err)
	}
	var at *merge.Error
	if _, err := merge.Flatten(content, merge.Rules{}); errors.As(err, &at) && strings.Contains(at.Reason, "twice") {
		return faultAt(at.Line, "%s", at.Reason)
	}
	return ""
}

func spot(content []byte, at int) int { return 1 + bytes.Count(content[:at], []byte("\n")) }

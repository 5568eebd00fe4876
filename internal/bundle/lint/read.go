package lint

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"path"
	"path/filepath"
	"strconv"
	"strings"
	"unicode/utf8"

	"aisync.dev/aisync/internal/bundle"
	"aisync.dev/aisync/schema/spec"
)

// maxSize is the size from which a file of a bundle is a mistake; maxContext is
// that of a text which an agent reads whole.
const (
	maxSize    = 4 << 20
	maxContext = 64 << 10
)

// checkRead opens every part of the source as an apply would.
func checkRead(s *source, say func(Finding)) {
	s.json(say)
	t, err := new(bundle.Sources).Open(context.Background(), spec.Source{Name: ".", URL: s.dir})
	if err != nil {
		s.fault(err, say)
		return
	}
	problems := func(list []bundle.Problem) {
		for _, p := range list {
			if strings.Contains(p.Text, "heading") || strings.Contains(p.Text, "front matter") {
				continue // with separate checks
			}
			say(Finding{File: s.rel(p.Path), Level: Warning, Text: p.Text})
		}
	}
	part := func(p *bundle.Part, err error) {
		if err != nil {
			s.fault(err, say)
			return
		}
		problems(p.Problems)
	}
	part(t.Core())
	part(t.Shared())
	for _, name := range t.Languages() {
		part(t.Language(name))
	}
	for _, name := range t.Teams() {
		part(t.Team(name))
	}
	if _, err := t.Skills(); err != nil {
		s.fault(err, say)
	}
	if _, err := t.Hooks(); err != nil {
		s.fault(err, say)
	}
	if _, err := t.Runtimes(); err != nil {
		s.fault(err, say)
	}
	if len(t.Languages())+len(t.Teams()) == 0 && len(s.files) > 0 && !s.names["agent-rules"] && !s.names["claude-rules"] && !s.names["skills"] && !s.names["hooks"] && !s.anySkill() {
		say(Finding{File: ".", Level: Error, Text: "holds nothing that would be installed: no languages/, teams/, agent-rules/, skills/ or hooks/"})
	}
}

func (s *source) anySkill() bool {
	for _, f := range s.files {
		if path.Base(f.name) == "SKILL.md" {
			return true
		}
	}
	return false
}

// rel is a path of this machine relative to the source.
func (s *source) rel(p string) string {
	if rel, err := filepath.Rel(s.dir, p); err == nil && filepath.IsLocal(rel) {
		return filepath.ToSlash(rel)
	}
	return "."
}

var place = lazily(`^(.*?):(\d+)(?::\d+)?: `)

// fault reports err at the file and line that it names.
func (s *source) fault(err error, say func(Finding)) {
	var joined interface{ Unwrap() []error }
	if errors.As(err, &joined) {
		for _, e := range joined.Unwrap() {
			s.fault(e, say)
		}
		return
	}
	if errors.Is(err, bundle.ErrCase) {
		return // reported by the check "twice"
	}
	f := Finding{File: ".", Level: Error, Text: strings.ReplaceAll(err.Error(), s.dir+string(filepath.Separator), "")}
	if m := place().FindStringSubmatch(f.Text); m != nil && s.names[m[1]] {
		f.File, f.Text = m[1], f.Text[len(m[0]):]
		f.Line, _ = strconv.Atoi(m[2])
	} else if name, rest, ok := strings.Cut(f.Text, ": "); ok && s.names[name] {
		f.File, f.Text = name, rest
	} else if name, _, ok := strings.Cut(f.Text, " "); ok && s.names[name] {
		f.File = name
	}
	say(f)
}

// json requires every JSON file to be valid, without duplicate keys.
func (s *source) json(say func(Finding)) {
	for _, f := range s.files {
		if path.Ext(f.name) != ".json" || f.binary || s.inSkill(f.name) {
			continue
		}
		dec := json.NewDecoder(bytes.NewReader(f.text))
		if err := oneOfEach(dec, ""); err != nil {
			say(Finding{File: f.name, Line: lineOf(f.text, int(dec.InputOffset())), Level: Error, Text: err.Error()})
		}
	}
}

// oneOfEach reads one value and refuses an object with a duplicate key: readers
// of JSON silently take one of the two.
func oneOfEach(dec *json.Decoder, at string) error {
	tok, err := dec.Token()
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return errors.New("is not JSON: it ends too early")
	}
	if err != nil {
		return fmt.Errorf("is not JSON: %w", err)
	}
	open, ok := tok.(json.Delim)
	if !ok || open == ']' || open == '}' {
		return nil
	}
	seen := map[string]bool{}
	for dec.More() {
		key := ""
		if open == '{' {
			tok, err := dec.Token()
			if err != nil {
				return fmt.Errorf("is not JSON: %w", err)
			}
			if key, _ = tok.(string); seen[key] {
				return fmt.Errorf("has %s/%s twice; which one counts depends on the reader", at, key)
			}
			seen[key] = true
		}
		if err := oneOfEach(dec, at+"/"+key); err != nil {
			return err
		}
	}
	if _, err := dec.Token(); err != nil {
		return errors.New("is not JSON: it ends too early")
	}
	return nil
}

// checkText requires text that every program reads the same way.
func checkText(s *source, say func(Finding)) {
	for _, f := range s.files {
		u := s.use(f.name)
		wrong := func(line int, level Level, format string, args ...any) {
			say(Finding{File: f.name, Line: line, Level: level, Text: fmt.Sprintf(format, args...)})
		}
		read := u != other && u != inSkill
		switch {
		case f.text == nil && f.binary:
			wrong(0, Error, "is larger than %d MiB; a bundle is text", maxSize>>20)
		case f.binary && read:
			wrong(0, Error, "is binary, but read as text")
		case f.binary:
		case read && !utf8.Valid(f.text):
			wrong(0, Error, "is not UTF-8")
		case bytes.HasPrefix(f.text, []byte("\uFEFF")):
			wrong(1, Warning, "starts with a byte order mark; programs take it for a letter")
		case bytes.Contains(f.text, []byte("\r\n")) && (u == hook || u == gitHook):
			wrong(lineOf(f.text, bytes.Index(f.text, []byte("\r\n"))), Error, "has lines that end with \\r\\n; shells take the \\r as a part of the last word")
		case bytes.Contains(f.text, []byte("\r\n")):
			wrong(lineOf(f.text, bytes.Index(f.text, []byte("\r\n"))), Warning, "has lines that end with \\r\\n; put *.%s text eol=lf into .gitattributes", strings.TrimPrefix(path.Ext(f.name), "."))
		case len(f.text) > 0 && f.text[len(f.text)-1] != '\n' && (read || path.Base(f.name) == "gitignore-add.txt"):
			wrong(lineOf(f.text, len(f.text)), Warning, "does not end with a newline")
		}
		if (u == rule || u == seed) && len(f.text) > maxContext {
			wrong(0, Warning, "has %d KiB, which an agent reads at every start; split it, or make it a skill", len(f.text)>>10)
		}
	}
}

package lint

import (
	"bytes"
	"fmt"
	"net/url"
	"path"
	"strings"
)

var (
	inlineLink = lazily(`!?\[[^\]]*\]\(\s*<?([^)\s>]+)>?(?:\s+"[^"]*")?\s*\)`)
	refLink    = lazily(`^ {0,3}\[[^\]]+\]:\s*<?(\S+?)>?(?:\s+["'(].*)?$`)
	orgLink    = lazily(`\[\[file:([^\]]+?)\](?:\[[^\]]*\])?\]`)
	codeSpan   = lazily("`[^`]*`")
)

// checkLinks requires the targets of relative links, and the files that hooks
// call by a path of the bundle, to exist.
func checkLinks(s *source, say func(Finding)) {
	for _, f := range s.files {
		if f.binary {
			continue
		}
		switch path.Ext(f.name) {
		case ".md":
			s.markdownLinks(f, say)
		case ".org":
			s.linksIn(f, say, func(line string) [][]string { return orgLink().FindAllStringSubmatch(line, -1) })
		}
	}
	s.each(func(f file, _ use) { s.calledFiles(f, say) }, settings, hookList)
}

// markdownLinks checks all links outside code.
func (s *source) markdownLinks(f file, say func(Finding)) {
	fence := ""
	s.linksIn(f, say, func(line string) [][]string {
		if mark := fenceOf(line); mark != "" && (fence == "" || strings.HasPrefix(mark, fence)) {
			if fence == "" {
				fence = mark
			} else {
				fence = ""
			}
			return nil
		}
		if fence != "" {
			return nil
		}
		found := inlineLink().FindAllStringSubmatch(codeSpan().ReplaceAllString(line, ""), -1)
		if m := refLink().FindStringSubmatch(line); m != nil {
			found = append(found, m)
		}
		return found
	})
}

// fenceOf is the fence that opens or closes a block of code.
func fenceOf(line string) string {
	t := strings.TrimLeft(line, " ")
	for _, c := range []string{"`", "~"} {
		if n := len(t) - len(strings.TrimLeft(t, c)); n >= 3 && len(line)-len(t) < 4 {
			return strings.Repeat(c, n)
		}
	}
	return ""
}

func (s *source) linksIn(f file, say func(Finding), find func(line string) [][]string) {
	n := 0
	for raw := range bytes.Lines(f.text) {
		n++
		for _, m := range find(strings.TrimRight(string(raw), "\r\n")) {
			if why := s.deadLink(f.name, m[1]); why != "" {
				say(Finding{File: f.name, Line: n, Level: Error, Text: fmt.Sprintf("link to %s: %s", m[1], why)})
			}
		}
	}
}

// deadLink says what is wrong with a link of the file name; "" for nothing.
func (s *source) deadLink(name, link string) string {
	u, err := url.Parse(link)
	if err != nil || u.Scheme != "" || u.Host != "" || u.Path == "" || strings.HasPrefix(link, "#") || strings.ContainsAny(link, "<>{}$*") {
		return "" // an address, a place in this file, or an example
	}
	if strings.HasPrefix(u.Path, "/") || strings.HasPrefix(u.Path, "~") {
		return "it is an absolute path; use a relative one"
	}
	to := path.Join(path.Dir(name), u.Path)
	if strings.HasPrefix(to, "../") || to == ".." {
		return "it leads out of the source, and is not installed with it"
	}
	if s.names[to] {
		return ""
	}
	// A skill is installed beside the rules, under their new and their old name.
	for i, dir := range []string{"agent-rules", "claude-rules"} {
		for _, from := range []string{"../" + dir + "/", "../../" + dir + "/"} {
			if rest, ok := strings.CutPrefix(u.Path, from); ok && (s.names[dir+"/"+rest] || s.names[[]string{"claude-rules", "agent-rules"}[i]+"/"+rest]) {
				return ""
			}
		}
	}
	return "there is no such file"
}

// called matches the files of a project or a home that a bundle installs.
var called = lazily(`(?:\$\{?CLAUDE_PROJECT_DIR\}?\\?"?|~|\$HOME)/\.claude/(hooks/[^\s"'\\;&|)]+)`)

// calledFiles requires the bundle to contain the programs that its settings
// call.
func (s *source) calledFiles(f file, say func(Finding)) {
	for _, m := range called().FindAllSubmatchIndex(f.text, -1) {
		want := string(f.text[m[2]:m[3]])
		dir := path.Dir(f.name)
		if path.Base(dir) == "hooks" {
			dir = path.Dir(dir)
		}
		if !s.names[path.Join(dir, want)] && !s.names[want] {
			say(Finding{File: f.name, Line: lineOf(f.text, m[2]), Level: Error, Text: fmt.Sprintf("calls %s, but the bundle has no %s", want, path.Join(dir, want))})
		}
	}
}

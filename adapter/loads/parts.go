package loads

import (
	"cmp"
	"encoding/json"
	"maps"
	"path"
	"slices"
	"strings"

	"aisync.dev/aisync/adapter/render"
	"aisync.dev/aisync/internal/frontmatter"
	"aisync.dev/aisync/internal/merge"
	"aisync.dev/aisync/schema/spec"
)

// place is a folder or file in which a program looks for parts.
type place struct {
	path string
	user bool
	off  string        // why it is switched off; "" is on
	own  *spec.MCPFile // of one person's servers for this project; nil: another place
}

// parts takes skills, commands, subagents, MCP servers and hooks.
func (s *session) parts() {
	for _, p := range s.data.Parts {
		s.part(p, s.partPlaces(p, s.folders(p.Walk), true), map[string]string{})
	}
}

// partsBelow takes those in folders that were looked into after the start.
func (s *session) partsBelow() {
	for _, p := range s.data.Parts {
		if !p.Below {
			continue
		}
		had := map[string]string{}
		for _, i := range s.items {
			if i.Kind == kinds[p.Kind] {
				had[i.Name] = i.From[0].Path
			}
		}
		s.part(p, s.partPlaces(p, slices.Sorted(maps.Keys(s.visited)), false), had)
	}
}

var kinds = map[string]Kind{"skills": Skill, "commands": Command, "subagents": Subagent, "mcp": MCPServer, "hooks": Hook}

// partPlaces are the places of a part, the one that counts first in front.
func (s *session) partPlaces(p spec.LoadedPart, dirs []string, withUser bool) []place {
	var user, project []place
	if withUser {
		for _, at := range scopePlaces(p.Kind, s.program.User) {
			user = append(user, place{s.user(at), true, s.dropped(at), nil})
		}
	}
	for _, at := range append(scopePlaces(p.Kind, s.program.Project), p.Also...) {
		for _, dir := range slices.Backward(dirs) {
			if slices.Contains(p.AtStart, at) && dir != s.start {
				continue
			}
			to := path.Join(dir, at)
			if !slices.ContainsFunc(user, func(u place) bool { return u.path == to }) {
				project = append(project, place{to, false, s.dropped(at), nil})
			}
		}
	}
	if f := s.program.Project.MCPOwn; f != nil && p.Kind == "mcp" && withUser { // one person's come before everyone's
		own := *f
		own.Pointer = strings.ReplaceAll(own.Pointer, "{dir}", strings.TrimPrefix(merge.Pointer(s.top), "/"))
		at := place{path: path.Join(s.top, own.Path), off: s.dropped(own.Path), own: &own}
		if strings.HasPrefix(own.Path, "~/") {
			at.path, at.user = s.user(own.Path), true
		}
		project = append([]place{at}, project...)
	}
	if p.Same == "user" {
		return append(user, project...)
	}
	return append(project, user...)
}

// scopePlaces are the places of a part that a scope names.
func scopePlaces(kind string, scope spec.Scope) []string {
	var out []string
	switch kind {
	case "skills":
		out = append([]string{scope.Skills}, scope.SkillsAlso...)
	case "commands":
		if scope.Commands != nil {
			out = []string{scope.Commands.Path}
		}
	case "subagents":
		if scope.Agents != nil {
			out = []string{scope.Agents.Path}
		}
	case "mcp":
		if scope.MCP != nil {
			out = []string{scope.MCP.Path}
		}
	case "hooks":
		if scope.Events != nil {
			out = append([]string{scope.Events.Path}, scope.Events.Also...)
		}
	}
	return slices.DeleteFunc(out, func(p string) bool { return p == "" })
}

// part takes what lies in places. had is what the program has by name, and from
// where.
func (s *session) part(p spec.LoadedPart, places []place, had map[string]string) {
	kind := kinds[p.Kind]
	trusted, do := s.trusted(p.Kind)
	real := map[string]bool{}
	for _, at := range places {
		why := cmp.Or(at.off, s.off(p.Kind))
		for _, f := range s.partFiles(p, at) {
			switch {
			case why != "":
				s.skip(kind, f.from.Path, Off, why)
			case !at.user && !trusted:
				s.skip(kind, f.from.Path, Untrusted, do)
			case f.never != "":
				s.skip(kind, f.from.Path, f.never, f.says)
			case real[f.from.Real+"\x00"+f.item.Name]: // one file, by two ways
			case p.Same != "" && had[f.item.Name] != "":
				s.skip(kind, f.from.Path, Shadowed, s.relative(had[f.item.Name])+" has the same name and comes first")
			default:
				real[f.from.Real+"\x00"+f.item.Name] = true
				had[f.item.Name] = f.from.Path
				s.take(f.item, f.from)
			}
		}
	}
}

// partFile is one part that was found, or why it is none.
type partFile struct {
	item  Item
	from  File
	never Reason
	says  string
}

func (s *session) partFiles(p spec.LoadedPart, at place) []partFile {
	scope := s.program.Project
	if at.user {
		scope = s.program.User
	}
	switch p.Kind {
	case "skills":
		return s.prompts(p, at.path, "SKILL.md")
	case "commands":
		return s.prompts(p, at.path, strings.TrimPrefix(render.PromptName(scope.Commands.Form, "x.md"), "x"))
	case "subagents":
		return s.prompts(p, at.path, strings.TrimPrefix(render.PromptName(scope.Agents.Form, "x.md"), "x"))
	case "mcp":
		if at.own != nil {
			return s.servers(at.path, at.own)
		}
		return s.servers(at.path, scope.MCP)
	}
	if scope.Events.Format == "" {
		return s.modules(at.path)
	}
	return s.hooks(at.path, scope.Events)
}

// prompts are the Markdown or TOML files of a folder: skills, commands or
// subagents.
func (s *session) prompts(p spec.LoadedPart, dir, suffix string) []partFile {
	pattern := "*" + suffix
	if p.Kind == "skills" {
		pattern = "*/" + suffix
	}
	if p.Deep {
		pattern = "**/" + strings.TrimPrefix(pattern, "*/")
	}
	var out []partFile
	for _, file := range s.files.match(dir, pattern) {
		text, real, err := s.files.read(file)
		if err != nil {
			s.unreadable(kinds[p.Kind], file, err)
			continue
		}
		name := strings.TrimSuffix(strings.TrimPrefix(file, dir+"/"), suffix)
		if p.Kind == "skills" {
			name = path.Base(path.Dir(file))
		}
		f := partFile{from: File{Path: file, Real: real}}
		front, body, _, err := frontmatter.Split(text)
		var fields frontmatter.Fields
		if err == nil {
			fields, err = frontmatter.Parse(front)
		}
		if err != nil {
			f.item.Broken = err.Error()
		}
		for _, need := range p.Needs {
			if fields.Text(need) == "" {
				f.never, f.says = Nameless, "its front matter has no "+need
			}
		}
		if said := fields.Text("name"); said != "" && p.Kind != "commands" {
			name = said
		}
		f.item.Kind, f.item.Name, f.item.Digest, f.item.Later = kinds[p.Kind], name, Digest(text), len(body)
		switch p.Kind {
		case "commands":
			f.item.When = Manual
		case "subagents":
			f.item.When = OnRequest
		default:
			f.item.When = AtStart
		}
		if p.Kind != "commands" {
			f.item.Text = []byte(name + ": " + fields.Text("description"))
			f.item.Bytes = len(f.item.Text)
		}
		out = append(out, f)
	}
	return out
}

// servers are the MCP servers of a file.
func (s *session) servers(file string, f *spec.MCPFile) []partFile {
	pointer, isList := strings.CutSuffix(f.Pointer, "/-")
	text := s.value(file, f.Format, pointer)
	list := map[string]json.RawMessage{}
	if isList {
		var members []json.RawMessage
		if json.Unmarshal(text, &members) != nil {
			return nil
		}
		for _, m := range members {
			var named struct{ Name string }
			if json.Unmarshal(m, &named) == nil {
				list[named.Name] = m
			}
		}
	} else if json.Unmarshal(text, &list) != nil {
		return nil
	}
	var out []partFile
	for _, name := range slices.Sorted(maps.Keys(list)) {
		out = append(out, s.setting(MCPServer, name, file, list[name]))
	}
	return out
}

// hooks are the commands of a file, by event.
func (s *session) hooks(file string, f *spec.EventsFile) []partFile {
	var events map[string][]json.RawMessage
	if json.Unmarshal(s.value(file, f.Format, f.Pointer), &events) != nil {
		return nil
	}
	var out []partFile
	for _, event := range slices.Sorted(maps.Keys(events)) {
		for _, raw := range events[event] {
			var group struct {
				Matcher string
				Hooks   []json.RawMessage
			}
			if json.Unmarshal(raw, &group) != nil || group.Hooks == nil {
				group.Hooks = []json.RawMessage{raw}
			}
			for _, hook := range group.Hooks {
				name := strings.TrimSpace(event + " " + group.Matcher)
				var command struct{ Command, Bash string }
				if json.Unmarshal(hook, &command) == nil && command.Command+command.Bash != "" {
					name += ": " + command.Command + command.Bash
				}
				out = append(out, s.setting(Hook, name, file, hook))
			}
		}
	}
	return out
}

// setting is a part that is a value of a settings file.
func (s *session) setting(kind Kind, name, file string, value json.RawMessage) partFile {
	real, _, err := s.files.resolve(file)
	if err != nil {
		real = file
	}
	canonical, err := merge.Canonical(merge.Value(value))
	if err != nil {
		canonical = merge.Value(value)
	}
	return partFile{
		item: Item{Kind: kind, Name: name, Digest: Digest(canonical), When: AtStart},
		from: File{Path: file, Real: real},
	}
}

// modules are the programs in the folder of file, each of which is loaded.
func (s *session) modules(file string) []partFile {
	var out []partFile
	for _, f := range s.files.match(path.Dir(file), "*.{js,ts,mjs}") {
		text, real, err := s.files.read(f)
		if err != nil {
			s.unreadable(Hook, f, err)
			continue
		}
		out = append(out, partFile{
			item: Item{Kind: Hook, Name: path.Base(f), Digest: Digest(text), When: AtStart},
			from: File{Path: f, Real: real},
		})
	}
	return out
}

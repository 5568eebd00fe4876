package start

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"aisync.dev/aisync/schema/spec"
)

// A catalog's texts about a server name its models too:
//
//	{each}           each model: the list element, member or leaf that holds it is
//	                 repeated for each, and {context} and {output} are that model's
//	{small}          the model of a role; what holds it is left out if none has it
//	{small|model}    the same, or else the main model
//	{small.context}  tokens of that model, a number

// ServedModel is one of the models of a server.
type ServedModel struct {
	Name    string // as the server knows it
	Context int64  // tokens; 0: unknown
}

// list is the models of s, at least its main one.
func (s *Server) list() []ServedModel {
	if len(s.Models) == 0 {
		return []ServedModel{{s.Model, s.Context}}
	}
	return s.Models
}

// contextOf returns the tokens of a model; 0: unknown.
func (s *Server) contextOf(name string) int64 {
	for _, m := range s.list() {
		if m.Name == name {
			return m.Context
		}
	}
	return 0
}

// choose makes a model the main one. One that the server is not known to have
// counts as the main one did.
func (s *Server) choose(name string) {
	if !slices.ContainsFunc(s.list(), func(m ServedModel) bool { return m.Name == name }) {
		s.Models = append([]ServedModel{{name, s.Context}}, s.list()...)
	}
	s.Model, s.Context = name, s.contextOf(name)
}

// only is s with one model.
func (s *Server) only(m ServedModel) *Server {
	one := *s
	one.each, one.Context = m.Name, m.Context
	return &one
}

// servers is s, or, if text stands for one text a model, s with each of them.
func (s *Server) servers(text string) []*Server {
	if !s.repeats(text) {
		return []*Server{s}
	}
	var out []*Server
	for _, m := range s.list() {
		out = append(out, s.only(m))
	}
	return out
}

// repeats reports whether text stands for one text a model.
func (s *Server) repeats(text string) bool { return s.each == "" && strings.Contains(text, "{each}") }

// named replaces what stands for models in text.
func (s *Server) named(text string, as func(string) string) string {
	pairs := []string{"{each}", as(s.each)}
	for _, role := range spec.Roles {
		pairs = append(pairs, "{"+role+"}", as(s.Roles[role]), "{"+role+"|model}", as(cmp.Or(s.Roles[role], s.Model)))
	}
	return strings.NewReplacer(pairs...).Replace(text)
}

// lacks reports whether text names a role that no model has.
func (s *Server) lacks(text string) bool {
	return slices.ContainsFunc(spec.Roles, func(role string) bool {
		return s.Roles[role] == "" && (strings.Contains(text, "{"+role+"}") || strings.Contains(text, "{"+role+".context}"))
	})
}

// number is the value of a text that stands for a number; ok is false for another
// text, and the value 0 where it is unknown.
func (s *Server) number(text string) (value int64, ok bool) {
	switch text {
	case "{context}", "{contextText}":
		return s.Context, true
	case "{output}", "{outputText}":
		return s.output(), true
	case "{input}":
		return s.Context - s.output(), true
	}
	role, ok := strings.CutSuffix(strings.TrimPrefix(text, "{"), ".context}")
	return s.contextOf(s.Roles[role]), ok && slices.Contains(spec.Roles, role)
}

// Leaf is one leaf that points a program at a server: Ref, whose pointer names no
// model any more, filled with what Server is.
type Leaf struct {
	Server *Server
	Ref    spec.Reference
}

// Leaves repeats for each model those of refs whose pointer names each model, or that
// add to a set.
func (s *Server) Leaves(refs []spec.Reference) (out []Leaf) {
	for _, ref := range refs {
		text := ref.Pointer
		if strings.HasSuffix(text, "/-") {
			text += string(ref.JSON)
		}
		for _, one := range s.servers(text) {
			of := ref
			of.Pointer = strings.ReplaceAll(ref.Pointer, "{each}", pointerEscapes.Replace(one.each))
			out = append(out, Leaf{one, of})
		}
	}
	return out
}

// pointerEscapes writes a name into a JSON pointer.
var pointerEscapes = strings.NewReplacer("~", "~0", "/", "~1")

// Lines is FillQuoted without the lines that name a role that no model has.
func (s *Server) Lines(text string) string {
	var kept []string
	for line := range strings.Lines(text) {
		if !s.lacks(line) {
			kept = append(kept, line)
		}
	}
	return s.FillQuoted(strings.Join(kept, ""))
}

// Untold is what texts about s do not tell: roles that they have no word for, such
// as "small (qwen3-8b)", and models that they name neither by a role nor as one of
// all.
func (s *Server) Untold(texts []string) (out []string) {
	all, named := strings.Join(texts, "\n"), []string{s.Model}
	for _, role := range spec.Roles {
		model := s.Roles[role]
		if model == "" {
			continue
		}
		if named = append(named, model); !strings.Contains(all, "{"+role+"}") && !strings.Contains(all, "{"+role+"|model}") {
			out = append(out, role+" ("+model+")")
		}
	}
	for _, m := range s.list() {
		if !slices.Contains(named, m.Name) && !strings.Contains(all, "{each}") {
			out = append(out, m.Name)
		}
	}
	return out
}

// Narrower is the models of roles that grant less than the one context that texts
// tell for all of them.
func (s *Server) Narrower(texts []string) (out []ServedModel) {
	one := slices.ContainsFunc(texts, func(text string) bool {
		return strings.Contains(text, "{context}") && !strings.Contains(text, "{each}")
	})
	all := strings.Join(texts, "\n")
	for _, role := range spec.Roles {
		m := ServedModel{s.Roles[role], s.contextOf(s.Roles[role])}
		if one && m.Context > 0 && m.Context < s.Context && strings.Contains(all, "{"+role+"}") && !strings.Contains(all, "{"+role+".context}") {
			out = append(out, m)
		}
	}
	return out
}

// Texts are the texts by which the program of rt is told of a server.
func Texts(rt *spec.Runtime) []string {
	out := slices.Collect(maps.Values(rt.Launch.Endpoint))
	for _, ref := range rt.User.Endpoint {
		out = append(out, ref.Pointer+" "+string(ref.JSON))
	}
	if rt.Driver != nil {
		out = append(out, rt.Driver.Text)
	}
	return out
}

// Unsaid is what the program of driver is not told of s when it is started as rt, in
// sentences: which roles and models it has no word for, with a way to choose them,
// and where a role's model grants less than the program counts on.
func (s *Server) Unsaid(rt, driver *spec.Runtime) (lost, narrow []string) {
	if !Pointable(driver) {
		return nil, nil
	}
	texts := Texts(driver)
	if untold := s.Untold(texts); len(untold) > 0 {
		by := driver.Command + " " + strings.Join(driver.Launch.Model, " ")
		if rt.Local {
			by = "aisync launch --runtime {model}"
		}
		lost = []string{fmt.Sprintf("%s has no word for %s of %s; choose by: %s", rt.ID, strings.Join(untold, ", "), s.Name, strings.ReplaceAll(by, "{model}", "NAME"))}
	}
	for _, m := range s.Narrower(texts) {
		narrow = append(narrow, fmt.Sprintf("%s counts on %d tokens whichever model it uses, and %s has %d: longer conversations with it fail", rt.ID, s.Context, m.Name, m.Context))
	}
	return lost, narrow
}

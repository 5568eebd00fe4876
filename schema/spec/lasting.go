package spec

import (
	"slices"
	"strings"
)

// flagWords returns args with --flag=value as two words.
func flagWords(args []string) []string {
	var out []string
	for _, a := range args {
		flag, value, joined := strings.Cut(a, "=")
		if !strings.HasPrefix(a, "-") || !joined {
			out = append(out, a)
			continue
		}
		out = append(out, flag, value)
	}
	return out
}

// Arguments returns the arguments that u adds to every launch.
func (u *RuntimeUse) Arguments() []string {
	var out []string
	for _, a := range u.Args {
		out = append(out, a.Value)
	}
	return out
}

// Loosening returns the arguments and variables of u that allow r's program more
// without asking, as its entry knows them.
func (u *RuntimeUse) Loosening(r *Runtime) []string {
	var out []string
	all := append([]string{strings.Join(r.Launch.Autonomous, " ")}, r.Launch.Loosens...)
	words := flagWords(u.Arguments())
	for i := range words {
		for _, pattern := range all {
			if parts := strings.Fields(pattern); len(parts) > 0 && i+len(parts) <= len(words) && slices.EqualFunc(parts, words[i:i+len(parts)], fits) {
				out = append(out, strings.Join(words[i:i+len(parts)], " "))
			}
		}
	}
	for _, v := range u.Env {
		if slices.Contains(all, v.Name) || v.Secret == nil && slices.ContainsFunc(all, func(p string) bool { return fits(p, v.Name+"="+v.Value) }) {
			out = append(out, v.Name)
		}
	}
	return out
}

// fits reports whether word is pattern, of which a * at the end is any rest.
func fits(pattern, word string) bool {
	if start, ok := strings.CutSuffix(pattern, "*"); ok {
		return strings.HasPrefix(word, start)
	}
	return pattern == word
}

// GivesArgument reports whether aisync itself gives r's program that argument in some
// launches: a flag, or a subcommand where it is the first.
func (r *Runtime) GivesArgument(word string, first bool) bool {
	lists := [][]string{r.Launch.Args, r.Launch.Interactive, r.Launch.Headless, r.Launch.JSON, r.Session.Start, r.Session.Resume, r.Session.Continue, r.Session.Fork}
	if r.Driver != nil {
		lists = append(lists, r.Driver.Args)
	}
	flag, _, _ := strings.Cut(word, "=")
	return (first || strings.HasPrefix(word, "-")) && slices.Contains(slices.Concat(lists...), flag)
}

// identityVars tell a program which agent it is.
var identityVars = []string{"AI_AGENT_ID", "AI_RUNTIME", "AI_PROJECT_DIR", "AI_SESSION_CONTEXT", "AI_HELPER", "AI_MODEL", "AI_LAUNCH", "PI_ENSEMBLE_AGENT"}

// GivesVariable says what aisync itself does with a variable of r's program, and what
// a person writes instead; "" where it leaves the variable alone. pointed: the spec
// points the program at a service.
func (r *Runtime) GivesVariable(name string, pointed bool) (does, instead string) {
	const service = `describe the server: services: NAME: {kind: "external", url: …, key: …}, and write endpoint: "NAME"`
	value, ok := r.Launch.Endpoint[name]
	for _, ref := range r.User.Endpoint {
		if strings.HasSuffix(ref.Pointer, "/env/"+name) {
			value, ok = string(ref.JSON), true
		}
	}
	moved := name == r.HomeVar || r.Loads != nil && slices.ContainsFunc(r.Loads.Moves, func(m Move) bool { return m.Variable == name })
	_, always := r.Launch.Environment[name]
	_, trusted := r.Launch.Trusted[name]
	_, kept := r.Launch.Sandbox[name]
	switch {
	case strings.HasPrefix(name, "AISYNC_"):
		return "names that start with AISYNC_ are reserved", "leave it out"
	case slices.Contains(identityVars, name):
		return "it tells an agent who it is, and aisync launch sets it", "leave it out"
	case name == "PATH" || name == "HOME" || name == "PWD":
		return "aisync finds the program and its files by it", "set it where aisync itself starts"
	case moved:
		return "it moves the folder in which the program looks for what aisync writes", "describe the program with its folder in catalog: runtimes, by extends: \"" + r.ID + "\""
	case always || trusted || kept || r.Driver != nil && (r.Driver.Inline == name || r.Driver.Environment[name] != ""):
		return "aisync sets it", "leave it out"
	case ok && (pointed || strings.Contains(value, "{url}") || strings.Contains(value, "{base}")):
		return "it tells the program its server, and aisync sets it by endpoint", service
	}
	return "", ""
}

package mcpserver

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"aisync.dev/aisync/schema/spec"
)

// named returns the variables or headers that list asks for, and those that a
// person gave besides.
func (f *filling) named(list []Argument, given []spec.EnvVar, what string, allowed *regexp.Regexp) []spec.EnvVar {
	flag := map[string]string{"variable": "--env", "header": "--header"}[what]
	var out []spec.EnvVar
	for _, a := range list {
		if m := braces.FindStringSubmatch(a.Value); m != nil && m[0] == a.Value && a.Variables[m[1]].IsSecret && f.ask.Values[m[1]] == nil {
			a.Input = a.Variables[m[1]] // all of it is one secret, which its own name tells better
			a.Value, a.IsRequired = "", true
		}
		if !allowed.MatchString(a.Name) {
			f.fail(a.Name, "it is no name of a %s", what)
			continue
		}
		same := func(v spec.EnvVar) bool {
			return v.Name == a.Name || what == "header" && strings.EqualFold(v.Name, a.Name)
		}
		if slices.ContainsFunc(out, same) {
			f.fail(a.Name, "the server asks for this %s twice", what)
			continue
		}
		i := slices.IndexFunc(given, same)
		var asked Asked
		if a.Value == "" {
			how := fmt.Sprintf("%s-from %s=VARIABLE", flag, a.Name)
			if !a.IsSecret {
				how = fmt.Sprintf("%s %s=VALUE, or %s", flag, a.Name, how)
			}
			asked = f.askFor(a.Input, a.Name, how)
		}
		switch {
		case i >= 0 && a.IsSecret && given[i].Secret == nil && !strings.Contains(given[i].Value, "${"):
			f.secretTyped(a.Name, fmt.Sprintf("%s-from %s=VARIABLE", flag, a.Name))
		case i >= 0:
			if given[i].Secret == nil {
				f.check(a.Input, a.Name, given[i].Value)
			}
			v := given[i]
			v.Name = a.Name
			out = append(out, v)
		case a.Value != "" && f.leavesOut(a):
		case a.Value != "":
			if v, ok := f.fill(a.Value, a.Variables, a.Name, 0); ok {
				out = append(out, spec.EnvVar{Name: a.Name, Value: v})
			}
		case a.IsSecret && a.IsRequired:
			variable := a.Name
			if what == "header" {
				variable = variableFor(a.Name)
			}
			f.note("export %s where the programs start: it is a secret, and the spec only names it", variable)
			out = append(out, spec.EnvVar{Name: a.Name, Secret: &spec.Secret{Env: variable}})
		case a.IsRequired && a.Default != "":
			f.byDefault(asked, a.Default)
			out = append(out, spec.EnvVar{Name: a.Name, Value: f.publishers(a.Input, a.Name, a.Default)})
		case a.IsRequired:
			f.missing(asked)
		default:
			f.unset(asked)
		}
	}
	for _, v := range given {
		if !slices.ContainsFunc(out, func(o spec.EnvVar) bool { return strings.EqualFold(o.Name, v.Name) }) && !slices.ContainsFunc(list, func(a Argument) bool { return strings.EqualFold(a.Name, v.Name) }) {
			out = append(out, v)
		}
	}
	return out
}

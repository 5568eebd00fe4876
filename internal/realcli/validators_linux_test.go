package realcli

import (
	"regexp"
	"slices"
	"strings"
	"testing"
)

// said is what each validator of the catalog has to print of one scope: an exit
// code proves little. {tool} and so on stand for that scope's marks, {scope} for
// its name.
var said = map[string][]string{
	"claude doctor":                  {},
	"claude mcp list":                {"{scope}srv: ", "Connected"},
	"claude plugin validate .claude": {"Validation passed"},
	"codex debug prompt-input":       {"{rule}", "{skill}", "{textcodex}"},
	"codex mcp list --json":          {`"{scope}srv"`, "{tool}"},
	"copilot instruction list":       {},
	"copilot mcp list --json":        {`"{scope}srv"`, "{tool}"},
	"copilot skill list":             {"{scope}-look"},
	"gemini mcp list":                {"✓ {scope}srv: "},
	"gemini skill list":              {"{scope}-look", "{skill}"},
	"grok inspect":                   {"{scope}-look", "{scope}srv"},
	"kilo debug config":              {`"{scope}srv"`, "{tool}"},
	"kilo debug skill":               {"{scope}-look", "{skill}"},
	"kilo mcp list":                  {"✓ {scope}srv"},
	"opencode debug config":          {`"{scope}srv"`, "{tool}"},
	"opencode debug skill":           {"{scope}-look", "{skill}"},
	"opencode mcp list":              {"✓ {scope}srv"},
	"pi --list-models":               {"fake"},
	"qwen mcp list":                  {"✓ {scope}srv: "},
}

// unchecked are the programs without a command that checks what they are given.
var unchecked = []string{"cline", "continue-cli"}

func TestValidatorsPass(t *testing.T) {
	needPrograms(t)
	w := newWorld(t, scope{"both", true, true}, everyone())
	w.aisync("apply", "--yes", "--trust")
	for _, id := range everyone() {
		t.Run(id, func(t *testing.T) {
			w := w.with(t)
			p := lookUp(t, id)
			env := p.environ(w.model.URL)
			if p.say != nil {
				w.run(w.project, env, p.say...)
			}
			if len(p.Validators) == 0 && !slices.Contains(unchecked, id) {
				t.Errorf("the catalog has no validator of %s", id)
			}
			for _, v := range p.Validators {
				name := p.Runtime.Command + " " + strings.Join(v.Args, " ")
				wants, known := said[name]
				if !known {
					t.Errorf("nothing is wanted of %s, which says that %s", name, v.Proves)
				}
				r := w.try(w.project, env, append([]string{p.Runtime.Command}, v.Args...)...)
				if r.code != 0 || v.Bad != "" && regexp.MustCompile(v.Bad).MatchString(r.out) {
					t.Errorf("%s: exit code %d\n%s", name, r.code, r.out)
				}
				scopes := w.scopes()
				if !v.InProject {
					scopes = scopes[:1]
				}
				if name == "claude mcp list" {
					parts.add(t, id, "host", "trust", strings.Count(r.out, "Connected") == 2)
				}
				for _, scope := range scopes {
					for _, want := range wants {
						if want = fill(want, scope); !strings.Contains(r.out, want) {
							t.Errorf("%s does not say %q:\n%s", name, want, r.out)
						}
					}
				}
			}
		})
	}
	w.inOrder()
}

var placeholder = regexp.MustCompile(`\{([a-z]+)\}`)

func fill(text, scope string) string {
	return placeholder.ReplaceAllStringFunc(text, func(s string) string {
		if s == "{scope}" {
			return scope
		}
		return mark(scope, s[1:len(s)-1])
	})
}

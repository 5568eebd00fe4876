package main

import (
	"fmt"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"aisync.dev/aisync/app/effects"
	"aisync.dev/aisync/catalog"
	"aisync.dev/aisync/reconcile"
	"aisync.dev/aisync/schema/spec"
)

// Every rule of the catalog is recognized in a file that is as it says, with
// the class that the table of SECURITY.md has it in.
func TestCatalogEffectsAreRecognized(t *testing.T) {
	tried := 0
	for _, rt := range catalog.Runtimes() {
		for _, o := range rt.Project.Obeys {
			rules := o.Effects
			if len(rules) == 0 {
				rules = []spec.EffectRule{{Key: "/unknown/key", Class: "runs"}}
			}
			for _, rule := range rules {
				names, ok := reached(o, rule)
				if !ok {
					continue
				}
				dir := t.TempDir()
				name := filepath.Join(dir, strings.NewReplacer("**/", "", "**", "x", "*", "x").Replace(o.Files[0]))
				must(t, os.MkdirAll(filepath.Dir(name), 0o755))
				must(t, os.WriteFile(name, example(t, o.Format, names, rule), 0o644))
				found := effects.Of(effects.Project{Dir: dir, Runtimes: []spec.Runtime{rt}}, reconcile.ReadEnv{}, nil)
				if !slices.ContainsFunc(found, func(e effects.Effect) bool { return e.Program == rt.ID && e.Class.String() == rule.Class }) {
					t.Errorf("%s %s %s: no effect of class %s: %v", rt.ID, o.Files[0], rule.Key, rule.Class, found)
				}
				tried++
			}
		}
	}
	if tried < 300 {
		t.Errorf("only %d rules", tried)
	}
}

// reached is a setting of which rule speaks, and whether the program reads it.
func reached(o spec.Obeyed, rule spec.EffectRule) (names []string, ok bool) {
	pattern := strings.Split(strings.TrimPrefix(rule.Key, "/"), "/")
	for _, n := range pattern {
		names = append(names, strings.NewReplacer("~1", "/", "~0", "~", "*", "x").Replace(n))
	}
	if len(o.Reads) == 0 || rule.Key == "" {
		return names, true
	}
	for _, r := range o.Reads {
		read := strings.Split(strings.TrimPrefix(r, "/"), "/")
		met := true
		for i := range min(len(read), len(pattern)) {
			this, _ := path.Match(pattern[i], read[i])
			that, _ := path.Match(read[i], pattern[i])
			met = met && (this || that)
			if this && !strings.Contains(read[i], "*") {
				names[i] = read[i]
			}
		}
		if met {
			return names, true
		}
	}
	return nil, false
}

// example is a file that has the setting names, of which rule speaks.
func example(t *testing.T, format string, names []string, rule spec.EffectRule) []byte {
	t.Helper()
	var value any = "$x" // is never a path of the project
	if len(rule.Values) > 0 {
		value = strings.ReplaceAll(rule.Values[0], "*", "x")
		if value == "true" || value == "false" {
			value = value == "true"
		}
	}
	if rule.Has != "" {
		value = map[string]any{rule.Has: value}
	}
	doc, _ := nested(names, make([]bool, len(names)), value).(map[string]any)
	switch format {
	case "code", "text":
		return []byte("x\n")
	case "frontmatter":
		return []byte("---\n" + string(inFormat(t, "yaml", doc)) + "---\ntext\n")
	}
	return inFormat(t, format, doc)
}

// The table of SECURITY.md says of each program and class by what an effect is
// recognized, in the words of the catalog.
func TestEffectsTableMatchesCatalog(t *testing.T) {
	const page, begin, end = "../../SECURITY.md", "<!-- effects:begin -->\n", "<!-- effects:end -->"
	text, err := os.ReadFile(page)
	must(t, err)
	before, rest, ok := strings.Cut(string(text), begin)
	_, after, ended := strings.Cut(rest, end)
	if !ok || !ended {
		t.Fatalf("%s has no %s … %s", page, begin, end)
	}
	asOnPage(t, page, string(text), before+begin+effectsTable()+end+after)
}

func effectsTable() string {
	var b strings.Builder
	b.WriteString("| program | class | recognized by | test |\n|---|---|---|---|\n")
	for _, rt := range catalog.Runtimes() {
		test := "`TestCatalogEffectsAreRecognized`"
		if _, ok := steered[rt.ID]; ok {
			test += ", `TestHarmfulSettingsNeedApproval`"
		}
		for class := effects.Runs; class <= effects.Trusts; class++ {
			how := recognized(rt, class.String())
			test := test
			if class == effects.Trusts && len(rt.User.Trust) > 0 {
				how = append(how, "an entry in `"+rt.User.Trust[0].Path+"`")
				if slices.Contains([]string{"claude", "codex", "gemini"}, rt.ID) {
					test += ", `effects_clone.txtar`"
				}
			}
			if class == effects.Runs && len(rt.Project.Obeys) > 0 {
				how = append(how, "every other setting that is not known to be harmless")
			}
			if len(how) > 0 {
				fmt.Fprintf(&b, "| `%s` | %s | %s | %s |\n", rt.ID, class.Title(), strings.Join(how, "; "), test)
			}
		}
	}
	b.WriteString("| `git` | runs by itself | executable files of the folder that `core.hooksPath` will name | `effects_clone.txtar`, `githooks.txtar` |\n")
	b.WriteString("| `aisync launch` | runs by itself | checks in `.agents/checks.json`; the command of a runtime that a source of the project describes | `launch_checks.txtar`, `strangers.txtar` |\n")
	return b.String()
}

// recognized names the settings of a class, a few of each kind of file, and the
// files that count as a whole.
func recognized(rt spec.Runtime, class string) []string {
	const few = 3
	var how []string
	files := map[string][]string{} // by what of them counts
	for _, o := range rt.Project.Obeys {
		var keys []string
		for _, rule := range o.Effects {
			if _, ok := reached(o, rule); !ok || rule.Class != class {
				continue
			}
			if key := "`" + rule.Key + "`"; rule.Key == "" {
				keys = []string{"any"}
			} else if !slices.Contains(keys, key) {
				keys = append(keys, key)
			}
		}
		if n := len(keys) - few; n > 1 {
			keys = append(keys[:few], fmt.Sprintf("%d more", n))
		}
		if what := strings.Join(keys, ", "); what != "" {
			if files[what] == nil {
				how = append(how, what)
			}
			files[what] = append(files[what], o.Files...)
		}
	}
	for i, what := range how {
		names := files[what]
		more := ""
		if n := len(names) - few; n > 1 {
			names, more = names[:few], fmt.Sprintf(" and %d more", n)
		}
		in := "`" + strings.Join(names, "`, `") + "`" + more
		if how[i] = what + " in " + in; what == "any" {
			how[i] = "any file " + in
		}
	}
	return how
}

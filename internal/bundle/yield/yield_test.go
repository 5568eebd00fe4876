package yield

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"aisync.dev/aisync/catalog"
	"aisync.dev/aisync/internal/bundle"
	"aisync.dev/aisync/schema/spec"
)

func source(t *testing.T, files ...string) spec.Source {
	t.Helper()
	dir := t.TempDir()
	for _, f := range files {
		name := filepath.Join(dir, f)
		text := "---\nname: x\ndescription: y\n---\n# X\n"
		if strings.HasSuffix(f, ".json") {
			text = `{"plugins": [{"name": "one", "source": "./plugins/one"}]}`
		}
		if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(name, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return spec.Source{Name: "src", URL: dir, Pos: spec.Position{File: "aisync.cue", Line: 3, Col: 4}}
}

func TestCheckProject(t *testing.T) {
	skills := []string{"skills/pdf/SKILL.md", "skills/docx/SKILL.md"}
	at := spec.Position{File: "aisync.cue", Line: 7, Col: 8}
	for name, c := range map[string]struct {
		files    []string
		ref      string
		runtimes []string
		pick     *spec.Pick
		want     string // "": it yields something
	}{
		"skills":                {skills, ".", []string{"claude"}, nil, ""},
		"a program among some":  {skills, ".", []string{"aider", "claude"}, nil, ""},
		"no program that can":   {skills, ".", []string{"aider"}, nil, `aisync.cue:7:8: bundle "src//." yields nothing: aider takes no skills of a bundle`},
		"no program":            {skills, ".", nil, nil, "no runtime is named; the source has 2 skills: docx, pdf"},
		"a source unused":       {[]string{"README.md"}, "", []string{"claude"}, nil, `aisync.cue:3:4: source "src" yields nothing: it has nothing that aisync reads, but README.md`},
		"a source to be used":   {skills, "", []string{"claude"}, nil, ""},
		"another layout":        {[]string{"README.md", "src/main.c"}, ".", []string{"claude"}, nil, "nothing that aisync reads, but README.md, src/"},
		"the top of APM's":      {[]string{"apm.yml", ".apm/skills/a/SKILL.md"}, ".", []string{"claude"}, nil, "a package of APM, whose parts lie in .apm: name that folder, as in OWNER/REPO//.apm"},
		"languages only":        {[]string{"languages/go/common/rules/a.md"}, ".", []string{"claude"}, nil, `1 language: go; write bundles: ["src//go"]`},
		"a language":            {[]string{"languages/go/common/rules/a.md"}, "go", []string{"claude"}, nil, ""},
		"an empty language":     {[]string{"languages/go/README.txt", "agent-rules/a.md"}, "go", []string{"claude"}, nil, `bundle "src//go" yields nothing`},
		"a marketplace":         {[]string{".claude-plugin/marketplace.json", "plugins/one/skills/a/SKILL.md"}, ".", []string{"claude"}, nil, "1 plugin: one; add one with: aisync add plugin one@src"},
		"a selection":           {skills, ".", []string{"claude"}, &spec.Pick{Skills: []string{"pdx"}}, `no skill "pdx"; did you mean "pdf"?`},
		"for another program":   {skills, ".", []string{"claude"}, &spec.Pick{Skills: []string{"pdf"}, Runtimes: []string{"codex"}}, "claude takes no skills"},
		"another program's own": {[]string{"languages/go/runtimes/gemini/rules/a.md", "languages/go/runtimes/codex/rules/a.md"}, "go", []string{"claude"}, nil, `bundle "src//go" yields nothing: it has only files of codex, gemini; name`},
		"git hooks":             {[]string{"languages/go/githooks/pre-commit"}, "go", []string{"claude"}, nil, ""},
	} {
		src := source(t, c.files...)
		src.Pick = c.pick
		p := &spec.Project{Sources: []spec.Source{src}, Bundles: []spec.BundleRef{{Source: "src", Name: c.ref, Pos: at}}}
		if c.ref == "" {
			p.Bundles = nil
		}
		for _, id := range c.runtimes {
			p.Runtimes = append(p.Runtimes, spec.Named{Value: id})
		}
		err := Check(context.Background(), Spec{Project: p, Runtimes: catalog.Runtimes(), Sources: new(bundle.Sources), Fault: true})
		if c.want == "" && err != nil || c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) {
			t.Errorf("%s: %v, want %q", name, err, c.want)
		}
	}
}

func TestCheckOwnLayer(t *testing.T) {
	src := source(t, "README.md")
	p := &spec.Project{Runtimes: []spec.Named{{Value: "claude"}}, Local: &spec.Project{Sources: []spec.Source{src}, Bundles: []spec.BundleRef{{Source: "src", Name: "."}}}}
	if err := Check(context.Background(), Spec{Project: p, Runtimes: catalog.Runtimes(), Sources: new(bundle.Sources)}); err == nil || !strings.Contains(err.Error(), "yields nothing") {
		t.Errorf("an own layer of nothing: %v", err)
	}
}

func TestCheckHost(t *testing.T) {
	for name, c := range map[string]struct {
		files, parts []string
		want         string
	}{
		"rules":                         {[]string{"agent-rules/a.md"}, nil, ""},
		"other parts":                   {[]string{"agent-rules/a.md"}, []string{"skills"}, `bundle "core" yields nothing: the source has 1 rule: a`},
		"languages only":                {[]string{"languages/go/common/rules/a.md"}, nil, `bundle "core" yields nothing`},
		"hook programs":                 {[]string{"hooks/a.sh"}, []string{"hooks"}, ""},
		"for one program":               {[]string{"runtimes/claude/rules/a.md"}, nil, ""},
		"a single skill":                {[]string{"SKILL.md"}, nil, ""},
		"the fetched is no folder here": {nil, nil, ""},
	} {
		src := source(t, c.files...)
		url := src.URL
		if c.files == nil {
			url = "git::https://example.org/r.git"
		}
		h := &spec.Host{Runtimes: []spec.RuntimeUse{{ID: "claude"}}, Bundles: []spec.HostBundle{{Name: "core", Source: url, Parts: c.parts, Pos: src.Pos}}}
		err := Check(context.Background(), Spec{Host: h, Runtimes: catalog.Runtimes(), Sources: new(bundle.Sources), Fault: true})
		if c.want == "" && err != nil || c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) {
			t.Errorf("%s: %v, want %q", name, err, c.want)
		}
	}
}

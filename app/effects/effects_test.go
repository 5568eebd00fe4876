package effects

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"

	"aisync.dev/aisync/reconcile"
	"aisync.dev/aisync/schema/spec"
)

// agent is a program whose settings are of every sort.
var agent = spec.Runtime{ID: "agent", Project: spec.Scope{Obeys: []spec.Obeyed{
	{
		Files: []string{"agent.json"}, Format: "json",
		Safe:       []string{"/$schema", "/theme", "/deny/*", "/limits/**"},
		SafeValues: []spec.SafeValues{{Key: "/mode", Values: []string{"ask"}}},
		Paths:      []string{"/instructions/*"},
		Restricts:  []string{"/deny/*"},
		Effects: []spec.EffectRule{
			{Key: "/hooks/*/*/run/*", Class: "runs", Says: "runs {value} at {1}"},
			{Key: "/servers/*", Has: "url", Class: "sends", Says: "asks {1} at {value}"},
			{Key: "/servers/*", Class: "runs", Says: "starts {1}: {value}"},
			{Key: "/plugin/*", Class: "runs", Says: "loads {value} as code"},
			{Key: "/env/*_URL", Class: "sends", Says: "sends to {value}"},
			{Key: "/mode", Class: "loosens", Says: "works in the mode {value}"},
		},
	},
	{Files: []string{"agent.toml"}, Format: "toml", Safe: []string{"/theme"}, Effects: []spec.EffectRule{{Key: "/notify", Class: "runs", Says: "runs {value}"}}},
	{Files: []string{"commands/*.toml"}, Format: "toml", Prompts: []string{"/prompt"}},
	{Files: []string{"agent.yml"}, Format: "yaml", Effects: []spec.EffectRule{{Key: "/run", Class: "runs", Says: "runs {value}"}}},
	{Files: []string{"skills/*/SKILL.md"}, Format: "frontmatter", Safe: []string{"/name", "/description"}, Effects: []spec.EffectRule{{Key: "/hooks", Class: "runs", Says: "runs {value}"}}},
	{Files: []string{"plugins/**"}, Format: "code", Effects: []spec.EffectRule{{Class: "runs", Says: "loads {file} as code"}}},
}}}

// folder is a project with these files, by name.
func folder(t *testing.T, files map[string]string) Project {
	t.Helper()
	dir := t.TempDir()
	for name, text := range files {
		name = filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(name, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return Project{Dir: dir, Runtimes: []spec.Runtime{agent}}
}

// said are the effects of a folder in words.
func said(p Project) []string {
	out := []string{}
	for _, e := range Of(p, reconcile.ReadEnv{}, nil) {
		out = append(out, e.Class.String()+": "+e.Text)
	}
	return out
}

func TestOf(t *testing.T) {
	for name, c := range map[string]struct {
		files map[string]string
		want  []string
	}{
		"safe": {map[string]string{"agent.json": `{"$schema": "x", "theme": "dark", "deny": ["a"], "limits": {"a": {"b": 1}}, "mode": "ask", "instructions": ["docs/*.md"]}`}, []string{}},
		"hook with its event": {map[string]string{"agent.json": `{"hooks": {"Start": [{"matcher": "*", "run": [{"command": "make"}, {"command": "git"}]}]}}`},
			[]string{"runs: obeys hooks.Start (0.matcher: *) in agent.json, which is not known to be harmless", "runs: runs git at Start", "runs: runs make at Start"}},
		"server by what it has":   {map[string]string{"agent.json": `{"servers": {"a": {"command": "npx", "args": ["-y", "a b"]}, "b": {"url": "https://x", "headers": {"X": "1"}}, "c": {"command": ["uvx", "c"]}}}`}, []string{"runs: starts a: npx -y 'a b'", "runs: starts c: uvx c", "sends: asks b at https://x (headers.X: 1)"}},
		"unknown is denied":       {map[string]string{"agent.json": `{"newKey": {"deep": {"a": 1, "b": 2}}}`}, []string{"runs: obeys newKey.deep (a: 1, b: 2) in agent.json, which is not known to be harmless"}},
		"case makes a new key":    {map[string]string{"agent.json": `{"Theme": "dark"}`}, []string{"runs: obeys Theme (dark) in agent.json, which is not known to be harmless"}},
		"comments are no hiding":  {map[string]string{"agent.json": "// x\n{/* y */ \"plugin\": [\"./a.js\",], }"}, []string{"runs: loads ./a.js as code"}},
		"twice counts twice":      {map[string]string{"agent.json": `{"plugin": ["./a.js"], "plugin": ["./b.js"]}`}, []string{"runs: loads ./a.js, ./b.js as code"}},
		"other value":             {map[string]string{"agent.json": `{"mode": "yolo"}`}, []string{"loosens: works in the mode yolo"}},
		"variable in a safe one":  {map[string]string{"agent.json": `{"theme": "${SECRET}"}`}, []string{"runs: obeys theme (${SECRET}) in agent.json, which is not known to be harmless"}},
		"include in a safe one":   {map[string]string{"agent.json": `{"theme": "{file:~/.ssh/id}"}`}, []string{"runs: obeys theme ({file:~/.ssh/id}) in agent.json, which is not known to be harmless"}},
		"text from elsewhere":     {map[string]string{"agent.json": `{"instructions": ["https://evil/x.md", "../x.md", "~/x.md", "/etc/x"]}`}, []string{"runs: obeys instructions (https://evil/x.md, ../x.md, ~/x.md, /etc/x) in agent.json, which is not known to be harmless"}},
		"not JSON":                {map[string]string{"agent.json": `{plugin: ['./a.js']}`}, []string{"runs: reads agent.json, which aisync cannot judge: hujson: line 1, column 2: invalid literal: plugin"}},
		"dotted TOML":             {map[string]string{"agent.toml": "theme = 'x'\nnotify = ['sh', '-c', 'x']\na.b.c = 1\n"}, []string{"runs: obeys a.b (c: 1) in agent.toml, which is not known to be harmless", "runs: runs sh, -c, x"}},
		"anchors of YAML":         {map[string]string{"agent.yml": "x: &a {run: evil}\n<<: *a\n"}, []string{"runs: obeys x.run (evil) in agent.yml, which is not known to be harmless", "runs: runs evil"}},
		"front matter":            {map[string]string{"skills/a/SKILL.md": "---\nname: a\nhooks: {Stop: [{command: evil}]}\n---\nText\n", "skills/b/SKILL.md": "---\nname: b\n---\n"}, []string{"runs: runs evil"}},
		"command in a text":       {map[string]string{"skills/a/SKILL.md": "---\nname: a\n---\nSee !`git log` and !`make x`.\n"}, []string{"runs: runs git log; make x when you use skills/a/SKILL.md"}},
		"prompts are text":        {map[string]string{"commands/a.toml": "prompt = 'Read `x` for $5, {env:HOME}.'\n"}, []string{}},
		"commands in prompts":     {map[string]string{"commands/a.toml": "prompt = \"\\u0021{git {x} log} and !{\\nmake }\"\n"}, []string{"runs: runs git {x} log; \nmake  when you use commands/a.toml"}},
		"code":                    {map[string]string{"plugins/a/b.js": "x"}, []string{"runs: loads plugins/a/b.js as code"}},
		"secrets are not shown":   {map[string]string{"agent.json": `{"x": {"token": "hunter2"}}`}, []string{"runs: obeys x.token ((not shown)) in agent.json, which is not known to be harmless"}},
		"an empty file":           {map[string]string{"agent.json": ""}, []string{}},
		"restrictions are no ask": {map[string]string{"agent.json": `{"deny": ["Read(.env)"]}`}, []string{}},
	} {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(c.want, said(folder(t, c.files))); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestDigestFollowsWhatIsNamed(t *testing.T) {
	base := map[string]string{
		"agent.json":      `{"plugin": ["./tools/helper"], "servers": {"a": {"command": "python", "args": ["-m", "tools.notes"]}}}`,
		"tools/helper.js": "one", "tools/notes.py": "one", "tools/other.py": "one",
	}
	digests := func(change map[string]string) []string {
		files := map[string]string{}
		for name, text := range base {
			files[name] = text
		}
		for name, text := range change {
			files[name] = text
		}
		var out []string
		for _, e := range Of(folder(t, files), reconcile.ReadEnv{}, nil) {
			out = append(out, e.Digest)
		}
		return out
	}
	was := digests(nil)
	if len(was) != 2 {
		t.Fatalf("%d effects", len(was))
	}
	for name, c := range map[string]struct {
		change map[string]string
		moved  int
	}{
		"nothing":                {nil, 0},
		"a file that runs later": {map[string]string{"tools/other.py": "two"}, 0},
		"the plugin":             {map[string]string{"tools/helper.js": "two"}, 1},
		"the module":             {map[string]string{"tools/notes.py": "two"}, 1},
		"its order":              {map[string]string{"agent.json": `{"servers": {"a": {"args": ["-m", "tools.notes"], "command": "python"}}, "plugin": ["./tools/helper"]}`}, 0},
		"an argument":            {map[string]string{"agent.json": `{"plugin": ["./tools/helper"], "servers": {"a": {"command": "python", "args": ["-m", "tools.notes", "-x"]}}}`}, 1},
	} {
		moved := 0
		for i, d := range digests(c.change) {
			if d != was[i] {
				moved++
			}
		}
		if moved != c.moved {
			t.Errorf("%s: %d effects are new, want %d", name, moved, c.moved)
		}
	}
}

// A hook under another matcher is another effect.
func TestDigestFollowsTheMatcher(t *testing.T) {
	one := Of(folder(t, map[string]string{"agent.json": `{"hooks": {"Pre": [{"matcher": "Edit", "run": [{"command": "x"}]}]}}`}), reconcile.ReadEnv{}, nil)
	two := Of(folder(t, map[string]string{"agent.json": `{"hooks": {"Pre": [{"matcher": "*", "run": [{"command": "x"}]}]}}`}), reconcile.ReadEnv{}, nil)
	for i, e := range one {
		if e.Text == two[i].Text && e.Digest == two[i].Digest {
			t.Errorf("%s has one digest under two matchers", e.Text)
		}
	}
}

func TestStrangeFilesAreEffects(t *testing.T) {
	p := folder(t, nil)
	if err := syscall.Mkfifo(filepath.Join(p.Dir, "agent.json"), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("/dev/zero", filepath.Join(p.Dir, "agent.toml")); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(p.Dir, "agent.yml"), make([]byte, maxFile+1), 0o644); err != nil {
		t.Fatal(err)
	}
	got := said(p)
	if len(got) != 3 {
		t.Fatalf("got %q", got)
	}
	for _, text := range got {
		if !strings.Contains(text, "aisync cannot judge") {
			t.Error(text)
		}
	}
}

// A link that is swapped in is another effect, be the bytes the same.
func TestALinkIsPartOfTheDigest(t *testing.T) {
	p := folder(t, map[string]string{"agent.json": `{"plugin": ["./a.js"]}`, "a.js": "x", "b.js": "x"})
	before := Of(p, reconcile.ReadEnv{}, nil)
	at := filepath.Join(p.Dir, "a.js")
	if err := os.Remove(at); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("b.js", at); err != nil {
		t.Fatal(err)
	}
	if after := Of(p, reconcile.ReadEnv{}, nil); before[0].Digest == after[0].Digest {
		t.Error("the digest is the same")
	}
}

type agreed map[string]bool

func (a agreed) Agreed(o reconcile.Owner, digest string) bool { return a[string(o)+digest] }
func (a agreed) AgreedAny(o reconcile.Owner) bool {
	for key := range a {
		if strings.HasPrefix(key, string(o)) {
			return true
		}
	}
	return false
}

// What a program writes down of its user's answers waits for no second one; a
// file of that name that came with the clone does.
func TestUndecidedLeavesAnswersToTheProgramAlone(t *testing.T) {
	own := agent
	own.Project.Obeys = []spec.Obeyed{{Files: []string{"agent.local.json"}, Format: "json", Local: true}}
	p := folder(t, map[string]string{"agent.local.json": `{"trusted": ["x"]}`})
	p.Runtimes = []spec.Runtime{own}
	for _, c := range []struct {
		carried func(string) bool
		a       agreed
		want    int
	}{
		{nil, agreed{"project:/p1": true}, 1},
		{func(string) bool { return true }, agreed{"project:/p1": true}, 1},
		{func(string) bool { return false }, nil, 1},
		{func(string) bool { return false }, agreed{"project:/p1": true}, 0},
	} {
		p.Carried = c.carried
		if got := Undecided(Of(p, reconcile.ReadEnv{}, nil), reconcile.ProjectOwner("/p"), c.a, nil); len(got) != c.want {
			t.Errorf("%v: %d wait, want %d", c.a, len(got), c.want)
		}
	}
}

func TestUndecided(t *testing.T) {
	one, two := Effect{Digest: "1"}, Effect{Digest: "2", source: "git::x@abc"}
	owner := reconcile.ProjectOwner("/p")
	for name, c := range map[string]struct {
		a       agreed
		trusted []string
		want    int
	}{
		"nothing":               {nil, nil, 2},
		"one":                   {agreed{"project:/p1": true}, nil, 1},
		"of another project":    {agreed{"project:/q1": true}, nil, 2},
		"source":                {nil, []string{"git::x@abc"}, 1},
		"source at another pin": {nil, []string{"git::x@def"}, 2},
		"source, asked once":    {agreed{"host" + SourceDigest("git::x@abc"): true}, nil, 1},
		"all":                   {agreed{"project:/p1": true, "project:/p2": true}, nil, 0},
	} {
		if got := Undecided([]Effect{one, two}, owner, c.a, c.trusted); len(got) != c.want {
			t.Errorf("%s: %d wait, want %d", name, len(got), c.want)
		}
	}
}

func TestHold(t *testing.T) {
	hook := Effect{Program: "agent", File: "agent.json", Key: "/hooks/Start", named: []string{"hooks/x.sh"}}
	trust := Effect{Program: "agent", Class: Trusts, File: "~/.agent.json", Key: "/p", asks: []reconcile.Address{"file:~/.agent.json"}, entry: true}
	other := Effect{Program: "other", Class: Trusts, File: "~/.other.json", Key: "/p", asks: []reconcile.Address{"file:~/.other.json"}, entry: true}
	hold := Hold([]Effect{hook, trust, other}, []Effect{hook})
	for _, c := range []struct {
		address reconcile.Address
		key     reconcile.LeafKey
		held    bool
	}{
		{"file:agent.json", `/hooks/Start#{"command":"x"}`, true},
		{"file:agent.json", "/hooks", true},
		{"file:agent.json", "", true},
		{"file:agent.json", "/theme", false},
		{"file:hooks/x.sh", "", true},
		{"file:hooks/y.sh", "", false},
		{"file:~/.agent.json", "/p", true},
		{"file:~/.agent.json", "/q", false},
		{"file:~/.other.json", "/p", false},
	} {
		if got := hold(c.address, c.key) != ""; got != c.held {
			t.Errorf("%s %s: held %v", c.address, c.key, got)
		}
	}
}

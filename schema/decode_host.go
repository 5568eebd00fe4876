package schema

import (
	"slices"
	"strconv"
	"strings"
	"time"

	"cuelang.org/go/cue"

	"aisync.dev/aisync/schema/describe"
	"aisync.dev/aisync/schema/spec"
)

// ollamaPort is ollama's default port.
const ollamaPort = 11434

func (n node) host(dir string) *spec.Host {
	h := &spec.Host{
		Name: n.name(), Pos: n.labelPos(), Dir: dir,
		Match:        n.get("match").match(),
		GPUGiB:       n.get("gpu").get("memoryGiB").int(),
		Default:      n.getStr("default"),
		Experimental: n.getBool("experimental"),
		Roots:        n.getStrings("roots"),
		Trust:        n.get("trust").flag(),
		Packages:     n.get("packages").nameds(),
		MCP:          n.get("mcp").mcpServers(),
		Store:        n.get("store").named(),
		Mirrors:      n.get("mirrors").nameds(),
		Views:        n.get("views").nameds(),
		Endpoint:     n.get("endpoint").named(),
		Settings:     n.get("settings").settings(),
		Context:      n.get("context").budgets(),
		Policy:       spec.Policy{Drift: "report"},
	}
	for _, f := range n.get("runtimes").fields() {
		h.Runtimes = append(h.Runtimes, spec.RuntimeUse{ID: f.name(), Pos: f.labelPos(), Install: f.get("install").install(), CLI: f.getStr("cli"), Endpoint: f.get("endpoint").endpointUse(), Args: f.get("args").nameds(), Env: f.get("env").launchVars()})
	}
	for _, f := range n.get("trustSources").elements() {
		h.TrustSources = append(h.TrustSources, spec.TrustedSource{Source: f.get("source").address(dir), Pin: f.getStr("pin"), Pos: f.valuePos()})
	}
	for _, f := range n.get("mailboxes").fields() {
		h.Mailboxes = append(h.Mailboxes, spec.Mailbox{Machine: f.name(), Place: f.str(), Pos: f.labelPos()})
	}
	for _, f := range n.get("bundles").fields() {
		at := f.get("source").folder(dir)
		b := spec.HostBundle{Name: f.name(), Source: f.get("source").address(at), From: f.getStr("from"), Parts: f.getStrings("parts"), Scope: f.getStr("scope"), Pick: f.pick(), Pos: f.labelPos()}
		if at != dir {
			b.Dir = at
		}
		if len(b.Parts) == 0 {
			b.Parts = spec.AllParts
		}
		h.Bundles = append(h.Bundles, b)
	}
	for _, f := range n.get("models").fields() {
		h.Models = append(h.Models, spec.ModelUse{
			ID: f.name(), Quant: f.getStr("quant"), Pos: f.labelPos(),
			Context: f.get("context").int(), Fit: f.getStr("fit"), Prefer: f.getStr("prefer"), Projector: f.getStr("mmproj"), Draft: f.getStr("draft"),
		})
	}
	for _, f := range n.get("services").fields() {
		h.Services = append(h.Services, f.service())
	}
	if t := n.get("tasks"); t.exists() {
		h.TaskNetwork = t.get("network").flag()
		h.TaskShow, h.TaskTrees = t.shown(), int(t.get("keptTrees").int())
		if fields := t.fields(); len(fields) == 0 || slices.ContainsFunc(fields, func(f node) bool { return !slices.Contains(anyTask, f.name()) }) {
			h.Nightly = t.nightly()
		}
	}
	if c := n.get("converge"); c.exists() {
		h.Converge = &spec.Converge{Every: interval(c.getStr("every")), Pos: c.labelPos()}
	}
	if p := n.get("policy"); p.exists() {
		h.Policy.Pos = p.labelPos()
		if drift := p.getStr("drift"); drift != "" {
			h.Policy.Drift = drift
		}
	}
	return h
}

// interval is a number of minutes, hours or days; 0 if text is none, which the schema
// reports.
func interval(text string) time.Duration {
	if days, ok := strings.CutSuffix(text, "d"); ok {
		n, _ := strconv.Atoi(days)
		return time.Duration(n) * 24 * time.Hour
	}
	d, _ := time.ParseDuration(text)
	return d
}

// anyTask are the fields of tasks that hold by day, too.
var anyTask = []string{"network", "show", "keptTrees"}

// shown returns what commands of tasks may read.
func (n node) shown() []spec.Named {
	for _, p := range n.get("show").elements() {
		if at := p.str(); at != "" && (!strings.HasPrefix(at, "~/") && !strings.HasPrefix(at, "/") || strings.Trim(at, "/") == "" || at == "~/") {
			p.problem("want a file or folder that starts with ~/ or /, got "+strconv.Quote(at), "")
		}
	}
	return n.get("show").nameds()
}

func (n node) nightly() *spec.Nightly {
	t := &spec.Nightly{
		At: n.getStr("nightly"), Until: n.getStr("until"), Repos: n.get("repos").nameds(), Max: int(n.get("max").int()),
		Executor: n.getStr("executor"), Push: n.getStr("push"), Pos: n.labelPos(),
	}
	for _, f := range [][2]string{{"nightly", `want a time of day such as "02:00"`}, {"repos", "want a list"}} {
		if kindOf(n.v) == cue.StructKind && !n.get(f[0]).exists() {
			n.doc.add(Problem{Pos: n.labelPos(), Path: pathText(n.path), Message: f[0] + " is missing", Hint: f[1]})
		}
	}
	if len(t.Repos) == 0 && n.get("repos").exists() {
		n.get("repos").problem("no folder", "name the repositories whose tasks are worked")
	}
	for _, r := range n.get("repos").elements() {
		if at := r.str(); at != "" && !strings.HasPrefix(at, "~/") && !strings.HasPrefix(at, "/") {
			r.problem("want a folder that starts with ~/ or /, got "+strconv.Quote(at), "")
		}
	}
	if g := n.get("gitea"); g.exists() {
		token := g.get("token")
		t.Gitea = &spec.Gitea{
			URL: g.getStr("url"), Token: spec.Secret{Env: token.getStr("env"), File: token.getStr("file")},
			Comment: g.getBool("comment"), PullRequest: g.getBool("pullRequest"), Repos: g.get("repos").texts(),
		}
		for _, r := range g.get("repos").fields() {
			if !slices.ContainsFunc(t.Repos, func(of spec.Named) bool { return of.Value == r.name() }) {
				r.problem(strconv.Quote(r.name())+" is none of the folders whose tasks are worked", "name one as tasks: repos has it")
			}
		}
		if kindOf(token.v) == cue.StructKind && (t.Gitea.Token.Env == "") == (t.Gitea.Token.File == "") {
			token.problem("want one of env and file", "write {file: \"~/.config/gitea-token\"}, or {env: \"GITEA_TOKEN\"} where the user manager has that variable")
		}
		if t.Gitea.PullRequest && t.Push == "" {
			g.get("pullRequest").problem("a pull request needs a pushed branch", "name the remote that Gitea serves: push: \"origin\"")
		}
	}
	return t
}

func (n node) endpointUse() *spec.EndpointUse {
	if !n.exists() {
		return nil
	}
	return &spec.EndpointUse{On: n.bool(true), Service: n.str(), Pos: n.valuePos()}
}

func (n node) match() spec.Match {
	return spec.Match{
		Hostname: n.getStr("hostname"), CPU: n.getStr("cpu"), Product: n.getStr("product"),
		MemoryGiB: n.get("memoryGiB").bound(),
	}
}

// bound reads a CUE bound such as >=60, or a number, which must then be equal.
func (n node) bound() spec.Bound {
	if !n.exists() {
		return spec.Bound{}
	}
	ops := map[cue.Op]string{
		cue.LessThanOp: "<", cue.LessThanEqualOp: "<=", cue.GreaterThanOp: ">", cue.GreaterThanEqualOp: ">=",
	}
	op, args := n.v.Expr()
	if name, ok := ops[op]; ok && len(args) == 1 {
		if gib, err := args[0].Float64(); err == nil {
			return spec.Bound{Op: name, GiB: gib}
		}
	}
	if gib, err := n.v.Float64(); err == nil {
		return spec.Bound{Op: "==", GiB: gib}
	}
	if n.v.IncompleteKind()&cue.NumberKind != 0 {
		n.problem("want one bound such as >=60, got "+describe.Text(n.v), "")
	}
	return spec.Bound{}
}

func (n node) install() *spec.Install {
	if !n.exists() {
		return nil
	}
	via, ways := n.getStr("via"), []string(nil)
	if at := n.get("via"); at.exists() && at.v.IncompleteKind() == cue.ListKind {
		if ways = at.strings(); len(ways) > 0 {
			via = ways[0]
		}
	}
	return &spec.Install{Via: via, Ways: ways, Package: n.getStr("package"), Version: n.getStr("version"), Node: n.getStr("node"), URL: n.getStr("url"), SHA256: n.getStr("sha256"), Pos: n.labelPos()}
}

func (n node) service() spec.Service {
	s := spec.Service{
		Name: n.name(), Pos: n.labelPos(), Kind: n.getStr("kind"),
		Model: n.getStr("model"), Models: n.getStrings("models"), Roles: n.get("roles").texts(), Loaded: int(n.get("loaded").int()),
		Port: int(n.get("port").int()), Context: int(n.get("context").int()),
		Scope: n.getStr("scope"), Listen: n.getStr("listen"),
		URL: n.getStr("url"), APIs: n.getStrings("apis"),
		Enabled: n.get("enabled").bool(true),
		Install: n.get("install").install(), Backend: n.getStr("backend"), Parallel: int(n.get("parallel").int()),
		ChatTemplate: n.getStr("chatTemplate"), Args: n.getStrings("args"),
	}
	if layers := n.get("gpuLayers"); layers.exists() {
		s.GPULayers = new(int(layers.int()))
	}
	s.Headers = n.get("headers").envVars()
	if k := n.get("key"); k.exists() && kindOf(k.v) == cue.StructKind {
		s.Key = &spec.Secret{Env: k.getStr("env"), File: k.getStr("file")}
	} else {
		s.NoKey = k.exists()
	}
	for _, v := range n.get("env").fields() {
		if s.Env == nil {
			s.Env = map[string]string{}
		}
		s.Env[v.name()] = v.str()
	}
	if s.Kind != "external" {
		if s.Scope == "" {
			s.Scope = "user"
		}
		if s.Listen == "" {
			s.Listen = "loopback"
		}
	}
	if s.Kind == "ollama" && s.Port == 0 {
		s.Port = ollamaPort
	}
	return s
}

package doctor

import (
	"aisync.dev/aisync/app/stack"
	"fmt"
	"slices"
	"strings"
)

// Checks returns the checks of every machine, in the order in which they are
// shown. Families adds those of each runtime and service.
func Checks() []Check {
	return []Check{
		{Name: "spec", Doc: "the specs of this host and project are valid", Run: checkSpec},
		{Name: "schema", Doc: "the schema that editors read is the one of this aisync", Run: checkSchema},
		{Name: "folders", Doc: "home, state, cache, store and the specs' folders are writable", Machine: true, Run: checkFolders},
		{Name: "tools", Doc: "the programs that the specs need are installed", Run: checkTools},
		{Name: "lock", Doc: "aisync.lock is readable", Run: checkLock},
		{Name: "records", Doc: "records, history and backups are readable and complete", Machine: true, Run: checkRecords},
		{Name: "leftovers", Doc: "no interrupted apply left a file behind", Machine: true, Run: checkLeftovers},
		{Name: "managed-files", Doc: "what aisync made is readable and writable", Run: checkManaged},
		{Name: "exchange", Doc: "the file systems can swap two files in one step", Machine: true, Run: checkExchange},
		{Name: "drift", Doc: "what the specs ask for is there, and unchanged since aisync made it", Run: checkDrift},
		{Name: "hooks", Doc: "hooks and MCP servers can be started", Run: checkHooks},
		{Name: "models", Doc: "the models are there, as they were verified, and match the catalog", Machine: true, Run: checkModels},
		{Name: "mirrors", Doc: "the mirrors of the host answer", Machine: true, Network: true, Run: checkMirrors},
		{Name: "memory", Doc: "what the enabled services serve fits into memory", Machine: true, Run: checkMemory},
		{Name: "clock", Doc: "the clock has not gone back", Machine: true, Run: checkClock},
		{Name: "trust", Doc: "the programs load what was written for them", Run: checkTrust},
		{Name: "program-versions", Doc: "programs are of versions for which aisync writes", Machine: true, Run: checkProgramAges},
		{Name: "native-plugins", Doc: "programs load the plugins that the specs ask for natively", Run: checkNativePlugins},
		{Name: "loads-once", Doc: "no program loads a text, a skill or a server twice", Run: checkLoadsOnce},
		{Name: "context", Doc: "what programs load at their start fits their budgets in the spec, and none cuts off a text", Run: checkContext},
		{Name: "runs", Doc: "runs are readable, and their workers are in the recorded state", Run: checkRuns},
		{Name: "claims", Doc: "the claims in the ledger are of agents that may be at work", Run: checkClaims},
		{Name: "work-trees", Doc: "no more work trees of tasks and runs are kept than the spec allows", Machine: true, Run: checkWorkTrees},
		{Name: "contents", Doc: "what can be verified has the right bytes", Machine: true, Deep: true, Limit: -1, Run: checkContents},
	}
}

// Family is a kind of check of which there is one for each runtime or service of
// the host.
type Family struct {
	Name string // of each check, with ID or NAME for the runtime or the service
	Doc  string // of each check, with %s for what it looks at
	Each string // what all of them look at, for --help
	Deep string // what --deep adds, "" for nothing
	Only bool   // there is such a check only with --deep
}

var (
	runtimeFamily  = Family{Name: "runtime-ID", Doc: "%s is installed, in the version that the spec asks for", Each: "the program of each runtime", Deep: "its own checks find nothing"}
	serviceFamily  = Family{Name: "service-NAME", Doc: "%s is enabled and runs what the spec asks for", Each: "each service"}
	portFamily     = Family{Name: "port-NAME", Doc: "%s is held by the service, and open only as the spec says", Each: "its port"}
	endpointFamily = Family{Name: "endpoint-NAME", Doc: "%s names its models", Each: "its endpoint"}
	promptFamily   = Family{Name: "prompt-NAME", Doc: "a prompt to %s brings tokens", Each: "it", Deep: "a prompt to each of its models does"}
	mcpFamily      = Family{Name: "mcp-NAME", Doc: "%s names its tools", Each: "each MCP server, once you said yes,", Only: true}
	agentFamily    = Family{Name: "agent-ID", Doc: "%s gets an answer from its service", Each: "the program of each runtime", Only: true}
)

// Families returns the kinds of checks of runtimes and services.
func Families() []Family {
	return []Family{runtimeFamily, serviceFamily, portFamily, endpointFamily, promptFamily, mcpFamily, agentFamily}
}

// Help returns the lines that describe f in --help: each but the first is indented
// by indent.
func (f Family) Help(indent string) string {
	doc := fmt.Sprintf(f.Doc, f.Each)
	switch {
	case f.Only:
		doc = "with --deep: " + doc
	case f.Deep != "":
		doc += ";\n" + indent + "with --deep " + f.Deep
	}
	return doc
}

// check returns the check of f for the runtime or service called name, which
// looks at subject.
func (f Family) check(name, subject string) Check {
	kind, _, _ := strings.Cut(f.Name, "-")
	return Check{Name: kind + "-" + name, Doc: fmt.Sprintf(f.Doc, subject)}
}

// Checks returns the checks that apply to this machine and to the options of e,
// in the order in which they are shown.
func (e *Env) Checks() []Check {
	project := e.options.Scope == stack.ScopeProject
	list := slices.DeleteFunc(Checks(), func(c Check) bool {
		return c.Deep && !e.options.Deep || c.Network && e.offline || c.Machine && project
	})
	if project {
		return list
	}
	list = append(list, e.runtimeChecks()...)
	list = append(list, e.serviceChecks()...)
	if e.options.Deep {
		list = append(list, e.mcpChecks()...)
	}
	if e.options.Deep && !e.options.NoPrompt {
		list = append(list, e.agentChecks()...)
	}
	return list
}

package cli

import (
	"slices"
	"strings"
)

// habit is what a person types who knows another tool, and what does it here.
type habit struct{ words, advice string } // words: separated by blanks

// habits are answered where no command has that name. The tools: chezmoi, mise, gh,
// OpenTofu, ollama, rulesync, ruler, npx skills, kubectl, git.
var habits = []habit{
	{"diff preview refresh", "aisync plan shows what would change"},
	{"sync generate up deploy switch install converge", "aisync apply makes the changes"},
	{"down uninstall purge", "aisync destroy --scope host|project uninstalls what aisync made"},
	{"undo revert restore", "aisync rollback undoes the last apply"},
	{"history log", "aisync rollback --list lists the applies"},
	{"managed ls list", "aisync status --verbose lists what aisync manages; aisync models ls and aisync runtimes ls list models and programs"},
	{"check verify test audit", "aisync drift reports edits, aisync doctor checks that everything works"},
	{"edit config settings get set", "edit aisync.cue (aisync validate names the files), or: aisync add, aisync remove"},
	{"re-add readd", "aisync adopt ADDRESS keeps what is there"},
	{"merge merge-all", "aisync apply --merge keeps both sides of an edit"},
	{"forget unlink", "aisync remove takes an entry out of the spec"},
	{"convert migrate", "aisync import takes over the files of other tools"},
	{"upgrade fetch", "aisync update moves the pins of sources and MCP servers to newer versions"},
	{"pull download", "aisync models pull fetches a model"},
	{"serve start", "aisync services start starts the model servers"},
	{"stop", "aisync services stop stops the model servers"},
	{"restart", "aisync services restart restarts the model servers"},
	{"ps", "aisync services ls lists the model servers, aisync who the agents"},
	{"logs", "aisync services logs shows what the model servers print"},
	{"create use link", "aisync add adds a runtime, bundle, skill, plugin, model, service or MCP server"},
	{"search find browse", "aisync models search asks the hub; aisync show source lists what a source has"},
	{"data env whoami", "aisync facts prints this machine"},
	{"which where which-agent", "aisync runtimes show ID says where a program lies, aisync models path ID where a model does"},
	{"chat exec x", "aisync launch starts an agent in this project"},
	{"clean gc", "aisync prune removes leftovers, aisync models gc unused models"},
	{"fmt format", "cue fmt formats specs, aisync validate checks them"},
	{"tasks queue", "aisync task list lists the tasks"},
	{"issue pr", "aisync task import takes tasks from issues"},
	{"trust allow", "aisync apply --trust approves what programs obey here"},
	{"auth login signin", "name the secret in the spec, or set HF_TOKEN for the hub"},
	{"self-update", "install the new release; aisync does not replace itself"},
	{"cd source-path", "specs are in ~/.config/aisync and in the project's aisync.cue"},
	{"skill skills", "aisync add skill SOURCE NAME adds a skill"},
	{"rule rules bundle", "aisync add bundle SOURCE//NAME adds rules"},
	{"plugin plugins", "aisync add plugin NAME@MARKETPLACE adds a plugin"},
	{"server servers", "aisync add mcp NAME adds an MCP server; aisync services ls lists the model servers"},
	{"model", "the command is aisync models"},
	{"service", "the command is aisync services"},
	{"runtime tool tools", "the command is aisync runtimes"},
	{"agent", "the command is aisync agents"},
}

// habitAdvice returns what does here what a word does elsewhere, or "".
func habitAdvice(word string) string {
	for _, h := range habits {
		if slices.Contains(strings.Fields(h.words), word) {
			return h.advice
		}
	}
	return ""
}

// flagHabits are flags of other tools with what does it here.
var flagHabits = map[string]string{
	"auto-approve": "--yes does not ask", "no-confirm": "--yes does not ask", "noconfirm": "--yes does not ask", "assume-yes": "--yes does not ask",
	"no-color": "--color never", "no-colour": "--color never", "check": "aisync drift is for CI", "output": "--json prints JSON", "format": "--json prints JSON",
	"debug": "--verbose shows each step", "dir": "--project DIR", "chdir": "--project DIR", "cwd": "--project DIR", "global": "--scope host", "local": "--scope project",
}

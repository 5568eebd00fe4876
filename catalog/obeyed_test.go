package catalog

import (
	"encoding/json"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"aisync.dev/aisync/schema/spec"
)

// Lists of the settings that a program knows, out of its package or schema: a
// line of source, then a pointer pattern and a type a line.
const keyLists = "../app/effects/testdata/keys"

// settingsFiles are the files whose settings the lists hold.
var settingsFiles = map[string]string{
	"aider": ".aider.conf.yml", "claude": ".claude/settings.json", "codex": ".codex/config.toml", "copilot": ".github/copilot/settings.json",
	"gemini": ".gemini/settings.json", "grok": ".grok/config.toml", "kilo": "kilo.jsonc", "opencode": "opencode.json", "pi": ".pi/settings.json", "qwen": ".qwen/settings.json",
}

// elsewhere are settings that a program takes and no list has, with the reason.
var elsewhere = map[string]string{
	"pi /$schema":                     "a line for editors",
	"kilo /theme":                     "of opencode, whose files it reads too",
	"kilo /tui/scroll_speed":          "likewise",
	"kilo /tui/scroll_acceleration/*": "likewise",
	"kilo /tui/diff_style":            "likewise",
	"copilot /$schema":                "a line for editors",
	"codex /$schema":                  "a line for editors",
	"aider /read":                     "a string or a list, of which the schema has the list",
	"aider /file":                     "a string or a list, of which the schema has the list",
	"copilot /trustedFolders":         "in copilot help config",
	"copilot /allowedMcpServers":      "a managed setting in userSettingsGovernanceKeys",
}

func TestHarmlessSettingsAreOnesThatTheProgramKnows(t *testing.T) {
	lists := keys(t)
	for id, file := range settingsFiles {
		o := obeyedFile(t, id, file)
		all := slices.Concat(o.Safe, o.Paths, o.Restricts)
		for _, s := range o.SafeValues {
			all = append(all, s.Key)
		}
		for _, s := range o.Ignored {
			all = append(all, s.Key+"/**") // all at or below
		}
		for _, pattern := range all {
			known := slices.ContainsFunc(lists[id], func(key string) bool { return meet(pattern, key) })
			_, said := elsewhere[id+" "+strings.TrimSuffix(pattern, "/**")]
			switch {
			case !known && !said:
				t.Errorf("%s: %s is in no list of its settings", id, pattern)
			case known && said:
				t.Errorf("%s: %s is in the list, and need not be in elsewhere", id, pattern)
			}
		}
	}
}

// The lists are those of the versions that make test-runtimes installs.
func TestListsOfSettingsAreOfTheProvedVersions(t *testing.T) {
	text, err := os.ReadFile("proved.json")
	if err != nil {
		t.Fatal(err)
	}
	var proved struct {
		Runtimes map[string]struct{ Version string }
	}
	if err := json.Unmarshal(text, &proved); err != nil || len(proved.Runtimes) == 0 {
		t.Fatal(err, len(proved.Runtimes))
	}
	for id, p := range proved.Runtimes {
		if settingsFiles[id] == "" {
			continue // of a project it takes no settings, or none that counts as harmless
		}
		if _, err := os.Stat(filepath.Join(keyLists, id+"-"+p.Version+".txt")); err != nil {
			t.Errorf("no list of the settings of %s %s", id, p.Version)
		}
	}
}

// telling is what a setting's name must not hold for it to be harmless.
var telling = regexp.MustCompile(`(?i)command|cmd|url|uri|helper|hook|plugin|token$|apikey|path|dir|script|exec|editor$|pager|proxy|env|server|market|trust|allow|bypass|yolo|auto(accept|approve)|endpoint|provider|otel|telemetry|allow`)

var notTelling = map[string]string{
	"claude /env/*":                                           "only the variables that the package calls safe",
	"claude /disabledMcpjsonServers/*":                        "a denial",
	"claude /deniedMcpServers/*/serverCommand/*":              "a denial",
	"claude /deniedMcpServers/*/serverName":                   "a denial",
	"claude /deniedMcpServers/*/serverUrl":                    "a denial",
	"claude /attribution/sessionUrl":                          "a line of a commit message",
	"claude /worktree/sparsePaths/*":                          "folders of the repository itself",
	"claude /respondToBashCommands":                           "what it says after a command of the person's",
	"codex /agents/*/description":                             "text",
	"gemini /hooksConfig/notifications":                       "display",
	"opencode /agent/*/description":                           "text",
	"aider /dirty-commits":                                    "whether it commits what a person left",
	"codex /mcp_servers/*/disabled_tools/*":                   "a denial",
	"codex /mcp_servers/*/startup_timeout_sec":                "a limit",
	"codex /mcp_servers/*/tool_timeout_sec":                   "a limit",
	"codex /shell_environment_policy/exclude/*":               "a denial",
	"codex /shell_environment_policy/include_only/*":          "a denial",
	"codex /include_environment_context":                      "text for the model",
	"copilot /deniedUrls/*":                                   "a denial",
	"copilot /disabledMcpServers/*":                           "a denial",
	"gemini /general/preferredEditor":                         "one of the editors that the program knows",
	"gemini /context/discoveryMaxDirs":                        "a limit",
	"gemini /context/includeDirectoryTree":                    "text for the model",
	"gemini /mcpServers/*/timeout":                            "a limit",
	"gemini /mcpServers/*/description":                        "text",
	"gemini /mcpServers/*/excludeTools/*":                     "a denial",
	"gemini /security/environmentVariableRedaction/blocked/*": "a denial",
	"grok /mcp_servers/*/startup_timeout_sec":                 "a limit",
	"grok /mcp_servers/*/tool_timeout_sec":                    "a limit",
	"grok /mcp_servers/*/tool_timeouts/*":                     "a limit",
	"grok /plugins/disabled/*":                                "a denial",
	"kilo /agent/*/description":                               "text",
	"kilo /command/*/description":                             "text",
	"kilo /disabled_providers/*":                              "a denial",
	"kilo /terminal_command_display":                          "display",
	"opencode /disabled_providers/*":                          "a denial",
	"opencode /command/*/description":                         "text",
	"pi /retry/provider/maxRetries":                           "a limit",
	"pi /retry/provider/maxRetryDelayMs":                      "a limit",
	"pi /retry/provider/timeoutMs":                            "a limit",
	"pi /enableSkillCommands":                                 "whether skills have names as commands",
	"qwen /general/preferredEditor":                           "one of the editors that the program knows",
	"qwen /mcpServers/*/timeout":                              "a limit",
	"qwen /mcpServers/*/description":                          "text",
	"qwen /mcpServers/*/excludeTools/*":                       "a denial",
	"qwen /slashCommands/disabled/*":                          "a denial",
	"qwen /tools/listDirectory/enabled":                       "a tool that reads names",
	"aider /suggest-shell-commands":                           "it asks before it runs one",
	"aider /detect-urls":                                      "it asks before it fetches one",
}

func TestNoHarmlessSettingHasATellingName(t *testing.T) {
	lists := keys(t)
	for id, file := range settingsFiles {
		o := obeyedFile(t, id, file)
		for _, key := range lists[id] {
			if !telling.MatchString(key) || !slices.ContainsFunc(o.Safe, func(s string) bool { return meet(s, key) }) {
				continue
			}
			if notTelling[id+" "+key] == "" && notTelling[id+" "+path.Dir(key)+"/*"] == "" {
				t.Errorf("%s: %s counts as harmless", id, key)
			}
		}
	}
}

// What was written as harmless once, and what it is instead.
func TestSettingsThatWereSeenToSteerAreEffects(t *testing.T) {
	for _, c := range []struct{ id, file, pointer, class string }{
		{"claude", ".claude/settings.json", "/enabledPlugins/a@b", "runs"},
		{"claude", ".claude/settings.json", "/extraKnownMarketplaces/a/source/repo", "runs"},
		{"claude", ".claude/settings.json", "/env/ANTHROPIC_BASE_URL", "sends"},
		{"claude", ".claude/settings.json", "/env/NODE_OPTIONS", "runs"},
		{"claude", ".claude/settings.json", "/env/BASH_ENV", "runs"},
		{"claude", ".claude/settings.json", "/env/PATH", "runs"},
		{"claude", ".claude/settings.json", "/apiKeyHelper", "runs"},
		{"claude", ".claude/settings.json", "/statusLine/command", "runs"},
		{"claude", ".claude/settings.json", "/fileSuggestion/command", "runs"},
		{"claude", ".claude/settings.json", "/awsAuthRefresh", "runs"},
		{"claude", ".claude/settings.json", "/gcpAuthRefresh", "runs"},
		{"claude", ".claude/settings.json", "/otelHeadersHelper", "runs"},
		{"claude", ".claude/settings.json", "/permissions/defaultMode", "loosens"},
		{"claude", ".claude/settings.json", "/permissions/allow/0", "loosens"},
		{"claude", ".claude/settings.json", "/permissions/additionalDirectories/0", "loosens"},
		{"claude", ".claude/settings.json", "/enableAllProjectMcpServers", "trusts"},
		{"claude", ".claude/settings.json", "/enabledMcpjsonServers/0", "trusts"},
		{"claude", ".claude/settings.json", "/hooks/SessionStart/0/hooks/0/command", "runs"},
		{"claude", ".mcp.json", "/mcpServers/a/command", "runs"},
		{"claude", ".claude/agents/a.md", "/hooks/PreToolUse/0/hooks/0/command", "runs"},
		{"claude", ".claude/skills/a/SKILL.md", "/allowed-tools", "loosens"},
		{"codex", ".codex/config.toml", "/notify/0", "runs"},
		{"codex", ".codex/config.toml", "/approval_policy", "loosens"},
		{"codex", ".codex/config.toml", "/sandbox_mode", "loosens"},
		{"codex", ".codex/config.toml", "/mcp_servers/a/command", "runs"},
		{"codex", ".codex/hooks.json", "/hooks/Stop/0/hooks/0/command", "runs"},
		{"grok", ".grok/config.toml", "/mcp_servers/a/command", "runs"},
		{"grok", ".grok/config.toml", "/mcp_servers/a/setup/command", "runs"},
		{"grok", ".grok/config.toml", "/plugins/enabled/0", "runs"},
		{"grok", ".grok/config.toml", "/permission/allow/0", "loosens"},
		{"grok", ".grok/hooks/a.json", "/hooks/Stop/0/hooks/0/command", "runs"},
		{"grok", ".claude/settings.json", "/hooks/Stop/0/hooks/0/command", "runs"},
		{"kilo", "kilo.jsonc", "/plugin/0", "runs"},
		{"kilo", "opencode.json", "/mcp/a/command/0", "runs"},
		{"kilo", ".kilocode/kilo.json", "/formatter/a/command/0", "runs"},
		{"kilo", ".kilo/mcp.json", "/mcpServers/a/command", "runs"},
		{"kilo", "kilo.jsonc", "/sandbox/enabled", "loosens"},
		{"kilo", "kilo.jsonc", "/permission/bash", "loosens"},
		{"kilo", ".kilo/plugins/a.js", "", "runs"},
		{"kilo", ".kilo/setup-script.sh", "", "runs"},
		{"opencode", "opencode.json", "/plugin/0", "runs"},
		{"opencode", "opencode.json", "/formatter/a/command/0", "runs"},
		{"opencode", "opencode.json", "/lsp/a/command/0", "runs"},
		{"opencode", "opencode.json", "/mcp/a/command/0", "runs"},
		{"opencode", "opencode.json", "/provider/a/options/baseURL", "sends"},
		{"opencode", "opencode.json", "/permission/bash", "loosens"},
		{"opencode", "opencode.json", "/agent/a/permission/bash", "loosens"},
		{"opencode", "opencode.json", "/command/a/template", "runs"},
		{"opencode", "opencode.json", "/instructions/0", "sends"},
		{"opencode", "tui.json", "/plugin/0", "runs"},
		{"opencode", ".opencode/plugins/a.js", "", "runs"},
		{"gemini", ".gemini/settings.json", "/tools/callCommand", "runs"},
		{"gemini", ".gemini/settings.json", "/tools/discoveryCommand", "runs"},
		{"gemini", ".gemini/settings.json", "/mcpServers/a/command", "runs"},
		{"gemini", ".gemini/settings.json", "/security/folderTrust/enabled", "trusts"},
		{"gemini", ".env", "", "sends"},
		{"qwen", ".qwen/settings.json", "/tools/callCommand", "runs"},
		{"qwen", ".qwen/settings.json", "/tools/discoveryCommand", "runs"},
		{"qwen", ".qwen/settings.json", "/mcpServers/a/command", "runs"},
		{"qwen", ".qwen/settings.json", "/security/folderTrust/enabled", "trusts"},
		{"cursor", ".cursor/mcp.json", "/mcpServers/a/url", "sends"},
		{"cursor", ".cursor/hooks.json", "/hooks/stop/0/command", "runs"},
		{"copilot", ".github/mcp.json", "/mcpServers/a/command", "runs"},
		{"copilot", ".claude/settings.json", "/hooks/SessionStart/0/hooks/0/command", "runs"},
		{"aider", ".aider.conf.yml", "/lint-cmd", "runs"},
		{"pi", ".pi/extensions/a.ts", "", "runs"},
	} {
		o := obeyedFile(t, c.id, c.file)
		if c.pointer != "" && slices.ContainsFunc(o.Safe, func(s string) bool { return meet(s, c.pointer) }) {
			t.Errorf("%s %s: %s counts as harmless", c.id, c.file, c.pointer)
		}
		i := slices.IndexFunc(o.Effects, func(r spec.EffectRule) bool {
			return len(r.Values) == 0 && starts(strings.TrimSuffix(r.Key+"/"+r.Has, "/"), c.pointer)
		})
		if i < 0 || o.Effects[i].Class != c.class || o.Effects[i].Says == "" {
			t.Errorf("%s %s: %s has no words of class %s", c.id, c.file, c.pointer, c.class)
		}
	}
}

// What aisync writes by itself, whatever a spec says, asks nothing of a person.
func TestAlwaysWrittenSettingsAreHarmless(t *testing.T) {
	for _, r := range Runtimes() {
		for _, ref := range references(r.Project) {
			o := obeyedFile(t, r.ID, ref.Path)
			if !slices.ContainsFunc(slices.Concat(o.Safe, o.Paths), func(s string) bool { return meet(s, ref.Pointer) }) {
				t.Errorf("%s: %s of %s is not harmless", r.ID, ref.Pointer, ref.Path)
			}
		}
		if l := r.Project.BlockLimit; l != nil && !slices.ContainsFunc(obeyedFile(t, r.ID, l.Setting.Path).Safe, func(s string) bool { return meet(s, l.Setting.Pointer) }) {
			t.Errorf("%s: %s of %s is not harmless", r.ID, l.Setting.Pointer, l.Setting.Path)
		}
	}
}

func TestConfigFilesAreObeyed(t *testing.T) {
	for _, r := range Runtimes() {
		if len(r.Project.Obeys) == 0 {
			t.Errorf("%s: nothing is said of what it obeys", r.ID)
		}
		var files []string
		if f := r.Project.Settings; f != nil {
			files = append(files, f.Path)
		}
		if f := r.Project.MCP; f != nil {
			files = append(files, f.Path)
		}
		if f := r.Project.Events; f != nil {
			files = append(append(files, f.Path), f.Also...)
		}
		if f := r.Project.Permissions; f != nil {
			files = append(files, f.Path)
		}
		for _, f := range files {
			obeyedFile(t, r.ID, f)
		}
	}
}

func TestEveryRuleCanApply(t *testing.T) {
	for _, r := range Runtimes() {
		for _, o := range r.Project.Obeys {
			if o.Source == "" {
				t.Errorf("%s %v: no source", r.ID, o.Files)
			}
			for i, rule := range o.Effects {
				for _, earlier := range o.Effects[:i] {
					if len(earlier.Values) == 0 && earlier.Has == "" && covers(earlier.Key, rule.Key) {
						t.Errorf("%s %v: %s is never reached behind %s", r.ID, o.Files, rule.Key, earlier.Key)
					}
				}
			}
		}
	}
}

// obeyedFile is the element for one file; where several have it, the first that
// reads all of it.
func obeyedFile(t *testing.T, id, file string) spec.Obeyed {
	t.Helper()
	r, ok := With(spec.Catalog{}).Runtime(id)
	if !ok {
		t.Fatal(id)
	}
	for _, o := range r.Project.Obeys {
		if slices.ContainsFunc(o.Files, func(pattern string) bool { return fits(strings.Split(pattern, "/"), strings.Split(file, "/")) }) {
			return o
		}
	}
	t.Errorf("%s: nothing is said of %s", id, file)
	return spec.Obeyed{}
}

// keys is the lists by runtime.
func keys(t *testing.T) map[string][]string {
	files, err := filepath.Glob(keyLists + "/*.txt")
	if err != nil || len(files) != len(settingsFiles) {
		t.Fatalf("%d lists: %v", len(files), err)
	}
	lists := map[string][]string{}
	for _, f := range files {
		text, err := os.ReadFile(f)
		if err != nil {
			t.Fatal(err)
		}
		id, _, _ := strings.Cut(filepath.Base(f), "-")
		lines := strings.Split(strings.TrimSuffix(string(text), "\n"), "\n")
		if !strings.HasPrefix(lines[0], "# ") || len(lines) < 50 {
			t.Fatalf("%s: %d lines, the first %q", f, len(lines), lines[0])
		}
		for _, line := range lines[1:] {
			pointer, kind, ok := strings.Cut(line, " ")
			if !ok || !strings.HasPrefix(pointer, "/") || kind == "" {
				t.Errorf("%s: %q", f, line)
			}
			lists[id] = append(lists[id], pointer)
		}
	}
	return lists
}

// fits matches a path by its segments; ** stands for any number of them.
func fits(pattern, file []string) bool {
	if len(pattern) == 0 {
		return len(file) == 0
	}
	if pattern[0] == "**" {
		return fits(pattern[1:], file) || len(file) > 0 && fits(pattern, file[1:])
	}
	if len(file) == 0 {
		return false
	}
	ok, _ := path.Match(pattern[0], file[0])
	return ok && fits(pattern[1:], file[1:])
}

// meet reports whether some pointer matches both patterns.
func meet(a, b string) bool {
	as, bs := strings.Split(a, "/"), strings.Split(b, "/")
	for i := range max(len(as), len(bs)) {
		if i < len(as) && as[i] == "**" || i < len(bs) && bs[i] == "**" {
			return true
		}
		if i >= len(as) || i >= len(bs) {
			return false
		}
		there, _ := path.Match(as[i], bs[i])
		back, _ := path.Match(bs[i], as[i])
		if !there && !back {
			return false
		}
	}
	return true
}

// starts reports whether the key matches the start of a pointer.
func starts(key, pointer string) bool {
	ks, ps := strings.Split(key, "/"), strings.Split(pointer, "/")
	if len(ks) > len(ps) {
		return false
	}
	for i, k := range ks {
		if ok, _ := path.Match(k, ps[i]); !ok {
			return false
		}
	}
	return true
}

// covers reports whether all that b matches starts with what a matches.
func covers(a, b string) bool { return starts(a, b) }

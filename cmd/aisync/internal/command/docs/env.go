package docs

import (
	"fmt"
	"strings"
)

// variables lists the environment variables that aisync reads, and what they do.
var variables = [][2]string{
	{"AISYNC_CLI_ARGS", "flags for every command, split as in a shell; typed flags win, and each command ignores flags that it lacks"},
	{"AISYNC_CLI_ARGS_<command>", "flags for one command, such as AISYNC_CLI_ARGS_plan; write _ for -"},
	{"AISYNC_OFFLINE", "1: --offline"},
	{"AISYNC_LOCKED", "1: --locked"},
	{"AISYNC_IN_AUTOMATION", "1: do not print hints on what to type next"},
	{"AISYNC_LOG", "1: write a log, aisync.log in the state folder, readable by its owner; values of variables that look like secrets are left out"},
	{"AISYNC_APPLY_PID", "set by an apply for the programs it starts: an apply inside an apply fails instead of waiting for ever"},
	{"AISYNC_SERVICE_MANAGER", "the service manager: systemd, launchd, or supervise for aisync's supervisor (default: detected)"},
	{"SYSTEMD_OFFLINE", "1: the system is not booted, so apply writes units and starts none; aisync detects a chroot itself"},
	{"AISYNC_SERVICE, AISYNC_INPUTS", "set by aisync for every server that it starts: its name, and the digest of its inputs"},
	{"AISYNC_RUN, AISYNC_TASK, AISYNC_WORKER, AISYNC_CLAIM, AISYNC_WORKSPACE, AISYNC_TASK_SEAT", "set by run supervise for every worker that it starts: the run, the task, the worker's id, the token of its claim, the workspace of the run, and the seat that claims what the task writes"},
	{"XDG_RUNTIME_DIR", "the socket folder of the user's systemd (default /run/user/ID)"},
	{"HF_TOKEN, HF_TOKEN_PATH, HF_HOME", "the Hugging Face token or its location, as for Hugging Face's client"},
	{"AISYNC_MCP_REGISTRY", "the MCP registry (default https://registry.modelcontextprotocol.io)"},
	{"HF_ENDPOINT", "the hub (default https://huggingface.co)"},
	{"GITEA_URL", "the Gitea server of aisync task"},
	{"GITEA_TOKEN, GITEA_TOKEN_FILE", "the token for the Gitea server, or the file that contains it"},
	{"HTTPS_PROXY, HTTP_PROXY, NO_PROXY", "proxies"},
	{"SSL_CERT_FILE, SSL_CERT_DIR", "certificates to trust instead of the system's"},
	{"XDG_CONFIG_HOME, XDG_STATE_HOME, XDG_CACHE_HOME", "the parents of the aisync folders for specs, state and cache (default ~/.config, ~/.local/state, ~/.cache)"},
	{"HOME", "the folder that ~ stands for"},
	{"PATH", "the folders of programs"},
	{"NO_COLOR, TERM=dumb", "no colour, unless --color always"},
	{"LC_ALL, LC_CTYPE, LANG", "the locale: doctor prints signs beyond ASCII if it is UTF-8"},
}

// environmentTable returns variables as a section of docs/commands.md.
func environmentTable() string {
	var b strings.Builder
	b.WriteString("\n## Environment\n\nA typed flag wins over its variable.\n\n| variable | |\n|---|---|\n")
	for _, v := range variables {
		fmt.Fprintf(&b, "| `%s` | %s |\n", strings.ReplaceAll(v[0], ", ", "`, `"), strings.ReplaceAll(v[1], "<", "&lt;"))
	}
	return b.String()
}

// environmentText returns variables as a section of a man page.
func environmentText() string {
	var lines []string
	for _, v := range variables {
		lines = append(lines, v[0], "    "+v[1])
	}
	return strings.Join(lines, "\n")
}

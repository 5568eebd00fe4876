package docs

import (
	"fmt"
	"strings"
)

// variables are all variables of the environment that aisync reads, and what
// they do: for the reference and the man page.
var variables = [][2]string{
	{"AISYNC_CLI_ARGS", "flags for every command, as a shell would split them; what is typed wins, and a flag that a command lacks is left out for it"},
	{"AISYNC_CLI_ARGS_<command>", "flags for one command, such as AISYNC_CLI_ARGS_plan; - is written _"},
	{"AISYNC_OFFLINE", "1 is --offline"},
	{"AISYNC_LOCKED", "1 is --locked"},
	{"AISYNC_IN_AUTOMATION", "1 leaves out the advice on what to type next"},
	{"AISYNC_LOG", "1 keeps a log, aisync.log in the state folder, for its owner's eyes; values of variables that look like secrets are not in it"},
	{"AISYNC_APPLY_PID", "set by an apply for what it starts, so that one inside another is refused and does not wait for ever"},
	{"AISYNC_SERVICE_MANAGER", "who runs services: systemd, launchd, or supervise for the supervisor of aisync's own; found out without it"},
	{"SYSTEMD_OFFLINE", "1: this system is not booted, so units are written and nothing is started; a chroot is noticed by itself"},
	{"AISYNC_SERVICE, AISYNC_INPUTS", "set by aisync for every server that it starts: its name, and the digest of what it was started with"},
	{"AISYNC_RUN, AISYNC_TASK, AISYNC_WORKER, AISYNC_CLAIM, AISYNC_WORKSPACE", "set by run supervise for every worker that it starts: its run, its task, who it is, the token of its claim, and the folder whose run it is"},
	{"XDG_RUNTIME_DIR", "where the systemd of a user answers (default /run/user/ID)"},
	{"HF_TOKEN, HF_TOKEN_PATH, HF_HOME", "where the Hugging Face token is, as for Hugging Face's own client"},
	{"HF_ENDPOINT", "another hub than https://huggingface.co"},
	{"GITEA_URL", "the Gitea server that aisync task speaks to"},
	{"GITEA_TOKEN, GITEA_TOKEN_FILE", "the token for it, or the file that holds it"},
	{"HTTPS_PROXY, HTTP_PROXY, NO_PROXY", "proxies"},
	{"SSL_CERT_FILE, SSL_CERT_DIR", "certificates to trust instead of the system's"},
	{"XDG_CONFIG_HOME, XDG_STATE_HOME, XDG_CACHE_HOME", "where specs, state and cache are: aisync in each (default ~/.config, ~/.local/state, ~/.cache)"},
	{"HOME", "the home that ~ stands for"},
	{"PATH", "where programs are looked for"},
	{"NO_COLOR, TERM=dumb", "no colour, unless --color on"},
	{"LC_ALL, LC_CTYPE, LANG", "whether doctor may print signs beyond ASCII"},
}

// environmentTable is variables as a section of the page of all commands.
func environmentTable() string {
	var b strings.Builder
	b.WriteString("\n## Environment\n\nA flag that is typed wins over its variable.\n\n| variable | |\n|---|---|\n")
	for _, v := range variables {
		fmt.Fprintf(&b, "| `%s` | %s |\n", strings.ReplaceAll(v[0], ", ", "`, `"), strings.ReplaceAll(v[1], "<", "&lt;"))
	}
	return b.String()
}

// environmentText is variables as a section of a man page.
func environmentText() string {
	var lines []string
	for _, v := range variables {
		lines = append(lines, v[0], "    "+v[1])
	}
	return strings.Join(lines, "\n")
}

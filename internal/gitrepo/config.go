package gitrepo

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os/exec"
	"regexp"
	"slices"
	"strings"
	"sync"
)

// Config is the configuration that git reads at one place, in git's order.
type Config struct{ Entries []Entry }

// Entry is a value and its scope: system, global, local, worktree or command.
// Key has git's spelling in lists.
type Entry struct{ Scope, Key, Value string }

// Local reports whether the entry belongs to one repository or work tree.
func (e Entry) Local() bool { return e.Scope == "local" || e.Scope == "worktree" }

// ReadConfig reads the configuration at a place. Its error wraps that of Look's
// command, with git's output.
func ReadConfig(ctx context.Context, env []string, at Place) (*Config, error) {
	cmd := Look(ctx, env, at, "config", "--list", "--show-scope", "--includes", "-z")
	var said bytes.Buffer
	cmd.Stderr = &said
	out, err := cmd.Output()
	switch {
	case errors.Is(err, exec.ErrNotFound):
		return nil, err
	case err != nil:
		return nil, fmt.Errorf("git config: %w: %s", err, strings.TrimSpace(said.String()))
	}
	return ParseConfig(out), nil
}

// ParseConfig parses the output of git config --list --show-scope -z, without
// the settings that this package adds to a command.
func ParseConfig(list []byte) *Config {
	c := new(Config)
	own := append(slices.Clone(baseSettings), lookSettings...)
	fields := strings.Split(strings.TrimSuffix(string(list), "\x00"), "\x00")
	for i := 0; i+1 < len(fields); i += 2 {
		key, value, _ := strings.Cut(fields[i+1], "\n")
		c.Entries = append(c.Entries, Entry{fields[i], key, value})
	}
	// git lists the settings of -c last, in their order.
	for range own {
		n := len(c.Entries)
		if n > 0 && c.Entries[n-1].Scope == "command" && slices.ContainsFunc(own, func(s Setting) bool {
			return strings.EqualFold(s.Key, c.Entries[n-1].Key) && s.Value == c.Entries[n-1].Value
		}) {
			c.Entries = c.Entries[:n-1]
		}
	}
	return c
}

// Own returns the person's last value of key, for all repositories or for this
// command. Key has git's spelling in lists: section and name in lower case.
func (c *Config) Own(key string) (value string, ok bool) { return c.own(key) }

// own is Own for a setting with several names.
func (c *Config) own(names ...string) (value string, ok bool) {
	for _, e := range c.Entries {
		if slices.Contains(names, e.Key) && !e.Local() {
			value, ok = e.Value, true
		}
	}
	return value, ok
}

// programs matches the settings that make git run a program, or that depend on
// one. git lists sections and names in lower case. It is compiled where it is needed:
// that takes longer than the program may take to begin.
var programs = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`(?s)^(` + strings.Join([]string{
		`alias\..*`,
		`browser\..*\.(cmd|path)`,
		`core\.(alternaterefscommand|askpass|editor|gitproxy|pager|sshcommand|virtualfilesystem)`,
		`diff\.external`,
		`diff\..*\.(command|textconv|cachetextconv)`,
		`(diff|merge|gui)tool\..*\.(cmd|path)`,
		`filter\..*\.(clean|smudge|process|required)`,
		`gc\.recentobjectshook`,
		`gpg\..*program`,
		`gpg\.ssh\.defaultkeycommand`,
		`hook\..*\.command`,
		`imap\.tunnel`,
		`init\.templatedir`,
		`instaweb\.(httpd|browser)`,
		`interactive\.difffilter`,
		`man\..*\.(cmd|path)`,
		`merge\..*\.driver`,
		`pager\..*`,
		`remote\..*\.(uploadpack|receivepack|vcs)`,
		`sendemail\..*(cmd|smtpserver)`,
		`sequence\.editor`,
		`submodule\..*\.update`,
		`trailer\..*\.(command|cmd)`,
		`uploadpack\.packobjectshook`,
		`web\.browser`,
	}, "|") + `)$`)
})

// replacements are the values that replace a repository's setting if the person has
// none: git's default where an empty value would be run. The others become
// empty.
var replacements = map[string]string{
	"core.alternaterefscommand": "false",
	"core.editor":               "false",
	"core.pager":                "cat",
	"core.sshcommand":           "ssh",
	"gpg.openpgp.program":       "gpg",
	"gpg.program":               "gpg",
	"gpg.ssh.program":           "ssh-keygen",
	"gpg.x509.program":          "gpgsm",
	"sequence.editor":           "false",
}

// Programs returns settings that disable every program in the repository's
// configuration: the person's value replaces it, if there is one.
func (c *Config) Programs() []Setting {
	var out []Setting
	seen, helpers := map[string]bool{}, false
	for _, e := range c.Entries {
		if !e.Local() || seen[e.Key] {
			continue
		}
		seen[e.Key] = true
		if helper(e.Key) {
			helpers = true
		}
		if !programs().MatchString(e.Key) {
			continue
		}
		value, own := c.Own(e.Key)
		if e.Key == "gpg.program" || e.Key == "gpg.openpgp.program" {
			value, own = c.own("gpg.program", "gpg.openpgp.program")
		}
		switch {
		case own:
		case strings.HasSuffix(e.Key, ".required"), strings.HasSuffix(e.Key, ".cachetextconv"), strings.HasPrefix(e.Key, "pager."):
			value = "false"
		case strings.HasSuffix(e.Key, ".update"):
			value = "none"
		default:
			value = replacements[e.Key]
		}
		out = append(out, Setting{e.Key, value})
	}
	if !helpers {
		return out
	}
	// These accumulate: an empty one clears the earlier ones, and the person's
	// follow.
	out = append(out, Setting{"credential.helper", ""})
	for _, e := range c.Entries {
		if helper(e.Key) && !e.Local() {
			out = append(out, Setting{e.Key, e.Value})
		}
	}
	return out
}

// helper reports whether key names a program with passwords.
func helper(key string) bool {
	return strings.HasPrefix(key, "credential.") && strings.HasSuffix(key, ".helper")
}

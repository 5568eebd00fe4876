package sandbox

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// passed are the variables that a command inherits: none that may hold a secret,
// and none that makes a program run another.
var passed = []string{"PATH", "LANG", "LANGUAGE", "TZ", "USER", "LOGNAME", "SSL_CERT_FILE", "SSL_CERT_DIR"}

// set are further variables of a command. They keep programs' caches out of the
// work tree, where they would count as changes.
var set = []string{
	"TERM=dumb", "NO_COLOR=1", "GIT_OPTIONAL_LOCKS=0", "GIT_TERMINAL_PROMPT=0",
	"PYTHONPYCACHEPREFIX=/tmp/pycache", "PYTEST_ADDOPTS=-p no:cacheprovider", "CARGO_TARGET_DIR=/tmp/cargo-target",
}

// toolchains are the folders of programs that people install for themselves, and
// of their downloads, by the variable that names the place. They hold no
// secrets: of ~/.cargo, which does, only parts are visible.
var toolchains = []struct{ variable, path string }{
	{"GOMODCACHE", "go/pkg/mod"}, {"RUSTUP_HOME", ".rustup"}, {"", ".cargo/bin"}, {"", ".nvm/versions"}, {"", ".pyenv"}, {"VOLTA_HOME", ".volta"},
	{"", ".asdf"}, {"", ".sdkman"}, {"", ".deno/bin"}, {"", ".bun/bin"}, {"", ".local/bin"}, {"", ".local/lib"},
	{"", ".local/share/mise"}, {"", ".local/share/uv"}, {"", ".local/pipx"}, {"", ".local/share/pipx"}, {"", ".nix-profile"}, {"", "sdk"},
}

// Toolchains returns the toolchains in a home, which commands need to see besides
// the programs of PATH.
func Toolchains(home string) []string {
	var out []string
	for _, t := range toolchains {
		out = append(out, filepath.Join(home, t.path))
	}
	return slices.DeleteFunc(out, func(p string) bool {
		_, err := os.Stat(p)
		return err != nil
	})
}

// environment returns the environment of a command in b; own takes precedence.
func environment(b Box, own []string) []string {
	values := map[string]string{}
	put := func(pair string) {
		if name, value, ok := strings.Cut(pair, "="); ok {
			values[name] = value
		}
	}
	for _, pair := range os.Environ() {
		if name, _, _ := strings.Cut(pair, "="); slices.Contains(passed, name) || strings.HasPrefix(name, "LC_") {
			put(pair)
		}
	}
	for _, pair := range set {
		put(pair)
	}
	put("HOME=" + filepath.Join(b.Scratch, "home"))
	put("TMPDIR=/tmp")
	if b.Way == None {
		put("TMPDIR=" + filepath.Join(b.Scratch, "tmp"))
		put("CARGO_TARGET_DIR=" + filepath.Join(b.Scratch, "tmp", "cargo-target"))
		put("PYTHONPYCACHEPREFIX=" + filepath.Join(b.Scratch, "tmp", "pycache"))
	}
	for _, t := range toolchains {
		if path := filepath.Join(b.Home, t.path); t.variable != "" && b.Home != "" && slices.Contains(b.Show, path) {
			put(t.variable + "=" + path)
		}
	}
	for _, pair := range own {
		put(pair)
	}
	out := make([]string, 0, len(values))
	for name, value := range values {
		out = append(out, name+"="+value)
	}
	slices.Sort(out)
	return out
}

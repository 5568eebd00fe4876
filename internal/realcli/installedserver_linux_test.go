package realcli

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"aisync.dev/aisync/internal/fakemcpregistry"
)

// serverHome names the home for which outside installed filesystemServer.
const serverHome = "AISYNC_TEST_SERVER"

// filesystemServer is a real MCP server of npm. Its folder is an argument.
var filesystemServer = Package{Name: "@modelcontextprotocol/server-filesystem", Version: "2026.8.31", Command: "mcp-server-filesystem"}

// serverEnviron is the environment of aisync for a person whose home is home.
func serverEnviron(c Cache, home string, more ...string) []string {
	claude := c.Bin(tested[0])
	return append([]string{"HOME=" + home, "PATH=" + strings.Join([]string{filepath.Dir(binary), c.Bin(npm), c.NodeBin(), claude, "/usr/bin", "/bin"}, ":"), "LANG=C.UTF-8", "NO_COLOR=1"}, more...)
}

// installServer adds the server to the spec of a host, as a registry describes it,
// and applies that, with npm's own registry. What npm fetched once is kept beside
// the programs.
func installServer(c Cache) (home string, err error) {
	home, err = os.MkdirTemp("", "aisync-server")
	if err != nil {
		return "", err
	}
	if err := os.MkdirAll(filepath.Join(home, ".config/aisync"), 0o755); err != nil {
		return home, err
	}
	if err := os.WriteFile(filepath.Join(home, ".config/aisync/me.cue"), []byte("package aisync\n\nhosts: me: {\n\tmatch: {}\n\truntimes: claude: {}\n}\n"), 0o644); err != nil {
		return home, err
	}
	r := fakemcpregistry.New()
	defer r.Close()
	type object = map[string]any
	text, err := json.Marshal(object{"name": "io.github.modelcontextprotocol/filesystem", "description": "Reads and writes files.", "version": filesystemServer.Version, "packages": []object{{
		"registryType": "npm", "identifier": filesystemServer.Name, "version": filesystemServer.Version, "transport": object{"type": "stdio"},
		"packageArguments": []object{{"type": "positional", "valueHint": "folder", "isRequired": true}},
	}}})
	if err == nil {
		err = r.Publish(text)
	}
	if err != nil {
		return home, err
	}
	// How the machine reaches registries is in its environment: proxies, certificates.
	reach := slices.DeleteFunc(os.Environ(), func(v string) bool { return strings.HasPrefix(v, "AISYNC_") || strings.HasPrefix(v, "XDG_") })
	env := append(append(reach, serverEnviron(c, home)...), "AISYNC_MCP_REGISTRY="+r.URL, "npm_config_cache="+filepath.Join(string(c), "servers"), "npm_config_prefer_offline=true")
	for _, args := range [][]string{{"add", "mcp", "io.github.modelcontextprotocol/filesystem", "--arg", "folder=" + home}, {"apply", "--yes"}} {
		ctx, cancel := context.WithTimeout(context.Background(), 5*time.Minute)
		cmd := exec.CommandContext(ctx, binary, args...)
		cmd.Env, cmd.Dir = env, home
		out, err := cmd.CombinedOutput()
		cancel()
		if err != nil {
			return home, fmt.Errorf("aisync %s: %w\n%s", strings.Join(args, " "), err, out)
		}
	}
	return home, nil
}

// A server that was added from a registry and installed from npm, while there was a
// network, names its tools without one, alone and by the path that the program got.
// When the host drops it, nothing of it is left.
func TestInstalledServerNeedsNoNetwork(t *testing.T) {
	needPrograms(t)
	home := os.Getenv(serverHome)
	c, err := DefaultCache()
	if err != nil {
		t.Fatal(err)
	}
	aisync := func(args ...string) (string, error) {
		ctx, cancel := context.WithTimeout(context.Background(), 3*time.Minute)
		defer cancel()
		cmd := exec.CommandContext(ctx, binary, args...)
		cmd.Env, cmd.Dir = serverEnviron(c, home), home
		out, err := cmd.CombinedOutput()
		return string(out), err
	}
	if out, err := aisync("plan", "--detailed-exitcode", "--offline", "--locked"); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
	b, err := os.ReadFile(filepath.Join(home, ".claude.json"))
	if err != nil {
		t.Fatal(err)
	}
	program := filepath.Join(home, ".local/share/aisync/npm/bin", filesystemServer.Command)
	if !strings.Contains(string(b), `"command": "`+program+`"`) {
		t.Errorf("the program's file:\n%s", b)
	}
	for _, more := range [][]string{nil, {"--offline"}} {
		// Claude Code's own check of itself may complain of this home.
		out, _ := aisync(append([]string{"doctor", "--deep", "--start-servers", "--no-prompt"}, more...)...)
		if !strings.Contains(out, "mcp-filesystem") || !strings.Contains(out, "list_allowed_directories") {
			t.Errorf("doctor %q:\n%s", more, out)
		}
	}
	if out, err := aisync("destroy", "--scope", "host", "--yes", "--offline"); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
	for _, left := range []string{".local/share", ".local/bin"} {
		if _, err := os.Lstat(filepath.Join(home, left)); err == nil {
			t.Errorf("%s is left", left)
		}
	}
	// Claude Code, which checked itself, writes into the file too.
	if b, err := os.ReadFile(filepath.Join(home, ".claude.json")); err == nil && strings.Contains(string(b), program) {
		t.Errorf("the program's file:\n%s", b)
	}
}

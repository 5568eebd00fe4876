package nativeplugin

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"aisync.dev/aisync/internal/bundle"
	"aisync.dev/aisync/schema/spec"
)

// installed is a project with a native plugin, as an apply leaves it, and that plugin.
func installed(t *testing.T) (project string, p Plugin) {
	t.Helper()
	top := t.TempDir()
	source, project := filepath.Join(top, "one"), filepath.Join(top, "it's mine")
	here := filepath.Join(project, folder)
	write(t, filepath.Join(project, settings), `{"extraKnownMarketplaces": {"aisync-p": {"source": {"source": "directory"}}}, "enabledPlugins": {"one@aisync-p": true}}`)
	for _, at := range []string{source, filepath.Join(here, "one")} {
		write(t, filepath.Join(at, ".claude-plugin/plugin.json"), `{"name": "one"}`)
		write(t, filepath.Join(at, "hooks/check.py"), "print(1)\n")
	}
	s := spec.Project{Name: "p", Dir: project, Runtimes: []spec.Named{{Value: Program}},
		Sources: []spec.Source{{Name: "one", URL: source, Pick: &spec.Pick{Native: []string{Program}}}}, Bundles: []spec.BundleRef{{Source: "one", Name: "."}}}
	_, list, err := Project(context.Background(), &s, nil, new(bundle.Sources))
	if err != nil || len(list) != 1 {
		t.Fatal(list, err)
	}
	known := `{"aisync-p": {"installLocation": "` + here + `"}}`
	write(t, filepath.Join(top, knownFile), known)
	return project, list[0]
}

func write(t *testing.T, name, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(name, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

// What programs leave beside the files of a plugin is no other version of it; what
// stands in the place of one is, and is not read if it is no file.
func TestStateIsOfTheFilesOfThePlugin(t *testing.T) {
	at := func(project, name string) string { return filepath.Join(project, folder, "one", name) }
	for name, c := range map[string]struct {
		change func(project string) error
		want   string // in the only fault; "": none
	}{
		"as it was written": {func(string) error { return nil }, ""},
		"a cache beside it": {func(project string) error {
			write(t, at(project, "hooks/__pycache__/check.cpython-312.pyc"), "x")
			write(t, at(project, "node_modules/x/index.js"), "x")
			return os.Symlink("/dev/zero", at(project, "zero"))
		}, ""},
		"another text": {func(project string) error {
			write(t, at(project, "hooks/check.py"), "print(2)\n")
			return nil
		}, "loads another version of the plugin one@aisync-p"},
		"a program now":  {func(project string) error { return os.Chmod(at(project, "hooks/check.py"), 0o755) }, "loads another version"},
		"a missing file": {func(project string) error { return os.Remove(at(project, "hooks/check.py")) }, "cannot be read"},
		"a device": {func(project string) error {
			return replace(at(project, "hooks/check.py"), func(name string) error { return os.Symlink("/dev/zero", name) })
		}, "cannot be read"},
		"a pipe": {func(project string) error {
			return replace(at(project, "hooks/check.py"), func(name string) error { return syscall.Mkfifo(name, 0o644) })
		}, "cannot be read"},
		"settings in a pipe": {func(project string) error {
			return replace(filepath.Join(project, settings), func(name string) error { return syscall.Mkfifo(name, 0o644) })
		}, "does not name its marketplace"},
	} {
		t.Run(name, func(t *testing.T) {
			project, p := installed(t)
			if err := c.change(project); err != nil {
				t.Fatal(err)
			}
			faults := p.State(filepath.Dir(project), project)
			if c.want == "" && len(faults) > 0 || c.want != "" && (len(faults) != 1 || !strings.Contains(faults[0].What, c.want)) {
				t.Errorf("got %+v, want %q", faults, c.want)
			}
		})
	}
}

func replace(name string, by func(string) error) error {
	if err := os.Remove(name); err != nil {
		return err
	}
	return by(name)
}

// A fix names the folder as a shell reads it.
func TestFixesAreTypedAsTheyArePrinted(t *testing.T) {
	project, p := installed(t)
	write(t, filepath.Join(project, ".claude/settings.local.json"), `{"enabledPlugins": {"one@aisync-p": false}}`)
	faults := p.State(filepath.Dir(project), project)
	want := `cd '` + strings.ReplaceAll(project, "'", `'\''`) + `' && claude plugin enable one@aisync-p --scope local`
	if len(faults) != 1 || faults[0].Fix != want {
		t.Errorf("got %+v, want %s", faults, want)
	}
}

// The host's version of a plugin hides the project's.
func TestShadowed(t *testing.T) {
	host, project := []Plugin{{Name: "one", digest: "1"}, {Name: "two", digest: "2"}}, []Plugin{{Name: "one", digest: "1"}, {Name: "two", digest: "3"}, {Name: "four", digest: "4"}}
	if got := Shadowed(host, project); len(got) != 1 || !got[0].Warning || !strings.Contains(got[0].Text, "plugin two ") {
		t.Errorf("got %+v", got)
	}
}

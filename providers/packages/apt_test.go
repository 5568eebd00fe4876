package packages

import (
	"bytes"
	"crypto/sha256"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// deb is a Debian package without scripts, which has one file.
func deb(t *testing.T, name, version, depends string) []byte {
	t.Helper()
	control := fmt.Sprintf("Package: %s\nVersion: %s\nArchitecture: all\nMaintainer: nobody <nobody@localhost>\nDescription: a tool\n", name, version)
	if depends != "" {
		control += "Depends: " + depends + "\n"
	}
	var b bytes.Buffer
	b.WriteString("!<arch>\n")
	for _, m := range []struct {
		name string
		data []byte
	}{
		{"debian-binary", []byte("2.0\n")},
		{"control.tar.gz", archive(t, [2]string{"./control", control})},
		{"data.tar.gz", archive(t, [2]string{"./", ""}, [2]string{"./usr/", ""}, [2]string{"./usr/share/", ""}, [2]string{"./usr/share/" + name, version + "\n"})},
	} {
		fmt.Fprintf(&b, "%-16s%-12d%-6d%-6d%-8s%-10d`\n", m.name, 1700000000, 0, 0, "100644", len(m.data))
		b.Write(m.data)
		if len(m.data)%2 == 1 {
			b.WriteByte('\n')
		}
	}
	return b.Bytes()
}

// debian makes a root a machine that has nothing installed, and whose only
// source is a folder with two versions of tool and one package that needs it.
func debian(t *testing.T, root string) {
	t.Helper()
	repo := t.TempDir()
	index := ""
	for _, p := range [][3]string{{"tool", "1.0-1", ""}, {"tool", "2.0-1", ""}, {"user", "1:5-1", "tool"}} {
		b := deb(t, p[0], p[1], p[2])
		file := p[0] + "_" + upstream(p[1]) + ".deb"
		write(t, filepath.Join(repo, file), b)
		index += fmt.Sprintf("Package: %s\nVersion: %s\nArchitecture: all\nMaintainer: nobody <nobody@localhost>\nDescription: a tool\nFilename: ./%s\nSize: %d\nSHA256: %x\n", p[0], p[1], file, len(b), sha256.Sum256(b))
		if p[2] != "" {
			index += "Depends: " + p[2] + "\n"
		}
		index += "\n"
	}
	write(t, filepath.Join(repo, "Packages"), []byte(index))
	write(t, filepath.Join(root, "etc/apt/sources.list"), []byte("deb [trusted=yes] file:"+repo+" ./\n"))
	write(t, filepath.Join(root, "var/lib/dpkg/status"), nil)
	for _, dir := range []string{
		"etc/apt/apt.conf.d", "etc/apt/preferences.d", "etc/apt/sources.list.d", "var/lib/dpkg/updates", "var/lib/dpkg/info", "var/lib/dpkg/triggers",
		"var/lib/apt/lists/partial", "var/cache/apt/archives/partial", "var/log/apt", "usr/share",
	} {
		must(t, os.MkdirAll(filepath.Join(root, dir), 0o755))
	}
}

func TestAptBelowARootOfItsOwn(t *testing.T) {
	needs(t, "apt-get", "apt")
	needsRoot(t, "apt")
	m := newMachine(t, Options{EUID: os.Geteuid()}, runner{})
	debian(t, m.root)
	tool, user := Address("apt", "tool"), Address("apt", "user")
	if got := m.is(tool); got != "" {
		t.Fatalf("an empty system has %q", got)
	}
	must(t, m.apply(tool, "=1.0"))
	if got := m.is(tool); got != "1.0-1" {
		t.Errorf("installed %q", got)
	}
	if b, err := os.ReadFile(filepath.Join(m.root, "usr/share/tool")); string(b) != "1.0-1\n" {
		t.Errorf("its file says %q, %v", b, err)
	}
	must(t, m.apply(tool, ">=1.5"))
	must(t, m.apply(user, anyVersion))
	if got := m.is(tool) + " " + m.is(user); got != "2.0-1 1:5-1" {
		t.Errorf("installed %q", got)
	}
	if o := m.change(user, "=5").Before; o.Live[""] != "=5" {
		t.Errorf("1:5-1 stands for %q where 5 is wanted", o.Live[""])
	}
	if err := m.apply(tool, ""); err == nil || !strings.Contains(err.Error(), "user depends on tool") || m.is(user) == "" {
		t.Errorf("removing what something else needs: %v, and user is %q", err, m.is(user))
	}
	if err := m.apply(Address("apt", "nothing"), anyVersion); err == nil || !strings.Contains(err.Error(), "Unable to locate package nothing") {
		t.Errorf("a package that no source has: %v", err)
	}
	must(t, m.apply(user, ""))
	must(t, m.apply(tool, ""))
	if got := m.is(tool) + m.is(user); got != "" {
		t.Errorf("after the removal there is %q", got)
	}
	if _, err := os.Stat("/usr/share/tool"); err == nil {
		t.Error("it was installed into the machine itself")
	}
}

package sandbox

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// system are the places of the system's programs, libraries and settings that
// commands see. Everything else is invisible unless a Box or PATH names it.
// Nothing here holds secrets, for root neither: of /etc, /var and /sys only the
// parts are listed that programs need to start.
var system = []string{
	"/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32",
	"/usr/bin", "/usr/sbin", "/usr/lib", "/usr/lib32", "/usr/lib64", "/usr/libx32", "/usr/libexec", "/usr/share", "/usr/include", "/usr/games", "/usr/*-linux-*",
	"/usr/local/bin", "/usr/local/sbin", "/usr/local/lib", "/usr/local/lib32", "/usr/local/lib64", "/usr/local/libexec", "/usr/local/share", "/usr/local/include", "/usr/local/games",
	"/var/lib/gems", "/var/lib/ghc", "/var/lib/texmf", "/var/cache/fontconfig",
	"/sys/devices/system", "/sys/fs/cgroup", "/sys/kernel/mm",
}

// settingsFiles are the parts of /etc that commands see.
var settingsFiles = []string{
	"alternatives", "ld.so.cache", "ld.so.conf", "ld.so.conf.d", "static",
	"passwd", "group", "nsswitch.conf", "hosts", "host.conf", "hostname", "gai.conf", "networks", "protocols", "services", "rpc", "ethertypes", "netconfig",
	"localtime", "timezone", "locale.conf", "locale.alias", "*-release", "debian_version", "dpkg/origins", "mime.types", "magic", "magic.mime", "terminfo", "inputrc", "fonts",
	"ssl/certs", "ssl/cert.pem", "ssl/ca-bundle.pem", "ssl/openssl.cnf", "ssl/ct_log_list.cnf", "pki/tls/certs", "pki/tls/cert.pem", "pki/tls/openssl.cnf", "pki/ca-trust/extracted", "pki/java",
	"ca-certificates", "ca-certificates.conf", "crypto-policies", "gnutls",
	"java*", "maven/m2.conf", "maven/logging", "perl", "php", "python*", "R", "emacs", "ImageMagick-*", "texmf", "xml", "sgml", "OpenCL",
}

// resolving are the settings for host names, seen where there is a network.
var resolving = []string{"/etc/resolv.conf", "/run/systemd/resolve", "/run/NetworkManager/resolv.conf"}

// empty are folders that exist in every box, for programs that expect them.
var empty = []string{"/dev", "/proc", "/tmp", "/home", "/root", "/run", "/var/tmp", "/mnt", "/media", "/opt", "/srv"}

// mode says how a place appears in a box.
type mode int

// The modes. Of two for one place, the later one counts.
const (
	hidden   mode = iota // an empty folder over what lies there
	readOnly             // as outside, read-only
	private              // the task's /tmp
	writable             // as outside
)

// seen is a place of a box that is mounted.
type seen struct {
	At   string
	Mode mode
}

// view collects the places of a box.
type view struct {
	modes map[string]mode
	links map[string]string // links on the ways to places, with their texts
}

func (v *view) put(at string, m mode) {
	if was, ok := v.modes[at]; !ok || m > was {
		v.modes[at] = m
	}
}

// show makes a path visible, with the links on the way to it. A missing path is
// left out.
func (v *view) show(path string) error {
	real, links, err := resolve(path)
	switch {
	case errors.Is(err, fs.ErrNotExist), errors.Is(err, fs.ErrPermission):
		return nil
	case err != nil:
		return err
	case real == "/":
		return errors.New("show /: that is everything; name the folder that the command needs")
	}
	maps.Copy(v.links, links)
	v.put(inStore(real), readOnly)
	return nil
}

// stores are folders of packages that refer to each other by their paths, so
// that a program needs others beside its own. All users may read them.
var stores = []string{"/nix/store", "/gnu/store"}

// inStore returns the store that holds a path, else the path.
func inStore(path string) string {
	for _, store := range stores {
		if below(path, []string{store}) {
			return store
		}
	}
	return path
}

// resolve returns a path without links, and the links that it went through.
func resolve(path string) (real string, links map[string]string, err error) {
	links = map[string]string{}
	real = "/"
	todo := strings.Split(filepath.Clean(path), "/")
	for len(todo) > 0 {
		name := todo[0]
		todo = todo[1:]
		switch name {
		case "", ".":
			continue
		case "..":
			real = filepath.Dir(real)
			continue
		}
		at := filepath.Join(real, name)
		info, err := os.Lstat(at)
		if err != nil {
			return "", nil, err
		}
		if info.Mode()&fs.ModeSymlink == 0 {
			real = at
			continue
		}
		text, err := os.Readlink(at)
		if err != nil {
			return "", nil, err
		}
		if links[at] = text; len(links) > 40 {
			return "", nil, fmt.Errorf("%s: too many links", path)
		}
		if filepath.IsAbs(text) {
			real = "/"
		}
		todo = append(strings.Split(text, "/"), todo...)
	}
	return real, links, nil
}

// look decides what a command sees: the system, the programs of PATH, and what b
// names. Of two places, one inside the other, the inner one decides about itself.
func (b Box) look(c Command, path string) (places []seen, links [][2]string, err error) {
	v := view{modes: map[string]mode{}, links: map[string]string{}}
	base := slices.Clone(system)
	for _, name := range settingsFiles {
		base = append(base, "/etc/"+name)
	}
	if b.Network {
		base = append(base, resolving...)
	}
	for _, pattern := range base {
		paths, _ := filepath.Glob(pattern)
		for _, p := range paths {
			if err := v.show(p); err != nil {
				return nil, nil, err
			}
		}
	}
	for _, p := range slices.Concat(libraryFolders(), []string{os.Getenv("SSL_CERT_FILE"), os.Getenv("SSL_CERT_DIR")}) {
		if filepath.IsAbs(p) && filepath.Clean(p) != "/" {
			_ = v.show(p)
		}
	}
	hide := physical(b.Hide)
	for _, p := range pathPrograms(path, hide, physical([]string{b.Home, b.Tree, b.Scratch})) {
		if real, err := filepath.EvalSymlinks(p); err == nil && !below(real, []string{b.Tree, b.Scratch}) { // those are visible
			_ = v.show(p)
		}
	}
	for _, p := range b.Show {
		if err := v.show(p); err != nil {
			return nil, nil, err
		}
	}
	v.put("/tmp", private)
	v.put(b.Tree, map[bool]mode{false: writable, true: readOnly}[c.Frozen])
	v.put(b.Scratch, writable)
	for _, p := range hide {
		if info, err := os.Stat(p); err == nil && info.IsDir() && p != "/" {
			v.put(p, hidden)
		}
	}
	places = v.needed()
	for _, at := range slices.Sorted(maps.Keys(v.links)) {
		// Other links are there, or their folders are covered by what is shown.
		if m, ok := around(at, places); at != "/var/run" && (!ok || m == hidden || m == private) && !slices.ContainsFunc(places, func(p seen) bool { return p.At == at }) {
			links = append(links, [2]string{at, v.links[at]})
		}
	}
	return places, links, nil
}

// needed returns the places, outer before inner, without those that their
// surroundings make so already.
func (v *view) needed() (out []seen) {
	for _, at := range slices.Sorted(maps.Keys(v.modes)) {
		m := v.modes[at]
		outer, inside := around(at, out)
		if m == readOnly && inside && outer == readOnly || m == hidden && (!inside || outer == hidden || outer == private) {
			continue
		}
		out = append(out, seen{at, m})
	}
	return out
}

// around returns the mode of the innermost of places that holds at.
func around(at string, places []seen) (m mode, ok bool) {
	longest := -1
	for _, p := range places {
		if len(p.At) > longest && p.At != at && below(at, []string{p.At}) {
			m, ok, longest = p.Mode, true, len(p.At)
		}
	}
	return m, ok
}

// visible reports whether a path without links can be seen among places.
func visible(path string, places []seen) bool {
	m, ok := around(path+"/", places)
	return ok && m != hidden && m != private
}

// physical returns the paths that exist, without links.
func physical(paths []string) (out []string) {
	for _, p := range paths {
		if real, err := filepath.EvalSymlinks(p); err == nil && filepath.IsAbs(real) {
			out = append(out, real)
		}
	}
	return out
}

// libraryFolders returns the folders that the machine's dynamic linker searches
// besides the usual ones.
func libraryFolders() (out []string) {
	files, _ := filepath.Glob("/etc/ld.so.conf.d/*.conf")
	for _, file := range append(files, "/etc/ld.so.conf") {
		text, _ := os.ReadFile(file)
		for line := range strings.Lines(string(text)) {
			if line = strings.TrimSpace(line); filepath.IsAbs(line) && len(out) < 100 {
				out = append(out, line)
			}
		}
	}
	return out
}

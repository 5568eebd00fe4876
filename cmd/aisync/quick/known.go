package quick

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path"
	"strings"
	"syscall"

	"aisync.dev/aisync/agents/identity"
	"aisync.dev/aisync/catalog"
	"aisync.dev/aisync/internal/regular"
	"aisync.dev/aisync/schema/spec"
)

// ProjectFile is the spec that makes a folder an aisync project.
const ProjectFile = "aisync.cue"

// Specs locates the descriptions of runtimes beside the catalog. The result of
// evaluating them is cached under a digest of their bytes, of this program and
// of the caller's flags, with digests of everything else that was read: it is
// never out of date. Folders are physical.
type Specs struct {
	Config  string // folder of the host's specs
	Project string // folder with a ProjectFile; "": none
	Cache   string // aisync's cache folder
	Version string // of this program
	For     string // --host and --facts, if given
}

// Kept is a file of the cache.
type Kept struct {
	Runtimes []spec.Runtime    `json:"runtimes"`
	Looked   map[string]string `json:"looked,omitempty"` // DigestOf the inputs of the sources' runtimes
}

// keptVersion is the version of the cache's format.
const keptVersion = 2

// Recall returns the known runtimes, those of the catalog without Obeys. If they are not cached, or out of date, ok
// is false, and file is the place to cache them.
func (s Specs) Recall() (known []spec.Runtime, file string, ok bool) {
	file = s.File()
	if file == "" {
		return catalog.Programs(), "", true
	}
	text, err := os.ReadFile(file)
	if err != nil {
		return nil, file, false
	}
	var k Kept
	if err := json.Unmarshal(text, &k); err != nil {
		return nil, file, false
	}
	for name, digest := range k.Looked {
		if DigestOf(name) != digest {
			return nil, file, false
		}
	}
	return catalog.With(spec.Catalog{Runtimes: k.Runtimes}).Runtimes(), file, true
}

// File returns the cache file for these specs; "" if they cannot add runtimes.
func (s Specs) File() string {
	type spec struct {
		name string
		text []byte
	}
	var all []spec
	adds := false
	for _, name := range s.names() {
		text, err := regular.Read(name, regular.MaxSpec)
		if err != nil {
			continue // it adds no runtime
		}
		all = append(all, spec{name, text})
		adds = adds || addsRuntimes(text)
	}
	if !adds {
		return ""
	}
	h := sha256.New()
	fmt.Fprintf(h, "%d %s %s %s %q\n", keptVersion, s.Version, catalog.Digest(), identity.Host(), s.For)
	for _, f := range all {
		fmt.Fprintf(h, "%s %d\n", f.name, len(f.text))
		h.Write(f.text)
	}
	return path.Join(s.Cache, "runtimes", hex.EncodeToString(h.Sum(nil))[:32]+".json")
}

func (s Specs) names() []string {
	var names []string
	entries, _ := os.ReadDir(s.Config) // a missing folder has none
	for _, e := range entries {
		if strings.HasSuffix(e.Name(), ".cue") {
			names = append(names, path.Join(s.Config, e.Name()))
		}
	}
	if s.Project != "" {
		names = append(names, path.Join(s.Project, ProjectFile))
	}
	return names
}

// addsRuntimes reports whether a spec contains one of the words without which it
// adds no runtime: catalog entries, and sources, which may provide some.
func addsRuntimes(text []byte) bool {
	for _, word := range []string{"catalog", "bundles", "sources", "import"} {
		for end := 0; ; {
			i := bytes.Index(text[end:], []byte(word))
			if i < 0 {
				break
			}
			begin := end + i
			end = begin + len(word)
			if (begin == 0 || !letter(text[begin-1])) && (end == len(text) || !letter(text[end])) {
				return true
			}
		}
	}
	return false
}

func letter(c byte) bool {
	return c == '_' || c >= '0' && c <= '9' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z'
}

// DigestOf returns the digest of a file's bytes or of the names in a folder, ""
// if it is unreadable.
func DigestOf(name string) string {
	text, err := regular.Read(name, regular.MaxSpec)
	if errors.Is(err, regular.ErrKind) {
		var entries []os.DirEntry
		entries, err = os.ReadDir(name)
		for _, e := range entries {
			text = append(text, e.Name()+"\n"...)
		}
	}
	if err != nil {
		return ""
	}
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:])
}

// errElsewhere reports that the whole program must look.
var errElsewhere = errors.New("unknown without evaluating specs")

// cachedRuntimes is Runtimes for a call without flags for the specs' place.
func (c Call) cachedRuntimes(root string) ([]spec.Runtime, error) {
	home := c.Getenv("HOME")
	if !path.IsAbs(home) {
		return nil, errElsewhere
	}
	if info, err := os.Stat(home); os.Geteuid() == 0 && err == nil {
		if st, ok := info.Sys().(*syscall.Stat_t); ok && st.Uid != 0 {
			return nil, errElsewhere // root in another user's home
		}
	}
	folder := func(name, otherwise string) string {
		if dir := c.Getenv(name); path.IsAbs(dir) {
			return path.Join(dir, "aisync")
		}
		return path.Join(home, otherwise, "aisync")
	}
	s := Specs{Config: folder("XDG_CONFIG_HOME", ".config"), Cache: folder("XDG_CACHE_HOME", ".cache"), Project: HasSpec(root), Version: c.Version}
	known, file, ok := s.Recall()
	if !ok || file != "" && c.Version == "" {
		return nil, errElsewhere
	}
	return known, nil
}

// HasSpec returns root if it has a spec, else "".
func HasSpec(root string) string {
	if info, err := os.Stat(path.Join(root, ProjectFile)); root != "" && err == nil && info.Mode().IsRegular() {
		return root
	}
	return ""
}

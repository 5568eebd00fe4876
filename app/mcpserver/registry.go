package mcpserver

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"net/url"
	"path/filepath"
	"strings"

	"aisync.dev/aisync/internal/advice"
	"aisync.dev/aisync/internal/fetch/mcpregistry"
	"aisync.dev/aisync/internal/fetch/ssrf"
	"aisync.dev/aisync/internal/regular"
	"aisync.dev/aisync/internal/termtext"
	"aisync.dev/aisync/providers/packages"
	"aisync.dev/aisync/reconcile"
	"aisync.dev/aisync/reconcile/fsys"
)

// maxKept is the largest answer that is read back, in bytes.
const maxKept = 8 << 20

// Registry answers from an MCP registry, and offline from what was kept of its
// answers.
type Registry struct {
	Client mcpregistry.Client
	Folder string // physical, of the kept answers

	// Image returns what the tag of an image, HOST/REPO:TAG, names now.
	Image func(ctx context.Context, image string) (string, error)
	// NPM returns what npm's registry says of one version of a package.
	NPM func(ctx context.Context, name, version string) (packages.Release, error)
}

// Answer is what a registry said of a server.
type Answer struct {
	Server
	Source Source // with the exact version
	Kept   bool   // it was said before, and not asked again
	raw    []byte
	asked  string            // the version, or "latest"
	also   map[string][]byte // what else was asked, by the place where it is kept
}

// Get returns the server that src names. The error wraps reconcile.ErrOffline
// where the network must not be used and no answer was kept.
func (r Registry) Get(ctx context.Context, src Source) (Answer, error) {
	asked := src.Version
	if asked == "" {
		asked = "latest"
	}
	a := Answer{Source: src, asked: asked}
	var err error
	if a.raw, err = r.Client.Version(ctx, src.Name, asked); errors.Is(err, reconcile.ErrOffline) {
		a.Kept = true
		if a.raw, err = regular.Read(r.place(src.Name, asked), maxKept); errors.Is(err, fs.ErrNotExist) {
			err = fmt.Errorf("%s was not fetched before: %w", src, reconcile.ErrOffline)
		}
	}
	if errors.Is(err, mcpregistry.ErrNotFound) {
		return Answer{}, r.notFound(ctx, src)
	}
	if err != nil {
		return Answer{}, err
	}
	if a.Server, err = Parse(a.raw); err != nil {
		return Answer{}, fmt.Errorf("%s: %w", r.Client.Address(), err)
	}
	switch {
	case a.Name != src.Name:
		return Answer{}, fmt.Errorf("%s answered with the server %s when asked for %s", r.Client.Address(), a.Name, src.Name)
	case src.Version != "" && a.Version != src.Version:
		return Answer{}, fmt.Errorf("%s answered with version %s of %s when asked for %s", r.Client.Address(), a.Version, a.Name, src.Version)
	}
	a.Source.Version = a.Version
	return a, nil
}

// notFound is the error for a server that the registry does not have, with
// what it has instead.
func (r Registry) notFound(ctx context.Context, src Source) error {
	if src.Version != "" {
		if newest, err := r.Client.Version(ctx, src.Name, "latest"); err == nil {
			if s, err := Parse(newest); err == nil {
				return advice.New(fmt.Errorf("%s has no version %s of %s", r.Client.Address(), src.Version, src.Name), "its newest is "+s.Version)
			}
		}
	}
	err := fmt.Errorf("%s has no server %s", r.Client.Address(), src.Name)
	_, last, _ := strings.Cut(src.Name, "/")
	if found, _, wrong := r.Search(ctx, last, 5); wrong == nil && len(found) > 0 {
		var names []string
		for _, s := range found {
			names = append(names, s.Name)
		}
		return advice.New(err, "it has "+strings.Join(names, ", "))
	}
	return err
}

// Search returns the servers whose names contain text, at most most, and
// whether there are more. Those that aisync could not read are left out.
func (r Registry) Search(ctx context.Context, text string, most int) (found []Server, more bool, err error) {
	list, more, err := r.Client.Search(ctx, text, most)
	if err != nil {
		return nil, false, fmt.Errorf("search %q: %w", termtext.Safe(text), err)
	}
	for _, b := range list {
		if s, err := Parse(b); err == nil {
			found = append(found, s)
		}
	}
	return found, more, nil
}

// Digest returns what the tag of an image of docker's form names now. A registry
// on another machine must not make this one ask its own servers.
func (r Registry) Digest(ctx context.Context, image string) (string, error) {
	host, rest := "docker.io", image
	if hasHost(image) {
		host, rest, _ = strings.Cut(image, "/")
	} else if !strings.Contains(image, "/") {
		rest = "library/" + image
	}
	from, err := url.Parse(r.Client.Address())
	if err != nil {
		return "", err
	}
	if err := ssrf.Check(from, &url.URL{Host: host}); err != nil {
		return "", err
	}
	return r.Image(ctx, host+"/"+rest)
}

// Keep stores a for the time without a network, as the answer to what was asked
// and to its version. disk writes into r's folder.
func (r Registry) Keep(disk fsys.FS, a Answer) error {
	if a.Kept {
		return nil
	}
	if _, err := disk.MkdirAll(fsys.LogicalPath(r.Folder), 0o700); err != nil {
		return err
	}
	texts := map[string][]byte{r.place(a.Name, a.asked): a.raw, r.place(a.Name, a.Version): a.raw}
	maps.Copy(texts, a.also)
	for at, text := range texts {
		place, expect := fsys.LogicalPath(at), fsys.Expect{Absent: true}
		if digest, _, err := disk.Digest(place); err == nil {
			expect = fsys.Expect{Digest: digest}
		}
		if err := disk.Replace(place, fsys.Content{Bytes: text, Mode: 0o600}, expect, nil); err != nil {
			return err
		}
	}
	return disk.Flush()
}

// place is the file of one answer. Its name tells nothing, so that no name of a
// server leads anywhere.
func (r Registry) place(name, version string) string {
	sum := sha256.Sum256([]byte(r.Client.Address() + "\n" + name + "\n" + version))
	return filepath.Join(r.Folder, hex.EncodeToString(sum[:12])+".json")
}

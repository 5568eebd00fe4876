package modelsource

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"

	"aisync.dev/aisync/app/pin"
	"aisync.dev/aisync/internal/advice"
	"aisync.dev/aisync/internal/fetch/hub"
	"aisync.dev/aisync/internal/shellquote"
	"aisync.dev/aisync/providers/store"
	"aisync.dev/aisync/reconcile/fsys"
	"aisync.dev/aisync/schema/spec"
)

// files takes a file of this machine, with its shards. It reads each whole, for
// its digest.
func (l Lookup) files(ctx context.Context, n Name) (Entry, error) {
	at := n.Path
	if rest, ok := strings.CutPrefix(at, "~"); ok {
		at = filepath.Join(l.Home, rest)
	} else if !filepath.IsAbs(at) {
		at = filepath.Join(l.Cwd, at)
	}
	info, err := os.Stat(at)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return Entry{}, advice.New(fmt.Errorf("no such file: %s", at), "a repository of Hugging Face is hf:owner/repo, a model of ollama ollama:NAME")
	case err != nil:
		return Entry{}, err
	case info.IsDir():
		return Entry{}, advice.New(fmt.Errorf("%s is a folder", at), "name a file in it; to list those that are models: aisync models adopt --scan "+shellquote.Terminal(strings.TrimRight(at, "/")+"/"))
	case !info.Mode().IsRegular():
		return Entry{}, fmt.Errorf("%s is no regular file", at)
	}
	shards, err := hub.Shards(filepath.Base(at))
	if err != nil {
		return Entry{}, err
	}
	var whole []string
	for _, name := range shards {
		shard := filepath.Join(filepath.Dir(at), name)
		if _, err := os.Stat(shard); err != nil {
			return Entry{}, advice.New(fmt.Errorf("shard %s is missing beside %s", name, at), "put all shards into one folder")
		}
		whole = append(whole, shard)
	}
	if _, err := pin.ReadHeader(whole...); err != nil {
		return Entry{}, advice.New(err, "aisync takes whole GGUF files alone; fetch it again, or name another")
	}
	disk, err := fsys.New(fsys.Options{Tag: "look"})
	if err != nil {
		return Entry{}, err
	}
	q := spec.Quant{Name: cmp.Or(hub.QuantOf(shards[0]), "GGUF")}
	for i, name := range whole {
		info, err := os.Stat(name)
		if err != nil {
			return Entry{}, err
		}
		if l.Reading != nil {
			l.Reading(info.Size(), name)
		}
		sum, err := store.Hash(ctx, disk, fsys.LogicalPath(name), nil)
		if err != nil {
			return Entry{}, err
		}
		q.Files = append(q.Files, spec.ModelFile{Path: shards[i], Size: info.Size(), SHA256: sum, Sources: []string{name}})
	}
	stem := withoutQuant(shards[0])
	e := Entry{IDs: []string{id(stem), id("local-" + stem)}, Pinned: true}
	e.Model.Quants = []spec.Quant{q}
	e.note("takes %s from %s", described(q), path.Dir(at))
	e.note("to have it in the store without a second copy: aisync models adopt %s", shellquote.Terminal(path.Dir(at)+"/"))
	return e, nil
}

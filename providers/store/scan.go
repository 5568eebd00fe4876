package store

import (
	"encoding/json"
	"io"
	"io/fs"
	"path"
	"strings"

	"aisync.dev/aisync/reconcile/fsys"
)

// Standing is a model file that a program, or a person, keeps outside the store.
type Standing struct {
	Program string // of its Location
	Name    string // as the program calls it
	Path    fsys.LogicalPath
	Size    int64  // bytes
	SHA256  string // "" if the name of the file does not tell it
	ID      string // the wanted model that it is, by its digest, or by name and size; "" if none
	InStore bool   // the store has a name for the same bytes
}

// Scan lists the model files in places, by place and path, without reading more
// of them than their first bytes. It passes by the store in dir, and folders that
// it may not read.
func Scan(r fsys.Reader, dir fsys.LogicalPath, held []Held, places []Location) ([]Standing, error) {
	out := []Standing{}
	for _, place := range places {
		names := map[fsys.LogicalPath]string{} // of blobs, which are named by their digests
		var files []Standing
		err := walk(r, place.Dir, searchDepth, func(p fsys.LogicalPath, info fs.FileInfo) {
			switch {
			case within(dir, p) || info.Size() == 0:
			case place.Program == "ollama" && strings.Contains(string(p), "/manifests/"):
				if digest, name := ollamaModel(r, place.Dir.Join("manifests"), p); digest != "" {
					names[place.Dir.Join("blobs/sha256-"+digest)] = name
				}
			case info.Mode().Type() == fs.ModeSymlink && strings.EqualFold(path.Ext(string(p)), ".gguf"):
				if to, err := r.Readlink(p); err == nil {
					at := fsys.LogicalPath(path.Join(string(p.Dir()), to))
					names[at] = hubName(place.Dir, p)
				}
			case info.Mode().IsRegular() && startsAsGGUF(r, p):
				files = append(files, Standing{Program: place.Program, Path: p, Size: info.Size(), SHA256: digestInName(p.Base())})
			}
		})
		if err != nil {
			return nil, err
		}
		for _, s := range files {
			if s.Name = names[s.Path]; s.Name == "" {
				s.Name = strings.TrimPrefix(string(s.Path), string(place.Dir)+"/")
			}
			s.meet(r, dir, held)
			out = append(out, s)
		}
	}
	return out, nil
}

// meet fills in what the store and the wanted models have of s.
func (s *Standing) meet(r fsys.Reader, dir fsys.LogicalPath, held []Held) {
	mine, err := r.Lstat(s.Path)
	same := func(h Held) bool {
		info, missing := r.Lstat(Blob(dir, h.SHA256))
		return err == nil && missing == nil && (StatOf(mine).Of(info) || strings.EqualFold(h.SHA256, s.SHA256))
	}
	if s.SHA256 != "" {
		s.InStore = same(Held{SHA256: s.SHA256})
	}
	for _, h := range held {
		if h.SHA256 == "" || h.Size != s.Size {
			continue
		}
		stored := same(h)
		s.InStore = s.InStore || stored
		is := stored || strings.EqualFold(h.SHA256, s.SHA256)
		if !is && s.SHA256 == "" {
			is = len(candidates(map[string]Held{"": h}, s.Path.Base(), s.Size)) > 0
		}
		if is && h.Wanted && s.ID == "" {
			s.ID = h.ID
		}
	}
}

// digestInName is the sha256 that a blob's name tells, "" if none.
func digestInName(name string) string {
	digest := strings.TrimPrefix(strings.ToLower(name), "sha256-")
	if len(digest) != 64 || strings.Trim(digest, "0123456789abcdef") != "" {
		return ""
	}
	return digest
}

// hubName is OWNER/NAME/FILE of a link in Hugging Face's cache; see
// https://huggingface.co/docs/huggingface_hub/guides/manage-cache.
func hubName(dir, p fsys.LogicalPath) string {
	rel := strings.Split(strings.TrimPrefix(string(p), string(dir)+"/"), "/")
	if repo, ok := strings.CutPrefix(rel[0], "models--"); ok && len(rel) > 3 && rel[1] == "snapshots" {
		return strings.ReplaceAll(repo, "--", "/") + "/" + strings.Join(rel[3:], "/")
	}
	return p.Base()
}

// ollamaModel reads the manifest p of ollama: the digest of the model, and its
// name as ollama has it.
func ollamaModel(r fsys.Reader, dir, p fsys.LogicalPath) (digest, name string) {
	var m struct {
		Layers []struct{ MediaType, Digest string }
	}
	if raw, err := r.ReadFile(p); err != nil || len(raw) > 1<<20 || json.Unmarshal(raw, &m) != nil {
		return "", ""
	}
	rel := strings.TrimPrefix(string(p), string(dir)+"/")
	rel = strings.TrimPrefix(strings.TrimPrefix(rel, "registry.ollama.ai/"), "library/")
	for _, l := range m.Layers {
		if l.MediaType == "application/vnd.ollama.image.model" {
			return strings.TrimPrefix(l.Digest, "sha256:"), path.Dir(rel) + ":" + path.Base(rel)
		}
	}
	return "", ""
}

func startsAsGGUF(r fsys.Reader, p fsys.LogicalPath) bool {
	f, err := r.Open(p)
	if err != nil {
		return false
	}
	defer f.Close()
	var first [4]byte
	_, err = io.ReadFull(f, first[:])
	return err == nil && string(first[:]) == "GGUF"
}

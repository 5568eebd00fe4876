package pin

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"aisync.dev/aisync/internal/bundle"
	"aisync.dev/aisync/schema/spec"
)

// Kinds of pins of sources: of bundles, and of the specs that a host's spec extends.
const (
	KindBundle = "bundle"
	KindBase   = "base"
)

// KindOf is the kind of the pin of src.
func KindOf(src spec.Source) string {
	if src.Base {
		return KindBase
	}
	return KindBundle
}

// what names src in errors.
func what(src spec.Source) string {
	if src.Base {
		return fmt.Sprintf("base %q", src.Name)
	}
	return fmt.Sprintf("bundle source %q", src.Name)
}

// digestOf identifies what a spec takes of the source of a pin of that kind in dir.
func digestOf(ctx context.Context, kind, dir string, whole bool) (string, error) {
	if kind != KindBase {
		return treeDigest(ctx, dir, whole)
	}
	files, err := baseFiles(dir)
	if err != nil {
		return "", err
	}
	h := sha256.New()
	fmt.Fprint(h, "aisync base 1\n")
	for _, f := range files {
		fmt.Fprintf(h, "%q %o %s\n", f.Src, f.Mode, f.Digest)
	}
	return "sha256:" + hex.EncodeToString(h.Sum(nil)), nil
}

// baseFiles returns all files of a base in dir, sorted. Of a link it is where it leads.
func baseFiles(dir string) ([]bundle.File, error) {
	var out []bundle.File
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		rel, rerr := filepath.Rel(dir, path)
		switch {
		case err != nil:
			return err
		case rerr != nil:
			return rerr
		case rel == ".git" && d.IsDir():
			return filepath.SkipDir
		case rel == ".git" || d.IsDir():
			return nil
		}
		f := bundle.File{Src: filepath.ToSlash(rel), Path: path, Mode: 0o644}
		var text []byte
		if d.Type()&fs.ModeSymlink != 0 {
			to, err := os.Readlink(path)
			if err != nil {
				return err
			}
			f.Mode, text = 0o777|fs.ModeSymlink, []byte(to)
		} else {
			info, err := d.Info()
			if err != nil {
				return err
			}
			if text, err = os.ReadFile(path); err != nil {
				return err
			}
			if info.Mode()&0o111 != 0 {
				f.Mode = 0o755
			}
		}
		sum := sha256.Sum256(text)
		f.Digest = "sha256:" + hex.EncodeToString(sum[:])
		out = append(out, f)
		return nil
	})
	return out, err
}

// CompareBase is Compare for all files of a base; links are left out.
func CompareBase(from, to string) ([]FileDiff, error) {
	var before []bundle.File
	var err error
	if from != "" {
		if before, err = plainFiles(from); err != nil {
			return nil, err
		}
	}
	after, err := plainFiles(to)
	if err != nil {
		return nil, err
	}
	return compareFiles(before, after)
}

func plainFiles(dir string) ([]bundle.File, error) {
	all, err := baseFiles(dir)
	files := all[:0]
	for _, f := range all {
		if f.Mode&fs.ModeSymlink == 0 {
			files = append(files, f)
		}
	}
	return files, err
}

package hub

import (
	"context"
	"errors"
	"fmt"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// maxShards is more than any model has: a larger number in a name is a mistake.
const maxShards = 999

// Files pins file or, if its name is that of a shard, all shards in order. If
// the endpoint lists no files, it asks for each. If some shards are missing,
// the error wraps ErrMissingShard and names one.
func (c Client) Files(ctx context.Context, repo, rev, file string) ([]Resolved, error) {
	got, err := c.files(ctx, repo, rev, file)
	if err != nil {
		return nil, fmt.Errorf("resolve %s of %s at %s: %w", file, repo, rev, err)
	}
	return got, nil
}

func (c Client) files(ctx context.Context, repo, rev, file string) ([]Resolved, error) {
	names, err := Shards(file)
	if err != nil {
		return nil, err
	}
	commit, entries, err := c.list(ctx, repo, rev)
	if errors.Is(err, errNoAPI) {
		return c.pinEach(ctx, repo, rev, names)
	}
	if err != nil {
		return nil, err
	}
	return c.pick(repo, commit, entries, names)
}

// Quant pins the file or the shards of one quantization, found by name among
// repo's files.
func (c Client) Quant(ctx context.Context, repo, rev, quant string) ([]Resolved, error) {
	got, err := c.quant(ctx, repo, rev, quant)
	if err != nil {
		return nil, fmt.Errorf("find quant %s of %s at %s: %w", quant, repo, rev, err)
	}
	return got, nil
}

func (c Client) quant(ctx context.Context, repo, rev, quant string) ([]Resolved, error) {
	commit, entries, err := c.list(ctx, repo, rev)
	if err != nil {
		return nil, err
	}
	names, err := quantFiles(entries, quant)
	if err != nil {
		return nil, err
	}
	return c.pick(repo, commit, entries, names)
}

// list returns the files at rev, and its commit.
func (c Client) list(ctx context.Context, repo, rev string) (string, []Entry, error) {
	commit, err := c.commit(ctx, repo, rev)
	if err != nil {
		return "", nil, err
	}
	entries, err := c.tree(ctx, repo, commit)
	return commit, entries, err
}

// pick pins names, which are one file or all shards of one.
func (c Client) pick(repo, commit string, entries []Entry, names []string) ([]Resolved, error) {
	var out []Resolved
	var missing []string
	for _, name := range names {
		i := slices.IndexFunc(entries, func(e Entry) bool { return e.Path == name })
		if i < 0 {
			missing = append(missing, name)
			continue
		}
		e := entries[i]
		if e.SHA256 == "" {
			return nil, fmt.Errorf("%s: %w: the file is not in LFS; write its sha256 into the catalog entry", name, ErrNoDigest)
		}
		if e.Size <= 0 {
			return nil, fmt.Errorf("%s does not report the size of %s", c.endpoint(), name)
		}
		r, err := c.pinned(repo, commit, e)
		if err != nil {
			return nil, err
		}
		out = append(out, r)
	}
	return out, absent(missing, len(names), near(entries, names[0]))
}

// pinEach pins names one by one, at the commit of the first that exists.
func (c Client) pinEach(ctx context.Context, repo, rev string, names []string) ([]Resolved, error) {
	var out []Resolved
	var missing []string
	for _, name := range names {
		r, err := c.resolve(ctx, repo, rev, name)
		switch {
		case errors.Is(err, ErrNotFound) && len(names) > 1:
			missing = append(missing, name)
		case err != nil:
			return nil, err
		default:
			out, rev = append(out, r), r.Commit
		}
	}
	return out, absent(missing, len(names), nil)
}

// absent describes the missing files of one file or of all shards.
func absent(missing []string, of int, instead []string) error {
	hint := "check the repository, the revision and the path"
	if len(instead) > 0 {
		hint = "it has " + strings.Join(instead, ", ")
	}
	switch {
	case len(missing) == 0:
		return nil
	case len(missing) < of:
		return fmt.Errorf("%w: %s (%d of %d exist); ask the repository's owner, or choose another quant", ErrMissingShard, strings.Join(missing, ", "), of-len(missing), of)
	default:
		return fmt.Errorf("%s: %w; %s", missing[0], ErrNotFound, hint)
	}
}

var shardName = regexp.MustCompile(`^(.*)-([0-9]{5})-of-([0-9]{5})(\.[^./]+)$`)

// Shards returns the names of all shards of the model that file belongs to, in
// order, or file alone.
// https://github.com/ggml-org/llama.cpp/blob/master/tools/gguf-split
func Shards(file string) ([]string, error) {
	m := shardName.FindStringSubmatch(file)
	if m == nil {
		return []string{file}, nil
	}
	i, _ := strconv.Atoi(m[2])
	n, _ := strconv.Atoi(m[3])
	if i < 1 || i > n || n > maxShards {
		return nil, fmt.Errorf("%s is not a shard name: there is no part %d of %d", path.Base(file), i, n)
	}
	names := make([]string, n)
	for i := range names {
		names[i] = fmt.Sprintf("%s-%05d-of-%05d%s", m[1], i+1, n, m[4])
	}
	return names, nil
}

// near returns files that a wrong name may mean: the same name elsewhere, or
// shards of it.
func near(entries []Entry, file string) []string {
	stem := strings.TrimSuffix(path.Base(file), path.Ext(file))
	var out []string
	for _, e := range entries {
		base := path.Base(e.Path)
		if strings.EqualFold(base, path.Base(file)) || strings.HasPrefix(base, stem+"-00001-of-") {
			out = append(out, e.Path)
		}
	}
	return out
}

package hub

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strconv"
	"strings"
)

// Repository is what the endpoint says of one repository.
type Repository struct {
	Name     string // the present one, where the repository was renamed
	Commit   string
	License  string // "" if the endpoint names none
	Gated    bool   // its files need an account that accepted its terms
	Variants []Variant

	Projectors []Variant // that show its models pictures, the best first
}

// Terms is the page on which an account accepts the terms of a repository.
func (c Client) Terms(repo string) string { return c.endpoint() + "/" + repo }

// about is the part of a repository's description that aisync reads.
// https://huggingface.co/docs/hub/api
type about struct {
	ID        string
	SHA       string
	Downloads int64
	Gated     any // false, "auto" or "manual"
	Tags      []string
	Siblings  []struct{ RFilename string }
}

func (a about) gated() bool { return a.Gated != nil && a.Gated != false }

// license is the one in the tags, which hold it as license:ID.
func (a about) license() string {
	for _, tag := range a.Tags {
		if id, ok := strings.CutPrefix(tag, "license:"); ok {
			return id
		}
	}
	return ""
}

// Repository describes repo at rev, and lists its models.
func (c Client) Repository(ctx context.Context, repo, rev string) (Repository, error) {
	r, err := c.repository(ctx, repo, rev)
	if errors.Is(err, errNoAPI) {
		err = fmt.Errorf("%w; name a file: %s/%s/resolve/%s/FILE.gguf", err, c.endpoint(), repo, rev)
	}
	if err != nil {
		return Repository{}, fmt.Errorf("look at %s of %s: %w", repo, c.endpoint(), err)
	}
	return r, nil
}

func (c Client) repository(ctx context.Context, repo, rev string) (Repository, error) {
	at, err := repository(c.endpoint(), "/api/models", repo, "revision", rev)
	if err != nil {
		return Repository{}, err
	}
	var a about
	if _, err := c.get(ctx, at, repo, &a); err != nil {
		return Repository{}, err
	}
	if len(a.SHA) != 40 || !clean(a.SHA) {
		return Repository{}, fmt.Errorf("%q is not a commit; is this a Hugging Face endpoint?", a.SHA)
	}
	r := Repository{Name: repo, Commit: a.SHA, License: a.license(), Gated: a.gated()}
	if strings.Count(a.ID, "/") == 1 && clean(a.ID) {
		r.Name = a.ID
	}
	entries, err := c.tree(ctx, r.Name, r.Commit)
	r.Variants, r.Projectors = variants(entries), projectors(entries)
	return r, err
}

// Find returns the variant that a quantization, or a file's name, means. The
// error wraps ErrNotFound, or ErrMissingShard for one that is there in part.
func (r Repository) Find(name string) (Variant, error) {
	var entries []Entry
	for _, v := range r.Variants {
		entries = append(entries, v.Files...)
	}
	names, err := quantFiles(entries, name)
	if err != nil {
		return Variant{}, fmt.Errorf("%s: %w", r.Name, err)
	}
	i := slices.IndexFunc(r.Variants, func(v Variant) bool { return v.names()[0] == names[0] })
	if v := r.Variants[i]; len(v.Missing) == 0 {
		return v, nil
	}
	return Variant{}, fmt.Errorf("%s: %w", r.Name, absent(r.Variants[i].Missing, len(names), nil))
}

// Listed is one repository that a search found.
type Listed struct {
	Name      string
	License   string
	Downloads int64
	Gated     bool
	Quants    []string // in the order of its files
}

// Search returns up to limit repositories with GGUF files whose names hold all
// words, the most fetched first.
func (c Client) Search(ctx context.Context, words string, limit int) ([]Listed, error) {
	query := url.Values{
		"search": {words}, "filter": {"gguf"}, "sort": {"downloads"}, "direction": {"-1"}, "limit": {strconv.Itoa(limit)},
		"expand[]": {"downloads", "gated", "siblings", "tags"},
	}
	var page []about
	_, err := c.get(ctx, c.endpoint()+"/api/models?"+query.Encode(), "", &page)
	if errors.Is(err, errNoAPI) {
		err = errors.New("the endpoint cannot search; is this a Hugging Face endpoint?")
	}
	if err != nil {
		return nil, fmt.Errorf("search %s: %w", c.endpoint(), err)
	}
	out := []Listed{}
	for _, a := range page {
		if strings.Count(a.ID, "/") != 1 || !clean(a.ID) {
			continue
		}
		var entries []Entry
		for _, f := range a.Siblings {
			entries = append(entries, Entry{Path: f.RFilename})
		}
		l := Listed{Name: a.ID, License: a.license(), Downloads: a.Downloads, Gated: a.gated()}
		for _, v := range variants(entries) {
			if v.Quant != "" && len(v.Missing) == 0 && !slices.Contains(l.Quants, v.Quant) {
				l.Quants = append(l.Quants, v.Quant)
			}
		}
		out = append(out, l)
	}
	return out, nil
}

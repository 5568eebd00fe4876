package hub

import (
	"context"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"regexp"
	"strings"
)

// Entry is one file of a repository.
type Entry struct {
	Path   string
	Size   int64  // bytes of the content, never of a pointer to it
	SHA256 string // "" for a file outside LFS
	Xet    string // Hugging Face's content address, "" if there is none
}

// errNoAPI means that an endpoint serves files but lists none, as some mirrors
// do.
var errNoAPI = errors.New("the endpoint lists no files")

const (
	maxPages = 1000     // of a listing; the hub's pages have 1000 entries
	maxPage  = 32 << 20 // bytes of one page
)

// tree lists all files of repo at rev, in the endpoint's order.
// https://huggingface.co/docs/hub/api
func (c Client) tree(ctx context.Context, repo, rev string) ([]Entry, error) {
	base, err := repository(c.endpoint(), "/api/models", repo, "tree", rev)
	if err != nil {
		return nil, err
	}
	var all []Entry
	seen := map[string]bool{}
	for query := "recursive=true"; query != ""; {
		if seen[query] || len(seen) == maxPages {
			return nil, fmt.Errorf("%s: endless file listing", c.endpoint())
		}
		seen[query] = true
		var page []struct {
			Type, Path, XetHash string
			Size                int64
			LFS                 *struct {
				OID, SHA256 string
				Size        int64
			}
		}
		header, err := c.get(ctx, base+"?"+query, repo, &page)
		if err != nil {
			return nil, err
		}
		for _, f := range page {
			if f.Type != "file" || !clean(f.Path) {
				continue
			}
			e := Entry{Path: f.Path, Size: f.Size, Xet: f.XetHash}
			if f.LFS != nil {
				e.Size = max(f.LFS.Size, f.Size) // some servers report the pointer's size above
				e.SHA256 = hexDigest(f.LFS.OID)
				if e.SHA256 == "" {
					e.SHA256 = hexDigest(f.LFS.SHA256)
				}
			}
			all = append(all, e)
		}
		query = nextPage(header)
	}
	return all, nil
}

// commit returns the commit of rev: a branch, a tag or a commit. A full commit
// is returned without a request.
func (c Client) commit(ctx context.Context, repo, rev string) (string, error) {
	at, err := repository(c.endpoint(), "/api/models", repo, "revision", rev)
	if err != nil {
		return "", err
	}
	if raw, err := hex.DecodeString(rev); err == nil && len(raw) == 20 {
		return rev, nil
	}
	var answer struct{ SHA string }
	if _, err := c.get(ctx, at, repo, &answer); err != nil {
		return "", err
	}
	if raw, err := hex.DecodeString(answer.SHA); err != nil || len(raw) != 20 {
		return "", fmt.Errorf("%s: %q is not a commit; is this a Hugging Face endpoint?", c.endpoint(), answer.SHA)
	}
	return answer.SHA, nil
}

// get reads JSON. It returns errNoAPI if the endpoint has no such address, and
// not if it has one but no repo: only the latter gives a reason.
func (c Client) get(ctx context.Context, at, repo string, into any) (http.Header, error) {
	resp, err := c.ask(ctx, http.MethodGet, at, nil)
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	isJSON := strings.Contains(resp.Header.Get("Content-Type"), "json")
	switch code := resp.StatusCode; {
	case (code == http.StatusNotFound || code == http.StatusBadRequest) && resp.Header.Get("X-Error-Code") == "",
		code == http.StatusMethodNotAllowed, code == http.StatusNotImplemented, code/100 == 3, code/100 == 2 && !isJSON:
		return nil, errNoAPI
	}
	if err := status(resp, repo); err != nil {
		return nil, err
	}
	if err := json.NewDecoder(io.LimitReader(resp.Body, maxPage)).Decode(into); err != nil {
		return nil, fmt.Errorf("read the response of %s: %w", c.endpoint(), err)
	}
	return resp.Header, nil
}

var relNext = regexp.MustCompile(`<([^>]*)>\s*;[^,]*rel="?next"?`)

// nextPage returns the query of the next page, "" after the last. It ignores
// the rest of the link: mirrors pass on links to other hosts.
func nextPage(h http.Header) string {
	for _, link := range h.Values("Link") {
		if m := relNext.FindStringSubmatch(link); m != nil {
			if u, err := url.Parse(m[1]); err == nil {
				return u.RawQuery
			}
		}
	}
	return ""
}

package fetch

import (
	"context"
	"fmt"
	"net/url"
	"strings"

	getter "github.com/hashicorp/go-getter/v2"

	sourceaddress "aisync.dev/aisync/internal/fetch/address"
	"aisync.dev/aisync/internal/fetch/git"
)

// Refs returns what the host of a git source lists now, and the ref that src names.
func (c *Client) Refs(ctx context.Context, src string) (refs git.Refs, ref string, err error) {
	root, _ := getter.SourceDirSubdir(src)
	if err := sourceaddress.Check(root); err != nil {
		return refs, "", fmt.Errorf("ask %s: %w", redacted(src), err)
	}
	raw, query, _ := strings.Cut(strings.TrimPrefix(root, "git::"), "?")
	q, err := url.ParseQuery(query)
	if err != nil {
		return refs, "", fmt.Errorf("ask %s: %w", redacted(src), bare(err))
	}
	refs, err = git.List(ctx, git.Source{URL: raw, Stall: c.stall})
	if err != nil {
		return refs, "", fmt.Errorf("ask %s: %w", redacted(src), readable(err, root, "\x00"))
	}
	return refs, q.Get("ref"), nil
}

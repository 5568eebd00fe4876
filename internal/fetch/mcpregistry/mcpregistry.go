// Package mcpregistry asks a registry of MCP servers over HTTP. It returns what
// the registry has as it came, and judges nothing but that it is JSON. Call
// Client.Version. The interface is
// https://github.com/modelcontextprotocol/registry/blob/main/docs/reference/api/openapi.yaml.
package mcpregistry

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"net/url"
	"strings"
	"time"

	"aisync.dev/aisync/internal/advice"
	"aisync.dev/aisync/internal/fetch/ssrf"
	"aisync.dev/aisync/reconcile"
)

// Default is the registry that is asked where no other is named.
const Default = "https://registry.modelcontextprotocol.io"

// Limits of one answer and of one search. The largest entry that was seen has
// 30 kB; 100 servers are the most that a page holds.
const (
	maxAnswer = 4 << 20
	maxPages  = 20
	patience  = 30 * time.Second
)

// ErrNotFound means that the registry has no such server or version.
var ErrNotFound = errors.New("not in the registry")

// Client asks one registry. It is safe for concurrent use.
type Client struct {
	HTTP     *http.Client
	Registry string // its address; "" is Default
	Offline  bool   // every question is reconcile.ErrOffline
}

// Address returns the address of the registry.
func (c Client) Address() string { return strings.TrimRight(cmp.Or(c.Registry, Default), "/") }

// Version returns what the registry says of one version of the server name;
// "latest" is the newest. Deleted versions are returned too: their status says
// that they are.
func (c Client) Version(ctx context.Context, name, version string) ([]byte, error) {
	return c.get(ctx, "/v0.1/servers/"+url.PathEscape(name)+"/versions/"+url.PathEscape(version)+"?include_deleted=true")
}

// Search returns the newest version of each server whose name contains text, at
// most most of them, and whether the registry has more.
func (c Client) Search(ctx context.Context, text string, most int) (found []json.RawMessage, more bool, err error) {
	seen := map[string]bool{}
	for cursor := ""; len(seen) < maxPages; {
		query := "?limit=100&version=latest&search=" + url.QueryEscape(text)
		if cursor != "" {
			query += "&cursor=" + url.QueryEscape(cursor)
		}
		b, err := c.get(ctx, "/v0.1/servers"+query)
		if err != nil {
			return nil, false, err
		}
		var page struct {
			Servers  []json.RawMessage
			Metadata struct{ NextCursor string }
		}
		if err := json.Unmarshal(b, &page); err != nil {
			return nil, false, fmt.Errorf("%s sends a list in an unknown form: %w", c.Address(), err)
		}
		found = append(found, page.Servers...)
		cursor = page.Metadata.NextCursor
		switch {
		case len(found) > most:
			return found[:most], true, nil
		case cursor == "":
			return found, false, nil
		case seen[cursor]:
			return nil, false, fmt.Errorf("%s repeats a page of its list without an end", c.Address())
		}
		seen[cursor] = true
	}
	return found, true, nil
}

// get returns the JSON at path.
func (c Client) get(ctx context.Context, path string) ([]byte, error) {
	base, err := url.Parse(c.Address())
	if err != nil {
		return nil, errors.New("the address of the MCP registry is no URL")
	}
	if err := Check(base); err != nil {
		return nil, err
	}
	if c.Offline {
		return nil, fmt.Errorf("ask %s: %w", c.Address(), reconcile.ErrOffline)
	}
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, c.Address()+path, nil)
	if err != nil {
		return nil, fmt.Errorf("ask %s: %w", c.Address(), err)
	}
	req.Header.Set("Accept", "application/json")
	resp, err := c.client().Do(req)
	if err != nil {
		var u *url.Error
		if errors.As(err, &u) {
			err = u.Err
		}
		return nil, fmt.Errorf("ask %s: %w", c.Address(), err)
	}
	defer resp.Body.Close()
	if err := c.status(resp); err != nil {
		return nil, err
	}
	return c.read(resp)
}

// client is HTTP with redirects within the registry alone: another origin would
// decide what runs here.
func (c Client) client() *http.Client {
	client := http.Client{}
	if c.HTTP != nil {
		client = *c.HTTP
	}
	client.CheckRedirect = func(req *http.Request, via []*http.Request) error {
		from := via[0].URL
		switch {
		case !strings.EqualFold(from.Scheme, req.URL.Scheme) || !strings.EqualFold(from.Host, req.URL.Host):
			return advice.New(fmt.Errorf("refusing its redirect to %s://%s", req.URL.Scheme, req.URL.Host), "if that is the registry that you mean, name it with --registry")
		case len(via) > 5:
			return errors.New("it redirects in a circle")
		}
		return nil
	}
	return &client
}

// status explains a response without content.
func (c Client) status(resp *http.Response) error {
	switch code := resp.StatusCode; {
	case code == http.StatusOK:
		return nil
	case code == http.StatusNotFound || code == http.StatusGone:
		return ErrNotFound
	case code == http.StatusUnauthorized || code == http.StatusForbidden:
		return fmt.Errorf("%s answered %s: it wants a login, which aisync cannot send to a registry", c.Address(), resp.Status)
	case code >= 500 || code == http.StatusTooManyRequests || code == http.StatusRequestTimeout:
		return advice.New(fmt.Errorf("%s answered %s", c.Address(), resp.Status), "try again later")
	default:
		return fmt.Errorf("%s answered %s", c.Address(), resp.Status)
	}
}

// read returns the body of resp, which must be JSON of a bearable size.
func (c Client) read(resp *http.Response) ([]byte, error) {
	b, err := io.ReadAll(io.LimitReader(resp.Body, maxAnswer+1))
	if err != nil {
		return nil, fmt.Errorf("ask %s: %w", c.Address(), err)
	}
	if len(b) > maxAnswer {
		return nil, fmt.Errorf("%s answered with more than %d MiB, which no server's description has", c.Address(), maxAnswer>>20)
	}
	if kind, _, _ := mime.ParseMediaType(resp.Header.Get("Content-Type")); kind == "text/html" || !json.Valid(b) {
		return nil, advice.New(fmt.Errorf("%s answered with %s and not with JSON: it is no MCP registry", c.Address(), cmp.Or(kind, "something else")), "check its address (--registry, AISYNC_MCP_REGISTRY)")
	}
	return b, nil
}

// Check refuses an address that a registry cannot have. What it says decides
// which programs run here, so it must not be changed on its way.
func Check(u *url.URL) error {
	switch {
	case u.Host == "" || u.Scheme != "https" && u.Scheme != "http":
		return fmt.Errorf("the address of an MCP registry begins with https://")
	case u.User != nil || u.RawQuery != "" || u.Fragment != "":
		return fmt.Errorf("the address of an MCP registry has no login, query or fragment")
	case u.Scheme == "http" && !ssrf.Here(u.Hostname()):
		return fmt.Errorf("http://%s: an MCP registry on another machine must be asked over https", u.Host)
	}
	return nil
}

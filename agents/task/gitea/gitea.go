// Package gitea turns issues of a Gitea server into tasks that wait for a
// person's approval, and reports back with comments and pull requests. It merges
// and closes nothing, and no error, task or report contains the token. Call
// Open, then Issue.Task.
package gitea

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"regexp"
	"strconv"
	"strings"
	"time"

	sdk "code.gitea.io/sdk/gitea"
)

// Server is one Gitea server, used with the rights of a token.
type Server struct {
	url    string
	token  string
	client *sdk.Client
}

// Repo is a repository on it.
type Repo struct{ Owner, Name string }

func (r Repo) String() string { return r.Owner + "/" + r.Name }

// Issue is the source of a task.
type Issue struct {
	Repo    Repo
	Number  int64
	Title   string
	Body    string
	Author  string
	URL     string
	Labels  []string
	Created time.Time
}

var names = regexp.MustCompile(`^[A-Za-z0-9_][A-Za-z0-9_.-]*$`)

// ParseRepo parses OWNER/REPO.
func ParseRepo(s string) (Repo, error) {
	owner, name, ok := strings.Cut(s, "/")
	if !ok || !names.MatchString(owner) || !names.MatchString(name) {
		return Repo{}, fmt.Errorf("%q: want OWNER/REPO", s)
	}
	return Repo{owner, name}, nil
}

// ParseIssue parses OWNER/REPO#N. Without #N the number is 0.
func ParseIssue(s string) (Repo, int64, error) {
	repo, number, numbered := strings.Cut(s, "#")
	r, err := ParseRepo(repo)
	if err != nil || !numbered {
		return r, 0, err
	}
	n, err := strconv.ParseInt(number, 10, 64)
	if err != nil || n < 1 {
		return r, 0, fmt.Errorf("%q: want OWNER/REPO#N, where N is the number of an issue", s)
	}
	return r, n, nil
}

// maxAnswer bounds a server's response.
const maxAnswer = 16 << 20

// Open connects to the server at a URL. Without a token it can read only what is
// public. ctx bounds all requests.
func Open(ctx context.Context, at, token string) (*Server, error) {
	u, err := url.Parse(at)
	switch {
	case err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https":
		return nil, errors.New("the address of the Gitea server is not an http:// or https:// URL")
	case u.User != nil:
		return nil, errors.New("the address of the Gitea server contains a name or password; give the token separately")
	}
	s := &Server{url: strings.TrimSuffix(at, "/"), token: token}
	s.client, err = sdk.NewClient(s.url, sdk.SetContext(ctx), sdk.SetToken(token), sdk.SetUserAgent("aisync"), sdk.SetHTTPClient(&http.Client{
		Timeout:   time.Minute,
		Transport: bounded{http.DefaultTransport},
		CheckRedirect: func(r *http.Request, _ []*http.Request) error {
			return fmt.Errorf("refusing to forward the token to redirect target %s://%s", r.URL.Scheme, r.URL.Host)
		},
	}))
	if errors.Is(err, &sdk.ErrUnknownVersion{}) {
		err = nil // another forge with the same API
	}
	return s, s.wrap("ask for its version", nil, err)
}

// bounded cuts off endless responses.
type bounded struct{ http.RoundTripper }

func (b bounded) RoundTrip(r *http.Request) (*http.Response, error) {
	res, err := b.RoundTripper.RoundTrip(r)
	if err == nil {
		res.Body = limited{io.LimitReader(res.Body, maxAnswer), res.Body}
	}
	return res, err
}

type limited struct {
	io.Reader
	io.Closer
}

// wrap adds the request and the server to an error, without the token, and what
// to do.
func (s *Server) wrap(doing string, res *sdk.Response, err error) error {
	if err == nil {
		return nil
	}
	text := err.Error()
	if s.token != "" {
		text = strings.ReplaceAll(text, s.token, "…")
	}
	if res != nil && res.Response != nil {
		switch res.StatusCode {
		case http.StatusUnauthorized, http.StatusForbidden:
			if s.token == "" {
				text += " (no token was given)"
			}
		case http.StatusNotFound:
			text += " (missing, or not accessible with this token)"
		}
		if !strings.Contains(text, strconv.Itoa(res.StatusCode)) {
			text = res.Status + ": " + text
		}
	}
	return fmt.Errorf("%s: %s: %s", s.url, doing, text)
}

// Issue returns one issue.
func (s *Server) Issue(repo Repo, number int64) (Issue, error) {
	got, res, err := s.client.GetIssue(repo.Owner, repo.Name, number)
	if err := s.wrap(fmt.Sprintf("read %s#%d", repo, number), res, err); err != nil {
		return Issue{}, err
	}
	if got.PullRequest != nil {
		return Issue{}, fmt.Errorf("%s: %s#%d is a pull request", s.url, repo, number)
	}
	return of(repo, got), nil
}

// Labelled returns the open issues that have a label, oldest first.
func (s *Server) Labelled(repo Repo, label string) ([]Issue, error) {
	var all []Issue
	const most = 100 // pages
	for page := 1; page <= most; page++ {
		got, res, err := s.client.ListRepoIssues(repo.Owner, repo.Name, sdk.ListIssueOption{
			ListOptions: sdk.ListOptions{Page: page, PageSize: 50}, State: sdk.StateOpen, Type: sdk.IssueTypeIssue, Labels: []string{label},
		})
		if err := s.wrap(fmt.Sprintf("list the issues of %s", repo), res, err); err != nil {
			return nil, err
		}
		for _, i := range got {
			if issue := of(repo, i); i.PullRequest == nil && issue.has(label) { // older servers ignore an unknown label
				all = append([]Issue{issue}, all...)
			}
		}
		if len(got) == 0 || res.NextPage == 0 {
			return all, nil
		}
	}
	return nil, fmt.Errorf("%s: %s has more than %d pages of issues labelled %s", s.url, repo, most, label)
}

func of(repo Repo, i *sdk.Issue) Issue {
	out := Issue{Repo: repo, Number: i.Index, Title: i.Title, Body: i.Body, URL: i.HTMLURL, Created: i.Created}
	if i.Poster != nil {
		out.Author = i.Poster.UserName
	}
	for _, l := range i.Labels {
		out.Labels = append(out.Labels, l.Name)
	}
	return out
}

func (i Issue) has(label string) bool {
	for _, l := range i.Labels {
		if l == label {
			return true
		}
	}
	return false
}

// Comment comments on an issue, and returns the comment's address. It removes
// the token from the text.
func (s *Server) Comment(repo Repo, number int64, text string) (at string, err error) {
	c, res, err := s.client.CreateIssueComment(repo.Owner, repo.Name, number, sdk.CreateIssueCommentOption{Body: s.clean(text)})
	if err := s.wrap(fmt.Sprintf("comment on %s#%d", repo, number), res, err); err != nil {
		return "", err
	}
	return c.HTMLURL, nil
}

// Pull opens a pull request of a pushed branch into base, and returns its
// address.
func (s *Server) Pull(repo Repo, branch, base, title, text string) (at string, err error) {
	p, res, err := s.client.CreatePullRequest(repo.Owner, repo.Name, sdk.CreatePullRequestOption{Head: branch, Base: base, Title: s.clean(title), Body: s.clean(text)})
	if err := s.wrap(fmt.Sprintf("open a pull request in %s for %s", repo, branch), res, err); err != nil {
		return "", err
	}
	return p.HTMLURL, nil
}

func (s *Server) clean(text string) string {
	if s.token == "" {
		return text
	}
	return strings.ReplaceAll(text, s.token, "…")
}

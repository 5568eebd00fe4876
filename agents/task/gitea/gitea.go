// Package gitea reads issues of a Gitea server, makes tasks of them that wait
// for a person's approval, and reports back: comments, pull requests. It
// merges nothing, closes nothing, and lets no error, task or report hold the
// token. Start reading at Open and Task.
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

// Server is one Gitea server, spoken to with the rights of a token.
type Server struct {
	url    string
	token  string
	client *sdk.Client
}

// Repo is a repository of it.
type Repo struct{ Owner, Name string }

func (r Repo) String() string { return r.Owner + "/" + r.Name }

// Issue is what a task is made of.
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

// ParseRepo reads OWNER/REPO.
func ParseRepo(s string) (Repo, error) {
	owner, name, ok := strings.Cut(s, "/")
	if !ok || !names.MatchString(owner) || !names.MatchString(name) {
		return Repo{}, fmt.Errorf("%q is no OWNER/REPO", s)
	}
	return Repo{owner, name}, nil
}

// ParseIssue reads OWNER/REPO#N. Without #N the number is 0.
func ParseIssue(s string) (Repo, int64, error) {
	repo, number, numbered := strings.Cut(s, "#")
	r, err := ParseRepo(repo)
	if err != nil || !numbered {
		return r, 0, err
	}
	n, err := strconv.ParseInt(number, 10, 64)
	if err != nil || n < 1 {
		return r, 0, fmt.Errorf("%q is no OWNER/REPO#N: N is the number of an issue", s)
	}
	return r, n, nil
}

// maxAnswer is the most that a server may answer with.
const maxAnswer = 16 << 20

// Open connects to the server at a URL. The token may be "", for what anybody
// may read. ctx holds for all that the server is asked.
func Open(ctx context.Context, at, token string) (*Server, error) {
	u, err := url.Parse(at)
	switch {
	case err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https":
		return nil, errors.New("the address of the Gitea server is no http:// or https:// URL")
	case u.User != nil:
		return nil, errors.New("the address of the Gitea server holds a name or password; a token is given by itself")
	}
	s := &Server{url: strings.TrimSuffix(at, "/"), token: token}
	s.client, err = sdk.NewClient(s.url, sdk.SetContext(ctx), sdk.SetToken(token), sdk.SetUserAgent("aisync"), sdk.SetHTTPClient(&http.Client{
		Timeout:   time.Minute,
		Transport: bounded{http.DefaultTransport},
		CheckRedirect: func(r *http.Request, _ []*http.Request) error {
			return fmt.Errorf("the server leads on to %s://%s, where a token of its does not belong", r.URL.Scheme, r.URL.Host)
		},
	}))
	if errors.Is(err, &sdk.ErrUnknownVersion{}) {
		err = nil // another forge of the same interface
	}
	return s, s.wrap("ask for its version", nil, err)
}

// bounded cuts off answers that have no end.
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

// wrap says what was asked of whom, without the token, and what to do.
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
			text += " (it is not there, or not for this token)"
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
			if issue := of(repo, i); i.PullRequest == nil && issue.has(label) { // older servers take an unknown label for none
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

// Comment writes below an issue, and returns where it can be read. The token is
// taken out of the text, should it stand there.
func (s *Server) Comment(repo Repo, number int64, text string) (at string, err error) {
	c, res, err := s.client.CreateIssueComment(repo.Owner, repo.Name, number, sdk.CreateIssueCommentOption{Body: s.clean(text)})
	if err := s.wrap(fmt.Sprintf("comment on %s#%d", repo, number), res, err); err != nil {
		return "", err
	}
	return c.HTMLURL, nil
}

// Pull asks for a branch that the server has to be taken over into base, and
// returns where that is discussed.
func (s *Server) Pull(repo Repo, branch, base, title, text string) (at string, err error) {
	p, res, err := s.client.CreatePullRequest(repo.Owner, repo.Name, sdk.CreatePullRequestOption{Head: branch, Base: base, Title: s.clean(title), Body: s.clean(text)})
	if err := s.wrap(fmt.Sprintf("ask %s to take over %s", repo, branch), res, err); err != nil {
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

// Package gitea turns issues of a Gitea server into tasks that wait for a
// person's approval, and reports back with comments and pull requests. It merges
// and closes nothing, and no error, task or report contains the token. Call
// Open, then Issue.Task.
package gitea

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Server is one Gitea server, used with the rights of a token. Its API is at
// https://docs.gitea.com/api; of that, five requests are used.
type Server struct {
	url    string
	token  string
	ctx    context.Context // bounds all requests of a command
	client *http.Client
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
	s := &Server{url: strings.TrimSuffix(at, "/"), token: token, ctx: ctx, client: &http.Client{
		Timeout: time.Minute,
		CheckRedirect: func(r *http.Request, _ []*http.Request) error {
			return fmt.Errorf("refusing to forward the token to redirect target %s://%s", r.URL.Scheme, r.URL.Host)
		},
	}}
	_, err = s.ask("ask for its version", http.MethodGet, "/version", nil, nil, &struct{}{})
	return s, err
}

// ask sends a request below the API's root, with in as JSON, and reads the answer
// into out. more reports whether there is another page. An error names the server
// and what it was asked for, without the token, and what to do.
func (s *Server) ask(doing, method, at string, query url.Values, in, out any) (more bool, err error) {
	defer func() {
		if err != nil {
			err = fmt.Errorf("%s: %s: %s", s.url, doing, s.clean(err.Error()))
		}
	}()
	body, err := json.Marshal(in)
	if err != nil {
		return false, err
	}
	r, err := http.NewRequestWithContext(s.ctx, method, s.url+"/api/v1"+at+"?"+query.Encode(), bytes.NewReader(body))
	if err != nil {
		return false, err
	}
	r.Header.Set("User-Agent", "aisync")
	r.Header.Set("Accept", "application/json")
	if in != nil {
		r.Header.Set("Content-Type", "application/json")
	}
	if s.token != "" {
		r.Header.Set("Authorization", "token "+s.token)
	}
	res, err := s.client.Do(r)
	if err != nil {
		return false, err
	}
	defer res.Body.Close()
	text, err := io.ReadAll(io.LimitReader(res.Body, maxAnswer))
	switch {
	case err != nil:
		return false, err
	case res.StatusCode < 200 || res.StatusCode > 299:
		return false, errors.New(s.refusal(res, text))
	}
	if err := json.Unmarshal(text, out); err != nil {
		return false, fmt.Errorf("its answer is not what the API of Gitea says: %w", err)
	}
	return strings.Contains(res.Header.Get("Link"), `rel="next"`), nil
}

// refusal is what a server's answer with an error says.
func (s *Server) refusal(res *http.Response, text []byte) string {
	var said struct {
		Message string `json:"message"`
	}
	_ = json.Unmarshal(text, &said) // not every server says why
	why := res.Status
	if said.Message != "" {
		why += ": " + said.Message
	}
	switch {
	case (res.StatusCode == http.StatusUnauthorized || res.StatusCode == http.StatusForbidden) && s.token == "":
		return why + " (no token was given)"
	case res.StatusCode == http.StatusNotFound:
		return why + " (missing, or not accessible with this token)"
	}
	return why
}

// issue is an issue as the server has it.
type issue struct {
	Number  int64     `json:"number"`
	Title   string    `json:"title"`
	Body    string    `json:"body"`
	URL     string    `json:"html_url"`
	Created time.Time `json:"created_at"`
	User    struct {
		Login string `json:"login"`
	} `json:"user"`
	Labels []struct {
		Name string `json:"name"`
	} `json:"labels"`
	PullRequest *struct{} `json:"pull_request"`
}

// created is what the server made.
type created struct {
	URL string `json:"html_url"`
}

func (r Repo) path() string {
	return "/repos/" + url.PathEscape(r.Owner) + "/" + url.PathEscape(r.Name)
}

// Issue returns one issue.
func (s *Server) Issue(repo Repo, number int64) (Issue, error) {
	var got issue
	if _, err := s.ask(fmt.Sprintf("read %s#%d", repo, number), http.MethodGet, repo.path()+"/issues/"+strconv.FormatInt(number, 10), nil, nil, &got); err != nil {
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
		var got []issue
		more, err := s.ask(fmt.Sprintf("list the issues of %s", repo), http.MethodGet, repo.path()+"/issues", url.Values{
			"page": {strconv.Itoa(page)}, "limit": {"50"}, "state": {"open"}, "type": {"issues"}, "labels": {label},
		}, nil, &got)
		if err != nil {
			return nil, err
		}
		for _, i := range got {
			if issue := of(repo, i); i.PullRequest == nil && issue.has(label) { // older servers ignore an unknown label
				all = append([]Issue{issue}, all...)
			}
		}
		if len(got) == 0 || !more {
			return all, nil
		}
	}
	return nil, fmt.Errorf("%s: %s has more than %d pages of issues labelled %s", s.url, repo, most, label)
}

func of(repo Repo, i issue) Issue {
	out := Issue{Repo: repo, Number: i.Number, Title: i.Title, Body: i.Body, Author: i.User.Login, URL: i.URL, Created: i.Created}
	for _, l := range i.Labels {
		out.Labels = append(out.Labels, l.Name)
	}
	return out
}

func (i Issue) has(label string) bool { return slices.Contains(i.Labels, label) }

// Comment comments on an issue, and returns the comment's address. It removes
// the token from the text.
func (s *Server) Comment(repo Repo, number int64, text string) (at string, err error) {
	var made created
	_, err = s.ask(fmt.Sprintf("comment on %s#%d", repo, number), http.MethodPost, fmt.Sprintf("%s/issues/%d/comments", repo.path(), number), nil,
		map[string]string{"body": s.clean(text)}, &made)
	return made.URL, err
}

// Pull opens a pull request of a pushed branch into base, and returns its
// address.
func (s *Server) Pull(repo Repo, branch, base, title, text string) (at string, err error) {
	var made created
	_, err = s.ask(fmt.Sprintf("open a pull request in %s for %s", repo, branch), http.MethodPost, repo.path()+"/pulls", nil,
		map[string]string{"head": branch, "base": base, "title": s.clean(title), "body": s.clean(text)}, &made)
	return made.URL, err
}

func (s *Server) clean(text string) string {
	if s.token == "" {
		return text
	}
	return strings.ReplaceAll(text, s.token, "…")
}

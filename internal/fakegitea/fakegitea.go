// Package fakegitea is a Gitea server for tests: the part of its API that aisync
// uses, as documented, over real HTTP. It records requests. Call Start.
//
// https://docs.gitea.com/api/ is the documentation; a server shows its own
// version at /api/swagger.
package fakegitea

import (
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"
)

// Issue is an issue of the only repository.
type Issue struct {
	Number int64
	Title  string
	Body   string
	Labels []string
	Closed bool
	Pull   bool // it is a pull request
}

// Comment is a recorded comment.
type Comment struct {
	Issue int64
	Body  string
}

// Pull is a recorded pull request.
type Pull struct {
	Number                  int64
	Head, Base, Title, Body string
}

// Server runs until Close.
type Server struct {
	URL   string
	Repo  string // OWNER/REPO
	Token string // the required token
	http  http.Server

	mu       sync.Mutex
	branch   func(name string) bool // reports whether a branch exists; nil: every branch does
	issues   []Issue
	comments []Comment
	pulls    []Pull
	asked    []string
}

// Start listens on a free port of loopback.
func Start(repo, token string, issues ...Issue) (*Server, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	s := &Server{URL: "http://" + l.Addr().String(), Repo: repo, Token: token, issues: issues}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /api/v1/version", func(w http.ResponseWriter, _ *http.Request) { answer(w, 200, object{"version": "1.24.6"}) })
	mux.HandleFunc("GET /api/v1/repos/{owner}/{repo}", s.repository)
	mux.HandleFunc("GET /api/v1/repos/{owner}/{repo}/issues", s.list)
	mux.HandleFunc("GET /api/v1/repos/{owner}/{repo}/issues/{n}", s.get)
	mux.HandleFunc("POST /api/v1/repos/{owner}/{repo}/issues/{n}/comments", s.comment)
	mux.HandleFunc("POST /api/v1/repos/{owner}/{repo}/pulls", s.pull)
	s.http = http.Server{Handler: s.guard(mux), ReadHeaderTimeout: 10 * time.Second}
	go s.http.Serve(l) // ends with Close
	return s, nil
}

// Close cuts all connections.
func (s *Server) Close() error { return s.http.Close() }

// Branches sets the function that reports whether a branch exists. By default
// every branch does.
func (s *Server) Branches(has func(name string) bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.branch = has
}

// Comments returns the comments, oldest first.
func (s *Server) Comments() []Comment {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.comments)
}

// Pulls returns the pull requests, oldest first.
func (s *Server) Pulls() []Pull {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.pulls)
}

// Asked returns "METHOD URI" of every request.
func (s *Server) Asked() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.asked)
}

type object map[string]any

func answer(w http.ResponseWriter, status int, v any) {
	w.Header().Set("Content-Type", "application/json;charset=utf-8")
	w.WriteHeader(status)
	json.NewEncoder(w).Encode(v)
}

// refuse writes an error response.
func (s *Server) refuse(w http.ResponseWriter, status int, format string, args ...any) {
	answer(w, status, object{"message": fmt.Sprintf(format, args...), "url": s.URL + "/api/swagger"})
}

// guard checks the token, except for the version, and the repository.
func (s *Server) guard(mux *http.ServeMux) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		s.mu.Lock()
		s.asked = append(s.asked, r.Method+" "+r.RequestURI)
		s.mu.Unlock()
		switch auth := r.Header.Get("Authorization"); {
		case r.URL.Path == "/api/v1/version":
		case auth == "":
			s.refuse(w, http.StatusUnauthorized, "token is required")
			return
		case auth != "token "+s.Token:
			s.refuse(w, http.StatusUnauthorized, "user does not exist [uid: 0, name: ]")
			return
		case !strings.HasPrefix(r.URL.Path+"/", "/api/v1/repos/"+s.Repo+"/"):
			s.refuse(w, http.StatusNotFound, "GetRepositoryByOwnerAndName")
			return
		}
		mux.ServeHTTP(w, r)
	})
}

// repository is GET /repos/{owner}/{repo}. As with a server behind a proxy, the
// addresses for git have another host than the API.
func (s *Server) repository(w http.ResponseWriter, _ *http.Request) {
	owner, name, _ := strings.Cut(s.Repo, "/")
	answer(w, 200, object{
		"id": 1, "owner": object{"id": 1, "login": owner}, "name": name, "full_name": s.Repo, "private": true, "fork": false, "default_branch": "main",
		"html_url": "https://gitea.example/" + s.Repo, "clone_url": "https://gitea.example/" + s.Repo + ".git", "ssh_url": "ssh://git@ssh.gitea.example:2222/" + s.Repo + ".git",
	})
}

func (s *Server) issue(i Issue) object {
	labels := []object{}
	for n, l := range i.Labels {
		labels = append(labels, object{"id": n + 1, "name": l, "color": "e11d48", "exclusive": false, "is_archived": false, "description": "", "url": s.URL + "/api/v1/repos/" + s.Repo + "/labels/" + strconv.Itoa(n+1)})
	}
	state, kind := "open", "issues"
	if i.Closed {
		state = "closed"
	}
	owner, name, _ := strings.Cut(s.Repo, "/")
	out := object{
		"id": 1000 + i.Number, "number": i.Number, "title": i.Title, "body": i.Body, "state": state, "labels": labels, "comments": 0,
		"url":    fmt.Sprintf("%s/api/v1/repos/%s/issues/%d", s.URL, s.Repo, i.Number),
		"user":   object{"id": 1, "login": "maintainer", "full_name": "", "email": "maintainer@noreply.localhost"},
		"assets": []object{}, "assignee": nil, "assignees": nil, "milestone": nil, "is_locked": false, "original_author": "", "original_author_id": 0, "pin_order": 0, "ref": "",
		"created_at": "2026-02-02T10:00:00Z", "updated_at": "2026-02-02T10:00:00Z", "closed_at": nil, "due_date": nil, "pull_request": nil,
		"repository": object{"id": 1, "name": name, "owner": owner, "full_name": s.Repo},
	}
	if i.Pull {
		kind = "pulls"
		out["pull_request"] = object{"merged": false, "merged_at": nil, "draft": false, "html_url": ""}
	}
	out["html_url"] = fmt.Sprintf("%s/%s/%s/%d", s.URL, s.Repo, kind, i.Number)
	return out
}

// list is GET /repos/{owner}/{repo}/issues: by state, labels (all of them),
// type, page and limit; newest first, with a link header to the next page.
func (s *Server) list(w http.ResponseWriter, r *http.Request) {
	q := r.URL.Query()
	s.mu.Lock()
	defer s.mu.Unlock()
	var found []object
	for n := len(s.issues) - 1; n >= 0; n-- {
		i := s.issues[n]
		state := q.Get("state")
		fits := state == "all" || i.Closed == (state == "closed")
		fits = fits && (q.Get("type") == "" || i.Pull == (q.Get("type") == "pulls"))
		for _, l := range strings.Split(q.Get("labels"), ",") {
			fits = fits && (l == "" || slices.Contains(i.Labels, l))
		}
		if fits {
			found = append(found, s.issue(i))
		}
	}
	page, _ := strconv.Atoi(q.Get("page"))
	limit, _ := strconv.Atoi(q.Get("limit"))
	if limit < 1 || limit > 50 {
		limit = 50 // MAX_RESPONSE_ITEMS
	}
	page = max(1, page)
	from, to := min((page-1)*limit, len(found)), min(page*limit, len(found))
	if to < len(found) {
		q.Set("page", strconv.Itoa(page+1))
		next := url.URL{Path: r.URL.Path, RawQuery: q.Encode()}
		w.Header().Set("Link", fmt.Sprintf(`<%s%s>; rel="next"`, s.URL, next.String()))
	}
	w.Header().Set("X-Total-Count", strconv.Itoa(len(found)))
	answer(w, 200, append([]object{}, found[from:to]...))
}

// find returns the issue that a request names, or responds with an error.
func (s *Server) find(w http.ResponseWriter, r *http.Request) (Issue, bool) {
	n, _ := strconv.ParseInt(r.PathValue("n"), 10, 64)
	for _, i := range s.issues {
		if i.Number == n {
			return i, true
		}
	}
	s.refuse(w, http.StatusNotFound, "issue does not exist [id: 0, repo_id: 1, index: %d]", n)
	return Issue{}, false
}

func (s *Server) get(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if i, ok := s.find(w, r); ok {
		answer(w, 200, s.issue(i))
	}
}

// comment is POST /repos/{owner}/{repo}/issues/{index}/comments.
func (s *Server) comment(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	i, ok := s.find(w, r)
	if !ok {
		return
	}
	var c struct{ Body string }
	if err := json.NewDecoder(r.Body).Decode(&c); err != nil || c.Body == "" {
		s.refuse(w, http.StatusUnprocessableEntity, "[Body]: Required")
		return
	}
	s.comments = append(s.comments, Comment{i.Number, c.Body})
	id := len(s.comments)
	answer(w, http.StatusCreated, object{
		"id": id, "html_url": fmt.Sprintf("%s/%s/issues/%d#issuecomment-%d", s.URL, s.Repo, i.Number, id), "body": c.Body,
		"issue_url": fmt.Sprintf("%s/%s/issues/%d", s.URL, s.Repo, i.Number), "pull_request_url": "",
		"user": object{"id": 2, "login": "executor"}, "created_at": "2026-02-02T11:00:00Z", "updated_at": "2026-02-02T11:00:00Z",
	})
}

// pull is POST /repos/{owner}/{repo}/pulls: 409 if the pull request exists, 404
// if a branch is missing.
func (s *Server) pull(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	var p Pull
	if err := json.NewDecoder(r.Body).Decode(&p); err != nil || p.Head == "" || p.Base == "" || p.Title == "" {
		s.refuse(w, http.StatusUnprocessableEntity, "[Title]: Required")
		return
	}
	for _, branch := range []string{p.Head, p.Base} {
		if s.branch != nil && !s.branch(branch) {
			s.refuse(w, http.StatusNotFound, "The target couldn't be found.")
			return
		}
	}
	for _, other := range s.pulls {
		if other.Head == p.Head && other.Base == p.Base {
			s.refuse(w, http.StatusConflict, "pull request already exists for these targets [id: %d, issue_id: %d, head_repo_id: 1, base_repo_id: 1, head_branch: %s, base_branch: %s]", other.Number, other.Number, p.Head, p.Base)
			return
		}
	}
	p.Number = int64(100 + len(s.pulls))
	s.pulls = append(s.pulls, p)
	at := fmt.Sprintf("%s/%s/pulls/%d", s.URL, s.Repo, p.Number)
	answer(w, http.StatusCreated, object{
		"id": p.Number, "number": p.Number, "title": p.Title, "body": p.Body, "state": "open", "html_url": at, "url": at, "diff_url": at + ".diff", "patch_url": at + ".patch",
		"labels": []object{}, "mergeable": true, "merged": false, "head": object{"label": p.Head, "ref": p.Head, "sha": ""}, "base": object{"label": p.Base, "ref": p.Base, "sha": ""},
		"user": object{"id": 2, "login": "executor"}, "created_at": "2026-02-02T11:00:00Z", "updated_at": "2026-02-02T11:00:00Z",
	})
}

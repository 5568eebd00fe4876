package gitea

import (
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"strings"
)

// Source returns the source of an issue's task, as in the task's file.
func (i Issue) Source() string { return fmt.Sprintf("gitea:%s:%d", i.Repo, i.Number) }

// ParseSource parses the source of a task: gitea:OWNER/REPO:N, as Source returns
// it, or gitea:PROJECT:N, which names a project of a repository and leaves the
// repository empty. ok is false for all others.
func ParseSource(source string) (repo Repo, number int64, ok bool) {
	rest, ok := strings.CutPrefix(source, "gitea:")
	at := strings.LastIndexByte(rest, ':')
	if !ok || at < 0 {
		return Repo{}, 0, false
	}
	number, err := strconv.ParseInt(rest[at+1:], 10, 64)
	if err != nil || number < 1 {
		return Repo{}, 0, false
	}
	if names.MatchString(rest[:at]) {
		return Repo{}, number, true
	}
	if repo, err = ParseRepo(rest[:at]); err != nil {
		return Repo{}, 0, false
	}
	return repo, number, true
}

// ErrElsewhere reports a git remote that leads to no repository of the server.
var ErrElsewhere = errors.New("not on the Gitea server")

// RepoAt returns the repository that the URL of a git remote leads to. A remote
// with another host than the server's address is compared with the addresses
// that the server has for that repository. Its error names no credentials of the
// URL.
func (s *Server) RepoAt(remote string) (Repo, error) {
	host, path, ok := splitRemote(remote)
	if !ok {
		return Repo{}, fmt.Errorf("%s, %w %s", remote, ErrElsewhere, s.url)
	}
	elsewhere := fmt.Errorf("%s/%s, %w %s", host, path, ErrElsewhere, s.url)
	parts := strings.Split(path, "/")
	if len(parts) < 2 {
		return Repo{}, elsewhere
	}
	repo, err := ParseRepo(strings.Join(parts[len(parts)-2:], "/"))
	if err != nil {
		return Repo{}, elsewhere
	}
	if own, _, _ := splitRemote(s.url); strings.EqualFold(host, own) {
		return repo, nil
	}
	var got struct {
		SSH   string `json:"ssh_url"`
		Clone string `json:"clone_url"`
	}
	if _, err := s.ask("read the repository "+repo.String(), http.MethodGet, repo.path(), nil, nil, &got); err != nil {
		return Repo{}, fmt.Errorf("%w: %w", elsewhere, err)
	}
	for _, at := range []string{got.SSH, got.Clone} {
		if own, _, ok := splitRemote(at); ok && strings.EqualFold(host, own) {
			return repo, nil
		}
	}
	return Repo{}, elsewhere
}

// splitRemote returns the host and the path of a remote's URL, in any of git's
// forms: https://host/path.git, ssh://user@host:port/path, user@host:path. ok is
// false for a folder.
// https://git-scm.com/docs/git-clone#_git_urls
func splitRemote(remote string) (host, path string, ok bool) {
	if strings.Contains(remote, "://") {
		u, err := url.Parse(remote)
		if err != nil || u.Hostname() == "" {
			return "", "", false
		}
		host, path = u.Hostname(), u.Path
	} else {
		before, after, colon := strings.Cut(remote, ":")
		if !colon || before == "" || strings.Contains(before, "/") {
			return "", "", false
		}
		host, path = before[strings.LastIndexByte(before, '@')+1:], after
	}
	return host, strings.TrimSuffix(strings.Trim(path, "/"), ".git"), true
}

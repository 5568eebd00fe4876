package gitea

import (
	"errors"
	"flag"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"aisync.dev/aisync/internal/fakegitea"
)

var update = flag.Bool("update", false, "rewrite testdata")

const token = "zq-token-of-a-person"

func server(t *testing.T, issues ...fakegitea.Issue) (*fakegitea.Server, *Server) {
	t.Helper()
	fake, err := fakegitea.Start("me/chiffon", token, issues...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { fake.Close() })
	s, err := Open(t.Context(), fake.URL+"/", token)
	if err != nil {
		t.Fatal(err)
	}
	return fake, s
}

var repo = Repo{"me", "chiffon"}

func TestIssueBecomesTaskFile(t *testing.T) {
	body, err := os.ReadFile("testdata/issue.md")
	if err != nil {
		t.Fatal(err)
	}
	_, s := server(t, fakegitea.Issue{Number: 42, Title: "A friendlier greeting\n# no comment", Body: string(body), Labels: []string{"chiffon:queue", "Priority/High"}})
	i, err := s.Issue(repo, 42)
	if err != nil {
		t.Fatal(err)
	}
	draft, err := i.Draft(nil)
	if err != nil {
		t.Fatal(err)
	}
	got := draft.Text
	const name = "testdata/task.yaml"
	if *update {
		if err := os.WriteFile(name, got, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), string(got)); diff != "" {
		t.Errorf("the task (-want +got; if it is right, run the test with -update):\n%s", diff)
	}
	if repo, n, ok := ParseSource(i.Source()); !ok || repo != i.Repo || n != 42 {
		t.Errorf("%s is read as %v#%d, %v", i.Source(), repo, n, ok)
	}
}

func TestIssueDefaults(t *testing.T) {
	task := func(body string) (string, error) {
		d, err := Issue{Repo: repo, Number: 7, Title: "Mend it", Body: body}.Draft(nil)
		return string(d.Text), err
	}
	text, err := task("# Tasks\n- `a.go`: mend it\n")
	if err != nil || !strings.Contains(text, "goal: |\n  Mend it\n") || !strings.Contains(text, "verify: []") || !strings.Contains(text, "allowed_write_globs:\n    - a.go\n") {
		t.Errorf("error %v, task:\n%s", err, text)
	}
	for body, wrong := range map[string]string{
		"":                                "no list of steps under a heading Tasks",
		"## Tasks\nMend it.\n":            "no list of steps under a heading Tasks",
		"## Tasks\n- [x] `a.go`: done\n":  "all items under its heading Tasks are ticked",
		"## Tasks\n- mend the `*.go`\n":   "names no file",
		"```\n## Tasks\n- `a.go`: x\n```": "no list of steps under a heading Tasks",
	} {
		if text, err := task(body); err == nil || !strings.Contains(err.Error(), wrong) || !strings.Contains(err.Error(), "me/chiffon#7") {
			t.Errorf("%q: error %v, task:\n%s", body, err, text)
		}
	}
}

func TestIssuesByLabel(t *testing.T) {
	issues := []fakegitea.Issue{
		{Number: 1, Labels: []string{"chiffon:queue"}, Closed: true}, {Number: 2, Labels: []string{"other"}},
		{Number: 3, Labels: []string{"chiffon:queue"}, Pull: true},
	}
	var want []int64
	for n := int64(4); n < 120; n++ {
		issues, want = append(issues, fakegitea.Issue{Number: n, Labels: []string{"other", "chiffon:queue"}}), append(want, n)
	}
	_, s := server(t, issues...)
	found, err := s.Labelled(repo, "chiffon:queue")
	var got []int64
	for _, i := range found {
		got = append(got, i.Number)
	}
	if err != nil || !slices.Equal(got, want) {
		t.Errorf("found %d, error %v", got, err)
	}
	if found, err := s.Labelled(repo, "unused"); err != nil || len(found) > 0 {
		t.Errorf("found %v, error %v", found, err)
	}
	if _, err := s.Issue(repo, 3); err == nil || !strings.Contains(err.Error(), "is a pull request") {
		t.Errorf("error %v", err)
	}
}

func TestCommentsHideToken(t *testing.T) {
	fake, s := server(t, fakegitea.Issue{Number: 7})
	at, err := s.Comment(repo, 7, "It is done with "+token+".")
	if err != nil || at != fake.URL+"/me/chiffon/issues/7#issuecomment-1" {
		t.Errorf("at %s, error %v", at, err)
	}
	at, err = s.Pull(repo, "chiffon/task-7/1", "main", "Mend "+token, "Of #7")
	if err != nil || at != fake.URL+"/me/chiffon/pulls/100" {
		t.Errorf("at %s, error %v", at, err)
	}
	said := fmt.Sprint(fake.Comments(), fake.Pulls(), fake.Asked())
	if strings.Contains(said, token) || !strings.Contains(said, "It is done with ….") || !strings.Contains(said, "chiffon/task-7/1") {
		t.Errorf("the server was told %s", said)
	}
	if _, err := s.Pull(repo, "chiffon/task-7/1", "main", "Mend", ""); err == nil || !strings.Contains(err.Error(), "already exists") {
		t.Errorf("error %v", err)
	}
}

func TestErrorsAdviseAndHideToken(t *testing.T) {
	fake, s := server(t)
	other, err := Open(t.Context(), fake.URL, "zq-another-token")
	if err != nil {
		t.Fatal(err)
	}
	anonymous, err := Open(t.Context(), fake.URL, "")
	if err != nil {
		t.Fatal(err)
	}
	elsewhere := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		t.Errorf("it was led on, with %q", r.Header.Get("Authorization"))
	}))
	defer elsewhere.Close()
	leads := httptest.NewServer(http.RedirectHandler(elsewhere.URL, http.StatusTemporaryRedirect))
	defer leads.Close()
	echoes := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/api/v1/version" {
			fmt.Fprint(w, `{"version":"9.0.0+gitea-1.22.0"}`)
			return
		}
		w.WriteHeader(http.StatusInternalServerError)
		fmt.Fprintf(w, `{"message":"you sent %s"}`, r.Header.Get("Authorization"))
	}))
	defer echoes.Close()
	echo, err := Open(t.Context(), echoes.URL, token)
	if err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		err error
		say string
	}{
		"no issue":     {second(s.Issue(repo, 9)), "missing, or not accessible with this token"},
		"no repo":      {second(s.Issue(Repo{"me", "other"}, 9)), "missing, or not accessible with this token"},
		"wrong token":  {second(other.Issue(repo, 9)), "401"},
		"no token":     {second(anonymous.Issue(repo, 9)), "no token was given"},
		"echo":         {second(echo.Issue(repo, 9)), "you sent token …"},
		"leads on":     {second(Open(t.Context(), leads.URL, token)), "refusing to forward the token"},
		"not there":    {second(Open(t.Context(), "http://127.0.0.1:1", token)), "refused"},
		"no URL":       {second(Open(t.Context(), "gitea.example", token)), "not an http:// or https:// URL"},
		"in the URL":   {second(Open(t.Context(), "https://me:"+token+"@gitea.example", "")), "contains a name or password"},
		"another file": {second(Open(t.Context(), "file:///etc", token)), "not an http:// or https:// URL"},
	} {
		if c.err == nil || !strings.Contains(c.err.Error(), c.say) || strings.Contains(c.err.Error(), token) || strings.Contains(c.err.Error(), "zq-another") {
			t.Errorf("%s: error %v, want one of %q", name, c.err, c.say)
		}
	}
}

func second[T any](_ T, err error) error { return err }

func TestParseIssue(t *testing.T) {
	for s, want := range map[string]string{
		"me/chiffon#42": "me/chiffon 42", "me/chiffon": "me/chiffon 0", "a.b/c-d_e#1": "a.b/c-d_e 1",
		"chiffon#1": "", "me/chiffon#": "", "me/chiffon#0": "", "me/chiffon#-1": "", "me/chiffon#x": "", "me/../x#1": "", "me/a/b": "", "/x": "", "../x#1": "", "me/chiffon#1#2": "",
	} {
		repo, n, err := ParseIssue(s)
		if got := fmt.Sprint(repo, " ", n); (err == nil) != (want != "") || err == nil && got != want {
			t.Errorf("%q is %s, error %v", s, got, err)
		}
	}
}

func TestParseSource(t *testing.T) {
	for s, want := range map[string]string{
		"gitea:me/chiffon:42": "me/chiffon 42", "gitea:orchestrator-core:42": "/ 42", "gitea:a.b_c:1": "/ 1",
		"": "", "gitea:": "", "gitea:core": "", "gitea::42": "", "gitea:core:0": "", "gitea:core:-1": "", "gitea:core:x": "", "github:me/x:1": "", "gitea:me/x:y": "", "gitea:../x:1": "", "gitea:a/b/c:1": "", "gitea:a b:1": "",
	} {
		repo, n, ok := ParseSource(s)
		if got := fmt.Sprint(repo, " ", n); ok != (want != "") || ok && got != want {
			t.Errorf("%q is %s, %v; want %q", s, got, ok, want)
		}
	}
}

func TestRepoAtRemote(t *testing.T) {
	fake, s := server(t)
	for remote, want := range map[string]string{
		fake.URL + "/me/chiffon.git":                      "me/chiffon",
		"http://me:secret@127.0.0.1/gitea/you/other/":     "you/other",
		"git@127.0.0.1:me/chiffon.git":                    "me/chiffon",
		"ssh://git@127.0.0.1:2222/me/chiffon.git":         "me/chiffon",
		"ssh://git@ssh.gitea.example:2222/me/chiffon.git": "me/chiffon", // the server's own name for it
		"https://GITEA.example/me/chiffon":                "me/chiffon",
		"git@github.com:me/chiffon.git":                   "",
		"https://me:secret@gitlab.com/me/chiffon.git":     "",
		"git@github.com:you/missing.git":                  "",
		"git@127.0.0.1:chiffon.git":                       "",
		"git@127.0.0.1:me/../chiffon":                     "",
		"../chiffon.git":                                  "",
		"/srv/git/me/chiffon.git":                         "",
		"file:///srv/git/me/chiffon.git":                  "",
	} {
		repo, err := s.RepoAt(remote)
		switch {
		case want == "" && (!errors.Is(err, ErrElsewhere) || strings.Contains(err.Error(), "secret") || !strings.Contains(err.Error(), fake.URL)):
			t.Errorf("%s is %s, error %v", remote, repo, err)
		case want != "" && (err != nil || repo.String() != want):
			t.Errorf("%s is %s, error %v; want %s", remote, repo, err, want)
		}
	}
}

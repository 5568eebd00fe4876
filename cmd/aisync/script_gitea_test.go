package main

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/rogpeppe/go-internal/testscript"

	"aisync.dev/aisync/internal/fakegitea"
)

// giteaKey is where a script's Gitea server is kept.
type giteaKey struct{}

// giteaToken is the token that the server asks for.
const giteaToken = "zq-gitea-token"

// readIssue reads NUMBER.md: the title after #, perhaps a line of labels, the
// text.
func readIssue(name, text string) (fakegitea.Issue, error) {
	number, err := strconv.ParseInt(strings.TrimSuffix(filepath.Base(name), ".md"), 10, 64)
	title, body, _ := strings.Cut(text, "\n")
	i := fakegitea.Issue{Number: number, Title: strings.TrimPrefix(title, "# ")}
	if labels, rest, ok := strings.Cut(body, "\n"); ok && strings.HasPrefix(labels, "Labels: ") {
		i.Labels, body = strings.Split(strings.TrimPrefix(labels, "Labels: "), ", "), rest
	}
	i.Body = body
	return i, err
}

// giteaCommand starts a Gitea server with the repository me/chiffon and some
// issues, and says in GITEA_URL where it is; with said, it wants that each TEXT
// was told to it.
func giteaCommand(ts *testscript.TestScript, neg bool, args []string) {
	if len(args) < 2 || args[0] != "serve" && args[0] != "said" {
		ts.Fatalf("usage: gitea serve ISSUE.md..., or: [!] gitea said TEXT...")
	}
	if args[0] == "said" {
		s, ok := ts.Value(giteaKey{}).(**fakegitea.Server)
		if !ok || *s == nil {
			ts.Fatalf("there is no server")
		}
		said := strings.Join((*s).Asked(), "\n")
		for _, c := range (*s).Comments() {
			said += "\n" + c.Body
		}
		for _, p := range (*s).Pulls() {
			said += "\n" + p.Head + " into " + p.Base + ": " + p.Title + "\n" + p.Body
		}
		for _, text := range args[1:] {
			if strings.Contains(said, text) == neg {
				ts.Fatalf("the server was told:\n%s", said)
			}
		}
		return
	}
	var issues []fakegitea.Issue
	for _, name := range args[1:] {
		text, err := os.ReadFile(ts.MkAbs(name))
		ts.Check(err)
		i, err := readIssue(name, string(text))
		ts.Check(err)
		issues = append(issues, i)
	}
	s, err := fakegitea.Start("me/chiffon", giteaToken, issues...)
	ts.Check(err)
	ts.Defer(func() { s.Close() })
	*ts.Value(giteaKey{}).(**fakegitea.Server) = s
	ts.Setenv("GITEA_URL", s.URL)
}

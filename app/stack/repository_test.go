package stack_test

import (
	"os"
	"slices"
	"strings"
	"testing"

	"aisync.dev/aisync/adapter"
	"aisync.dev/aisync/app/stack"
	"aisync.dev/aisync/app/stack/stacktest"
	"aisync.dev/aisync/reconcile"
	"aisync.dev/aisync/reconcile/fsys"
)

// committed returns a machine whose project is applied and committed.
func committed(t *testing.T, files map[string]string) *stacktest.Stage {
	t.Helper()
	s := stacktest.New(t, files)
	s.Git("init", "-q", "-b", "main")
	s.Apply()
	s.Git("add", "-A", ".")
	s.Git("commit", "-qm", "first")
	return s
}

func TestRepositoryReadsTheCommitOfTheLock(t *testing.T) {
	s := committed(t, nil)
	rule := fsys.LogicalPath(".claude/rules/x.md")
	first := s.Read("p/.claude/rules/x.md")
	s.Write("p/.claude/rules/x.md", "# Y\n")
	s.Git("commit", "-qam", "second")
	r := s.Open().Repository()
	if got, ok := r.Committed(rule); !ok || string(got) != first {
		t.Errorf("at the lock: %q, %v", got, ok)
	}
	if got, ok := r.Head(rule); !ok || string(got) != "# Y\n" {
		t.Errorf("at HEAD: %q, %v", got, ok)
	}
	for _, p := range []fsys.LogicalPath{"no/such", "/etc/passwd", "a\nb"} {
		if got, ok := r.Head(p); ok {
			t.Errorf("HEAD has %q: %q", p, got)
		}
	}
	if _, ok := r.Head(".claude"); ok {
		t.Error("a folder counts as a text")
	}
	if got, ok := r.Carried(t.Context(), []string{".claude/rules"}); !ok || !slices.Equal(got, []string{".claude/rules/x.md"}) {
		t.Errorf("carried %q, %v", got, ok)
	}
	if got := r.Prefix(); got != "" {
		t.Errorf("prefix %q", got)
	}
}

func TestRepositoryKnowsNothingWithoutGit(t *testing.T) {
	r := stacktest.New(t, nil).Open().Repository()
	if _, ok := r.Committed("aisync.cue"); ok {
		t.Error("a commit")
	}
	if _, ok := r.Head("aisync.cue"); ok {
		t.Error("a HEAD")
	}
	if _, ok := r.Carried(t.Context(), []string{"."}); ok {
		t.Error("files")
	}
	if r.CRLF(".claude/rules/x.md") {
		t.Error("line ends")
	}
}

func TestCRLFFollowsAttributesAndConfiguration(t *testing.T) {
	const rule = ".claude/rules/x.md"
	for name, c := range map[string]struct {
		attributes string
		config     []string // key and value
		want       bool
	}{
		"nothing":                   {"", nil, false},
		"eol=crlf":                  {"* text eol=crlf\n", nil, true},
		"eol=lf":                    {"* text eol=lf\n", []string{"core.autocrlf", "true"}, false},
		"binary":                    {"* -text\n", []string{"core.autocrlf", "true"}, false},
		"autocrlf":                  {"", []string{"core.autocrlf", "true"}, true},
		"autocrlf on the way in":    {"* text\n", []string{"core.autocrlf", "input"}, false},
		"text with core.eol":        {"* text=auto\n", []string{"core.eol", "crlf"}, true},
		"core.eol without text set": {"", []string{"core.eol", "crlf"}, false},
	} {
		t.Run(name, func(t *testing.T) {
			s := stacktest.New(t, nil)
			s.Git("init", "-q")
			if c.attributes != "" {
				s.Write("p/.gitattributes", c.attributes)
			}
			if c.config != nil {
				s.Git(append([]string{"config"}, c.config...)...)
			}
			if got := s.Open().Repository().CRLF(rule); got != c.want {
				t.Errorf("%v", got)
			}
		})
	}
}

func TestUntrackedFilesOfOurFoldersAreFound(t *testing.T) {
	s := committed(t, map[string]string{"p/src/mine.md": "mine\n"})
	for _, name := range []string{"p/.claude/rules/stray.md", "p/.claude/rules/deep/er.md", "p/.claude/rules/ignored.md", "p/.claude/rules/.DS_Store", "p/src/other.md"} {
		s.Write(name, "x\n")
	}
	s.Write("p/.git/info/exclude", "ignored.md\n")
	p, err := s.Open().Plan(t.Context(), stack.Request{Untracked: true})
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, c := range p.Changes {
		if c.Target.Stray {
			got = append(got, string(c.Target.Resource.Address))
		}
	}
	slices.Sort(got)
	want := []string{"file:.claude/rules/deep/er.md", "file:.claude/rules/stray.md"}
	if !slices.Equal(got, want) {
		t.Errorf("found %q, want %q", got, want)
	}
}

func TestFoldersSharedInGitHaveNoUntrackedFiles(t *testing.T) {
	s := stacktest.New(t, nil)
	s.Git("init", "-q", "-b", "main")
	s.Apply()
	s.Write("p/.claude/rules/theirs.md", "theirs\n")
	s.Git("add", "-A", ".")
	s.Git("commit", "-qm", "first")
	p, err := s.Open().Plan(t.Context(), stack.Request{Untracked: true})
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range p.Changes {
		if c.Target.Stray {
			t.Errorf("%s", c.Target.Resource.Address)
		}
	}
}

func TestIgnoredPathsAreThoseOfGit(t *testing.T) {
	s := stacktest.New(t, nil)
	s.Git("init", "-q")
	s.Write("p/.gitignore", "*.log\n")
	got := s.Open().Ignored(t.Context(), []fsys.LogicalPath{"a.log", "a.txt"})
	if !got["a.log"] || got["a.txt"] {
		t.Errorf("%v", got)
	}
}

func TestRunnerReportsWhatAProgramPrints(t *testing.T) {
	s := stacktest.New(t, nil)
	r := s.Machine().Runner()
	if out, err := r.Run(t.Context(), s.Dir, "sh", "-c", "echo $LANG"); err != nil || string(out) != "C.UTF-8\n" {
		t.Errorf("%q, %v", out, err)
	}
	if _, err := r.Run(t.Context(), s.Dir, "sh", "-c", "echo broken >&2; exit 3"); err == nil || !strings.HasSuffix(err.Error(), "exit status 3: broken") {
		t.Errorf("%v", err)
	}
	if !r.Has("sh") || r.Has("no-such-program") {
		t.Error("Has does not follow PATH")
	}
	r.Gate = func(op fsys.Op) error {
		if op.Name != "run" || op.Path != "sh -c true" {
			t.Errorf("the gate saw %+v", op)
		}
		return reconcile.ErrStale
	}
	if _, err := r.Run(t.Context(), s.Dir, "sh", "-c", "true"); err == nil || !strings.HasPrefix(err.Error(), "sh: ") {
		t.Errorf("%v", err)
	}
}

func TestHooksOfGitAreKept(t *testing.T) {
	githook := map[string]string{"rules/languages/x/githooks/pre-commit": "#!/bin/sh\n"}
	notes := func(s *stacktest.Stage) string {
		var out []string
		for _, n := range s.Open().Declared.Notes {
			out = append(out, n.Text)
		}
		return strings.Join(out, "\n")
	}
	t.Run("hooks in .git", func(t *testing.T) {
		s := stacktest.New(t, githook)
		s.Git("init", "-q")
		s.Write("p/.git/hooks/pre-push", "#!/bin/sh\n")
		s.Write("p/.git/hooks/plain", "text\n")
		s.Apply()
		if got := s.Git("config", "--local", "core.hooksPath"); !strings.HasSuffix(got, "/"+adapter.Chained+"\n") {
			t.Errorf("core.hooksPath is %q", got)
		}
		if got := s.Read("p/" + adapter.Chained + "/pre-push"); got == "" {
			t.Error("the hook in .git is not called")
		}
		if _, err := os.Stat(s.Path("p/" + adapter.Chained + "/plain")); err == nil {
			t.Error("a file that git does not run is called")
		}
	})
	t.Run("husky", func(t *testing.T) {
		s := stacktest.New(t, githook)
		s.Git("init", "-q")
		s.Git("config", "core.hooksPath", ".husky/_")
		if got := notes(s); !strings.Contains(got, "which husky set") {
			t.Errorf("notes:\n%s", got)
		}
	})
	t.Run("pre-commit and git lfs", func(t *testing.T) {
		s := stacktest.New(t, githook)
		s.Git("init", "-q")
		s.Write("p/.pre-commit-config.yaml", "repos: []\n")
		s.Write("p/.gitattributes", "*.bin filter=lfs\n")
		s.Write("p/githooks/post-merge", "#!/bin/sh\ncommand -v git-lfs >/dev/null\n")
		got := notes(s)
		for _, want := range []string{"pre-commit refuses to install", "git lfs install writes its hooks", "rm githooks/post-merge"} {
			if !strings.Contains(got, want) {
				t.Errorf("no %q in:\n%s", want, got)
			}
		}
	})
}

// Package githooks finds the git hooks that run in a project besides its own, and
// the tools that conflict with core.hooksPath. It reads files and git's
// configuration, and changes nothing. Call Active.
package githooks

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"aisync.dev/aisync/adapter"
	"aisync.dev/aisync/internal/environ"
	"aisync.dev/aisync/internal/gitrepo"
)

// Active returns the git hooks that run in the project now, besides its own.
// Without git or a repository there are none: the provider of core.hooksPath
// reports that.
func Active(ctx context.Context, env environ.Env, project string) adapter.Hooks {
	at := gitrepo.Place{Dir: project}
	config, err := gitrepo.ReadConfig(ctx, env.List(), at)
	if err != nil {
		return adapter.Hooks{}
	}
	common, err := gitrepo.Look(ctx, env.List(), at, "rev-parse", "--path-format=absolute", "--git-common-dir").Output()
	if err != nil {
		return adapter.Hooks{}
	}
	general, local := "", ""
	for _, e := range config.Entries {
		switch {
		case e.Key != "core.hookspath":
		case e.Scope == "global", e.Scope == "system":
			general = e.Value
		case e.Local():
			local = e.Value
		}
	}
	theirs := filepath.Join(strings.TrimSuffix(string(common), "\n"), "hooks")
	if general != "" {
		theirs = general
		if rest, ok := strings.CutPrefix(general, "~/"); ok {
			theirs = filepath.Join(env.Get("HOME"), rest)
		} else if !filepath.IsAbs(general) {
			theirs = filepath.Join(project, general)
		}
	}
	h := adapter.Hooks{Names: executables(theirs)}
	h.Active = general != "" || len(h.Names) > 0
	h.Shared = usesChainOfOtherTree(ctx, env, project, local, string(common))
	h.Notes = hookToolNotes(project, theirs, local, h)
	return h
}

// executables returns the names of the hooks in dir: regular files with an execute
// bit, without the examples, which end in .sample.
func executables(dir string) []string {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil
	}
	var out []string
	for _, e := range entries {
		info, err := os.Stat(filepath.Join(dir, e.Name()))
		if err == nil && info.Mode().IsRegular() && info.Mode()&0o111 != 0 && !strings.HasSuffix(e.Name(), ".sample") {
			out = append(out, e.Name())
		}
	}
	return out
}

// usesChainOfOtherTree reports whether value is the chain of another work tree of the
// same repository, whose configuration they share.
func usesChainOfOtherTree(ctx context.Context, env environ.Env, project, value, common string) bool {
	top, ok := strings.CutSuffix(value, "/"+adapter.Chained)
	if !ok || !filepath.IsAbs(value) || top == project {
		return false
	}
	if info, err := os.Stat(value); err != nil || !info.IsDir() {
		return false
	}
	theirs, err := gitrepo.Look(ctx, env.List(), gitrepo.Place{Dir: top}, "rev-parse", "--path-format=absolute", "--git-common-dir").Output()
	return err == nil && string(theirs) == common
}

// hookToolNotes returns notes about programs that install git hooks and conflict
// with core.hooksPath, each with what to type.
func hookToolNotes(project, theirs, local string, h adapter.Hooks) []string {
	var notes []string
	if local != "" && local != "githooks" && !strings.HasSuffix(local, "/"+adapter.Chained) {
		by := "another tool"
		if strings.HasPrefix(local, ".husky") {
			by = "husky"
		}
		notes = append(notes, fmt.Sprintf("core.hooksPath is %s, which %s set; to keep that alone, write githooks: false into the project of aisync.cue; to run only githooks/: aisync apply --scope project --force --restore --target gitconfig:core.hooksPath", local, by))
	}
	has := func(dir, name, mark string) bool {
		text, err := os.ReadFile(filepath.Join(dir, name))
		return err == nil && strings.Contains(string(text), mark)
	}
	if _, err := os.Stat(filepath.Join(project, ".pre-commit-config.yaml")); err == nil && !has(theirs, "pre-commit", "pre-commit") {
		notes = append(notes, `pre-commit refuses to install its hook while core.hooksPath is set; run: GIT_CONFIG_COUNT=1 GIT_CONFIG_KEY_0=core.hooksPath GIT_CONFIG_VALUE_0= pre-commit install && aisync apply --scope project`)
	}
	if has(project, ".gitattributes", "filter=lfs") && !has(theirs, "pre-push", "git lfs") && !has(theirs, "pre-push", "git-lfs") {
		var strays []string
		for _, name := range []string{"post-checkout", "post-commit", "post-merge", "pre-push"} {
			if has(filepath.Join(project, "githooks"), name, "command -v git-lfs >/dev/null") {
				strays = append(strays, "githooks/"+name)
			}
		}
		clean := ""
		if len(strays) > 0 {
			clean = "rm " + strings.Join(strays, " ") + " && "
		}
		notes = append(notes, "git lfs install writes its hooks into the folder of core.hooksPath, which is the project's; run: "+clean+`git -c core.hooksPath="$(git rev-parse --git-common-dir)/hooks" lfs install && aisync apply --scope project`)
	}
	return notes
}

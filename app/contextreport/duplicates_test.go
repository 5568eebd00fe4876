package contextreport

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"aisync.dev/aisync/adapter/loads"
	"aisync.dev/aisync/catalog"
	"aisync.dev/aisync/schema/spec"
)

const (
	testing1 = "# Testing\n\nRun the tests before you say that it works.\n"
	testing2 = "# Testing\n\nRun the tests before you say that it works. All.\n"
	block    = "<!-- aisync:begin rules -->\n" + testing2 + "<!-- aisync:end rules -->\n"
	skill    = "---\nname: release\ndescription: how to release\n---\nDo it.\n"
)

// search looks at files, of which own are aisync's, by their keys; "" is the whole.
func search(files map[string]string, own map[string]string, programs ...string) Search {
	tree := &loads.Planned{Files: map[string][]byte{"/p/.git/HEAD": nil}}
	for p, text := range files {
		tree.Files[p] = []byte(text)
	}
	s := Search{Start: "/p", Own: map[string]Own{}, Machine: loads.Machine{Tree: tree, Home: "/h", Trust: loads.Granted}}
	s.Programs = slices.DeleteFunc(slices.Clone(catalog.Runtimes()), func(rt spec.Runtime) bool { return !slices.Contains(programs, rt.ID) })
	for p, key := range own {
		s.Own[p] = Own{Whole: key == "", Digest: bytesDigest([]byte(files[p])), Keys: strings.Fields(key)}
	}
	s.Text = func(p string) ([]byte, error) {
		if text, ok := files[p]; ok {
			return []byte(text), nil
		}
		return nil, errors.New("gone")
	}
	s.Titles = func() map[string][]string { return map[string][]string{"# Testing": {"/p/.claude/rules/testing.md"}} }
	s.Known = func(_ loads.Kind, p string, text []byte) KnownFile {
		k := KnownFile{Now: string(text) == testing2 || string(text) == skill, Earlier: string(text) == testing1}
		k.Texts, k.Gone = [][]byte{[]byte(testing2)}, !strings.HasSuffix(p, "testing.md")
		return k
	}
	return s
}

func TestFindDuplicates(t *testing.T) {
	blocks := map[string]string{"/p/AGENTS.md": "block:rules"}
	for name, c := range map[string]struct {
		files, own map[string]string
		programs   []string
		want       []string
	}{
		"a person's copy of a block's text": {
			map[string]string{"/p/AGENTS.md": block, "/p/.claude/rules/testing.md": testing2}, blocks, []string{"claude", "codex"},
			[]string{"claude loads rule testing twice: from /p/AGENTS.md, which aisync writes, and from /p/.claude/rules/testing.md, a copy that aisync did not make; aisync apply --take-over"},
		},
		"one that aisync writes too is the adapter's": {
			map[string]string{"/p/AGENTS.md": block, "/p/.claude/rules/testing.md": testing2},
			map[string]string{"/p/AGENTS.md": "block:rules", "/p/.claude/rules/testing.md": ""}, []string{"claude"}, nil,
		},
		"an earlier version": {
			map[string]string{"/p/AGENTS.md": block, "/p/.claude/rules/testing.md": testing1}, blocks, []string{"claude", "copilot"},
			[]string{"claude, copilot load rule testing twice: from /p/AGENTS.md, which aisync writes, and from /p/.claude/rules/testing.md, an earlier version that aisync did not make; aisync apply --take-over"},
		},
		"an edited copy": {
			map[string]string{"/p/AGENTS.md": block, "/p/.claude/rules/testing.md": "# Testing\n\nMine.\n"}, blocks, []string{"claude"},
			[]string{"claude loads rule testing twice: from /p/AGENTS.md, which aisync writes, and from /p/.claude/rules/testing.md, an edited copy; compare them, then: rm /p/.claude/rules/testing.md"},
		},
		"another rule of that name": {
			map[string]string{"/p/AGENTS.md": block, "/p/.claude/rules/testing.md": "# How we test here\n\nMine.\n"}, blocks, []string{"claude"}, nil,
		},
		"a rule that its source no longer has": {
			map[string]string{"/p/AGENTS.md": block, "/p/.claude/rules/old.md": testing1}, blocks, []string{"claude"},
			[]string{"claude loads /p/.claude/rules/old.md, which its source has no more; aisync apply --take-over"},
		},
		"one for some paths": {
			map[string]string{"/p/AGENTS.md": block, "/p/.claude/rules/mine.md": "---\npaths: [\"*.go\"]\n---\n" + testing2}, blocks, []string{"claude"},
			[]string{"claude loads rule mine twice: from /p/AGENTS.md, which aisync writes, and from /p/.claude/rules/mine.md, which aisync did not make; compare them, then: rm /p/.claude/rules/mine.md"},
		},
		"notes that hold a rule of ours": {
			map[string]string{"/p/CLAUDE.md": "# Notes\n\n" + testing2 + "\nMore.\n", "/p/.claude/rules/testing.md": testing2},
			map[string]string{"/p/.claude/rules/testing.md": ""}, []string{"claude"},
			[]string{"claude loads rule testing twice: from /p/.claude/rules/testing.md, which aisync writes, and from /p/CLAUDE.md, which holds that text too; remove that text from /p/CLAUDE.md by hand"},
		},
		"an import that one program repeats": {
			map[string]string{"/p/AGENTS.md": block, "/p/CLAUDE.md": "Mine.\n@AGENTS.md\n"}, blocks, []string{"claude", "copilot"},
			[]string{"copilot loads /p/AGENTS.md twice: by itself, and by the line of /p/CLAUDE.md that imports it"},
		},
		"a skill that one program has once": {
			map[string]string{"/p/.agents/skills/release/SKILL.md": skill, "/p/.claude/skills/release/SKILL.md": skill}, nil, []string{"opencode"}, nil,
		},
		"a skill in the project and in the home": {
			map[string]string{"/p/.agents/skills/release/SKILL.md": skill, "/h/.agents/skills/release/SKILL.md": skill + "x"},
			map[string]string{"/p/.agents/skills/release/SKILL.md": ""}, []string{"codex"},
			[]string{"codex loads skill release twice: from /p/.agents/skills/release/SKILL.md, which aisync writes, and from /h/.agents/skills/release/SKILL.md, of the same name, with another content; compare them, then: rm -r /h/.agents/skills/release"},
		},
		"both of aisync's": {
			map[string]string{"/p/.agents/skills/release/SKILL.md": skill, "/h/.agents/skills/release/SKILL.md": skill},
			map[string]string{"/p/.agents/skills/release/SKILL.md": "", "/h/.agents/skills/release/SKILL.md": ""}, []string{"codex"},
			[]string{"codex loads skill release twice: from /p/.agents/skills/release/SKILL.md, which aisync writes, and from /h/.agents/skills/release/SKILL.md, which aisync writes too"},
		},
		"a skill with more files is not removed": {
			map[string]string{"/p/.agents/skills/release/SKILL.md": skill, "/h/.agents/skills/release/SKILL.md": skill, "/h/.agents/skills/release/run.sh": "x"},
			map[string]string{"/p/.agents/skills/release/SKILL.md": ""}, []string{"codex"},
			[]string{"codex loads skill release twice: from /p/.agents/skills/release/SKILL.md, which aisync writes, and from /h/.agents/skills/release/SKILL.md, which aisync did not make; compare them, then: rm -r /h/.agents/skills/release"},
		},
		"two of a person's": {
			map[string]string{"/p/AGENTS.md": testing1, "/p/QWEN.md": testing1}, nil, []string{"qwen"},
			[]string{"qwen loads note QWEN.md twice: from /p/QWEN.md and from /p/AGENTS.md; keep one of them, and remove the other by hand"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			list, err := FindDuplicates(search(c.files, c.own, c.programs...))
			if err != nil {
				t.Fatal(err)
			}
			var got []string
			for _, s := range Sentences(list, func(p string) string { return p }) {
				got = append(got, strings.TrimSuffix(s.Text+"; "+s.Fix, "; "))
			}
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// A link into a source stays: what it leads to is not the project's.
func TestALinkIsNotRemovable(t *testing.T) {
	s := search(map[string]string{"/p/AGENTS.md": block, "/src/testing.md": testing2}, map[string]string{"/p/AGENTS.md": "block:rules"}, "claude")
	s.Machine.Tree.(*loads.Planned).Links = map[string]string{"/p/.claude/rules/testing.md": "/src/testing.md"}
	list, err := FindDuplicates(s)
	if err != nil || len(list) != 1 || list[0].Removable() || list[0].Extra.Real != "/src/testing.md" {
		t.Errorf("%+v %v", list, err)
	}
}

// Files of aisync's that no other repeats are not read.
func TestOwnFilesAreNotRead(t *testing.T) {
	files, own := map[string]string{"/p/CLAUDE.md": "# Mine\n"}, map[string]string{}
	for _, n := range []string{"a", "b", "c"} {
		own["/p/.claude/rules/"+n+".md"] = ""
		files["/p/.claude/rules/"+n+".md"] = testing2
	}
	s := search(files, own, "claude")
	s.Text = func(p string) ([]byte, error) { t.Errorf("%s was read", p); return nil, nil }
	if list, err := FindDuplicates(s); err != nil || len(list) > 0 {
		t.Errorf("%+v %v", list, err)
	}
}

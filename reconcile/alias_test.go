package reconcile_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	. "aisync.dev/aisync/reconcile"
	"aisync.dev/aisync/reconcile/fsys"
)

// layout is a machine on which a file has two addresses, and the part of them
// before the file's own name.
type layout struct {
	name     string
	one, two string
	arrange  func(m *machine)
}

var layouts = []layout{
	{"the project is the home", ".claude", "~/.claude", func(m *machine) { m.project = m.at("~/") }},
	{"a link into the project", ".claude", "~/.claude", func(m *machine) {
		m.write("~/dotfiles/.claude/", "")
		m.project = m.at("~/dotfiles")
		m.link("dotfiles/.claude", "~/.claude")
	}},
	{"a link between two folders of the home", "~/.claude", "~/dotfiles/claude", func(m *machine) {
		m.write("~/dotfiles/claude/", "")
		m.link("dotfiles/claude", "~/.claude")
	}},
}

func (m *machine) link(to, name string) {
	m.Helper()
	if err := os.Symlink(to, m.at(name)); err != nil {
		m.Fatal(err)
	}
}

// owner of what is asked for by the layout's first address.
func (l layout) owner(m *machine) Owner {
	if Address("file:" + l.one).InProject() {
		return m.owner()
	}
	return HostOwner
}

func (l layout) address(prefix, name string) Address { return Address("file:" + prefix + "/" + name) }

// input asks for keys of one file by both addresses, one of them by both, and
// for two whole files.
func (l layout) input(m *machine) Input {
	one, two, o := l.address(l.one, "s.json"), l.address(l.two, "s.json"), l.owner(m)
	owners := []Owner{HostOwner}
	if o != HostOwner {
		owners = append(owners, o)
	}
	return want(owners,
		key(one, o, "/one", "1"), key(one, o, "/both", "0"), key(two, HostOwner, "/two", "2"), key(two, HostOwner, "/both", "0"),
		whole(l.address(l.one, "new/f"), o, "text\n"), whole(l.address(l.two, "new/f"), HostOwner, "text\n"),
		whole(l.address(l.two, "alone"), HostOwner, "alone\n"))
}

func (l layout) machine(t *testing.T) *machine {
	m := newMachine(t)
	l.arrange(m)
	m.write(l.two+"/s.json", "{\n  \"mine\": true\n}\n")
	return m
}

func TestOneFileByTwoAddressesIsOneTarget(t *testing.T) {
	for _, l := range layouts {
		t.Run(l.name, func(t *testing.T) {
			m := l.machine(t)
			bare := m.tree()
			in := l.input(m)
			p := m.apply(in)
			var rows []string
			for _, c := range p.Changes {
				rows = append(rows, string(c.Action)+" "+string(c.Target.Resource.Address))
				if c.Target.Resource.Address == l.address(l.one, "s.json") && !strings.Contains(c.Meaning(), "the same as "+string(l.address(l.two, "s.json"))) {
					t.Errorf("its other address is not named: %s", c.Meaning())
				}
			}
			if want := []string{"+ file:" + l.one + "/new/f", "~ file:" + l.one + "/s.json", "+ file:" + l.two + "/alone"}; !slices.Equal(rows, want) {
				t.Errorf("planned %q, want %q", rows, want)
			}
			text := m.read(l.two + "/s.json")
			for _, word := range []string{`"mine": true`, `"one": 1`, `"two": 2`, `"both": 0`} {
				if strings.Count(text, word) != 1 {
					t.Errorf("%s is not there once:\n%s", word, text)
				}
			}
			m.settled(in)
			for _, o := range in.Owners { // each knows its own address
				for _, rec := range m.open().store.Records(o) {
					if rec.Address.InProject() != (o != HostOwner) {
						t.Errorf("%s has %s on record", o, rec.Address)
					}
				}
			}

			// The spec moves, by one of the addresses.
			in.Declarations = slices.DeleteFunc(in.Declarations, func(d Declaration) bool { return d.Leaves[0].Key == "/two" })
			m.apply(in)
			if text := m.read(l.two + "/s.json"); strings.Contains(text, "two") || !strings.Contains(text, "one") {
				t.Errorf("one key was dropped:\n%s", text)
			}
			m.settled(in)
			m.apply(want(in.Owners))
			if m.tree() != bare {
				t.Errorf("all was dropped:\n%s\nwant\n%s", m.tree(), bare)
			}
		})
	}
}

func TestWhatBothOwnersOfOneFileWantStaysWithTheOther(t *testing.T) {
	for _, l := range layouts[:2] {
		m := l.machine(t)
		in := l.input(m)
		m.apply(in)
		m.apply(want([]Owner{m.owner()})) // as destroy does
		text := m.read(l.two + "/s.json")
		if strings.Contains(text, "one") || !strings.Contains(text, "both") || !strings.Contains(text, "two") || m.read(l.two+"/new/f") != "text\n" {
			t.Errorf("%s: without the project:\n%s", l.name, m.tree())
		}
		m.apply(in)
		m.settled(in)
	}
}

func TestAStrayOfOneAddressIsAFileOfTheOther(t *testing.T) {
	m := layouts[0].machine(t)
	in := layouts[0].input(m)
	m.apply(in)
	m.write("~/.claude/new/stray", "x")
	in.Strays = []Address{"file:.claude/new/stray", "file:.claude/alone"}
	m.apply(with(in, Choice{Restore: true}))
	if m.read("~/.claude/alone") != "alone\n" || m.read("~/.claude/new/stray") != "" {
		t.Errorf("%s", m.tree())
	}
}

func TestOneFileByTwoAddressesSurvivesKillsAndGoesBackToTheByte(t *testing.T) {
	for _, l := range layouts {
		m := l.machine(t)
		hook, ops := fsys.CountOps()
		m.hook = hook
		m.apply(l.input(m))
		m.hook = nil
		tree := m.tree()
		for n := int64(1); n <= ops.Load(); n++ {
			m := l.machine(t)
			bare, in := m.tree(), l.input(m)
			m.kill(in, n)
			killed := fmt.Sprintf("apply%04d", m.applies)
			if n%2 == 0 {
				if err := m.undo(killed, Choice{}); err != nil && !errors.Is(err, ErrNoApply) || m.tree() != bare {
					t.Errorf("%s, killed at %d, rolled back: %v\n%s\nwas\n%s", l.name, n, err, m.tree(), bare)
				}
			}
			m.apply(in)
			m.settled(in)
			if got := m.tree(); got != tree {
				t.Errorf("%s, killed at %d:\n%s\nwant\n%s", l.name, n, got, tree)
			}
			if err := m.undo("", Choice{}); err != nil {
				t.Errorf("%s, killed at %d, rolled back: %v", l.name, n, err)
			}
			m.apply(want(in.Owners))
			if got := m.tree(); got != bare {
				t.Errorf("%s, killed at %d, all gone:\n%s\nwant\n%s", l.name, n, got, bare)
			}
		}
	}
}

func TestContradictionsAboutOneFileNameBothAddresses(t *testing.T) {
	l := layouts[0]
	for name, c := range map[string]struct {
		more   func(o Owner) Declaration
		reason string
	}{
		"two texts":        {func(o Owner) Declaration { return whole("file:.claude/alone", o, "x\n") }, "declared twice, and not the same (file:.claude/alone and file:~/.claude/alone are one file)"},
		"a link":           {func(o Owner) Declaration { return linked("link:.claude/alone", o, "x") }, "is the same path as"},
		"a spelling":       {func(o Owner) Declaration { return whole("file:.CLAUDE/alone", o, "x\n") }, "is the same path as"},
		"a file and a key": {func(o Owner) Declaration { return key("file:.claude/alone", o, "/x", "1") }, "declared as a whole, and in part"},
	} {
		m := l.machine(t)
		m.write("~/.CLAUDE/", "")
		in := l.input(m)
		in.Declarations = append(in.Declarations, c.more(m.owner()))
		p := m.plan(m.open(), in)
		if len(p.Conflicts) != 1 || !strings.Contains(p.Conflicts[0].Reason, c.reason) || len(p.Changes) != 2 {
			t.Errorf("%s: %+v and %d changes", name, p.Conflicts, len(p.Changes))
		}
	}
}

// A link that is taken away leaves two files, each with what was asked of it.
func TestOneFileThatBecomesTwoKeepsEachOwnersPart(t *testing.T) {
	l := layouts[1]
	m := l.machine(t)
	in := l.input(m)
	m.apply(in)
	if err := errors.Join(os.Remove(m.at("~/.claude")), os.CopyFS(m.at("~/.claude"), os.DirFS(m.at(".claude")))); err != nil {
		t.Fatal(err)
	}
	m.apply(in)
	m.settled(in)
	for name, words := range map[string]string{"~/.claude/s.json": "two", filepath.Join(".claude", "s.json"): "one"} {
		if text := m.read(name); !strings.Contains(text, words) || !strings.Contains(text, "both") || !strings.Contains(text, "mine") {
			t.Errorf("%s:\n%s", name, text)
		}
	}
}

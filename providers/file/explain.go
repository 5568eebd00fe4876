package file

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"strings"

	"aisync.dev/aisync/internal/merge"
	"aisync.dev/aisync/reconcile"
)

// shown bounds the lines of a text that appears or disappears as a whole.
// Callers cut far earlier, unless a person asks for everything.
const shown = 10_000

// Explain implements reconcile.Provider: a unified diff for whole texts,
// otherwise the leaves that change.
func (Provider) Explain(_ context.Context, r reconcile.ReadEnv, c reconcile.Change) []reconcile.Line {
	return masked(explain(r, c))
}

func explain(r reconcile.ReadEnv, c reconcile.Change) []reconcile.Line {
	a := c.Target.Resource.Address
	s := linked(r, c.Target, see(r, c.Target, true))
	if s.presence != reconcile.Absent && s.presence != reconcile.Present {
		return nil // the change's meaning is the reason
	}
	if c.Exact != nil {
		b, err := build(r, c, s)
		return explainWhole(s, b, err)
	}
	var lines []reconcile.Line
	var members []reconcile.LeafChange
	for _, l := range asAsked(c.Leaves) {
		switch {
		case l.Action == reconcile.None || l.Action == reconcile.Accept || l.Action == reconcile.Release || l.Action == reconcile.Unclear:
		case l.Key == "":
			lines = append(lines, explainLeaf(r, a, l, s)...)
		case l.Key == reconcile.Seed:
			b := built{gone: l.Want == nil}
			var err error
			if l.Want != nil {
				err = b.fill(l)
			}
			lines = append(lines, explainWhole(s, b, err)...)
		default:
			members = append(members, l)
		}
	}
	return append(lines, explainMembers(r, c, s, members)...)
}

// After returns what c makes its file hold, and whether its owner may execute
// it; gone means that there is no file then. It writes nothing. The error says
// why the result is unknown.
func After(r reconcile.ReadEnv, c reconcile.Change) (doc []byte, exec, gone bool, err error) {
	s := see(r, c.Target, true)
	if s.presence != reconcile.Absent && s.presence != reconcile.Present {
		return nil, false, false, errors.New(s.reason)
	}
	b, err := build(r, c, s)
	return b.doc, b.exec, b.gone, err
}

// WritesText reports whether c alone tells that its file will not be executable
// for its owner: c writes all of the file, and the content is not executable.
// Where c does not tell, After does.
func WritesText(c reconcile.Change) bool {
	if c.Exact != nil || len(c.Leaves) != 1 {
		return false
	}
	l := c.Leaves[0]
	if l.Key != "" || l.Want == nil || l.Action != reconcile.Create && l.Action != reconcile.Update {
		return false
	}
	body, ok := l.Want.Body.(content)
	return ok && !body.executable()
}

// MayExecute reports whether the file of c, which c does not write, may be
// executable for its owner, judged by the mode in info alone. Where it may be,
// After tells.
func MayExecute(c reconcile.Change, info fs.FileInfo) bool {
	return isExecutable(info.Mode()) || executes(c.Before.Token)
}

// explainLeaf shows the change of a file that is one leaf. Where only a
// fingerprint of the wanted text is known, it shows the recorded text.
func explainLeaf(r reconcile.ReadEnv, a reconcile.Address, l reconcile.LeafChange, s seen) []reconcile.Line {
	b := built{gone: s.presence == reconcile.Absent, doc: s.doc, exec: s.exec, live: map[reconcile.LeafKey]reconcile.Fingerprint{}}
	if l.Want != nil {
		if _, ok := l.Want.Body.(content); !ok {
			base, known := baseOf(r, a, l)
			if !known {
				return []reconcile.Line{{Op: ' ', Text: "differs from the record; the recorded text is not on this machine"}}
			}
			b.gone, b.doc, b.exec = false, base, executes(l.Last.Live)
			return explainWhole(s, b, nil)
		}
	}
	if l.Action == reconcile.Clash && (l.Rel.CanMerge || l.Rel.CanMark) {
		base, theirs, ok := ends(r, a, l, s)
		if ok && !bytes.Equal(base, s.doc) && !bytes.Equal(base, theirs) {
			lines := append([]reconcile.Line{{Op: ' ', Text: "changed here:"}}, unified(base, s.doc)...)
			return append(append(lines, reconcile.Line{Op: ' ', Text: "changed by the bundle:"}), unified(base, theirs)...)
		}
	}
	err := b.whole(r, a, asIfForced(l), s)
	return explainWhole(s, b, err)
}

// asIfForced returns l as it would be applied with --force, to show what a
// conflict is about.
func asIfForced(l reconcile.LeafChange) reconcile.LeafChange {
	if l.Action == reconcile.Clash {
		l.Action = reconcile.Update
		if l.Want == nil {
			l.Action = reconcile.Delete
		}
	}
	return l
}

// explainWhole shows the difference between s and b.
func explainWhole(s seen, b built, err error) []reconcile.Line {
	if err != nil {
		return []reconcile.Line{{Op: ' ', Text: "cannot be shown: " + err.Error()}}
	}
	return between(whole{s.doc, s.exec, s.presence == reconcile.Absent}, whole{b.doc, b.exec, b.gone})
}

// whole is one side of a difference.
type whole struct {
	doc    []byte
	exec   bool
	absent bool
}

// between shows the difference between two files.
func between(from, to whole) []reconcile.Line {
	switch {
	case to.absent:
		return excerpt('-', from.doc)
	case from.absent:
		return excerpt('+', to.doc)
	}
	var lines []reconcile.Line
	if to.exec != from.exec {
		text := "no longer executable"
		if to.exec {
			text = "becomes executable"
		}
		lines = append(lines, reconcile.Line{Op: '~', Text: text})
	}
	if merge.IsBinary(from.doc) || merge.IsBinary(to.doc) {
		if string(from.doc) == string(to.doc) {
			return lines
		}
		return append(lines, reconcile.Line{Op: '~', Text: fmt.Sprintf("binary, %d bytes, becomes %d bytes", len(from.doc), len(to.doc))})
	}
	return append(lines, unified(from.doc, to.doc)...)
}

// unified is the diff without the two lines that name the files.
func unified(from, to []byte) []reconcile.Line {
	var lines []reconcile.Line
	text := strings.TrimSuffix(merge.Unified("a", "b", from, to), "\n")
	if text == "" {
		return nil
	}
	for i, line := range strings.Split(text, "\n") {
		switch {
		case i < 2:
		case strings.HasPrefix(line, "@@"):
			lines = append(lines, reconcile.Line{Op: '@', Text: line})
		case strings.HasPrefix(line, "\\"):
			lines = append(lines, reconcile.Line{Op: ' ', Text: line})
		case line == "":
			lines = append(lines, reconcile.Line{Op: ' '})
		default:
			lines = append(lines, reconcile.Line{Op: line[0], Text: line[1:]})
		}
	}
	return lines
}

// excerpt shows the first lines of a text that appears or disappears.
func excerpt(op byte, doc []byte) []reconcile.Line {
	if merge.IsBinary(doc) {
		return []reconcile.Line{{Op: op, Text: fmt.Sprintf("binary, %d bytes", len(doc))}}
	}
	var lines []reconcile.Line
	all := strings.Split(strings.TrimSuffix(string(doc), "\n"), "\n")
	for i, line := range all {
		if i == shown && len(all) > shown+1 {
			return append(lines, reconcile.Line{Op: ' ', Text: fmt.Sprintf("… %d more lines", len(all)-shown)})
		}
		lines = append(lines, reconcile.Line{Op: op, Text: line})
	}
	return lines
}

// explainMembers shows every leaf that changes, and nothing else of the file.
func explainMembers(r reconcile.ReadEnv, c reconcile.Change, s seen, leaves []reconcile.LeafChange) []reconcile.Line {
	if len(leaves) == 0 {
		return nil
	}
	var keys []reconcile.LeafKey
	for _, l := range leaves {
		keys = append(keys, l.Key)
	}
	live, err := readLeaves(c.Target, s.doc, keys)
	if err != nil {
		return nil
	}
	var lines []reconcile.Line
	for _, l := range leaves {
		is, there := live[l.Key]
		is.Value = ownPart(c.Target, l.Key, is.Value)
		if holdsSecret(l) {
			lines = append(lines, explainSecret(l, there))
			continue
		}
		var want merge.Value
		switch {
		case l.Want != nil:
			want = wanted(l)
		case l.Action == reconcile.PutBack:
			want, _, _ = priorValue(r, c.Target, l)
		}
		switch {
		case l.Want != nil && want == nil && there: // only its fingerprint is known
			lines = append(lines, reconcile.Line{Op: '~', Text: fmt.Sprintf("%s is %s, not what was recorded", label(l.Key), redactLeaf(string(l.Key), is.Value))})
		case l.Want != nil && want == nil:
			lines = append(lines, reconcile.Line{Op: '-', Text: label(l.Key) + " is gone"})
		case want != nil && !there:
			lines = append(lines, shownWith('+', l.Key, want)...)
		case want == nil && there:
			lines = append(lines, reconcile.Line{Op: '-', Text: label(l.Key)})
		case want != nil:
			lines = append(lines, changed(l, is.Value, want)...)
		}
	}
	return lines
}

// wanted is the value that l wants; nil if it wants no member.
func wanted(l reconcile.LeafChange) merge.Value {
	m, _ := l.Want.Body.(member)
	return m.v
}

// shownWith shows an entry that appears or disappears as a whole.
func shownWith(op byte, key reconcile.LeafKey, v merge.Value) []reconcile.Line {
	if text, ok := blockText(key, v); ok {
		return append([]reconcile.Line{{Op: op, Text: label(key)}}, excerpt(op, []byte(text))...)
	}
	return []reconcile.Line{{Op: op, Text: describe(key, v)}}
}

func changed(l reconcile.LeafChange, is, want merge.Value) []reconcile.Line {
	if old, ok := blockText(l.Key, is); ok {
		text, _ := blockText(l.Key, want)
		return append([]reconcile.Line{{Op: '~', Text: label(l.Key)}}, unified([]byte(old+"\n"), []byte(text+"\n"))...)
	}
	if _, ok := merge.LineOf(string(l.Key)); ok { // see readStanding
		return []reconcile.Line{{Op: '~', Text: label(l.Key) + wrongSide}}
	}
	verb := "want"
	if l.Rel.Last && l.Rel.WantLast {
		verb = "was recorded as"
	}
	return []reconcile.Line{{Op: '~', Text: fmt.Sprintf("%s is %s, %s %s", label(l.Key), redactLeaf(string(l.Key), is), verb, redactLeaf(string(l.Key), want))}}
}

// label is key as messages name it.
func label(key reconcile.LeafKey) string {
	if line, ok := strings.CutPrefix(string(key), "line:"); ok {
		return "line " + line
	}
	if name, ok := strings.CutPrefix(string(key), "block:"); ok {
		return "block " + name
	}
	return string(key)
}

// describe is key with its value, where the key does not include it.
func describe(key reconcile.LeafKey, v merge.Value) string {
	pointer, member, isMember := strings.Cut(string(key), "#")
	switch {
	case strings.HasPrefix(string(key), "line:"):
		return label(key)
	case isMember && (merge.Equal(v, merge.Value(member)) || string(v) == "true"):
		return pointer + " " + member
	case isMember:
		return pointer + " " + string(redactLeaf(pointer, v))
	}
	return string(key) + ": " + string(compact(redactLeaf(string(key), v)))
}

// compact puts a value on one line.
func compact(v json.RawMessage) json.RawMessage {
	var b bytes.Buffer
	if json.Compact(&b, v) != nil {
		return v
	}
	return b.Bytes()
}

// blockText returns the text of a block.
func blockText(key reconcile.LeafKey, v merge.Value) (string, bool) {
	if !strings.HasPrefix(string(key), "block:") {
		return "", false
	}
	return merge.Leaf{Value: v}.Text(), true
}

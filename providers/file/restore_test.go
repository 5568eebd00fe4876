package file

import (
	"strings"
	"testing"

	"aisync.dev/aisync/internal/merge"
	"aisync.dev/aisync/reconcile"
)

// settings are documents with a value at /servers/a and at /theme, in forms that
// people write, and 0.20 at a key of another program.
var settings = map[merge.Format][]string{
	merge.JSON: {
		"{\n  \"theme\": \"dark\",\n  \"servers\": {\n    \"a\": {\"url\": \"x\", \"args\": [\"2\"], \"env\": {\"B\": \"0\", \"A\": \"1\"}, \"t\": 0.2}\n  },\n  \"mine\": 0.20\n}\n",
		"{\"theme\":\"dark\",\"servers\":{\"a\":{\"z\":1,\"a\":2.50}},\"mine\":0.20}\n",
		"{\n\t\"mine\": 0.20,\n\t\"servers\": {\n\t\t\"a\": {\n\t\t\t\"z\": 1E+2,\n\t\t\t\"a\": -0.0\n\t\t}\n\t},\n\t\"theme\": \"dark\"\n}\n",
		"{\n    \"servers\": {\n        \"b\": {\"k\": []},\n        \"a\": {\n            \"args\": [\n                \"one\",\n                \"two\"\n            ]\n        },\n        \"c\": {}\n    },\n    \"mine\": 0.20,\n    \"theme\": \"d\\u0061rk\"\n}\n",
		"{ \"theme\" : \"\\ud83d\\ude00\\/\" ,\n  \"servers\" : { \"a\" : { \"n\" : null , \"b\" : true } } ,\n  \"mine\" : 0.20 }\n",
		"\n{\n\n  \"theme\": {\"light\": 1.0, \"dark\": 2.00},\n\n\n  \"servers\": {\"a\": \"text \\u00e9\", \"b\": 1},\n  \"mine\": 0.20\n\n}\n\n",
		"{\"mine\": 0.20, \"servers\": {\"a\": [[1, [2.0]], {\"y\": 1, \"x\": 2}]},\n \"theme\": 123456789012345678901234567890}\n",
		"{\n  \"mine\": 0.20,\n  \"theme\": false, \"servers\":\n  {\n  \"a\":\n    1\n  }\n}\n",
	},
	merge.JSONC: {
		"// head\n{\n  /* one */ \"theme\": \"dark\", // why\n  \"servers\": {\n    // the first\n    \"a\": {\"z\": 0.2, /* in */ \"a\": 1}, // after\n  },\n  \"mine\": 0.20,\n}\n// tail\n",
		"{\n\t\"mine\": 0.20, // mine\n\t\"theme\": \"dark\",\n\t\"servers\": {\n\t\t\"b\": {},\n\t\t\"a\": {\n\t\t\t\"list\": [\n\t\t\t\t\"x\", // why x\n\t\t\t\t\"y\",\n\t\t\t],\n\t\t},\n\t},\n}\n",
		"{\"theme\":\"dark\",/*c*/\"servers\":{\"a\":{\"z\":1,},},\"mine\":0.20,}\n",
		"/* a\n * b\n */\n{\n  \"servers\": { \"a\": [ 1e0, /* two */ 2 ] },\n\n  // about the theme\n  \"theme\": \"dark\",\n  \"mine\": 0.20\n}\n",
		"{ // open\n  \"mine\": 0.20\n  , \"theme\": {\"a\": 1} // leading comma\n  , \"servers\": {\"a\": {\"q\": \"\\u0041\"}}\n}\n",
		"{\n  \"theme\": \"dark\",\n  \"servers\": {\n    \"a\": {\n      // only this\n      \"url\": \"x\"\n    }\n    // last\n  },\n  \"mine\": 0.20\n}\n",
	},
	merge.TOML: {
		"# head\ntheme = \"dark\" # why\nmine = 0.20\n\n[servers.a]\ncommand = \"x\"  # hi\nargs = [\n  \"2\", # two\n]\nt = 0.2_0\n\n[other]\nx = 1\n",
		"mine = 0.20\ntheme = 'dark'\nservers.a = { z = 1, a = 0x1F }\n",
		"theme = \"\"\"\ndark\"\"\"\n\n[servers]\na = { z = 1, a = \"\\u00e9\" }\nb = 1\n\n[last]\nmine = 0.20\n",
		"theme = 1_000\n[servers.a.env]\nB = \"0\"\nA = \"1\"\n[other]\nmine = 0.20\n",
		"theme = 1e3\nmine = 0.20\n[[tools]]\nname = \"t\"\n[[tools]]\nname = \"u\"\n[servers.a]\nz = 1\na = [ [1, 2], [3] ]\n",
		"\"theme\" = \"dark\"\nmine = 0.20\n[\"servers\".\"a\"]\n'z y' = 1\n\"a.b\" = '''\nraw\n'''\n",
		"theme = { b = 1, a = 2 }\nmine = 0.20\n[servers]\n  [servers.a]\n    z = 1\n  [servers.b]\n    z = 2\n",
		"theme = [\n  1, 2, # three\n]\nmine = 0.20\n[servers]\na = \"x\"   # aligned\nlong = \"y\" # too\n",
	},
	merge.YAML: {
		"# head\ntheme: dark # why\nmine: 0.20\nservers:\n  a:\n    command: x # hi\n    args:\n      - \"2\" # two\n    t: 0.20\n  b:\n    k: 1\n",
		"theme: 'dark'\nservers: {a: {z: 1, a: 0.20}, b: 2}\nmine: 0.20\n",
		"---\ntheme: \"d\\u0061rk\"\nmine: 0.20\nservers:\n    a:\n        z: 0x1F\n        a: ~\n",
		"base: &base\n  x: 1\nmine: 0.20\ntheme: dark\nservers:\n  b: *base\n  a: {z: 1}\n",
		"theme: |\n  dark\n  blue\nmine: 0.20\nservers:\n  a:\n  - z\n  - a: 1\n",
		"mine: 0.20\ntheme: >-\n  dark\n  blue\nservers:\n\n  a: text # c\n\n  # about b\n  b: 1\n",
		"servers:\n  a:\n    z: yes\n    a: no\ntheme: 1e3\nmine: 0.20\n",
		"theme: [1, 2.00,\n  3]\nservers:\n  # the first\n  a: !!str 1\nmine: 0.20\n",
	},
}

// Replaced, changed and added leaves are taken back to the byte, in every form
// that a document may have, whether another program edited it since or not.
func TestReplacedLeavesComeBackToTheByte(t *testing.T) {
	names := map[merge.Format]string{merge.JSON: "s.json", merge.JSONC: "s.jsonc", merge.TOML: "s.toml", merge.YAML: "s.yaml"}
	dress := map[string]func(string) string{
		"as it is":              func(s string) string { return s },
		"carriage returns":      func(s string) string { return strings.ReplaceAll(s, "\n", "\r\n") },
		"byte order mark":       func(s string) string { return "\xef\xbb\xbf" + s },
		"no last line end":      func(s string) string { return strings.TrimRight(s, "\n") },
		"another program's key": func(s string) string { return strings.Replace(s, "mine", "mine\u00e9", 1) },
	}
	documents := 0
	for format, docs := range settings {
		for i, doc := range docs {
			for how, form := range dress {
				before := form(doc)
				if how == "another program's key" && format == merge.TOML {
					before = strings.Replace(doc, "mine =", "\"mine\u00e9\" =", 1)
				}
				documents++
				for _, edited := range []string{"", "1.50"} {
					takeBack(t, names[format], format, i, how, before, edited)
				}
			}
		}
	}
	if documents < 100 {
		t.Errorf("%d documents", documents)
	}
}

// takeBack replaces two leaves of a document and adds one, perhaps has another
// program edit the rest, and takes all back.
func takeBack(t *testing.T, name string, format merge.Format, i int, how, before, edited string) {
	m := newMachine(t)
	m.put(t, name, before)
	type leaf struct {
		key  reconcile.LeafKey
		want string
	}
	leaves := []leaf{{"/servers/a", `{"url":"ours","n":[1,0.5]}`}, {"/servers/new", `{"url":"ours"}`}, {"/theme", `"light"`}}
	var wanted []reconcile.LeafChange
	for _, l := range leaves {
		action := reconcile.Update
		if l.key == "/servers/new" {
			action = reconcile.Create
		}
		wanted = append(wanted, act(l.key, action, Value(merge.Value(l.want)), nil))
	}
	c := m.decide(name, string(format), wanted...)
	if c.Before.Presence != reconcile.Present {
		t.Errorf("%s %d, %s: %s", name, i, how, c.Before.Reason)
		return
	}
	prior := reconcile.BackupID(c.Before.Token)
	out := m.apply(t, c)
	if m.get(t, name) == before {
		t.Errorf("%s %d, %s: nothing was written", name, i, how)
	}
	want := before
	if edited != "" {
		edit := func(s string) string {
			n := strings.LastIndex(s, "mine")
			return s[:n] + strings.Replace(s[n:], "0.20", edited, 1)
		}
		want = edit(before)
		m.put(t, name, edit(m.get(t, name)))
	}
	var back []reconcile.LeafChange
	for _, l := range leaves {
		rec := &reconcile.LeafRecord{Provenance: reconcile.Replaced, Prior: prior, Private: out.LeafPrivate[l.key]}
		action := reconcile.PutBack
		if l.key == "/servers/new" {
			action, rec.Provenance, rec.Prior = reconcile.Delete, reconcile.Created, ""
		}
		back = append(back, act(l.key, action, nil, rec))
	}
	m.apply(t, m.decide(name, string(format), back...))
	got := m.get(t, name)
	if format == merge.YAML && edited != "" && (i == 4 || i == 7) {
		// A text of several lines, or with a tag, beside another program's edit:
		// the value comes back, in another spelling.
		keys := []string{"/servers/a", "/theme", "/mine"}
		is, err1 := merge.Read(format, []byte(got), keys)
		was, err2 := merge.Read(format, []byte(want), keys)
		for _, k := range keys {
			if err1 != nil || err2 != nil || string(is[k].Value) != string(was[k].Value) {
				t.Errorf("%s %d, %s: %s is %s, want %s", name, i, how, k, is[k].Value, was[k].Value)
			}
		}
		return
	}
	if got != want {
		t.Errorf("%s %d, %s, edited %q: was\n%q\nand after all\n%q", name, i, how, edited, want, got)
	}
}

package record

import (
	"errors"
	"strings"
	"testing"
)

func TestALockIsTheSameBytesWhateverTheOrder(t *testing.T) {
	a, b := &Lock{}, &Lock{}
	p1 := Pin{Kind: "model", Name: "tiny", Values: map[string]string{"sha256": "59a6", "quant": "F32"}}
	p2 := Pin{Kind: "quant", Name: "qwen", Host: "velox", Values: map[string]string{"quant": "Q4_K_M"}}
	a.SetPin(p1)
	a.SetPin(p2)
	b.SetPin(p2)
	b.SetPin(Pin{Kind: "model", Name: "tiny", Values: map[string]string{"sha256": "old"}})
	b.SetPin(p1)
	recs := []Record{
		{Address: "file:x", Leaves: []LeafRecord{{Key: "/b", Live: "2", Provenance: Created}, {Key: "/a", Live: "1", Provenance: Adopted}}},
		{Address: "file:a", Leaves: []LeafRecord{{Live: "1", Provenance: Replaced, Prior: "sha256:secretbackup"}}},
		{Address: "file:~/home", Leaves: []LeafRecord{{Live: "1"}}},
		{Address: "dir:.ai/sessions", Local: true, Leaves: []LeafRecord{{Live: "1"}}},
	}
	a.SetRecords(recs)
	recs[0], recs[1] = recs[1], recs[0]
	b.SetRecords(recs)
	if string(a.Bytes()) != string(b.Bytes()) {
		t.Errorf("%s\n%s", a.Bytes(), b.Bytes())
	}
	text := string(a.Bytes())
	for _, never := range []string{"secretbackup", "~/home", ".ai/sessions"} {
		if strings.Contains(text, never) {
			t.Errorf("lock holds %s:\n%s", never, text)
		}
	}
	back, err := ParseLock("aisync.lock", a.Bytes())
	if err != nil || string(back.Bytes()) != text {
		t.Errorf("%v\n%s", err, back.Bytes())
	}
	if got, ok := back.Pin("quant", "qwen", "velox"); !ok || got.Values["quant"] != "Q4_K_M" {
		t.Error(got, ok)
	}
	if _, ok := back.Pin("quant", "qwen", "pearl"); ok {
		t.Error("another host's pin was taken")
	}
	if recs := back.Records("project:/p"); len(recs) != 2 || len(recs[1].Leaves) != 2 {
		t.Errorf("%+v", recs)
	}
}

func TestADamagedLockIsNamedByLine(t *testing.T) {
	for name, c := range map[string]struct{ text, want string }{
		"a merge's markers":  {"{\"format_version\":1}\n<<<<<<< HEAD\n", "aisync.lock:2: not a line of a lock"},
		"no version":         {"{\"kind\":\"model\"}\n", "aisync.lock:1: no format_version"},
		"a blank first line": {"\n{\"kind\":\"model\"}\n", "aisync.lock:1: not a line of a lock"},
		"no kind":            {"{\"format_version\":1}\n{\"name\":\"x\"}\n", "aisync.lock:2: a line without kind"},
		"no fingerprint":     {"{\"format_version\":1}\n{\"kind\":\"target\",\"address\":\"file:x\"}\n", "aisync.lock:2: a target without"},
	} {
		if _, err := ParseLock("aisync.lock", []byte(c.text)); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := ParseLock("aisync.lock", []byte(`{"format_version":2}`)); !errors.Is(err, ErrLockNewer) {
		t.Error(err)
	}
}

func TestALineThatReachesOutIsRefused(t *testing.T) {
	target := func(address, more string) string {
		return `{"kind":"target","address":"` + address + `","live":"sha256:1","provenance":"created"` + more + `}`
	}
	for line, want := range map[string]string{
		target("file:~/.bashrc", ""):                  "outside",
		target("file:~", ""):                          "outside",
		target("file:~root/.bashrc", ""):              "outside",
		target("file:/etc/passwd", ""):                "outside",
		target("file:../x", ""):                       "leads out",
		target("file:a/../../x", ""):                  "leads out",
		target("file:a/..", ""):                       "leads out",
		target("file:.", ""):                          "leads out",
		target("file:", ""):                           "leads out",
		target("file:a//b", ""):                       "not clean",
		target("file:./a", ""):                        "not clean",
		target("file:a/", ""):                         "not clean",
		target("file:a\\u0000", ""):                   "not clean",
		target("file:.git/config", ""):                "git's own",
		target("link:sub/.GIT. /x", ""):               "git's own",
		target("dir:git~1", ""):                       "git's own",
		target("file:.g\\u200cit/config", ""):         "git's own",
		target("package:npm/x", ""):                   "files, links and folders",
		target("service:user/x", ""):                  "files, links and folders",
		target("gitconfig:core.hooksPath", ""):        "files, links and folders",
		target("view:x", ""):                          "files, links and folders",
		target("x", ""):                               "files, links and folders",
		target("file:a", `,"prior":"sha256:2"`):       "prior",
		target("file:a", `,"PRIOR":"sha256:2"`):       "prior",
		target("file:a", `,"format":"../x"`):          "unknown format",
		target("file:a", `,"provenance":"inherited"`): "unknown provenance",
		target("file:a", `,"own":7`):                  "unknown ownership",
		`{"kind":"../x","name":"a"}`:                  "not a kind",
		`{"kind":"bundle","name":"a/../../b"}`:        "not a name",
		`{"kind":"bundle","name":"a\nb"}`:             "not a name",
		`{"kind":"quant","name":"a","host":"../x"}`:   "not a host",
		pin("commit", "--upload-pack=touch x"):        "not a commit",
		pin("commit", "main"):                         "not a commit",
		pin("tree", "../../x"):                        "not a tree",
		pin("url", "--upload-pack=x"):                 "not a url",
		pin("url", "git::https://x y"):                "not a url",
		pin("sha256", "a/b"):                          "not a sha256",
		pin("version", "1.0/../x"):                    "not a version",
		pin("version", "-g"):                          "not a version",
		pin("file", "../x.gguf"):                      "not a path",
		pin("file", "a/../../x.gguf"):                 "not a path",
		pin("file", "/etc/passwd"):                    "not a path",
		pin("file", ".git/x"):                         "not a path",
		pin("reason", "a\\u001b[2J"):                  "not a reason",
	} {
		_, err := ParseLock("p/aisync.lock", []byte("{\"format_version\":1}\n"+line+"\n"))
		if err == nil || !strings.HasPrefix(err.Error(), "p/aisync.lock:2: ") || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), "remove it") {
			t.Errorf("%s: %v", line, err)
		}
	}
}

func pin(key, value string) string {
	return `{"kind":"bundle","name":"a","values":{"` + key + `":"` + value + `"}}`
}

func TestALockKeepsWhatAisyncWrites(t *testing.T) {
	text := "{\"format_version\":1}\n" + strings.Join([]string{
		pin("commit", "0123456789abcdef0123456789abcdef01234567"), pin("url", "git::https://host/a.git?ref=v1"),
		pin("version", "v0.1.0-05ab1ed+dirty"), pin("quant", "UD-Q4_K_XL"), pin("file", "dir/a b-00001-of-00002.gguf"),
		pin("within", ">=1.2 <2"), pin("reason", "the best quant that fits 64 GiB"), pin("shape", "llama 3.2 (1 of 2)"),
		`{"kind":"package","name":"npm/@own/demo","values":{"version":"1.1.0"}}`,
		`{"kind":"target","address":"file:odd\nname/…","live":"dir","provenance":"adopted","own":1,"private":{"made":["/b"]}}`,
		`{"kind":"target","address":"file:.github/x","format":"markdown","key":"a line","live":"sha256:1+x","provenance":"replaced"}`,
	}, "\n")
	if _, err := ParseLock("aisync.lock", []byte(text)); err != nil {
		t.Error(err)
	}
}

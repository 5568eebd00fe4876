package layers

import "testing"

func TestExtendsReadsPlainTexts(t *testing.T) {
	for text, want := range map[string]string{
		`extends: "acme/base"`:                         "acme/base",
		"package aisync\n\n\"extends\": \"../team\"\n": "../team",
		`extends: #Base`:                               "error",
		`extends: ""`:                                  "error",
		`extends: 3`:                                   "error",
		`catalog: runtimes: mine: extends: "claude"`:   "",
		`hosts: me: {}`:                                "",
		`extends: {`:                                   "",
		`// extends: "acme/base"`:                      "",
		"hosts: me: {}\nextends: \"git::https://git.x/b.git?ref=v1\"": "git::https://git.x/b.git?ref=v1",
	} {
		got, pos, err := Extends("x.cue", []byte(text))
		if err != nil {
			got = "error"
		}
		if got != want || got != "" && !pos.IsValid() {
			t.Errorf("%s: got %q (%v) at %v, want %q", text, got, err, pos, want)
		}
	}
}

func TestNameLeavesTheVersionOut(t *testing.T) {
	for url, want := range map[string]string{
		"git::https://github.com/acme/base.git?ref=main":     "gh:acme/base",
		"git::https://github.com/acme/base.git//team?ref=v1": "gh:acme/base//team",
		"git::https://git.x/base.git?ref=v1":                 "git::https://git.x/base.git",
		"oci://reg.x:5000/team/base:v1":                      "oci://reg.x:5000/team/base",
		"oci://reg.x:5000/team/base@sha256:00//a":            "oci://reg.x:5000/team/base//a",
		"https://x.y/base.tar.gz":                            "https://x.y/base.tar.gz",
	} {
		if got := Name(url); got != want {
			t.Errorf("%s: got %s, want %s", url, got, want)
		}
	}
	if got := Shown("git::https://github.com/acme/base.git?ref=main", "host.cue"); got != "gh:acme/base//host.cue" {
		t.Error(got)
	}
	if got := Shown("git::https://git.x/base.git//team?ref=main", "host.cue"); got != "git::https://git.x/base.git//team/host.cue" {
		t.Error(got)
	}
}

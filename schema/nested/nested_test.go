package nested

import "testing"

func TestExtends(t *testing.T) {
	for text, want := range map[string]string{
		"project: extends: \"..\"":                            "..",
		"project: name: \"x\"\nproject: {extends: \"../..\"}": "../..",
		"project: settings: claude: extends: \"..\"":          "",
		"// extends: \"..\"\nproject: name: \"extends\"":      "",
		"extends: \"..\"":                                     "",
		"project: \"extends\": \"../..\"":                     "../..",
		"_x: \"..\"\nproject: extends: _x":                    "error",
		"project: extends: \"\\(up)\"":                        "error",
		"project: {extends: \"..\"":                           "error",
		"project: {extends: 5}":                               "error",
	} {
		got, line, err := Extends([]byte(text))
		if err != nil {
			got = "error"
		}
		if got != want || got == "../.." && line == 0 {
			t.Errorf("%s: got %q, line %d, want %q", text, got, line, want)
		}
	}
}

func TestUnfit(t *testing.T) {
	for folder, fit := range map[string]bool{
		"packages/api": true, "a": true, "a b/ü": true, "@scope/x.y": true, "packages//api": false, "a/": false, "./a": false, "..": false, "../a": false, "a/../..": false,
		".": false, "/a": false, "[slug]": false, "a*": false, "a,b": false, "a\\b": false, "a\nb": false, "": false,
	} {
		if why := Unfit(folder); (why == "") != fit {
			t.Errorf("%q: %q", folder, why)
		}
	}
}

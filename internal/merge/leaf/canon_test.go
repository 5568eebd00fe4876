package leaf

import "testing"

func TestCanonicalIsOneSpelling(t *testing.T) {
	for in, want := range map[string]string{
		`{"b":1,"a":[1.0, 1e2]}`: `{"a":[1,100],"b":1}`,
		`-0.0`:                   `0`,
		`12.50`:                  `1.25e1`,
		`0.001`:                  `1e-3`,
		`1e400`:                  `1e400`,
		`123456789012345678901`:  `123456789012345678901`,
		`"\u0041<\/"`:            `"A</"`,
		` null `:                 `null`,
		`"a\n\t\r\\\"é — 😀<"`:    `"a\n\t\r\\\"é — 😀<"`,
		"\"a\u2028b…\"":          `"a\u2028b…"`,
		`"\b\u000b"`:             `"\b\u000b"`,
		`"\u000B\u0022"`:         `"\u000b\""`,
	} {
		got, err := Canonical(Value(in))
		if err != nil || string(got) != want {
			t.Errorf("%s: got %s, %v; want %s", in, got, err, want)
		}
	}
	for _, in := range []string{`"a"b"`, `"a\"`, `"a\x"`, `"`, "\"a\nb\"", "\"\xff\""} {
		if got, err := Canonical(Value(in)); err == nil {
			t.Errorf("%s is no JSON, got %s", in, got)
		}
	}
	if Equal(Value("9007199254740993"), Value("9007199254740992")) {
		t.Error("large integers that differ must not be equal")
	}
}

package environ

import "testing"

func TestOn(t *testing.T) {
	for value, want := range map[string]bool{"": false, "0": false, "False": false, "no": false, "1": true, "yes": true, "off": true} {
		if got := New([]string{"A=" + value}).On("A"); got != want {
			t.Errorf("A=%q: %t, want %t", value, got, want)
		}
	}
	if New(nil).On("A") {
		t.Error("an unset switch is on")
	}
}

func TestNewKeepsTheLastValueAndWhatFollowsTheFirstSign(t *testing.T) {
	e := New([]string{"A=1", "A=2=3", "B"})
	if e.Get("A") != "2=3" || e.Get("B") != "" || len(e.List()) != 2 {
		t.Errorf("%v", e)
	}
}

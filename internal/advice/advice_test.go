package advice

import (
	"errors"
	"fmt"
	"testing"
)

func TestAdviceIsNotInErrorText(t *testing.T) {
	cause := errors.New("disk is full")
	for _, c := range []struct {
		err  error
		want string
	}{
		{New(cause, "make room there"), "make room there"},
		{Command(cause, "aisync plan"), "aisync plan"},
		{fmt.Errorf("write x: %w", Command(cause, "aisync plan")), "aisync plan"},
		{cause, ""},
		{nil, ""},
	} {
		if got := Of(c.err); got != c.want {
			t.Errorf("%v: %q, want %q", c.err, got, c.want)
		}
	}
	if err := Command(cause, "x"); err.Error() != "disk is full" || !errors.Is(err, cause) {
		t.Errorf("%v", err)
	}
}

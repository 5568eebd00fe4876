package clock

import (
	"testing"
	"time"
)

func TestMachineClock(t *testing.T) {
	a := Now()
	time.Sleep(3 * time.Millisecond)
	b := Now()
	if a.Boot == "" || a.Boot != b.Boot || b.Since(a) < 2*time.Millisecond || b.Since(a) > time.Minute {
		t.Errorf("%+v, then %+v", a, b)
	}
}

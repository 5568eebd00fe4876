package quantity

import "testing"

func TestCount(t *testing.T) {
	for _, c := range []struct {
		n    int
		noun string
		want string
	}{{0, "change", "0 changes"}, {1, "change", "1 change"}, {3, "change", "3 changes"}, {1, "entry", "1 entry"}, {2, "new entry", "2 new entries"}} {
		if got := Count(c.n, c.noun); got != c.want {
			t.Errorf("Count(%d, %q) = %q, want %q", c.n, c.noun, got, c.want)
		}
	}
}

func TestSizes(t *testing.T) {
	for _, c := range []struct {
		n             int64
		bytes, memory string
	}{
		{0, "0 B", "0 B"}, {999, "999 B", "999 B"}, {1000, "1.0 kB", "1000 B"}, {1024, "1.0 kB", "1.0 KiB"},
		{18_600_000_000, "18.6 GB", "17.3 GiB"}, {1 << 60, "1152.9 PB", "1024.0 PiB"},
	} {
		if got := Bytes(c.n); got != c.bytes {
			t.Errorf("Bytes(%d) = %q, want %q", c.n, got, c.bytes)
		}
		if got := Memory(c.n); got != c.memory {
			t.Errorf("Memory(%d) = %q, want %q", c.n, got, c.memory)
		}
	}
}

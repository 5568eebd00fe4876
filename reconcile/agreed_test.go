package reconcile

import (
	"testing"

	"aisync.dev/aisync/reconcile/fsys"
)

func TestAgreedIsByOwnerAndDigest(t *testing.T) {
	disk, err := fsys.New(fsys.Options{Root: t.TempDir(), Home: "/home/me", Tag: "t"})
	if err != nil {
		t.Fatal(err)
	}
	s, err := OpenStore(disk, "/state")
	if err != nil {
		t.Fatal(err)
	}
	o := ProjectOwner("/p")
	for _, digests := range [][]string{{"sha256:2", "sha256:1"}, {"sha256:3", "sha256:1"}} {
		if err := s.Agree(disk, o, digests); err != nil {
			t.Fatal(err)
		}
	}
	again, err := OpenStore(disk, "/state")
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		owner  Owner
		digest string
		want   bool
	}{{o, "sha256:1", true}, {o, "sha256:2", true}, {o, "sha256:3", true}, {o, "sha256:4", false}, {HostOwner, "sha256:1", false}, {ProjectOwner("/q"), "sha256:1", false}} {
		if got := again.Agreed(c.owner, c.digest); got != c.want {
			t.Errorf("%s %s: %v", c.owner, c.digest, got)
		}
	}
}

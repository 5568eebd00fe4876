package reconcile

import "testing"

func TestWhatNobodyAgreedToIsNotAgreed(t *testing.T) {
	o := ProjectOwner("/p")
	read := TrustItem{Address: "file:.agents/checks.json", Command: "make check", Body: "sha256:1"}
	s := &Store{owners: map[Owner]*ownerFile{o: {Agreed: []string{read.digest()}}}}
	other, elsewhere := read, read
	other.Body, elsewhere.Address = "sha256:2", "file:.agents/other.json"
	for _, c := range []struct {
		owner Owner
		item  TrustItem
		want  bool
	}{{o, read, true}, {o, other, false}, {o, elsewhere, false}, {HostOwner, read, false}} {
		if got := s.Agreed(c.owner, c.item); got != c.want {
			t.Errorf("%s %v: %v", c.owner, c.item, got)
		}
	}
}

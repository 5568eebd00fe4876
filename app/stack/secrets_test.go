package stack_test

import (
	"os"
	"strings"
	"testing"

	"aisync.dev/aisync/app/stack"
	"aisync.dev/aisync/app/stack/stacktest"
)

const key = "home/.local/state/aisync/secrets.key"

func TestSecretsAreHashedUnderAStoredKey(t *testing.T) {
	s := stacktest.New(t, nil)
	hash := func() string {
		m := s.Machine()
		r, err := m.Places.Reader("none")
		if err != nil {
			t.Fatal(err)
		}
		return string(stack.NewSecretHasher(r, m.Places.State).Hash([]byte("secret")))
	}
	if a, b := hash(), hash(); a == b {
		t.Error("without a key, two hashers agree")
	}
	if _, err := os.Stat(s.Path(key)); err == nil {
		t.Error("a hasher that only looks stored a key")
	}
	s.Write(key, strings.Repeat("k", 32))
	if a, b := hash(), hash(); a != b || strings.Contains(a, "secret") {
		t.Errorf("%s and %s", a, b)
	}
}

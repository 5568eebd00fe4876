package link

import (
	"os"
	"path/filepath"
	"testing"

	"aisync.dev/aisync/providers/providertest"
	"aisync.dev/aisync/reconcile"
)

func TestLinkPassesProviderSuite(t *testing.T) {
	providertest.Run(t, func(*testing.T) providertest.Suite {
		return providertest.Suite{
			Provider: Provider{}, Address: "link:~/.tool/skills/review",
			Want: func(_ *providertest.Bench, v string) []reconcile.Leaf {
				return []reconcile.Leaf{{Body: To("../../rulesets/" + v)}}
			},
			Put: func(t *testing.T, b *providertest.Bench, v string) {
				if err := os.RemoveAll(b.Path()); err != nil {
					t.Fatal(err)
				}
				if v == "" {
					return
				}
				if err := os.MkdirAll(filepath.Dir(b.Path()), 0o755); err != nil {
					t.Fatal(err)
				}
				if err := os.Symlink("../../rulesets/"+v, b.Path()); err != nil {
					t.Fatal(err)
				}
			},
			Get: func(t *testing.T, b *providertest.Bench) string {
				to, err := os.Readlink(b.Path())
				if os.IsNotExist(err) {
					return ""
				}
				if err != nil {
					t.Fatal(err)
				}
				return filepath.Base(to)
			},
			Block: func(t *testing.T, b *providertest.Bench) {
				if err := os.MkdirAll(filepath.Dir(b.Path()), 0o755); err != nil {
					t.Fatal(err)
				}
				if err := os.WriteFile(b.Path(), []byte("mine"), 0o644); err != nil {
					t.Fatal(err)
				}
			},
		}
	})
}

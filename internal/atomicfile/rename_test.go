package atomicfile

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"sync"
	"testing"
)

// On a file system that cannot rename without replacing, of many who do it at
// once, to separate names or to one name, one has renamed; a file is never
// lost and never replaced.
func TestLinkNewIsExclusive(t *testing.T) {
	for _, target := range []string{"to-%d", "to"} {
		for range 50 {
			dir := t.TempDir()
			from := filepath.Join(dir, "from")
			if err := os.WriteFile(from, []byte("text"), 0o644); err != nil {
				t.Fatal(err)
			}
			var wait sync.WaitGroup
			var mu sync.Mutex
			won := 0
			for n := range 8 {
				wait.Go(func() {
					to := filepath.Join(dir, target)
					if target != "to" {
						to = filepath.Join(dir, fmt.Sprintf(target, n))
					}
					err := linkNew(from, to)
					mu.Lock()
					defer mu.Unlock()
					switch {
					case err == nil:
						won++
					case !errors.Is(err, fs.ErrNotExist) && !errors.Is(err, fs.ErrExist):
						t.Error(err)
					}
				})
			}
			wait.Wait()
			left, err := os.ReadDir(dir)
			if won != 1 || err != nil || len(left) != 1 || left[0].Name() == "from" {
				t.Fatalf("%s: %d have renamed it, and there is %v %v", target, won, left, err)
			}
		}
	}
}

func TestLinkNewCompletesInterruptedRename(t *testing.T) {
	for name, rename := range map[string]func(from, to string) error{"link": linkNew, "kernel": RenameNew} {
		dir := t.TempDir()
		from, to, other := filepath.Join(dir, "from"), filepath.Join(dir, "to"), filepath.Join(dir, "other")
		err := errors.Join(os.WriteFile(from, nil, 0o644), os.Link(from, to), os.WriteFile(other, []byte("theirs"), 0o644))
		if err != nil {
			t.Fatal(err)
		}
		if err := rename(from, other); !errors.Is(err, fs.ErrExist) {
			t.Errorf("%s: %v", name, err)
		}
		if err := rename(from, to); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if left, err := os.ReadDir(dir); err != nil || len(left) != 2 || left[0].Name() != "other" || left[1].Name() != "to" {
			t.Errorf("%s: %v %v", name, left, err)
		}
	}
}

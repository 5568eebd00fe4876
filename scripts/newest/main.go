// Newest runs the tests of internal/realcli with the newest version that npm
// publishes of each agent program, compares what they saw with the committed
// evidence (catalog/proved.json), and prints the difference as a table. For a part
// that regressed it names the first version that has it wrong. It exits 1 if a part
// or test regressed. It changes no evidence and no pin.
//
// A program whose newest version is the pin is not run: its evidence is of that
// version.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"time"

	"aisync.dev/aisync/internal/realcli"
)

// page is where -write puts the table.
const page = "docs/newest.md"

func main() {
	short := flag.Bool("short", false, "the short form of the tests, which tries each part less often")
	pattern := flag.String("run", "", "only the tests that match `PATTERN`, as with go test")
	out := flag.String("out", "bin/newest.md", "the `file` that gets the table")
	write := flag.Bool("write", false, "write the table to "+page+" too")
	flag.Parse()
	regressed, err := run(*short, *pattern, *out, *write)
	if err != nil {
		fmt.Fprintln(os.Stderr, "newest:", err)
	}
	if err != nil || regressed {
		os.Exit(1)
	}
}

func run(short bool, pattern, out string, write bool) (regressed bool, err error) {
	ctx := context.Background()
	cache, err := realcli.DefaultCache()
	if err != nil {
		return false, err
	}
	t, err := newTests(cache, short)
	if err != nil {
		return false, err
	}
	defer t.close()
	var programs []program
	for _, pin := range realcli.Agents {
		p, err := newest(ctx, pin, t)
		if err != nil {
			return false, fmt.Errorf("%s: %w", pin.ID, err)
		}
		programs = append(programs, p)
	}
	r, err := compare(ctx, programs, t, pattern)
	if err != nil {
		return false, err
	}
	r.date, r.short, r.pattern = time.Now().Format(time.DateOnly), short, pattern
	text := r.markdown()
	fmt.Print("\n", text)
	err = os.WriteFile(out, []byte(text), 0o644)
	if write {
		err = errors.Join(err, os.WriteFile(page, []byte(text), 0o644))
	}
	return r.regressed(), err
}

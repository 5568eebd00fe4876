// Command gen writes catalog/data.go from the catalog's CUE, so that reading the
// catalog needs no CUE. Run it with go generate in catalog; a test fails if
// data.go is out of date. See render.
package main

import (
	"fmt"
	"os"

	"aisync.dev/aisync/schema"
)

func main() {
	if err := write("data.go"); err != nil {
		fmt.Fprintln(os.Stderr, "gen:", err)
		os.Exit(1)
	}
}

func write(path string) error {
	c, err := schema.EmbeddedCatalog()
	if err != nil {
		return err
	}
	text, err := render(c)
	if err != nil {
		return err
	}
	return os.WriteFile(path, text, 0o644)
}

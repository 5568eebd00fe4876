// Command fetchone fetches one file and verifies it, as aisync does, in a
// process of its own: what make bench-models measures. It is not installed.
//
//	fetchone [-connections N] [-volatile] URL FILE BYTES SHA256
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strconv"

	"aisync.dev/aisync/internal/fetch"
	"aisync.dev/aisync/reconcile/fsys"
)

func main() {
	var o fetch.Options
	flag.IntVar(&o.Connections, "connections", 0, "ranges at a time; 0: the default")
	flag.BoolVar(&o.Volatile, "volatile", false, "no journal and no sync")
	flag.Parse()
	if err := run(o, flag.Args()); err != nil {
		fmt.Fprintln(os.Stderr, "fetchone:", err)
		os.Exit(1)
	}
}

func run(o fetch.Options, args []string) error {
	if len(args) != 4 {
		return errors.New("want URL FILE BYTES SHA256")
	}
	path, err := filepath.Abs(args[1])
	if err != nil {
		return err
	}
	size, err := strconv.ParseInt(args[2], 10, 64)
	if err != nil {
		return err
	}
	store, err := fsys.New(fsys.Options{Home: fsys.LogicalPath(filepath.Dir(path)), Tag: "fetchone"})
	if err != nil {
		return err
	}
	a := fetch.Artifact{Name: filepath.Base(path), Sources: []string{args[0]}, Size: size, SHA256: args[3]}
	return fetch.New(o).Fetch(context.Background(), a, store, fsys.LogicalPath(path), nil)
}

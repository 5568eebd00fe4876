package main

import (
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// row is one guarantee: a section of the document.
type row struct {
	n     int
	title string
	names []string // of tests, fuzz targets and scripts, in the document's order
}

var (
	section = regexp.MustCompile(`(?m)^## (\d+)\. (.+)$`)
	named   = regexp.MustCompile("`((?:Test|Fuzz)\\w+|\\w+\\.txtar)`")
	declare = regexp.MustCompile(`(?m)^func ((?:Test|Fuzz)\w+)\(\w+ \*testing\.[TF]\)`)
)

// readRows takes the document apart. The sections are numbered from 1 on, and
// each names a test.
func readRows(doc string) ([]row, error) {
	var rows []row
	heads := section.FindAllStringSubmatchIndex(doc, -1)
	for i, h := range heads {
		end := len(doc)
		if i+1 < len(heads) {
			end = heads[i+1][0]
		}
		n, err := strconv.Atoi(doc[h[2]:h[3]])
		if err != nil || n != i+1 {
			return nil, fmt.Errorf("section %q: want number %d", doc[h[2]:h[5]], i+1)
		}
		r := row{n: n, title: doc[h[4]:h[5]]}
		for _, m := range named.FindAllStringSubmatch(doc[h[1]:end], -1) {
			if !slices.Contains(r.names, m[1]) {
				r.names = append(r.names, m[1])
			}
		}
		if len(r.names) == 0 {
			return nil, fmt.Errorf("section %d names no test", n)
		}
		rows = append(rows, r)
	}
	if len(rows) == 0 {
		return nil, fmt.Errorf("no section is numbered")
	}
	return rows, nil
}

// findTests returns the packages ("./dir") of every test and fuzz target below
// root, and of every script of cmd/aisync.
func findTests(root string) (map[string][]string, error) {
	where := map[string][]string{}
	add := func(name, dir string) {
		if pkg := "./" + filepath.ToSlash(dir); !slices.Contains(where[name], pkg) {
			where[name] = append(where[name], pkg)
		}
	}
	err := filepath.WalkDir(root, func(p string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && (d.Name() == ".git" || d.Name() == "bin"):
			return fs.SkipDir
		case strings.HasPrefix(filepath.ToSlash(p), "cmd/aisync/testdata/script/") && strings.HasSuffix(p, ".txtar"):
			add(d.Name(), "cmd/aisync")
		case strings.HasSuffix(p, "_test.go"):
			text, err := os.ReadFile(p)
			if err != nil {
				return err
			}
			for _, m := range declare.FindAllStringSubmatch(string(text), -1) {
				add(m[1], path.Dir(filepath.ToSlash(p)))
			}
		}
		return nil
	})
	return where, err
}

const beginTable, endTable = "<!-- proof:begin -->", "<!-- proof:end -->"

// withTable puts the table between its marks.
func withTable(doc, table string) (string, error) {
	before, rest, ok := strings.Cut(doc, beginTable)
	_, after, ended := strings.Cut(rest, endTable)
	if !ok || !ended {
		return "", fmt.Errorf("the document has no %s … %s", beginTable, endTable)
	}
	return before + beginTable + "\n" + table + endTable + after, nil
}

// sameRows reports a table in the document that is not of these guarantees.
func sameRows(doc string, rows []row) error {
	_, rest, _ := strings.Cut(doc, beginTable)
	old, _, _ := strings.Cut(rest, endTable)
	for _, r := range rows {
		if !strings.Contains(old, fmt.Sprintf("\n| %d | %s |", r.n, r.title)) {
			return fmt.Errorf("the table has no row %d %q; run: make proof", r.n, r.title)
		}
	}
	if n := strings.Count(old, "\n| ") - 1; n != len(rows) {
		return fmt.Errorf("the table has %d rows, the document %d sections; run: make proof", n, len(rows))
	}
	return nil
}

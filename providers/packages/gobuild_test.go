package packages

import (
	"bytes"
	"debug/buildinfo"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// The library of Go is asked for the truth: of this test, of Go's own program,
// which has the mark in it as a text too, and of what is no Go program.
func TestTheRecordOfAGoProgramIsReadAsGoReadsIt(t *testing.T) {
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	script := filepath.Join(t.TempDir(), "script")
	if err := os.WriteFile(script, []byte("#!/bin/sh\n"+strings.Repeat("\xff Go buildinf:\x08\x02", 100)), 0o755); err != nil {
		t.Fatal(err)
	}
	files := []string{self, script, os.DevNull}
	for _, name := range []string{"go", "gofmt", "sh"} {
		if path, err := exec.LookPath(name); err == nil {
			files = append(files, path)
		}
	}
	read := 0
	for _, file := range files {
		f, err := os.Open(file)
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		pkg, version, err := goBuild(f)
		want, wantErr := buildinfo.Read(f)
		if (err == nil) != (wantErr == nil) {
			t.Errorf("%s: %v, and Go says %v", file, err, wantErr)
			continue
		}
		if err != nil {
			continue
		}
		read++
		if pkg != want.Path || version != want.Main.Version {
			t.Errorf("%s: %q %q, and Go says %q %q", file, pkg, version, want.Path, want.Main.Version)
		}
	}
	if read == 0 {
		t.Error("no Go program was read")
	}
}

func TestARecordThatIsCutIsNone(t *testing.T) {
	modules := "path\texample.org/x\nmod\texample.org/x\tv1.2.3\th1:x\n"
	whole := append(append([]byte{}, goMark...), 8, goInline)
	whole = append(whole, make([]byte, goHeader-len(whole))...)
	whole = append(whole, 2, 'g', 'o', byte(len(modules)+32))
	whole = append(whole, strings.Repeat("s", 16)+modules+strings.Repeat("e", 16)...)
	if pkg, version, err := goBuild(bytes.NewReader(whole)); err != nil || pkg != "example.org/x" || version != "v1.2.3" {
		t.Fatal(pkg, version, err)
	}
	for n := range whole {
		if pkg, _, err := goBuild(bytes.NewReader(whole[:n])); err == nil {
			t.Errorf("%d bytes of it: %q", n, pkg)
		}
	}
}

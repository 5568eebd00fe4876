package main

import (
	"bytes"
	"debug/buildinfo"
	"os"
	"path/filepath"
	"testing"

	cdx "github.com/CycloneDX/cyclonedx-go"
)

func TestTheBillNamesEveryModuleThatIsLinked(t *testing.T) {
	program, err := os.Executable() // a test is a program as well
	if err != nil {
		t.Fatal(err)
	}
	var out, again bytes.Buffer
	if err := write(&out, program); err != nil {
		t.Fatal(err)
	}
	var bill cdx.BOM
	if err := cdx.NewBOMDecoder(bytes.NewReader(out.Bytes()), cdx.BOMFileFormatJSON).Decode(&bill); err != nil {
		t.Fatal(err)
	}
	listed := map[string]cdx.Component{}
	for _, c := range *bill.Components {
		listed[c.Name] = c
	}
	info, err := buildinfo.ReadFile(program)
	if err != nil {
		t.Fatal(err)
	}
	if len(info.Deps) == 0 || listed["std"].Version != info.GoVersion {
		t.Errorf("%d modules are linked; Go is %q", len(info.Deps), listed["std"].Version)
	}
	for _, m := range info.Deps {
		c := listed[m.Path]
		if c.Version != m.Version || c.Hashes == nil || len((*c.Hashes)[0].Value) != 64 || c.PackageURL != "pkg:golang/"+m.Path+"@"+m.Version {
			t.Errorf("%s %s is listed as %+v", m.Path, m.Version, c)
		}
	}
	if err := write(&again, program); err != nil || !bytes.Equal(out.Bytes(), again.Bytes()) {
		t.Errorf("a second bill differs: %v", err)
	}
}

func TestAFileThatIsNoGoProgramHasNoBill(t *testing.T) {
	file := filepath.Join(t.TempDir(), "notes")
	if err := os.WriteFile(file, []byte("not a program"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := write(&bytes.Buffer{}, file); err == nil {
		t.Error("it has one")
	}
}

package packages

import (
	"bytes"
	"debug/buildinfo"
	"io"
	"os"
	"os/exec"
	"testing"
	"testing/iotest"
)

// A program says the same of itself here as to debug/buildinfo, however its bytes
// arrive; other files say nothing.
func TestBuiltFromAgreesWithDebugBuildinfo(t *testing.T) {
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	programs := []string{self}
	if tool, err := exec.LookPath("go"); err == nil {
		programs = append(programs, tool) // it holds the magic as a text, too
	}
	for _, name := range programs {
		want, err := buildinfo.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		b, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		for _, r := range []io.Reader{bytes.NewReader(b), iotest.HalfReader(bytes.NewReader(b))} {
			path, version, err := builtFrom(r)
			if err != nil || path != want.Path || version != want.Main.Version {
				t.Errorf("%s: %q %q, %v; want %q %q", name, path, version, err, want.Path, want.Main.Version)
			}
		}
	}
	for _, text := range []string{"", "#!/bin/sh\n", string(buildMagic), string(buildMagic) + "\x08\x02 and nothing that fits", string(buildMagic) + "\x08\x02" + string(make([]byte, 100))} {
		if path, version, err := builtFrom(bytes.NewReader([]byte(text))); path != "" || version != "" || err != nil {
			t.Errorf("%q: %q %q %v", text, path, version, err)
		}
	}
	if _, _, err := builtFrom(iotest.ErrReader(os.ErrPermission)); err == nil {
		t.Error("a file that cannot be read was not built from anything")
	}
}

// Sbom writes the software bill of materials of a Go program, as CycloneDX
// JSON, from what the Go linker left in it: every module that is linked, with
// its version and the checksum of go.sum. It holds no time and no path, so that
// equal programs have equal bills.
package main

import (
	"crypto/sha256"
	"debug/buildinfo"
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"io"
	"os"
	"strings"

	cdx "github.com/CycloneDX/cyclonedx-go"
)

func main() {
	if len(os.Args) != 2 {
		fmt.Fprintln(os.Stderr, "usage: sbom PROGRAM >FILE")
		os.Exit(64)
	}
	if err := write(os.Stdout, os.Args[1]); err != nil {
		fmt.Fprintln(os.Stderr, "sbom:", err)
		os.Exit(1)
	}
}

func write(out io.Writer, program string) error {
	info, err := buildinfo.ReadFile(program)
	if err != nil {
		return fmt.Errorf("%s: %w", program, err)
	}
	bytes, err := os.ReadFile(program)
	if err != nil {
		return err
	}
	bill := cdx.NewBOM()
	main := component(info.Main.Path, info.Main.Version, "")
	main.Type = cdx.ComponentTypeApplication
	main.Hashes = &[]cdx.Hash{{Algorithm: cdx.HashAlgoSHA256, Value: fmt.Sprintf("%x", sha256.Sum256(bytes))}}
	bill.Metadata = &cdx.Metadata{Component: &main}
	parts := []cdx.Component{component("std", info.GoVersion, "")}
	for _, m := range info.Deps {
		if m.Replace != nil {
			m = m.Replace
		}
		parts = append(parts, component(m.Path, m.Version, m.Sum))
	}
	bill.Components = &parts
	return cdx.NewBOMEncoder(out, cdx.BOMFileFormatJSON).SetPretty(true).Encode(bill)
}

// component is a module. Its sum is that of go.sum, of all its files: base64 of
// a SHA-256 behind "h1:".
func component(path, version, sum string) cdx.Component {
	purl := "pkg:golang/" + path + "@" + version
	c := cdx.Component{Type: cdx.ComponentTypeLibrary, BOMRef: purl, Name: path, Version: version, PackageURL: purl}
	if b, err := base64.StdEncoding.DecodeString(strings.TrimPrefix(sum, "h1:")); sum != "" && err == nil {
		c.Hashes = &[]cdx.Hash{{Algorithm: cdx.HashAlgoSHA256, Value: hex.EncodeToString(b)}}
	}
	return c
}

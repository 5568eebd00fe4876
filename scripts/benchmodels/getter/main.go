// Command getter fetches one file as go-getter does it by itself, for make
// bench-models to compare with: getter URL[?checksum=sha256:…] FILE.
package main

import (
	"context"
	"fmt"
	"os"

	getter "github.com/hashicorp/go-getter/v2"
)

func main() {
	if len(os.Args) != 3 {
		fmt.Fprintln(os.Stderr, "usage: getter URL FILE")
		os.Exit(64)
	}
	client := &getter.Client{Getters: []getter.Getter{&getter.HttpGetter{}}}
	req := &getter.Request{Src: os.Args[1], Dst: os.Args[2], GetMode: getter.ModeFile}
	if _, err := client.Get(context.Background(), req); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

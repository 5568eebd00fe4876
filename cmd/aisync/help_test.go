package main

import (
	"slices"
	"strings"
	"testing"

	"aisync.dev/aisync/cmd/aisync/internal/cli"
	"aisync.dev/aisync/internal/environ"
)

func TestEveryCommandIsInTheHelp(t *testing.T) {
	listed := append([]string{"help", "gen-docs"}, agentsWork...)
	for _, g := range groups {
		listed = append(listed, strings.Fields(g.names)...)
	}
	for _, c := range rootCommand(&cli.App{Env: environ.Env{}}).Commands() {
		if !c.Hidden && !slices.Contains(listed, c.Name()) {
			t.Errorf("%s stands in no group of the help", c.Name())
		}
	}
}

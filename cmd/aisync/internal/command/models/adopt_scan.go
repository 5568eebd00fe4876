package models

import (
	"context"
	"fmt"
	"path"
	"strings"

	"aisync.dev/aisync/cmd/aisync/internal/cli"
	"aisync.dev/aisync/internal/quantity"
	"aisync.dev/aisync/internal/shellquote"
	"aisync.dev/aisync/internal/termtext"
	"aisync.dev/aisync/providers/store"
)

// modelScanDoc is models adopt --scan --json; see docs/json.md.
type modelScanDoc struct {
	FormatVersion string        `json:"format_version"`
	Files         []standingDoc `json:"files"`
}

type standingDoc struct {
	Program string `json:"program"`
	Name    string `json:"name"`
	Path    string `json:"path"`
	Size    int64  `json:"size_bytes"`
	ID      string `json:"id,omitempty"` // in the spec
	InStore bool   `json:"in_store"`
	Next    string `json:"next,omitempty"` // the command that brings it in
}

// modelsScan lists the model files in the folders of other programs and in dirs.
func modelsScan(ctx context.Context, a *cli.App, dirs []string) error {
	inv, err := readInventory(ctx, a)
	if err != nil {
		return err
	}
	places := inv.View.Programs().Locations()
	for _, arg := range dirs {
		if !strings.Contains(arg, "/") && arg != "." && arg != ".." {
			return cli.Usagef("--scan takes folders, such as ./%s", termtext.Safe(arg))
		}
		dir, err := folderOfModels(a, inv.View.Places, arg)
		if err != nil {
			return err
		}
		places = append(places, store.Location{Program: "folder", Dir: dir})
	}
	found, err := store.Scan(inv.View.Reader, inv.Folder, inv.Files, places)
	if err != nil {
		return err
	}
	doc := modelScanDoc{cli.ViewVersion, []standingDoc{}}
	for _, s := range found {
		at := inv.View.Places.Physical(s.Path)
		doc.Files = append(doc.Files, standingDoc{s.Program, s.Name, at, s.Size, s.ID, s.InStore, bringIn(s, at)})
	}
	if a.Flags.JSON {
		return a.WriteJSON(doc)
	}
	if len(doc.Files) == 0 {
		a.Printf("No GGUF files in the folders of Hugging Face, ollama, LM Studio and llama.cpp, or in those named.\n")
		return nil
	}
	for _, d := range doc.Files {
		state := "not in the spec"
		switch {
		case d.InStore && d.ID != "":
			state = "in the store as " + d.ID
		case d.InStore:
			state = "in the store, and not in the spec"
		case d.ID != "":
			state = "wanted as " + d.ID
		}
		a.Printf("%s (%s)  %s  %s\n", termtext.Safe(d.Name), termtext.Safe(d.Program), quantity.Bytes(d.Size), termtext.Safe(state))
		if d.Next != "" {
			a.Printf("  %s\n", termtext.Safe(d.Next))
		}
	}
	return nil
}

// bringIn is the command that brings s in without a copy, "" if it is in.
func bringIn(s store.Standing, at string) string {
	adopt := "aisync models adopt"
	if s.Program == "folder" {
		adopt += " " + shellquote.Terminal(path.Dir(at)+"/")
	}
	switch {
	case s.ID != "" && s.InStore:
		return ""
	case s.ID != "":
		return adopt
	}
	name := ""
	if s.SHA256 != "" {
		name = fmt.Sprintf(" --name %s", cli.NameOf(strings.TrimSuffix(path.Base(s.Name), ".gguf"), "model"))
	}
	return "aisync add model " + shellquote.Terminal(at) + name + " && " + adopt
}

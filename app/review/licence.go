package review

import (
	"context"
	"encoding/json"
	"path/filepath"
	"strings"

	"aisync.dev/aisync/app/flagged"
	"aisync.dev/aisync/app/pin"
	"aisync.dev/aisync/internal/bundle/items"
	"aisync.dev/aisync/internal/bundle/plugin"
	"aisync.dev/aisync/internal/frontmatter"
	"aisync.dev/aisync/internal/regular"
)

// maxLicence is the largest text that is looked at, in bytes.
const maxLicence = 1 << 20

// Licence returns the licence of what lies in dir, by its manifest or else by the text
// at the top of it or of its repository; "" where there is none. It is what the
// publisher says, and no advice.
func Licence(ctx context.Context, dir string) string {
	for _, name := range plugin.ManifestNames {
		text, err := regular.Read(filepath.Join(dir, name), maxLicence)
		var doc struct{ License any }
		if err != nil || json.Unmarshal(text, &doc) != nil {
			continue
		}
		if id, ok := doc.License.(string); ok && id != "" {
			return id
		}
	}
	name, text := pin.LicenceText(ctx, dir)
	if name == "" {
		return ""
	}
	if id := identify(string(text)); id != "" {
		return id
	}
	return "see its " + name
}

// OfItem returns the licence that a skill names; "" for none.
func OfItem(i *items.Item) string {
	for _, f := range i.Files {
		if i.Kind != "skill" || f.Rel != "SKILL.md" {
			continue
		}
		if front, _, ok, err := frontmatter.Split([]byte(read(f))); ok && err == nil {
			if fields, err := frontmatter.Parse(front); err == nil {
				return fields.Text("license")
			}
		}
	}
	return ""
}

// identify names a licence by words that no other has; in this order, since some quote
// others.
func identify(text string) string {
	text = strings.Join(strings.Fields(text), " ")
	for _, l := range []struct{ words, id string }{
		{"GNU AFFERO GENERAL PUBLIC LICENSE Version 3", "AGPL-3.0"},
		{"GNU LESSER GENERAL PUBLIC LICENSE Version 3", "LGPL-3.0"},
		{"GNU GENERAL PUBLIC LICENSE Version 3", "GPL-3.0"},
		{"GNU GENERAL PUBLIC LICENSE Version 2", "GPL-2.0"},
		{"Mozilla Public License Version 2.0", "MPL-2.0"},
		{"Apache License Version 2.0", "Apache-2.0"},
		{"Permission is hereby granted, free of charge, to any person obtaining a copy", "MIT"},
		{"Permission to use, copy, modify, and/or distribute this software", "ISC"},
		{"Neither the name of", "BSD-3-Clause"},
		{"Redistribution and use in source and binary forms", "BSD-2-Clause"},
		{"This is free and unencumbered software released into the public domain", "Unlicense"},
		{"CC0 1.0 Universal", "CC0-1.0"},
		{"Attribution-ShareAlike 4.0 International", "CC-BY-SA-4.0"},
		{"Attribution 4.0 International", "CC-BY-4.0"},
	} {
		if strings.Contains(text, l.words) {
			return l.id
		}
	}
	return ""
}

// Flagged returns the texts of the source called name, among the files of list, in
// which something is found.
func Flagged(name string, list []*items.Item) []flagged.Text {
	out := []flagged.Text{}
	seen := map[string]bool{}
	for _, i := range list {
		for _, f := range i.Files {
			if seen[f.Src] {
				continue
			}
			seen[f.Src] = true
			if t, ok := flagged.OfFile(name, f.Src, []byte(read(f))); ok {
				out = append(out, t)
			}
		}
	}
	return out
}

package contextreport

import (
	"fmt"
	"slices"

	"aisync.dev/aisync/adapter/loads"
	"aisync.dev/aisync/schema/spec"
)

// LoadChange is what one program loads more and less on one machine than on
// another.
type LoadChange struct {
	Program string     `json:"program"`
	More    []LoadItem `json:"more"`
	Less    []LoadItem `json:"less"`
}

// LoadItem is one text, skill, command, subagent, server or hook of a program.
type LoadItem struct {
	Kind loads.Kind `json:"kind"`
	Name string     `json:"name"`
	From []string   `json:"from"` // files
}

// LoadChanges compares what each of programs loads now and then, started in a
// folder; short names a file. It is empty, not nil, where nothing changes.
func LoadChanges(programs []spec.Runtime, now, then loads.Machine, start string, short func(string) string) ([]LoadChange, error) {
	out := []LoadChange{}
	for _, rt := range programs {
		if rt.Loads == nil {
			continue
		}
		before, err := loads.Loads(rt, now, start)
		if err != nil {
			return nil, fmt.Errorf("compute what %s loads: %w", rt.ID, err)
		}
		after, err := loads.Loads(rt, then, start)
		if err != nil {
			return nil, fmt.Errorf("compute what %s loads: %w", rt.ID, err)
		}
		if gone, come := loads.Compare(before, after); len(gone)+len(come) > 0 {
			out = append(out, LoadChange{rt.ID, loadItems(come, short), loadItems(gone, short)})
		}
	}
	return out, nil
}

func loadItems(items []loads.Item, short func(string) string) []LoadItem {
	out := []LoadItem{}
	for _, i := range items {
		item := LoadItem{Kind: i.Kind, Name: i.Name, From: []string{}}
		for _, f := range i.From {
			if at := short(f.Path); !slices.Contains(item.From, at) {
				item.From = append(item.From, at)
			}
		}
		out = append(out, item)
	}
	return out
}

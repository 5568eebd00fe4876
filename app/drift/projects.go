package drift

import (
	"strings"

	"aisync.dev/aisync/app/stack/place"
	"aisync.dev/aisync/reconcile"
)

// ProjectReport is the report of one of several projects.
type ProjectReport struct {
	Project string `json:"project"`         // its folder, with ~ in the person's home
	Error   string `json:"error,omitempty"` // why it could not be checked: then the rest is empty
	*Report
}

// Summary counts projects; one that drifted and is pending counts in both.
type Summary struct {
	Projects int `json:"projects"`
	InOrder  int `json:"in_order"`
	Drifted  int `json:"drifted"`
	Pending  int `json:"pending"`
	Unknown  int `json:"unknown"`
	Failed   int `json:"failed"`
}

// Empty returns a report without differences.
func Empty() *Report {
	return &Report{Drift: []Difference{}, Pending: []Difference{}, Unknown: []Difference{}, Owners: []reconcile.Owner{}, Notes: []reconcile.Note{}}
}

// Unchecked returns the difference for a project that could not be checked.
func Unchecked(err error) Difference {
	return Difference{
		ChangeDoc: reconcile.ChangeDoc{Address: "file:" + place.SpecFile, Kind: "file", Action: reconcile.Unclear, Meaning: "could not be checked: " + strings.ReplaceAll(err.Error(), "\n", "; ")},
		File:      place.SpecFile,
	}
}

// Summarize counts the projects of found.
func Summarize(found []ProjectReport) Summary {
	s := Summary{Projects: len(found)}
	for _, p := range found {
		switch {
		case p.Error != "":
			s.Failed++
			continue
		case p.InOrder():
			s.InOrder++
		}
		for n, list := range map[*int][]Difference{&s.Drifted: p.Drift, &s.Pending: p.Pending, &s.Unknown: p.Unknown} {
			if len(list) > 0 {
				*n++
			}
		}
	}
	return s
}

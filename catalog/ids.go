package catalog

import "aisync.dev/aisync/schema/spec"

// RuntimeIDs are the ids of list, in its order.
func RuntimeIDs(list []spec.Runtime) []string {
	out := make([]string, len(list))
	for i, r := range list {
		out[i] = r.ID
	}
	return out
}

// ModelIDs are the ids of list, in its order.
func ModelIDs(list []spec.Model) []string {
	out := make([]string, len(list))
	for i, m := range list {
		out[i] = m.ID
	}
	return out
}

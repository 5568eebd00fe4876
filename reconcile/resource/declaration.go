package resource

import "encoding/json"

// Fingerprint identifies a value: "sha256:…" of its canonical bytes, or any
// other text that is equal exactly when the values are. "" is no value.
type Fingerprint string

// Body is a wanted value. It may hold many bytes or only know where they are; a
// plan file holds its fingerprint, never the body.
type Body interface {
	Fingerprint() Fingerprint
	Redacted() json.RawMessage // the part that people and plans may see; no secret
}

// LeafKey names one owned part of a target: "" for the whole, "seed" for first
// content, else as the provider's format says (a pointer, a set member, a line).
type LeafKey string

// Seed is the key of content that is written once and then belongs to the user.
const Seed LeafKey = "seed"

// Ownership is how much of a target a leaf claims.
type Ownership int

const (
	Exclusive Ownership = iota // the whole target; shared with no other leaf
	Member                     // this part only; the rest belongs to others
	SeedOnly                   // written if there is nothing; never drifts afterwards
)

// Leaf is one part of one target, wanted by one place of a spec.
type Leaf struct {
	Key    LeafKey
	Body   Body
	Own    Ownership
	Origin []Position // where it was asked for; more than one after Compose
	Owners []Owner    // set by Compose
	Order  int        // its place among the leaves of its target, as they were asked for; set by Compose
	Reason string     // why, where it is not plain: "the best quant that fits 64 GiB"
	Unless Address    // not wanted where this is the same place as the target, as by a link; "": always
	Source string     // the pinned bundle source of all of Body; "" if it is not pinned, or from the spec itself
}

// Declaration is one thing that one place of a spec asks of one target.
type Declaration struct {
	Target    Address
	Owner     Owner
	Format    string // how leaves are kept in the target ("json", "toml", "yaml", "text"); "" for any
	Leaves    []Leaf
	DependsOn []Address
	Local     bool // never in the project's lock: git does not carry it
}

// Resource is one target with everything that is asked of it.
type Resource struct {
	Address   Address
	Format    string
	Leaves    []Leaf // sorted by key
	DependsOn []Address
	Local     bool
}

// Conflict means that declarations contradict each other. It names every place
// that takes part.
type Conflict struct {
	Address Address    `json:"address"`
	Key     LeafKey    `json:"key,omitempty"`
	Reason  string     `json:"reason"`
	Origin  []Position `json:"origin"`
	Hint    string     `json:"hint,omitempty"`
	Other   Address    `json:"other,omitempty"` // the other target, where two are in each other's way
}

// Unsupported is something a spec asks for that this version or this machine
// cannot do. It is counted and shown, and is not an error.
type Unsupported struct {
	Address Address    `json:"address"`
	Reason  string     `json:"reason"`
	Origin  []Position `json:"origin"`
}

// Note is shown beside a plan: something that a person should know and that
// changes nothing.
type Note struct {
	Warning bool       `json:"warning"`
	Text    string     `json:"text"`
	Origin  []Position `json:"origin,omitempty"`
}

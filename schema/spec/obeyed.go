package spec

// Obeyed is one kind of configuration that a program reads, and what in it
// counts as an effect: a setting that neither Safe, SafeValues nor Paths
// matches.
//
// A pointer pattern is a JSON pointer whose segments match as path.Match does;
// a last segment ** matches everything at or below its parent. An element of
// an array is a segment "*".
type Obeyed struct {
	Files      []string     // path patterns relative to the scope's root: "*" within a segment, "**" any number of segments
	Format     string       // "json" (with comments), "toml", "yaml", "frontmatter" (YAML front matter of Markdown), "code": the file itself is loaded or run, "text": each file as a whole is one effect
	Local      bool         // the program keeps its user's answers there: content outside git is the user's
	Reads      []string     // pointer patterns, each matching a prefix of a leaf's pointer: the only settings that the program reads in a foreign file; none: everything
	Safe       []string     // pointer patterns of settings that cannot run, load, redirect, loosen or trust anything
	SafeValues []SafeValues // settings that are safe only with one of these values
	Paths      []string     // like Safe, where the value is a path of text for models: safe only inside the project
	Prompts    []string     // like Safe, where the value is text for models: only the commands in it count, !{…} and !`…`
	Restricts  []string     // pointer patterns among Safe and SafeValues whose removal loosens: denials, a sandbox
	Ignored    []Ignored    // settings that the program ignores in this scope: writing one is an error
	Effects    []EffectRule // first match wins
	Source     string       // URL of the documentation or source of the judgement
}

// SafeValues is a setting that is harmless with some values, and an effect with
// others.
type SafeValues struct {
	Key    string   // pointer pattern, as in Safe
	Values []string // the safe scalars, exactly: "deny", "false"
}

// Ignored is a setting that a program ignores in a scope.
type Ignored struct {
	Key    string // pointer pattern; matches a prefix of a leaf's pointer
	Why    string
	Values []string // the ignored scalars, exactly; none: every value
}

// EffectRule describes what a setting makes its program do.
type EffectRule struct {
	Key    string   // pointer pattern; matches a prefix of a leaf's pointer. "" for format "code" and "text"
	Has    string   // only where the value at Key has a member of this name; "": always
	Class  string   // "runs", "sends", "loosens", "trusts"
	Says   string   // predicate whose subject is the program: {file} the path, {1} {2} what the wildcards of Key matched, {value} the value
	Values []string // path.Match patterns, one of which a scalar value must match; none: any value
}

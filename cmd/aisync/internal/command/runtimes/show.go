package runtimes

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"aisync.dev/aisync/adapter/start"
	"aisync.dev/aisync/app/programage"
	"aisync.dev/aisync/catalog"
	"aisync.dev/aisync/catalog/manifest"
	"aisync.dev/aisync/catalog/variant"
	"aisync.dev/aisync/cmd/aisync/internal/cli"
	"aisync.dev/aisync/internal/nearest"
	"aisync.dev/aisync/internal/secret"
	"aisync.dev/aisync/internal/shellquote"
	"aisync.dev/aisync/internal/termtext"
	"aisync.dev/aisync/schema/spec"
)

// runtimeShowDoc is runtimes show --json; see docs/json.md.
type runtimeShowDoc struct {
	FormatVersion string `json:"format_version"`
	runtimeDoc
	Levels matrixRow      `json:"levels"`
	Launch *launchDoc     `json:"launch,omitempty"` // what the host's spec adds
	Entry  catalog.Object `json:"entry"`            // as in catalog: runtimes: ID of a spec
}

// launchDoc is what a host's spec adds to every launch of a runtime.
type launchDoc struct {
	At      spec.Position `json:"at"`
	Args    []string      `json:"args"`
	Env     []launchVar   `json:"env"`
	Loosens []string      `json:"loosens"` // those that let the program do more without asking
}

type launchVar struct {
	Name  string `json:"name"`
	Value string `json:"value,omitempty"`
	From  string `json:"from,omitempty"` // where a secret comes from: "env NAME", "file PATH"
}

// launches returns what the host's spec adds to the launches of r; nil: nothing.
func (k *lineup) launches(r spec.Runtime) *launchDoc {
	if k.spec.Host == nil {
		return nil
	}
	host := start.Host{Spec: k.spec.Host, Runtimes: k.index.Runtimes(), Has: func(program string) bool { return k.facts.Programs[program] != "" }}
	i := slices.IndexFunc(k.spec.Host.Runtimes, func(u spec.RuntimeUse) bool { return u.ID == r.ID })
	if i < 0 || len(k.spec.Host.Runtimes[i].Args)+len(k.spec.Host.Runtimes[i].Env) == 0 {
		return nil
	}
	use := k.spec.Host.Runtimes[i]
	doc := &launchDoc{At: use.Pos, Args: append([]string{}, secret.ShowArgs(use.Arguments())...), Env: []launchVar{}, Loosens: append([]string{}, use.Loosening(host.ProgramOf(use))...)}
	for _, v := range use.Env {
		one := launchVar{Name: v.Name, Value: secret.Show(v.Value, v.Name)}
		if s := v.Secret; s != nil && s.Env != "" {
			one.From = "env " + s.Env
		} else if s != nil {
			one.From = "file " + s.File
		}
		doc.Env = append(doc.Env, one)
	}
	return doc
}

func runtimesShowCommand(a *cli.App) *cobra.Command {
	asManifest := false
	cmd := &cobra.Command{
		Use:   "show ID",
		Short: "print everything about a runtime, as a catalog entry",
		Long: `Prints the path of the program, how each part of a spec reaches it, and its
whole entry in CUE, which you can copy into a host's spec under another id and
change. ID may be an alias of the runtime. What the host's spec adds to its launches
is shown too, secrets by their names.

With --manifest it prints the short form, which aisync reads from
runtimes/ID.toml in a bundle source.`,
		Example:     "  $ aisync runtimes show codex\n  $ aisync runtimes show local-openai --manifest > runtimes/local-openai.toml",
		Annotations: map[string]string{"effect": "read-only"},
		Args:        cli.ExactArgs(1, "the id"),
		RunE: func(cmd *cobra.Command, args []string) error {
			k, err := listRuntimes(cmd.Context(), a)
			if err != nil {
				return err
			}
			r, ok := k.index.Find(args[0])
			if !ok {
				return nearest.Unknown("runtime", args[0], catalog.RuntimeIDs(k.index.Runtimes()))
			}
			if asManifest {
				_, err := a.Out.Write(manifest.Of(r).Format())
				return err
			}
			about := k.doc(r)
			here := variant.At(r, about.Version)
			doc := runtimeShowDoc{matrixVersion, about, matrixOf([]spec.Runtime{here}).Runtimes[0], k.launches(r), catalog.Entry(r)}
			if a.Flags.JSON {
				return a.WriteJSON(doc)
			}
			return showRuntime(a, doc, here, r)
		},
		ValidArgsFunction: func(cmd *cobra.Command, args []string, p2 string) ([]string, cobra.ShellCompDirective) {
			return runtimeIDs(a, cmd, args, p2)
		},
	}
	cmd.Flags().BoolVar(&asManifest, "manifest", false, "print the short form for runtimes/ID.toml in a bundle source")
	return cmd
}

// showRuntime prints r as the installed version takes it, and the whole entry.
func showRuntime(a *cli.App, doc runtimeShowDoc, r, entry spec.Runtime) error {
	program := "no program"
	switch {
	case doc.Program != "":
		program = doc.Program
	case doc.Command != "":
		program = doc.Command + ", not installed"
	}
	a.Printf("%s: %s (%s; from %s; wanted by %s)\n\n", termtext.Safe(doc.ID), termtext.Safe(doc.Name), termtext.Safe(program), termtext.Safe(doc.From), cmp.Or(strings.Join(doc.Wanted, " and "), "no spec here"))
	if r.Extends != "" {
		a.Printf("It extends %s: what was seen of %[1]s is not proved of it.\n\n", termtext.Safe(r.Extends))
	}
	t := a.Table()
	fmt.Fprintln(t, "PART\tHOST\tPROJECT")
	place := func(level catalog.Level, where string) string {
		if where == "" {
			return string(level)
		}
		return string(level) + ": " + termtext.Safe(strings.ReplaceAll(where, "`", ""))
	}
	for _, p := range catalog.Parts() {
		project := "-"
		if !p.UserOnly {
			project = place(p.Project(r))
		}
		fmt.Fprintf(t, "%s\t%s\t%s\n", p.Name, place(p.User(r)), project)
	}
	if err := t.Flush(); err != nil {
		return err
	}
	if doc.Program != "" {
		a.Printf("\n%s", ageText(r, doc.Version))
	}
	if l := doc.Launch; l != nil {
		a.Printf("\nEvery launch by aisync, as %s says:\n", l.At)
		if len(l.Args) > 0 {
			a.Printf("  args  %s\n", quoted(l.Args))
		}
		for _, v := range l.Env {
			a.Printf("  env   %s\n", termtext.Safe(v.Name+"="+cmp.Or(map[bool]string{true: "(" + v.From + ")"}[v.From != ""], v.Value)))
		}
		if len(l.Loosens) > 0 {
			a.Printf("  It may do more without asking you: %s\n", termtext.Safe(strings.Join(l.Loosens, ", ")))
		}
	}
	a.Printf("\n%s", entryText(entry))
	return nil
}

// quoted returns words for a shell.
func quoted(words []string) string {
	var out []string
	for _, w := range words {
		out = append(out, shellquote.Terminal(w))
	}
	return strings.Join(out, " ")
}

// ageText says how the installed version relates to the one that was run, and to the
// ranges of the entry.
func ageText(r spec.Runtime, version string) string {
	if version == "" {
		return "Its version is not known: its files do not tell it, and this command starts nothing.\n"
	}
	by := map[string][]string{}
	var order []string
	for _, s := range programage.Compare(r, version) {
		key := string(s.Age)
		switch {
		case s.Age == programage.OutOfSpan:
			key = "outside " + s.Facts.Versions + ", for which aisync writes"
			if s.Facts.Says != "" {
				key += " (" + s.Facts.Says + ")"
			}
		case s.Run != "" && s.Age != programage.AsRun:
			key += ", " + s.Run
		}
		if by[key] == nil {
			order = append(order, key)
		}
		by[key] = append(by[key], s.Part)
	}
	text := "Version " + termtext.Safe(version) + " is installed.\n"
	for _, key := range order {
		text += "  " + termtext.Safe(key) + ": " + strings.Join(by[key], ", ") + "\n"
	}
	return text
}

// entryText returns r as an entry of a host's spec.
func entryText(r spec.Runtime) string {
	return "catalog: runtimes: " + cli.Label(r.ID) + ": " + cueText(catalog.Entry(r), "") + "\n"
}

// cueText returns a value in CUE, one field a line, or on one line for a short struct
// or list of plain values.
func cueText(v any, indent string) string {
	const width = 100
	switch v := v.(type) {
	case catalog.Object:
		if len(v) == 0 {
			return "{}"
		}
		var parts []string
		flat := true
		for _, f := range v {
			flat = flat && plain(f.Value)
			parts = append(parts, cli.Label(f.Name)+": "+cueText(f.Value, indent+"\t"))
		}
		if line := "{" + strings.Join(parts, ", ") + "}"; flat && indent != "" && len(line) < width {
			return line
		}
		return "{\n" + indent + "\t" + strings.Join(parts, "\n"+indent+"\t") + "\n" + indent + "}"
	case []any:
		var parts []string
		flat := true
		for _, e := range v {
			flat = flat && plain(e)
			parts = append(parts, cueText(e, indent+"\t"))
		}
		if line := "[" + strings.Join(parts, ", ") + "]"; flat && len(line) < width {
			return line
		}
		return "[\n" + indent + "\t" + strings.Join(parts, ",\n"+indent+"\t") + ",\n" + indent + "]"
	}
	var b strings.Builder
	enc := json.NewEncoder(&b) // CUE includes JSON
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return strconv.Quote(err.Error())
	}
	return termtext.Safe(strings.TrimSpace(b.String()))
}

func plain(v any) bool {
	switch v.(type) {
	case catalog.Object, []any:
		return false
	}
	return true
}

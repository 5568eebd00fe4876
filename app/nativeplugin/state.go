package nativeplugin

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"aisync.dev/aisync/internal/regular"
	"aisync.dev/aisync/internal/shellquote"
	"aisync.dev/aisync/reconcile"
)

// Fault is what keeps the program from loading a plugin as the spec asks for it.
type Fault struct {
	What, Fix string
	Mild      bool // it goes with the next session
}

// State looks at what the program has made of p, in its own files. home and project
// are folders of this machine; project is "" outside of one.
func (p *Plugin) State(home, project string) []Fault {
	at, name := home, "~/"+settings
	if p.Project {
		at, name = project, settings
	}
	in := "cd " + shellquote.Terminal(project) + " && "
	if !p.Project {
		in = ""
	}
	fault := func(fix, format string, args ...any) []Fault {
		return []Fault{{What: Program + " does not load the plugin " + p.ID() + ": " + fmt.Sprintf(format, args...), Fix: fix}}
	}
	own := settingsOf(filepath.Join(at, settings))
	if source, ok := own.Extra[p.Marketplace]; !ok || source.Source.Source != "directory" {
		return fault("aisync apply --restore", "%s does not name its marketplace", name)
	}
	switch on, file, scope := p.enabled(home, project); {
	case file == "":
		return fault("aisync apply --restore", "%s does not enable it", name)
	case !on && scope != "user":
		return fault("cd "+shellquote.Terminal(project)+" && claude plugin enable "+p.ID()+" --scope "+scope, "%s disables it", file)
	case !on:
		return fault("claude plugin enable "+p.ID()+" --scope "+scope, "%s disables it", file)
	}
	here := filepath.Join(at, folder)
	switch is, err := p.lies(filepath.Join(here, p.Name)); {
	case err != nil:
		return fault("aisync apply --restore", "%s cannot be read: %v", filepath.Join(here, p.Name), err)
	case !is:
		return []Fault{{What: fmt.Sprintf("%s loads another version of the plugin %s than the spec asks for", Program, p.ID()), Fix: "aisync apply --restore"}}
	}
	known, _ := regular.Read(filepath.Join(home, knownFile), maxNotes)
	switch registered := knownIn(known)[p.Marketplace]; {
	case registered == "" && p.Project:
		return []Fault{{What: fmt.Sprintf("%s has not taken the plugin %s yet: it does in its first session with a person in a trusted project", Program, p.ID()), Fix: in + Program, Mild: true}}
	case registered == "" || registered == here:
	default:
		if is, err := p.lies(filepath.Join(registered, p.Name)); err != nil || !is {
			return []Fault{{What: fmt.Sprintf("%s loads the plugin %s of %s, which is another version", Program, p.ID(), registered), Fix: in + Program}}
		}
	}
	return nil
}

// enabled reports whether the settings enable p, by the file that decides and the
// program's word for its scope. No file: none names p.
func (p *Plugin) enabled(home, project string) (on bool, file, scope string) {
	for _, l := range []struct{ file, scope string }{
		{filepath.Join(project, ".claude/settings.local.json"), "local"}, {filepath.Join(project, settings), "project"}, {filepath.Join(home, settings), "user"},
	} {
		if project == "" && l.scope != "user" {
			continue
		}
		if on, ok := settingsOf(l.file).Enabled[p.ID()]; ok {
			return on, l.file, l.scope
		}
	}
	return false, "", ""
}

type settingsFile struct {
	Extra map[string]struct {
		Source struct{ Source, Path string }
	} `json:"extraKnownMarketplaces"`
	Enabled map[string]bool `json:"enabledPlugins"`
}

// settingsOf reads a file of settings; one that cannot be read has none.
func settingsOf(name string) (s settingsFile) {
	if text, err := regular.Read(name, maxNotes); err == nil {
		_ = json.Unmarshal(text, &s)
	}
	return s
}

// knownIn are the folders of the marketplaces that the program knows, by name.
func knownIn(doc []byte) map[string]string {
	var list map[string]struct{ InstallLocation string }
	_ = json.Unmarshal(doc, &list) // another form: the program knows none
	out := map[string]string{}
	for name, m := range list {
		out[name] = m.InstallLocation
	}
	return out
}

// namedIn are the IDs of a marketplace's plugins among the names at a key of a file.
func namedIn(w reconcile.WriteEnv, name, key, marketplace string) (ids []string) {
	doc, err := w.FS.ReadFile(w.Home.Join(name))
	if err != nil {
		return nil
	}
	var top map[string]json.RawMessage
	var list map[string]json.RawMessage
	if json.Unmarshal(doc, &top) != nil || json.Unmarshal(top[key], &list) != nil {
		return nil
	}
	for id := range list {
		if strings.HasSuffix(id, "@"+marketplace) {
			ids = append(ids, id)
		}
	}
	return ids
}

const (
	maxNotes = 16 << 20 // bytes of settings, and of what the program notes
	maxFile  = 32 << 20 // bytes of a file of a bundle
)

// lies reports whether the plugin in dir has the files of p, as they shall be. What
// else lies there counts for nothing: programs leave caches beside what they run.
func (p *Plugin) lies(dir string) (bool, error) {
	for _, f := range p.files {
		name := filepath.Join(dir, filepath.FromSlash(f.Rel))
		info, err := os.Lstat(name)
		if err == nil {
			err = regular.Check(name, info, maxFile) // no link to somewhere else
		}
		var text []byte
		if err == nil {
			text, err = regular.Read(name, maxFile)
		}
		if err != nil {
			return false, err
		}
		if sum := sha256.Sum256(text); info.Mode()&0o100 != f.Mode&0o100 || "sha256:"+hex.EncodeToString(sum[:]) != f.Digest {
			return false, nil
		}
	}
	return true, nil
}

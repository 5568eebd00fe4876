package plugin

import (
	"encoding/json"
	"fmt"
	"net/url"
	"strings"
)

// Marketplace is a list of plugins.
type Marketplace struct {
	Name    string
	Plugins []Listed
}

// Listed is a plugin of a marketplace.
type Listed struct {
	Name, Description string
	// Path is where it lies in the marketplace's own tree, if Source is "".
	Path string
	// Source is the address of a plugin that lies elsewhere, as a spec has it.
	Source string
	Pinned bool     // Source names a commit
	Skills []string // the folders of its skills; nil: as its manifest says
	Fault  string   // why it cannot be had
}

// ReadMarketplace parses a marketplace. A plugin that cannot be had stays in the
// list, with its Fault. The error starts with the line, as in ":3: …".
func ReadMarketplace(text []byte) (Marketplace, error) {
	var doc struct {
		Name     string
		Metadata struct{ PluginRoot string }
		Plugins  []struct {
			Name, Description string
			Source            json.RawMessage
			Skills            json.RawMessage
		}
	}
	if err := decode(text, &doc); err != nil {
		return Marketplace{}, err
	}
	m := Marketplace{Name: doc.Name}
	for _, p := range doc.Plugins {
		l := Listed{Name: p.Name, Description: p.Description}
		err := l.place(p.Source, doc.Metadata.PluginRoot)
		if err == nil {
			l.Skills, err = paths(p.Skills)
		}
		if err != nil {
			l.Fault = err.Error()
		}
		m.Plugins = append(m.Plugins, l)
	}
	return m, nil
}

// place reads where a plugin lies.
func (l *Listed) place(raw json.RawMessage, root string) (err error) {
	var s struct{ Source, Repo, URL, Path, Ref, SHA string }
	if text := word(raw); text != "" {
		if root != "" && !strings.HasPrefix(text, ".") {
			text = strings.TrimSuffix(root, "/") + "/" + text
		}
		l.Path, err = Inside(text)
		return err
	}
	if json.Unmarshal(raw, &s) != nil {
		return fmt.Errorf("its source cannot be read")
	}
	sub := ""
	if s.Path != "" {
		if sub, err = Inside(s.Path); err != nil {
			return err
		}
	}
	switch s.Source {
	case "local":
		l.Path = sub
		return nil
	case "github":
		l.Source = "git::https://github.com/" + strings.TrimSuffix(s.Repo, ".git") + ".git"
	case "url", "git", "git-subdir":
		if l.Source, err = gitURL(s.URL); err != nil {
			return err
		}
	default:
		return fmt.Errorf("its source is of the kind %q, which aisync does not fetch", s.Source)
	}
	if sub != "" && sub != "." {
		l.Source += "//" + sub
	}
	if l.Pinned = s.SHA != ""; l.Pinned {
		s.Ref = s.SHA
	}
	if s.Ref != "" {
		l.Source += "?ref=" + url.QueryEscape(s.Ref)
	}
	return nil
}

// gitURL is the address of a repository in a marketplace: a URL, owner/repo of
// GitHub, or git@host:path.
func gitURL(text string) (string, error) {
	switch {
	case strings.HasPrefix(text, "https://"), strings.HasPrefix(text, "ssh://"):
		return "git::" + text, nil
	case strings.HasPrefix(text, "git@"):
		return "git::ssh://" + strings.Replace(text, ":", "/", 1), nil
	case strings.Count(text, "/") == 1 && !strings.ContainsAny(text, ":@?"):
		return "git::https://github.com/" + strings.TrimSuffix(text, ".git") + ".git", nil
	}
	return "", fmt.Errorf("%q is no address of a repository", text)
}

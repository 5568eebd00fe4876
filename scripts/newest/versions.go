package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os/exec"
	"slices"
	"strings"

	"aisync.dev/aisync/internal/realcli"
	"aisync.dev/aisync/internal/versions"
)

// program is one agent program and its versions after the pin.
type program struct {
	pin      realcli.Package
	latest   string   // in npm
	newest   string   // the newest that could be installed; the pin's if none is newer
	between  []string // releases after the pin up to newest, oldest first
	problems []string // versions that could not be installed
}

func (p program) moved() bool { return p.newest != p.pin.Version }

// installer installs a version of a program, if it is not there yet.
type installer interface {
	install(ctx context.Context, p realcli.Package) error
}

// published asks npm which versions it has, and which it calls the latest.
func published(ctx context.Context, name string) (all []string, latest string, err error) {
	out, err := exec.CommandContext(ctx, "npm", "view", name, "versions", "dist-tags", "--json").Output()
	if err != nil {
		if exit := new(exec.ExitError); errors.As(err, &exit) {
			err = fmt.Errorf("%w\n%s", err, exit.Stderr)
		}
		return nil, "", fmt.Errorf("npm view %s: %w", name, err)
	}
	var doc struct {
		Versions []string
		Tags     struct{ Latest string } `json:"dist-tags"`
	}
	if err := json.Unmarshal(out, &doc); err != nil {
		return nil, "", fmt.Errorf("npm view %s: %w", name, err)
	}
	return doc.Versions, doc.Tags.Latest, nil
}

// releases returns the versions after pin up to latest, oldest first, without
// prereleases.
func releases(all []string, pin, latest string) []string {
	out := slices.DeleteFunc(slices.Clone(all), func(v string) bool {
		return strings.Contains(v, "-") || versions.Compare(v, pin) <= 0 || versions.Compare(v, latest) > 0
	})
	slices.SortFunc(out, versions.Compare)
	return slices.Compact(out)
}

// newest finds the newest version of a program that can be installed, and installs it.
func newest(ctx context.Context, pin realcli.Package, in installer) (program, error) {
	all, latest, err := published(ctx, pin.Name)
	if err != nil {
		return program{}, err
	}
	return walkDown(ctx, program{pin: pin, latest: latest}, releases(all, pin.Version, latest), in), nil
}

// walkDown tries the newest of list, then the one below it, down to the pin.
func walkDown(ctx context.Context, p program, list []string, in installer) program {
	for ; len(list) > 0; list = list[:len(list)-1] {
		v := list[len(list)-1]
		err := in.install(ctx, p.at(v))
		if err == nil {
			p.newest, p.between = v, list
			return p
		}
		p.problems = append(p.problems, fmt.Sprintf("%s %s cannot be installed: %s", p.pin.ID, v, reason(err)))
	}
	p.newest = p.pin.Version
	return p
}

// at is the program in a version.
func (p program) at(version string) realcli.Package {
	at := p.pin
	at.Version = version
	return at
}

// reason is the line of an npm error that says what is wrong. A package's own script
// may call npm again, whose lines come behind those of the first.
func reason(err error) string {
	lines := strings.Split(strings.TrimSpace(err.Error()), "\n")
	said := func(line string) string {
		for after, ok := line, true; ok; after, ok = strings.CutPrefix(after, "npm error ") {
			line = after
		}
		return line
	}
	for _, line := range lines {
		if text, ok := strings.CutPrefix(said(line), "notarget "); ok {
			return text
		}
	}
	for _, line := range lines {
		if text := said(line); text != line && !strings.HasPrefix(text, "code ") && !strings.HasPrefix(text, "path ") {
			return text
		}
	}
	return lines[0]
}

// maxSteps bounds the versions that are tried for one regression.
const maxSteps = 8

// firstBad returns the first version of list that is bad, where the version before
// list is good and the last of list is bad. A version that cannot be tried is passed
// over. sure is false if versions before the one returned were not tried.
func firstBad(list []string, good func(version string) (bool, error)) (first string, sure bool) {
	tried := 0
	low, high := -1, len(list)-1 // the last known good, the first known bad
	untried := map[int]bool{}
	for tried < maxSteps {
		middle := -1
		for d := range high - low { // the nearest to the middle that can be tried
			for _, i := range []int{(low+high)/2 - d, (low+high)/2 + d} {
				if i > low && i < high && !untried[i] && middle < 0 {
					middle = i
				}
			}
		}
		if middle < 0 {
			break
		}
		tried++
		switch ok, err := good(list[middle]); {
		case err != nil:
			untried[middle] = true
		case ok:
			low = middle
		default:
			high = middle
		}
	}
	return list[high], high-low == 1
}

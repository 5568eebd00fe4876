package mcpserver

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"aisync.dev/aisync/internal/advice"
	"aisync.dev/aisync/internal/shellquote"
	"aisync.dev/aisync/internal/termtext"
)

// starter is a program that fetches a package and starts it, with words of its
// own before and after the package.
type starter struct {
	command       string
	before, after []string
	separator     string   // before the arguments of the package, if it has any
	pinned        string   // the package with its exact version
	moves         bool     // pinned is an image whose tag moves: its digest is missing
	container     bool     // gets variables only by name
	options       []string // that a publisher may give it
}

// The names and versions that the package registries have. None begins like an
// option, and each version is one release to the program that starts it: npx
// reads "1" and "1.2" as ranges.
var (
	npmName     = regexp.MustCompile(`^(@[A-Za-z0-9~][A-Za-z0-9._~-]*/)?[A-Za-z0-9~][A-Za-z0-9._~-]*$`)
	pypiName    = regexp.MustCompile(`^[A-Za-z0-9]([A-Za-z0-9._-]*[A-Za-z0-9])?$`)
	nugetName   = regexp.MustCompile(`^[A-Za-z0-9_]([A-Za-z0-9._-]*[A-Za-z0-9_])?$`)
	programName = regexp.MustCompile(`^[A-Za-z0-9_][A-Za-z0-9._+-]*$`)
	imageName   = regexp.MustCompile(`^[a-z0-9]([a-z0-9.-]*[a-z0-9])?(:[0-9]+)?(/[a-z0-9]+([._-]+[a-z0-9]+)*)*(:[A-Za-z0-9_][A-Za-z0-9_.-]{0,127})?(@sha256:[0-9a-f]{64})?$`)
	imageTag    = regexp.MustCompile(`:[A-Za-z0-9_][A-Za-z0-9_.-]*$`)
	semver      = regexp.MustCompile(`^[0-9]+\.[0-9]+\.[0-9]+(-[0-9A-Za-z.-]+)?(\+[0-9A-Za-z.-]+)?$`)
	pypiVersion = regexp.MustCompile(`^v?([0-9]+!)?[0-9][0-9A-Za-z.+_-]*$`)
)

// publicRegistries are the addresses that stand for what a starter asks anyway.
var publicRegistries = map[string][]string{
	"npm":   {"https://registry.npmjs.org"},
	"pypi":  {"https://pypi.org", "https://pypi.org/simple"},
	"nuget": {"https://api.nuget.org", "https://api.nuget.org/v3/index.json"},
}

// starter returns what starts p, or why nothing does that aisync could write
// into a spec.
func (p Package) starter() (starter, error) {
	shown := fmt.Sprintf("%s package %s", termtext.Clip(termtext.Safe(p.RegistryType), 50), termtext.Clip(termtext.Safe(p.Identifier), 200))
	if t := p.Transport.Type; t != "" && t != "stdio" {
		return starter{}, advice.New(fmt.Errorf("%s is spoken to by %q, and agent programs start only servers on stdio", shown, termtext.Clip(termtext.Safe(t), 50)), "start it yourself, then: aisync add mcp NAME --url URL")
	}
	if p.FileSHA256 != "" && !digest.MatchString(p.FileSHA256) {
		return starter{}, fmt.Errorf("%s has a sha256 that is none", shown)
	}
	if known := publicRegistries[p.RegistryType]; known != nil && p.RegistryBaseURL != "" && !slices.Contains(known, strings.TrimRight(p.RegistryBaseURL, "/")) {
		return starter{}, fmt.Errorf("%s lies in the registry %s, and is started from the public one", shown, termtext.Clip(termtext.Safe(p.RegistryBaseURL), 200))
	}
	var s starter
	name, version := pypiName, semver
	switch p.RegistryType {
	case "npm":
		name, s = npmName, starter{command: "npx", before: []string{"-y"}, options: []string{"-y", "--yes", "-q", "--quiet"}, pinned: p.Identifier + "@" + p.Version}
	case "pypi":
		version, s = pypiVersion, starter{command: "uvx", options: []string{"-q", "--quiet", "--isolated", "--python"}, pinned: p.Identifier + "==" + p.Version}
	case "nuget":
		name, version = nugetName, pypiVersion
		s = starter{command: "dnx", options: []string{"-y", "--yes", "--prerelease"}, after: []string{"--yes"}, separator: "--", pinned: p.Identifier + "@" + p.Version}
	case "oci":
		image, moves, err := p.image(shown)
		return starter{command: "docker", before: []string{"run", "-i", "--rm"}, pinned: image, moves: moves, container: true}, err
	default:
		return starter{}, p.byHand(shown)
	}
	switch {
	case !name.MatchString(p.Identifier) || len(p.Identifier) > 214:
		return starter{}, fmt.Errorf("%s has a name that %s does not allow", shown, p.RegistryType)
	case !version.MatchString(p.Version) || len(p.Version) > 255:
		return starter{}, fmt.Errorf("%s has the version %q, which is not an exact one", shown, termtext.Clip(termtext.Safe(p.Version), 100))
	}
	return s, nil
}

// image returns the reference of a container's image, with a tag or a digest,
// and whether the tag moves. Until 2025-10-11 its host and its tag stood apart.
func (p Package) image(shown string) (ref string, moves bool, err error) {
	image := p.Identifier
	host := strings.TrimPrefix(strings.TrimRight(p.RegistryBaseURL, "/"), "https://")
	if host != "" && !slices.Contains([]string{"docker.io", "index.docker.io", "hub.docker.com"}, host) && !hasHost(image) {
		image = host + "/" + image
	}
	last := image[strings.LastIndex(image, "/")+1:]
	if p.Version != "" && !strings.ContainsAny(last, ":@") {
		image += ":" + p.Version
	}
	named, hash, _ := strings.Cut(image, "@")
	tag := strings.TrimPrefix(imageTag.FindString(named), ":")
	if !imageName.MatchString(image) || len(image) > 400 {
		return "", false, fmt.Errorf("%s is no reference to an image", shown)
	}
	return image, hash == "" && (tag == "" || tag == "latest"), nil
}

// hasHost reports whether an image names its registry, as docker reads it.
func hasHost(image string) bool {
	first, _, more := strings.Cut(image, "/")
	return more && (strings.ContainsAny(first, ".:") || first == "localhost")
}

// byHand is the error for a package that nothing fetches when it is started,
// with what to type in place.
func (p Package) byHand(shown string) error {
	id, version := shellquote.Terminal(p.Identifier), shellquote.Terminal(p.Version)
	const then = ", then: aisync add mcp NAME -- PROGRAM"
	plain := pypiName.MatchString(strings.ReplaceAll(p.Identifier, "/", ".")) && exactVersion(p.Version)
	switch {
	case p.RegistryType == "cargo" && plain:
		return advice.New(fmt.Errorf("%s has to be built before it can be started", shown), "cargo install --locked "+id+" --version "+version+then)
	case p.RegistryType == "go" && plain:
		return advice.New(fmt.Errorf("%s has to be built before it can be started", shown), "go install "+id+"@"+version+then)
	case p.RegistryType == "mcpb":
		next := "download and unpack it"
		if digest.MatchString(p.FileSHA256) {
			next = "download it, compare its sha256 with " + p.FileSHA256 + ", unpack it"
		}
		return advice.New(fmt.Errorf("%s is a bundle, which aisync does not unpack", shown), next+then)
	case p.RegistryType == "":
		return errors.New("a package does not say of which registry it is")
	}
	return fmt.Errorf("%s is of a kind that this aisync does not know", shown)
}

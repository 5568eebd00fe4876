// Package modelsource reads what people type for a model (a repository of a
// hub, a name of ollama, a URL, a file) and makes an entry of a catalog of it.
// It writes nothing. Call Parse, then Lookup.Entry.
package modelsource

import (
	"fmt"
	"net/url"
	"path"
	"regexp"
	"slices"
	"strings"

	"aisync.dev/aisync/internal/advice"
	"aisync.dev/aisync/internal/nearest"
	"aisync.dev/aisync/internal/termtext"
)

// Kind says where a Name leads.
type Kind int

const (
	Catalog  Kind = iota // an entry of a catalog, by its ID
	Hub                  // a repository of Hugging Face
	Registry             // an artifact of an OCI registry, ollama's too
	URL                  // a file of a server
	File                 // a file of this machine
)

// Name is what a person typed, taken apart.
type Name struct {
	Kind     Kind
	ID       string // of Catalog
	Repo     string // of Hub: OWNER/NAME
	Revision string // of Hub: a branch, tag or commit; "" is main
	Path     string // of Hub: a file of the repository; of File: as typed
	Quant    string // of Hub: as typed; "" if none
	Source   string // of Registry: oci://…; of URL: the address
	SHA256   string // of URL: from its fragment; "" if none
}

// ollamaRegistry is where ollama looks for a name without a host, in this
// namespace. https://github.com/ollama/ollama/blob/main/types/model/name.go
const ollamaRegistry, ollamaNamespace = "registry.ollama.ai", "library"

var (
	hubHosts   = []string{"huggingface.co", "www.huggingface.co", "hf.co"}
	ollamaWeb  = []string{"ollama.com", "www.ollama.com"}
	schemes    = []string{"hf", "huggingface", "ollama", "oci", "oci+http", "https", "http", "file"}
	repoName   = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._-]*/[A-Za-z0-9][A-Za-z0-9._-]*$`)
	quantName  = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9_.-]*$`)
	ollamaPart = regexp.MustCompile(`^[A-Za-z0-9_][A-Za-z0-9_.-]*$`)
	schemeOf   = regexp.MustCompile(`^([A-Za-z][A-Za-z0-9+]*):`)
	digestText = regexp.MustCompile(`^[0-9a-f]{64}$`)
	hubFolders = []string{"blob", "resolve", "tree", "raw"}
)

// Parse reads what a person typed for a model. endpoint is the hub in use, whose
// addresses name repositories as those of Hugging Face do.
func Parse(text, endpoint string) (Name, error) {
	hosts := hubHosts
	if u, err := url.Parse(endpoint); err == nil && u.Host != "" {
		hosts = append(slices.Clone(hosts), u.Host)
	}
	scheme, rest := "", text
	if m := schemeOf.FindStringSubmatch(text); m != nil && !strings.Contains(text, ".gguf:") {
		scheme, rest = strings.ToLower(m[1]), strings.TrimPrefix(text[len(m[0]):], "//")
	}
	host, below, _ := strings.Cut(rest, "/")
	switch {
	case strings.TrimSpace(text) == "":
		return Name{}, bad(text, "", "name a model: owner/repo:QUANT, ollama:NAME, a URL or a file")
	case strings.ContainsAny(text, " \t\n\r"):
		return Name{}, bad(text, "it holds a blank", "write the name without blanks")
	case scheme == "file":
		return Name{Kind: File, Path: "/" + strings.TrimPrefix(rest, "/")}, nil
	case text == ".", text == "..", text == "~", strings.HasPrefix(text, "/"), strings.HasPrefix(text, "./"), strings.HasPrefix(text, "../"), strings.HasPrefix(text, "~/"):
		return Name{Kind: File, Path: text}, nil
	case (scheme == "https" || scheme == "http") && slices.Contains(hosts, host), scheme == "" && slices.Contains(hubHosts, host):
		return parseWeb(text, below)
	case (scheme == "https" || scheme == "http") && slices.Contains(ollamaWeb, host):
		return parseOllama(text, strings.TrimPrefix(below, ollamaNamespace+"/"))
	case scheme == "https", scheme == "http":
		return parseURL(text)
	case scheme == "hf", scheme == "huggingface":
		return parseHub(text, rest)
	case scheme == "ollama" && slices.Contains(hubHosts, host):
		return parseHub(text, below)
	case scheme == "ollama":
		return parseOllama(text, rest)
	case scheme == "oci", scheme == "oci+http":
		if !strings.Contains(rest, "/") {
			return Name{}, bad(text, "it names no repository", "want oci://HOST/REPO:TAG")
		}
		return Name{Kind: Registry, Source: text}, nil
	case scheme != "" && !strings.Contains(text, "/"):
		return Name{}, bad(text, "", fmt.Sprintf("a model of ollama is ollama:%s, one of Hugging Face owner/repo:QUANT", termtext.Safe(text)))
	case scheme != "" && !strings.Contains(strings.SplitN(text, ":", 2)[0], "/"):
		return Name{}, bad(text, "aisync does not know "+scheme+":", "use one of "+strings.Join(schemes, ", ")+nearest.Hint(scheme, schemes))
	case strings.HasSuffix(text, ".gguf") && strings.Count(text, "/") < 2:
		return Name{Kind: File, Path: text}, nil
	case strings.Contains(text, "/"):
		return parseHub(text, text)
	}
	return Name{Kind: Catalog, ID: text}, nil
}

// parseHub reads OWNER/NAME, with @REVISION, /FILE and :QUANT.
func parseHub(text, rest string) (Name, error) {
	n := Name{Kind: Hub}
	rest, n.Quant, _ = strings.Cut(rest, ":")
	if strings.HasSuffix(text, ":") {
		return Name{}, bad(text, "a quantization is missing behind the colon", "leave the colon out, or name one: Q4_K_M")
	}
	parts := strings.SplitN(rest, "/", 3)
	if len(parts) == 3 {
		n.Path = parts[2]
	}
	n.Repo = strings.Join(parts[:min(2, len(parts))], "/")
	n.Repo, n.Revision, _ = strings.Cut(n.Repo, "@")
	return n.checked(text)
}

// parseWeb reads the path of a page or a file of the hub.
func parseWeb(text, below string) (Name, error) {
	below, _, _ = strings.Cut(below, "#")
	below, _, _ = strings.Cut(below, "?")
	parts := strings.SplitN(strings.TrimSuffix(below, "/"), "/", 5)
	if len(parts) < 3 {
		return parseHub(text, strings.Join(parts, "/"))
	}
	if parts[0] == "datasets" || parts[0] == "spaces" || parts[0] == "api" {
		return Name{}, bad(text, "it is no model", "name the page of a model: https://huggingface.co/OWNER/NAME")
	}
	if !slices.Contains(hubFolders, parts[2]) || len(parts) == 3 {
		return parseHub(text, strings.Join(parts, "/"))
	}
	n := Name{Kind: Hub, Repo: parts[0] + "/" + parts[1]}
	rev, err := url.PathUnescape(parts[3])
	if err != nil {
		return Name{}, bad(text, err.Error(), "copy the address from the page of the file")
	}
	if n.Revision = rev; rev == "main" {
		n.Revision = ""
	}
	if len(parts) == 5 && parts[2] != "tree" {
		if n.Path, err = url.PathUnescape(parts[4]); err != nil {
			return Name{}, bad(text, err.Error(), "copy the address from the page of the file")
		}
	}
	return n.checked(text)
}

// checked refuses what is no name on the hub.
func (n Name) checked(text string) (Name, error) {
	switch {
	case !repoName.MatchString(n.Repo):
		return Name{}, bad(text, "it names no repository", "a repository is OWNER/NAME: hf:unsloth/Qwen3-8B-GGUF:Q4_K_M")
	case n.Quant != "" && !quantName.MatchString(n.Quant):
		return Name{}, bad(text, fmt.Sprintf("%q is no quantization", n.Quant), "name it as the files do: Q4_K_M, UD-Q4_K_XL, IQ4_XS")
	case n.Path != "" && n.Quant != "":
		return Name{}, bad(text, "it names both a file and a quantization", "leave one out")
	case n.Path != "" && !strings.HasSuffix(strings.ToLower(n.Path), ".gguf"):
		return Name{}, bad(text, path.Base(n.Path)+" is no GGUF file", "name a file that ends in .gguf, or the repository alone")
	case n.Path != "" && path.Clean("/"+n.Path) != "/"+n.Path:
		return Name{}, bad(text, "its path is not clean", "write the path as the repository has it")
	}
	return n, nil
}

// parseOllama reads [HOST/][NAMESPACE/]MODEL[:TAG] as ollama does.
func parseOllama(text, rest string) (Name, error) {
	at, tag := rest, ""
	if i := strings.LastIndex(rest, ":"); i > strings.LastIndex(rest, "/") {
		at, tag = rest[:i], rest[i+1:]
		if tag == "" {
			return Name{}, bad(text, "a tag is missing behind the colon", "leave the colon out for latest")
		}
	}
	if tag == "" {
		tag = "latest"
	}
	parts := strings.Split(at, "/")
	host, named := ollamaRegistry, parts
	switch len(parts) {
	case 1:
		named = []string{ollamaNamespace, parts[0]}
	case 3:
		host, named = parts[0], parts[1:]
	}
	if len(parts) > 3 || !ollamaPart.MatchString(tag) || slices.ContainsFunc(named, func(p string) bool { return !ollamaPart.MatchString(p) }) {
		return Name{}, bad(text, "it is no name of ollama", "want ollama:NAME:TAG or ollama:USER/NAME:TAG, as ollama pull has it")
	}
	return Name{Kind: Registry, Source: "oci://" + host + "/" + strings.ToLower(strings.Join(named, "/")) + ":" + tag}, nil
}

// parseURL reads the address of a file, with #sha256=HEX or #sha256:HEX.
func parseURL(text string) (Name, error) {
	at, digest, _ := strings.Cut(text, "#")
	u, err := url.Parse(at)
	switch {
	case err != nil || u.Host == "":
		return Name{}, bad(text, "it is no address", "want https://HOST/FILE.gguf")
	case u.User != nil:
		return Name{}, bad(text, "it holds a password", "leave the login out: a spec keeps no secrets")
	case !strings.HasSuffix(strings.ToLower(u.Path), ".gguf"):
		return Name{}, bad(text, "it names no GGUF file", "want https://HOST/FILE.gguf")
	}
	n := Name{Kind: URL, Source: at}
	if digest != "" {
		n.SHA256 = strings.ToLower(strings.TrimLeft(strings.TrimPrefix(digest, "sha256"), "=:"))
		if !digestText.MatchString(n.SHA256) {
			return Name{}, bad(text, "its sha256 is not 64 hexadecimal digits", "want #sha256=HEX behind the address")
		}
	}
	return n, nil
}

func bad(text, why, hint string) error {
	if why != "" {
		why = ": " + why
	}
	return advice.New(fmt.Errorf("%q is no model%s", termtext.Clip(termtext.Safe(text), 200), why), hint)
}

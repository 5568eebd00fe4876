package hub

import (
	"cmp"
	"fmt"
	"path"
	"regexp"
	"slices"
	"strings"
)

// Variant is one model of a repository: one file, or its shards in order.
type Variant struct {
	Quant   string // by its name, in capitals, as in UD-Q4_K_XL; "" if the name tells none
	Files   []Entry
	Missing []string // shards that the repository lacks
}

// Size returns the sum of the files' sizes in bytes.
func (v Variant) Size() int64 {
	var n int64
	for _, f := range v.Files {
		n += f.Size
	}
	return n
}

// quantWord is the name of a quantization at the end of a word. See
// https://github.com/ggml-org/llama.cpp/blob/master/tools/quantize/quantize.cpp
var quantWord = regexp.MustCompile(`(?i)^(?:.*_)?(I?Q[1-9](?:_[A-Z0-9]+)*|TQ[12]_0|MXFP4(?:_MOE)?|NVFP4|BF16|FP?(?:8|16|32))$`)

// QuantOf returns the quantization that the name of a file or its folder tells,
// "" if none. UD- marks unsloth's own mixes, which stand beside plain ones.
func QuantOf(file string) string {
	stem := strings.TrimSuffix(file, path.Ext(file))
	if m := shardName.FindStringSubmatch(file); m != nil {
		stem = m[1]
	}
	words := strings.FieldsFunc(stem, func(r rune) bool { return strings.ContainsRune("-./", r) })
	for i, word := range slices.Backward(words) {
		if m := quantWord.FindStringSubmatch(word); m != nil {
			quant := strings.ToUpper(m[1])
			if i > 0 && strings.EqualFold(words[i-1], "UD") {
				quant = "UD-" + quant
			}
			return quant
		}
	}
	return ""
}

// besides are parts of the names of files that are no model by themselves, as
// llama.cpp tells them: projectors, importance matrices, draft heads.
// https://github.com/ggml-org/llama.cpp/blob/master/common/download.cpp
var besides = []string{"mmproj", "imatrix", "mtp-", "eagle3-", "dflash-", "dspark-"}

// variants returns the models among entries, in their order.
func variants(entries []Entry) []Variant {
	at := map[string]Entry{}
	for _, e := range entries {
		at[e.Path] = e
	}
	var out []Variant
	seen := map[string]bool{}
	for _, e := range entries {
		names, err := Shards(e.Path)
		base := strings.ToLower(path.Base(e.Path))
		if !strings.HasSuffix(base, ".gguf") || err != nil || seen[names[0]] ||
			slices.ContainsFunc(besides, func(part string) bool { return strings.Contains(base, part) }) {
			continue
		}
		seen[names[0]] = true
		v := Variant{Quant: QuantOf(names[0])}
		for _, name := range names {
			if f, ok := at[name]; ok {
				v.Files = append(v.Files, f)
			} else {
				v.Missing = append(v.Missing, name)
			}
		}
		out = append(out, v)
	}
	return out
}

// projectors returns the projectors among entries, F16 first, which every machine
// computes with and which loses little, then the largest.
func projectors(entries []Entry) (out []Variant) {
	for _, e := range entries {
		if base := strings.ToLower(path.Base(e.Path)); strings.Contains(base, "mmproj") && strings.HasSuffix(base, ".gguf") {
			out = append(out, Variant{Quant: QuantOf(e.Path), Files: []Entry{e}})
		}
	}
	slices.SortStableFunc(out, func(a, b Variant) int {
		if (a.Quant == "F16") != (b.Quant == "F16") {
			return map[bool]int{true: -1, false: 1}[a.Quant == "F16"]
		}
		return cmp.Compare(b.Size(), a.Size())
	})
	return out
}

// names are those of all files of v, also of missing ones.
func (v Variant) names() []string {
	names, _ := Shards(v.Files[0].Path) // variants has read it
	return names
}

// quantFiles finds the model that a quantization, or a file's name, means among
// entries: as ollama and llama.cpp do, in any case, and UD-Q4_K_XL for Q4_K_XL
// where there is no plain one.
func quantFiles(entries []Entry, quant string) ([]string, error) {
	all := variants(entries)
	word := regexp.MustCompile(`(?i)(^|[-./])` + regexp.QuoteMeta(quant) + `([-./]|$)`)
	for _, means := range []func(v Variant, first string) bool{
		func(v Variant, first string) bool {
			return strings.EqualFold(first, quant) || strings.EqualFold(path.Base(first), quant)
		},
		func(v Variant, _ string) bool { return strings.EqualFold(v.Quant, quant) },
		func(v Variant, _ string) bool { return strings.EqualFold(v.Quant, "UD-"+quant) },
		func(_ Variant, first string) bool {
			return word.MatchString(strings.TrimSuffix(first, path.Ext(first)))
		},
	} {
		var found []Variant
		for _, v := range all {
			if means(v, v.names()[0]) {
				found = append(found, v)
			}
		}
		if whole := slices.DeleteFunc(slices.Clone(found), func(v Variant) bool { return len(v.Missing) > 0 }); len(whole) > 0 {
			found = whole
		}
		if len(found) == 1 {
			return found[0].names(), nil
		}
		if len(found) > 1 {
			return nil, fmt.Errorf("several files match: %s; write the path into the catalog entry", firsts(found))
		}
	}
	if len(all) == 0 {
		return nil, fmt.Errorf("%w; the repository has no GGUF file", ErrNotFound)
	}
	return nil, fmt.Errorf("%w; known: %s", ErrNotFound, firsts(all))
}

// firsts lists the first files of variants.
func firsts(list []Variant) string {
	var names []string
	for _, v := range list {
		names = append(names, v.names()[0])
	}
	return strings.Join(names, ", ")
}

package hub

import (
	"errors"
	"strings"
	"testing"
)

func TestQuantOf(t *testing.T) {
	for file, want := range map[string]string{
		"Qwen3-8B-Q4_K_M.gguf":                        "Q4_K_M",
		"qwen2.5-coder-7b-instruct-q5_k_m.gguf":       "Q5_K_M",
		"Qwen3-30B-A3B-UD-Q4_K_XL.gguf":               "UD-Q4_K_XL",
		"UD-Q2_K_XL/M-UD-Q2_K_XL-00001-of-00002.gguf": "UD-Q2_K_XL",
		"BF16/M-00001-of-00003.gguf":                  "BF16",
		"gpt-oss-20b-mxfp4.gguf":                      "MXFP4",
		"gpt-oss-20b-MXFP4_MOE.gguf":                  "MXFP4_MOE",
		"M.IQ4_XS.gguf":                               "IQ4_XS",
		"M-IQ2_XXS.gguf":                              "IQ2_XXS",
		"tinyllama_q8_0.gguf":                         "Q8_0",
		"M-Q4_0_4_4.gguf":                             "Q4_0_4_4",
		"M-Q4_K_M-imat.gguf":                          "Q4_K_M",
		"M-fp16.gguf":                                 "FP16",
		"plain.gguf":                                  "",
		"Phi-3.5-mini.gguf":                           "",
	} {
		if got := QuantOf(file); got != want {
			t.Errorf("%s: %q, want %q", file, got, want)
		}
	}
}

func TestQuantFilesAsOllamaAndLlamaCpp(t *testing.T) {
	var entries []Entry
	for _, p := range []string{
		"M-Q4_K_M.gguf", "M-Q4_K_XL.gguf", "M-UD-Q4_K_XL.gguf", "M-UD-Q6_K_XL.gguf", "mmproj-M-F16.gguf", "imatrix-Q8_0.gguf",
		"Q8_0/M-Q8_0-00001-of-00002.gguf", "Q8_0/M-Q8_0-00002-of-00002.gguf", "BF16/M-BF16-00001-of-00002.gguf",
		"M-IQ4_XS.gguf", "M-MXFP4.gguf", "twice/M-Q5_0-00001-of-00002.gguf", "M-Q5_0.gguf", "README.md",
	} {
		entries = append(entries, Entry{Path: p, Size: 1})
	}
	for quant, want := range map[string]string{
		"Q4_K_M": "M-Q4_K_M.gguf", "q4_k_m": "M-Q4_K_M.gguf",
		"Q4_K_XL": "M-Q4_K_XL.gguf", "UD-Q4_K_XL": "M-UD-Q4_K_XL.gguf", "Q6_K_XL": "M-UD-Q6_K_XL.gguf",
		"Q8_0":   "Q8_0/M-Q8_0-00001-of-00002.gguf Q8_0/M-Q8_0-00002-of-00002.gguf",
		"BF16":   "BF16/M-BF16-00001-of-00002.gguf BF16/M-BF16-00002-of-00002.gguf",
		"iq4_xs": "M-IQ4_XS.gguf", "mxfp4": "M-MXFP4.gguf",
		"Q5_0":          "M-Q5_0.gguf", // its other form lacks a shard
		"M-IQ4_XS.gguf": "M-IQ4_XS.gguf",
	} {
		got, err := quantFiles(entries, quant)
		if strings.Join(got, " ") != want || err != nil {
			t.Errorf("%s: %v, %v; want %s", quant, got, err, want)
		}
	}
	for _, quant := range []string{"F16", "Q4_K", "Q2_K"} {
		if got, err := quantFiles(entries, quant); !errors.Is(err, ErrNotFound) {
			t.Errorf("%s: %v, %v", quant, got, err)
		}
	}
	for _, v := range variants(entries) {
		if half := v.Quant == "BF16" || strings.HasPrefix(v.Files[0].Path, "twice/"); half != (len(v.Missing) > 0) {
			t.Errorf("%s: missing %v", v.Files[0].Path, v.Missing)
		}
	}
}

package main

import (
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"aisync.dev/aisync/internal/gguf/gguftest"
)

// newerOllama serves with llama.cpp's own server and reads the chat template of a
// file. It is tried where it is at hand: go build in a clone of its tag.
const newerOllama = "v0.32.15"

// talk is a chat template, with whether each ollama offers tools.
type talk struct {
	file         string
	older, newer bool
}

// own are the templates of gguftest.
var own = []talk{
	{"chatml", true, true},
	{"qwen3-coder", true, true},
	{"granite", true, true},
	{"llama3", true, true},
	{"mistral", true, true},
	{"phi4-mini", true, true},
	{"harmony", false, true},
	{"sections", false, true},
	{"keys", false, true},
	{"call-ids", false, true},
	{"turns", false, false},
	{"roles", false, false},
}

// published are chat templates by their names in models/templates of
// https://github.com/ggml-org/llama.cpp. They are tried too where
// ~/.cache/aisync-test/chat-templates holds them.
var published = []talk{
	{"Qwen-Qwen3-0.6B", true, true},
	{"Qwen3-Coder", true, true},
	{"meta-llama-Llama-3.1-8B-Instruct", true, true},
	{"meta-llama-Llama-3.3-70B-Instruct", true, true},
	{"mistralai-Ministral-3-14B-Reasoning-2512", true, true},
	{"unsloth-mistral-Devstral-Small-2507", true, true},
	{"ibm-granite-granite-4.0", true, true},
	{"llama-cpp-microsoft-Phi-4-mini-instruct", true, true},
	{"openai-gpt-oss-120b", false, true},
	{"google-gemma-4-31B-it", false, true},
	{"GLM-4.6", false, true},
	{"deepseek-ai-DeepSeek-V3.1", false, true},
	{"Kimi-K2-Instruct", false, true},
	{"google-gemma-2-2b-it", false, false},
	{"microsoft-Phi-3.5-mini-instruct", false, false},
}

// chatTemplates are the templates that are here, and their texts.
func chatTemplates(t *testing.T) (talks []talk, texts []string) {
	t.Helper()
	if names := gguftest.ChatNames(); len(names) != len(own) {
		t.Errorf("of the templates %q only %d are tried", names, len(own))
	}
	for _, x := range own {
		talks, texts = append(talks, x), append(texts, gguftest.Chat(x.file))
	}
	cache, err := os.UserCacheDir()
	if err != nil {
		t.Fatal(err)
	}
	for _, x := range published {
		text, err := os.ReadFile(filepath.Join(cache, "aisync-test", "chat-templates", x.file+".jinja"))
		if err != nil {
			t.Logf("not tried: %v", err)
			continue
		}
		talks, texts = append(talks, x), append(texts, string(text))
	}
	return talks, texts
}

// ollama offers tools with each model whose chat template tells them in a form that
// aisync knows, and a newer one with all that tell them. The plan names the others.
func TestOllamaOffersTools(t *testing.T) {
	t.Parallel()
	for _, version := range []string{ollamaVersion, newerOllama} {
		t.Run(version, func(t *testing.T) {
			t.Parallel()
			talks, texts := chatTemplates(t)
			dir, aisync := talkHost(t, talks, texts)
			o := newOllamaOf(t, version, filepath.Join(dir, "home"))
			plan := aisync("plan", "--scope", "host")
			aisync("apply", "--scope", "host", "--yes")
			if again := aisync("plan", "--scope", "host"); !strings.Contains(again, "No changes.") {
				t.Errorf("a second plan says\n%s", again)
			}
			o.serve()
			defer o.stop()
			for i, talk := range talks {
				want := talk.older && version == ollamaVersion || talk.newer && version == newerOllama
				var shown struct{ Capabilities []string }
				o.ask("/api/show", fmt.Sprintf(`{"model":"m%d"}`, i), http.StatusOK, &shown)
				if got := slices.Contains(shown.Capabilities, "tools"); got != want {
					t.Errorf("%s: capabilities %v, want tools %v", talk.file, shown.Capabilities, want)
				}
				if named := strings.Contains(strings.ReplaceAll(plan, ",", " "), fmt.Sprintf("of model m%d ", i)); named != !talk.older {
					t.Errorf("%s: the plan says it has no tools: %v", talk.file, named)
				}
			}
			if version == newerOllama {
				return // this version computes with another llama-server
			}
			for i, talk := range talks {
				status := map[bool]int{true: http.StatusOK, false: http.StatusBadRequest}[talk.older]
				o.ask("/api/chat", fmt.Sprintf(`{"model":"m%d","stream":false,"options":{"num_predict":2},"messages":[{"role":"user","content":"Hi"}],"tools":[{"type":"function","function":{"name":"read","description":"Reads","parameters":{"type":"object","required":["path"],"properties":{"path":{"type":"string"}}}}}]}`, i), status, nil)
			}
		})
	}
}

// ask posts a request.
func (o *ollama) ask(path, body string, status int, answer any) {
	o.t.Helper()
	resp, err := http.Post("http://"+o.host+path, "application/json", strings.NewReader(body))
	if err != nil {
		o.t.Fatal(err)
	}
	defer resp.Body.Close()
	got, _ := io.ReadAll(resp.Body)
	if resp.StatusCode != status {
		o.t.Errorf("%s %s: %s %s", path, body, resp.Status, got)
	} else if answer != nil {
		if err := json.Unmarshal(got, answer); err != nil {
			o.t.Errorf("%s: %v in %s", path, err, got)
		}
	}
}

// talkHost describes a host with a model for each of talks, which ollama is shown.
func talkHost(t *testing.T, talks []talk, texts []string) (dir string, aisync func(args ...string) string) {
	t.Helper()
	dir, aisync = modelHost(t, "", `"ollama"`)
	var spec bytes.Buffer
	spec.WriteString("package aisync\n\nhosts: me: {store: \"~/models\", views: [\"ollama\"]}\n")
	for i, talk := range talks {
		name := filepath.Join(dir, fmt.Sprintf("m%d.gguf", i))
		if err := gguftest.Told(talk.file, texts[i]).Write(name); err != nil {
			t.Fatal(err)
		}
		data, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		fmt.Fprintf(&spec, "hosts: me: models: m%d: {}\ncatalog: models: m%d: quants: F32: files: [{path: \"m%d.gguf\", size: %d, sha256: \"%x\", sources: [%q]}]\n", i, i, i, len(data), sha256.Sum256(data), name)
	}
	if err := os.WriteFile(filepath.Join(dir, "host", "me.cue"), spec.Bytes(), 0o644); err != nil {
		t.Fatal(err)
	}
	return dir, aisync
}

package scale

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"context"
	"crypto/sha256"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"aisync.dev/aisync/internal/gguf/gguftest"
)

// A machine with an empty home, the spec and its lock, that reaches the registry alone:
// rules, the server and the model come from there, and the first prompt is answered
// within the time of the wire and a minute.
func TestAWipedMachineAnswers(t *testing.T) {
	needed(t)
	cache, err := os.UserCacheDir()
	if err != nil {
		t.Fatal(err)
	}
	llama, err := os.ReadFile(filepath.Join(cache, "aisync-test/llama-server/bin/llama-server"))
	if err != nil {
		t.Skip("needs a real llama-server: scripts/llama-server ~/.cache/aisync-test/llama-server")
	}
	w := newWorld(t)
	file := filepath.Join(memory(t), "long.gguf")
	if err := gguftest.Long(gguftest.Chat("chatml")).Write(file); err != nil {
		t.Fatal(err)
	}
	model, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	archive := packed(t, "b1/llama-server", llama)
	w.hub.files["/long.gguf"], w.hub.files["/b1.tar.gz"] = model, archive
	registry := w.house.machine(uplink)
	at, _ := startRegistry(t, registry)
	mirror := "oci+http://" + at + "/house/models"
	seed, wiped := w.house.machine(0), w.house.machine(0)

	rules := filepath.Join(seed.home, "rules")
	seed.put("rules/agent-rules/commits.md", []byte("# Commits\n\nSay why.\n"))
	spec := fmt.Sprintf(`package aisync

hosts: h: {
	match: {}
	mirrors: [%q]
	runtimes: claude: {}
	bundles: rules: source: "git::file://%s"
	models: long: {}
	services: coder: {kind: "llama-server", model: "long", port: 18477, context: 2048, gpuLayers: 0, args: ["--predict", "8"], install: {via: "release", version: "b1", url: "http://%s/b1.tar.gz"}}
}
catalog: models: long: {license: "MIT", context: 131072, quants: F32: files: [{path: "long.gguf", size: %d, sha256: "%x", sources: ["http://%s/long.gguf"]}]}
`, mirror, rules, w.machine.addr, len(model), sha256.Sum256(model), w.machine.addr)
	seed.put(".config/aisync/host.cue", []byte(spec))

	// One machine of the house fills the registry. oras push sends an archive; here curl
	// does, as it comes with every machine.
	seed.put("b1.tar.gz", archive)
	script := fmt.Sprintf(`set -e
cd
git init -q -b main rules
git -C rules add -A
git -C rules -c user.name=a -c user.email=a@example.org commit -q -m one
%[1]s lock
%[1]s models pull long
%[1]s models push %[2]s long
%[1]s bundles push %[2]s rules
at=$(curl -sSi -X POST http://%[3]s/v2/house/models/blobs/uploads/ | sed -n 's/\r$//; s/^[Ll]ocation: //p')
curl -sSf -X PUT --data-binary @b1.tar.gz -H 'Content-Type: application/octet-stream' "$at&digest=sha256:%[4]x"
`, binary, mirror, at, sha256.Sum256(archive))
	if out, err := seed.command(t.Context(), "sh", "-c", script).CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	lock, err := os.ReadFile(filepath.Join(seed.home, ".config/aisync/aisync.lock"))
	if err != nil {
		t.Fatal(err)
	}

	// Neither the hub nor the repository of the rules is there any more.
	w.ip("-n", w.machine.name, "link", "set", "eth0", "down")
	if err := os.RemoveAll(seed.home); err != nil {
		t.Fatal(err)
	}
	wiped.put(".config/aisync/host.cue", []byte(spec))
	wiped.put(".config/aisync/aisync.lock", lock)
	before := registry.sent()
	start := time.Now()
	apply := wiped.command(t.Context(), "sh", "-c", binary+" lock && "+binary+" apply --yes")
	apply.Env = append(apply.Env, "AISYNC_SERVICE_MANAGER=supervise")
	t.Cleanup(func() {
		stop := wiped.command(context.WithoutCancel(t.Context()), binary, "services", "stop", "coder")
		stop.Env = apply.Env
		if out, err := stop.CombinedOutput(); err != nil {
			t.Errorf("stop: %v\n%s", err, out)
		}
	})
	out, err := apply.CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	for _, want := range []string{"rules: from " + mirror, "long: from " + mirror, "llama-server: from " + mirror} {
		if !strings.Contains(string(out), want) {
			t.Errorf("apply does not say %q:\n%s", want, out)
		}
	}
	key, err := os.ReadFile(filepath.Join(wiped.home, ".local/state/aisync/keys/coder"))
	if err != nil {
		t.Fatal(err)
	}
	answer := ask(t, wiped, strings.TrimSpace(string(key)))
	took := time.Since(start)
	wire := time.Duration(float64(registry.sent()-before) * 8 / (uplink * 1e6) * float64(time.Second))
	t.Logf("an empty home, %.1f MB from the registry: %.1f s on the wire, %.1f s to the first answer: %s", float64(registry.sent()-before)/1e6, wire.Seconds(), took.Seconds(), answer)
	if took > wire+time.Minute {
		t.Errorf("%s to the first answer, want %s at most", took, wire+time.Minute)
	}
}

// ask asks the server of m until it answers with a token.
func ask(t *testing.T, m machine, key string) string {
	t.Helper()
	body := `{"model":"long","messages":[{"role":"user","content":"Who are you?"}],"max_tokens":8}`
	for end := time.Now().Add(2 * time.Minute); ; time.Sleep(100 * time.Millisecond) {
		out, err := m.command(t.Context(), "curl", "-sS", "-f", "-m", "60", "-H", "Content-Type: application/json", "-H", "Authorization: Bearer "+key, "-d", body, "http://127.0.0.1:18477/v1/chat/completions").CombinedOutput()
		if err == nil && bytes.Contains(out, []byte(`"completion_tokens":`)) && !bytes.Contains(out, []byte(`"completion_tokens":0`)) {
			return string(out)
		}
		if time.Now().After(end) {
			t.Fatalf("no answer: %v %s", err, out)
		}
	}
}

// packed is an archive with a program, and as many bytes beside it as a release of
// llama.cpp has of libraries.
func packed(t *testing.T, name string, program []byte) []byte {
	t.Helper()
	libraries := make([]byte, 64<<20)
	random := rand.NewChaCha8([32]byte{})
	random.Read(libraries)
	var out bytes.Buffer
	zip, err := gzip.NewWriterLevel(&out, gzip.NoCompression)
	if err != nil {
		t.Fatal(err)
	}
	to := tar.NewWriter(zip)
	put := func(name string, data []byte) {
		err := to.WriteHeader(&tar.Header{Name: name, Mode: 0o755, Size: int64(len(data)), Typeflag: tar.TypeReg})
		if err == nil {
			_, err = to.Write(data)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	put(name, program)
	put("b1/libraries", libraries)
	if to.Close() != nil || zip.Close() != nil {
		t.Fatal("the archive cannot be closed")
	}
	return out.Bytes()
}

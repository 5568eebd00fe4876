package scale

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"math/rand/v2"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"
)

// binary is the aisync that is measured; make test-scale sets it.
var binary = os.Getenv("AISYNC_TEST_SCALE")

const (
	uplink = 100  // Mbit/s of the hub
	port   = 1000 // Mbit/s of the registry
	size   = 8 << 20
	models = 2
)

// needed skips the test where it cannot run.
func needed(t *testing.T) {
	t.Helper()
	if binary == "" {
		t.Skip("make test-scale runs it")
	}
	if os.Geteuid() != 0 {
		t.Skip("needs root, for network namespaces")
	}
	for _, program := range []string{"ip", "tc", "curl", "docker-registry"} {
		if _, err := exec.LookPath(program); err != nil {
			t.Skip("needs " + program)
		}
	}
}

// world is a hub behind an uplink, and what it has.
type world struct {
	*house
	hub     *upstream
	machine machine // of the hub
	catalog string
}

func newWorld(t *testing.T) *world {
	t.Helper()
	w := &world{house: newHouse(t)}
	w.machine = w.house.machine(uplink)
	tiny, err := os.ReadFile("../../golden/contract/models/tiny.gguf")
	if err != nil {
		t.Fatal(err)
	}
	w.hub = &upstream{files: map[string][]byte{}, sent: map[string]int64{}}
	for i := range models {
		data := append(bytes.Clone(tiny), make([]byte, size-len(tiny))...)
		random := rand.NewChaCha8([32]byte{byte(i + 1)})
		random.Read(data[len(tiny):])
		name := fmt.Sprintf("m%d", i)
		w.hub.files["/"+name+".gguf"] = data
		sum := sha256.Sum256(data)
		w.catalog += fmt.Sprintf("catalog: models: %s: quants: F32: files: [{path: \"%s.gguf\", size: %d, sha256: \"%s\", sources: [\"http://%s:80/%s.gguf\"]}]\n",
			name, name, size, hex.EncodeToString(sum[:]), w.machine.addr, name)
	}
	l := w.machine.listen(80)
	server := &http.Server{Handler: w.hub}
	go server.Serve(l)
	t.Cleanup(func() { server.Close() })
	return w
}

// host writes the spec of a machine, with a mirror unless that is "".
func (w *world) host(m machine, mirror string) machine {
	spec := "package aisync\n\nhosts: h: {match: {}"
	if mirror != "" {
		spec += ", mirrors: [\"" + mirror + "\"]"
	}
	spec += ", models: {"
	for i := range models {
		spec += fmt.Sprintf("m%d: {}, ", i)
	}
	m.put(".config/aisync/host.cue", []byte(spec+"}}\n"+w.catalog))
	return m
}

// pull has a machine fetch all models, and returns what it said.
func (w *world) pull(m machine) (string, error) {
	args := []string{binary, "models", "pull"}
	for i := range models {
		args = append(args, fmt.Sprint("m", i))
	}
	out, err := m.command(w.t.Context(), args...).CombinedOutput()
	for i := range models {
		name := fmt.Sprintf("m%d.gguf", i)
		got, rerr := os.ReadFile(filepath.Join(m.home, ".local/share/llm/models/local", fmt.Sprint("m", i), name))
		if err == nil && (rerr != nil || !bytes.Equal(got, w.hub.files["/"+name])) {
			err = fmt.Errorf("%s is not right: %w", name, rerr)
		}
	}
	os.RemoveAll(filepath.Join(m.home, ".local"))
	return string(out), err
}

// pullAll has machines fetch at once.
func (w *world) pullAll(machines []machine) (said []string) {
	said = make([]string, len(machines))
	var all sync.WaitGroup
	for i, m := range machines {
		all.Go(func() {
			out, err := w.pull(m)
			if said[i] = out; err != nil {
				w.t.Errorf("machine %d: %v\n%s", i, err, out)
			}
		})
	}
	all.Wait()
	return said
}

// Fifty machines with a registry: each model crosses the uplink once. Without one, fifty
// times, and the time goes with it.
func TestFiftyMachinesFetchEachModelOnce(t *testing.T) {
	needed(t)
	const n = 50
	w := newWorld(t)
	registry := w.house.machine(port)
	at, _ := startRegistry(t, registry)
	mirror := "oci://" + at + "/house/models"
	scheme := strings.Replace(mirror, "oci:", "oci+http:", 1)
	var with, without []machine
	for range n {
		with = append(with, w.host(w.house.machine(0), scheme))
	}
	for _, m := range with {
		other := m
		other.home = filepath.Join(filepath.Dir(m.home), "other")
		without = append(without, w.host(other, ""))
	}

	// The first machine seeds the registry, the others have it from there.
	w.hub.forget()
	start := time.Now()
	seed := with[0]
	args := []string{binary, "models", "pull"}
	push := []string{binary, "models", "push", scheme}
	for i := range models {
		args, push = append(args, fmt.Sprint("m", i)), append(push, fmt.Sprint("m", i))
	}
	for _, command := range [][]string{args, push} {
		if out, err := seed.command(t.Context(), command...).CombinedOutput(); err != nil {
			t.Fatalf("%q: %v\n%s", command, err, out)
		}
	}
	seeded := time.Since(start)
	uplinkBefore := w.machine.sent()
	for i, said := range w.pullAll(with[1:]) {
		if strings.Count(said, ": from "+scheme) != models || strings.Contains(said, "not from") {
			t.Errorf("machine %d said:\n%s", i+1, said)
		}
	}
	mirrored := time.Since(start)
	sent, _ := w.hub.total()
	if leaked := w.machine.sent() - uplinkBefore; leaked > size/10 {
		t.Errorf("the 49 made the hub send %d bytes", leaked)
	}
	for path, data := range w.hub.files {
		if got := w.hub.of(path); got < int64(len(data)) || got > int64(len(data))+1024 { // one byte for each question whether it is there
			t.Errorf("%s crossed the uplink with %d bytes, want its %d once", path, got, len(data))
		}
	}
	left := registry.sent()

	w.hub.forget()
	start = time.Now()
	w.pullAll(without)
	direct := time.Since(start)
	all, _ := w.hub.total()
	if want := int64(n * models * size); all < want {
		t.Errorf("%d bytes crossed the uplink, want %d", all, want)
	}
	ratio := mirrored.Seconds() / direct.Seconds()
	t.Logf("%d machines, %d models of %d MiB, an uplink of %d Mbit/s, a registry at %d Mbit/s", n, models, size>>20, uplink, port)
	t.Logf("with a registry: %.1f s (of these %.1f s until it was filled), %.1f MB over the uplink, %.1f MB from the registry", mirrored.Seconds(), seeded.Seconds(), float64(sent)/1e6, float64(left)/1e6)
	t.Logf("without: %.1f s, %.1f MB over the uplink; ratio %.2f", direct.Seconds(), float64(all)/1e6, ratio)
	if ratio > 0.5 {
		t.Errorf("with a registry it takes %.2f of the time without", ratio)
	}
}

// A registry that is killed half-way: each machine goes on from the hub, with what it has.
func TestTheRegistryDiesHalfWay(t *testing.T) {
	needed(t)
	const n = 5
	w := newWorld(t)
	registry := w.house.machine(uplink)
	at, stop := startRegistry(t, registry)
	mirror := "oci+http://" + at + "/house/models"
	var machines []machine
	for range n + 1 {
		machines = append(machines, w.host(w.house.machine(0), mirror))
	}
	seed := machines[n]
	args, push := []string{binary, "models", "pull"}, []string{binary, "models", "push", mirror}
	for i := range models {
		args, push = append(args, fmt.Sprint("m", i)), append(push, fmt.Sprint("m", i))
	}
	for _, command := range [][]string{args, push} {
		if out, err := seed.command(t.Context(), command...).CombinedOutput(); err != nil {
			t.Fatalf("%q: %v\n%s", command, err, out)
		}
	}
	w.hub.forget()
	before := registry.sent()
	half := int64(n * models * size / 2)
	done := make(chan []string)
	go func() { done <- w.pullAll(machines[:n]) }()
	for registry.sent()-before < half {
		time.Sleep(10 * time.Millisecond)
	}
	stop()
	said := <-done
	passed := 0
	for _, s := range said {
		passed += strings.Count(s, "not from "+mirror+": connection refused")
	}
	sent, _ := w.hub.total()
	t.Logf("the registry had sent %d bytes when it was killed; the hub sent %d of %d", half, sent, 2*half)
	// What was on its way is lost: a chunk of 8 MiB is not, for it is kept as far as it came.
	if passed == 0 || sent > 2*half-half/2 || sent < half/2 {
		t.Errorf("%d times the registry was left; the hub sent %d bytes, want about the other half, %d:\n%s", passed, sent, half, strings.Join(said, "\n"))
	}
}

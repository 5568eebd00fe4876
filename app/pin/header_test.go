package pin

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"aisync.dev/aisync/internal/fetch/hubtest"
	"aisync.dev/aisync/providers/store"
	"aisync.dev/aisync/reconcile"
	"aisync.dev/aisync/reconcile/fsys"
	"aisync.dev/aisync/schema/spec"
)

func TestModelIsPinnedToACommitSizeDigestAndHeader(t *testing.T) {
	s := newStage(t)
	old := s.hub.Add("me/m", hubtest.File{Path: "m-Q8_0.gguf", Data: tiny(t, 1)})
	s.model("m", "Q8_0", inRepo("Q4_K_M", "me/m", "m-Q4_K_M.gguf"), inRepo("Q8_0", "me/m", "m-Q8_0.gguf"))
	r := s.resolver(Pin)
	got, err := s.models(r)
	must(t, err)
	f := got["m"].Files[0]
	if got["m"].Name != "Q8_0" || f.Commit != old || f.SHA256 != sha(tiny(t, 1)) || f.Size != 483136 || f.Sources[0] != "hf://me/m@"+old+"/m-Q8_0.gguf" {
		t.Errorf("chosen %+v", got["m"])
	}
	if x, ok := r.Chosen("m"); !ok || x.Shape == nil || x.Load().Weights != 483136 {
		t.Errorf("chosen %+v", x)
	}
	s.settle(r)
	pin := pins(s.hostLock, "model")["me/m/m-Q8_0.gguf"]
	if pin["repo"] != "me/m" || pin["commit"] != old || pin["sha256"] != f.SHA256 || pin["size"] != "483136" || !strings.Contains(pin["shape"], "llama") {
		t.Errorf("pinned %v", pin)
	}

	// From then on nothing is asked, whatever upstream has.
	s.hub.Add("me/m", hubtest.File{Path: "m-Q8_0.gguf", Data: tiny(t, 2)})
	s.hub.Forget()
	for name, r := range map[string]*Resolver{"look": s.resolver(Look), "ask": s.resolver(Ask), "pin": s.resolver(Pin), "offline": s.resolver(Pin, offline), "locked": s.resolver(Pin, locked), "lock": s.resolver(Lock)} {
		got, err := s.models(r)
		if err != nil || got["m"].Files[0].Commit != old {
			t.Errorf("%s: %+v, %v", name, got, err)
		}
		if x, _ := r.Chosen("m"); x.Shape == nil {
			t.Errorf("%s: the pin's shape is not used", name)
		}
		if res, err := r.Result(); err != nil || len(res.LeftOut) != 0 || slices.ContainsFunc(res.Pins[s.hostLock], func(p reconcile.Pin) bool { return p.Kind == "model" }) {
			t.Errorf("%s: %+v, %v", name, res, err)
		}
	}
	if asked := s.hub.Requests(); len(asked) != 0 {
		t.Errorf("asked %v", asked)
	}
}

func TestAHeaderThatDoesNotComeIsAskedForOnce(t *testing.T) {
	quick(t, 300*time.Millisecond, time.Hour)
	silent, asked := silence(t)
	s := newStage(t)
	for i := range 3 {
		files := []spec.ModelFile{{Path: "m.gguf", SHA256: sha(tiny(t, 1)), Size: 483136, Sources: []string{silent + "/m.gguf"}}}
		s.model(fmt.Sprint("m", i), "auto", spec.Quant{Name: "F16", Files: files}, spec.Quant{Name: "Q8_0", Files: files})
	}
	r := s.resolver(Pin)
	q, err := s.models(r)
	must(t, err)
	if asked.Load() > 1 {
		t.Errorf("asked %d times", asked.Load())
	}
	if got := s.kinds(); !slices.Equal(got, []EventKind{HeaderUnread, HeaderUnread, HeaderUnread}) {
		t.Errorf("told %v", got)
	}
	if x, _ := r.Chosen("m2"); x.Shape != nil || q["m2"].Name == "" {
		t.Errorf("without a header: %+v", x)
	}
	// A file that is here needs no network: its header is read.
	blob := string(store.Blob(fsys.LogicalPath(r.Store), sha(tiny(t, 1))))
	must(t, os.MkdirAll(filepath.Dir(blob), 0o755))
	must(t, os.WriteFile(blob, tiny(t, 1), 0o444))
	r = s.resolver(Ask, offline)
	_, err = s.models(r)
	must(t, err)
	r.Measure(t.Context(), "m1")
	if x, _ := r.Chosen("m1"); x.Shape == nil || x.Shape.Context == 0 {
		t.Errorf("with the file at hand: %+v", x)
	}
}

func TestMeasureReadsTheHeaderOfAnUnpinnedModelAndPinsNothing(t *testing.T) {
	s := newStage(t)
	s.hub.Add("me/m", hubtest.File{Path: "m.gguf", Data: tiny(t, 1)})
	s.model("m", "", inRepo("F16", "me/m", "m.gguf"))
	r := s.resolver(Ask)
	_, err := s.models(r)
	must(t, err)
	r.Measure(t.Context(), "m")
	r.Measure(t.Context(), "unknown")
	x, ok := r.Chosen("m")
	if !ok || x.Shape == nil || x.Quant.Size() != 483136 {
		t.Errorf("measured %+v", x)
	}
	if all := r.AllChosen(); len(all) != 1 || all[0].Use.ID != "m" {
		t.Errorf("chosen %+v", all)
	}
	if res, err := r.Result(); err != nil || len(res.Pins) != 0 {
		t.Errorf("pinned %+v, %v", res.Pins, err)
	}
	header, err := ReadHeader("../../golden/contract/models/tiny.gguf")
	if err != nil || header.Shape.String() != x.Shape.String() {
		t.Errorf("ReadHeader: %+v, %v", header, err)
	}
	other := filepath.Join(t.TempDir(), "x.gguf")
	must(t, os.WriteFile(other, []byte("no model"), 0o644))
	_, err = ReadHeader(other)
	wantError(t, err, Unreadable, "", other)
}

func TestHeadersComeFromEveryKindOfSource(t *testing.T) {
	here := filepath.Join(t.TempDir(), "m.gguf")
	must(t, os.WriteFile(here, tiny(t, 1), 0o644))
	web := httptest.NewServer(http.FileServer(http.Dir(filepath.Dir(here))))
	t.Cleanup(web.Close)
	for source, known := range map[string]bool{
		here: true, "file://" + here: true, web.URL + "/m.gguf": true, web.URL + "/none.gguf": false, "ftp://" + here: false, "https://[": false,
	} {
		s := newStage(t)
		file := spec.ModelFile{Path: "m.gguf", SHA256: sha(tiny(t, 1)), Size: 483136, Sources: []string{source}}
		s.model("m", "", spec.Quant{Name: "F16", Files: []spec.ModelFile{file}})
		r := s.resolver(Ask)
		_, err := s.models(r)
		must(t, err)
		r.Measure(t.Context(), "m")
		if x, _ := r.Chosen("m"); (x.Shape != nil) != known {
			t.Errorf("%s: the shape is %v", source, x.Shape)
		}
	}
}

package pin

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"aisync.dev/aisync/internal/fetch/hubtest"
	"aisync.dev/aisync/internal/fetch/ocitest"
	"aisync.dev/aisync/schema/spec"
)

func TestModelOfARegistryIsPinnedToItsManifest(t *testing.T) {
	s := newStage(t)
	reg := ocitest.New()
	t.Cleanup(reg.Close)
	manifest := reg.Push("me/m:1", ocitest.Layer{Title: "m.gguf", Data: tiny(t, 1)}, ocitest.Layer{Title: "README.md", Data: []byte("read me")})
	source := "oci+http://" + reg.Host + "/me/m:1"
	file := func(path, source string) spec.Quant {
		return spec.Quant{Name: "F16", Files: []spec.ModelFile{{Path: path, Sources: []string{"https://example.org/m.gguf", source}}}}
	}
	s.model("m", "", file("other.gguf", source)) // the only model there, whatever it is called
	r := s.resolver(Lock)
	q, err := s.models(r)
	must(t, err)
	f := q["m"].Files[0]
	if f.SHA256 != sha(tiny(t, 1)) || f.Sources[0] != "oci+http://"+reg.Host+"/me/m@"+manifest {
		t.Errorf("file %+v", f)
	}
	if x, _ := r.Chosen("m"); x.Shape == nil {
		t.Error("its header was not read by ranges")
	}
	s.settle(r)
	if pin := pins(s.hostLock, "model")[source+"#other.gguf"]; pin["manifest"] != manifest || pin["size"] != "483136" {
		t.Errorf("pinned %v", pins(s.hostLock, "model"))
	}
	reg.Forget()
	reg.Push("me/m:1", ocitest.Layer{Title: "m.gguf", Data: tiny(t, 2)})
	if q, err := s.models(s.resolver(Lock)); err != nil || q["m"].Files[0].SHA256 != f.SHA256 || len(reg.Asked()) != 0 {
		t.Errorf("pinned: %+v, %v, asked %v", q, err, reg.Asked())
	}
	if q, err := s.models(s.resolver(Lock, update("m"))); err != nil || q["m"].Files[0].SHA256 != sha(tiny(t, 2)) {
		t.Errorf("updated: %+v, %v", q, err)
	}

	reg.Push("me/two:1", ocitest.Layer{Title: "a-00001-of-00002.gguf", Data: tiny(t, 3)}, ocitest.Layer{Title: "a-00002-of-00002.gguf", Data: []byte("GGUF")})
	s.own, s.host.Models = spec.Catalog{}, nil
	s.model("two", "", file("m.gguf", "oci+http://"+reg.Host+"/me/two:1"))
	if _, err := s.models(s.resolver(Lock)); err == nil || !strings.Contains(err.Error(), "has no m.gguf; it has a-00001-of-00002.gguf, a-00002-of-00002.gguf") {
		t.Errorf("an artifact without it: %v", err)
	}
	s.own, s.host.Models = spec.Catalog{}, nil
	s.model("none", "", file("m.gguf", "oci+http://"+reg.Host+"/me/none:1"))
	r = s.resolver(Pin)
	_, err = s.models(r)
	must(t, err)
	if res := s.settle(r); len(res.LeftOut) != 1 || !strings.Contains(res.LeftOut[0].Err.Error(), "not found") {
		t.Errorf("left out %+v", res.LeftOut)
	}
}

// silence is a server that does not answer, and how often it is asked.
func silence(t *testing.T) (string, *atomic.Int32) {
	asked, stop := new(atomic.Int32), make(chan struct{})
	s := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		asked.Add(1)
		select {
		case <-r.Context().Done():
		case <-stop:
		}
	}))
	t.Cleanup(s.Close)
	t.Cleanup(func() { close(stop) })
	return s.URL, asked
}

// quick makes waits short.
func quick(t *testing.T, wait, waiting time.Duration) {
	was, wasWaiting := patience, waitingAt
	patience, waitingAt = wait, waiting
	t.Cleanup(func() { patience, waitingAt = was, wasWaiting })
}

func TestAHubThatDoesNotAnswerCostsOneWait(t *testing.T) {
	quick(t, 400*time.Millisecond, 50*time.Millisecond)
	silent, asked := silence(t)
	s := newStage(t)
	s.env["HF_ENDPOINT"] = silent
	for i := range 20 {
		s.model(fmt.Sprintf("m%02d", i), "", inRepo("F16", fmt.Sprintf("me/m%d", i), "m.gguf"))
	}
	for _, mode := range []Mode{Pin, Lock} {
		asked.Store(0)
		r := s.resolver(mode)
		_, err := s.models(r)
		if n := asked.Load(); n == 0 || n > 16 { // so many at a time, then none
			t.Errorf("mode %d: asked %d times", mode, n)
		}
		host := strings.TrimPrefix(silent, "http://")
		says := host + " did not answer within 400ms"
		if mode == Lock {
			wantError(t, err, HubDown, "", says)
			continue
		}
		must(t, err)
		res := s.settle(r)
		if len(res.LeftOut) != 20 || res.LeftOut[0].Address != "model:m00" || res.LeftOut[19].Err.Error() != "it could not be pinned: "+says {
			t.Errorf("left out %+v", res.LeftOut)
		}
		if told := s.told(); len(told) == 0 || told[0].Kind != Waiting || told[0].Name != host {
			t.Errorf("told %+v", told)
		}
	}
}

func TestAHubThatRefusesForNowIsAskedAgainLater(t *testing.T) {
	s := newStage(t)
	s.hub.Add("me/m", hubtest.File{Path: "m.gguf", Data: tiny(t, 1)})
	s.model("m", "", inRepo("F16", "me/m", "m.gguf"))
	s.hub.Break(hubtest.Fault{APIStatus: http.StatusServiceUnavailable, ResolveStatus: http.StatusServiceUnavailable})
	_, err := s.models(s.resolver(Lock))
	wantError(t, err, HubDown, "", "503")
	s.hub.Mend()
	if _, err := s.models(s.resolver(Lock)); err != nil {
		t.Error(err)
	}
}

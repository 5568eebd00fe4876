package executor

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"aisync.dev/aisync/agents/task"
	"aisync.dev/aisync/internal/fakemodel"
	"aisync.dev/aisync/schema/spec"
)

// saying is a model that gives these answers in turn, the last one for good.
func saying(t *testing.T, answers ...string) *fakemodel.Server {
	t.Helper()
	var n atomic.Int32
	s, err := fakemodel.Start(func(fakemodel.Request) fakemodel.Reply {
		return fakemodel.Reply{Text: answers[min(int(n.Add(1)), len(answers))-1]}
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	return s
}

func work(t *testing.T, files map[string]string, readable ...string) task.Work {
	t.Helper()
	return task.Work{
		Dir: tree(t, files), Readable: readable, Log: io.Discard,
		Task: spec.Task{Goal: "A friendlier greeting.", Write: []string{"src/*.py"}, Timeout: time.Minute},
		Step: spec.TaskStep{ID: "s1", Action: "edit", File: "src/hello.py", Instructions: "Greet the world."},
	}
}

const greeting = "src/hello.py\n<<<<<<< SEARCH\nprint(\"hi\")\n=======\nprint(\"hello, world\")\n>>>>>>> REPLACE\n"

func TestEndpointEditsShownFiles(t *testing.T) {
	w := work(t, map[string]string{"src/hello.py": "print(\"hi\")\n", "src/other.py": "zqother", "secret.env": "zqsecret"}, "src/hello.py", "src/other.py")
	w.Earlier = "zqearlier"
	model := saying(t, "I make it friendlier.\n\n"+greeting)
	out, err := Endpoint{URL: model.URL + "/v1", Model: "tiny"}.Edit(t.Context(), w)
	if err != nil || out.Tokens != 12 || out.Summary != "I make it friendlier." || out.Name != "endpoint tiny" {
		t.Errorf("outcome %+v, error %v", out, err)
	}
	if got := read(t, w.Dir, "src/hello.py"); got != "print(\"hello, world\")\n" {
		t.Errorf("the file is %q", got)
	}
	asked := model.Take()
	if len(asked) != 1 {
		t.Fatalf("%d questions", len(asked))
	}
	body := string(asked[0].Body)
	for _, word := range []string{"zqother", "zqearlier", "A friendlier greeting.", "Greet the world.", "src/*.py", `"model":"tiny"`, `"max_tokens":2048`} {
		if !strings.Contains(body, word) {
			t.Errorf("the model was not told %q:\n%s", word, body)
		}
	}
	if strings.Contains(body, "zqsecret") || strings.Contains(body, "secret.env") {
		t.Errorf("the model was told of a file that it may not read:\n%s", body)
	}
}

func TestEndpointRetriesWrongAnswer(t *testing.T) {
	w := work(t, map[string]string{"src/hello.py": "print(\"hi\")\n"}, "src/hello.py")
	model := saying(t, "No.", strings.Replace(greeting, `"hi"`, `'hi'`, 1), greeting)
	out, err := Endpoint{URL: model.URL + "/v1", Model: "tiny"}.Edit(t.Context(), w)
	if err != nil || out.Tokens != 36 {
		t.Errorf("outcome %+v, error %v", out, err)
	}
	asked := model.Take()
	if len(asked) != 3 || !strings.Contains(string(asked[1].Body), "the answer contains no edit") || !strings.Contains(string(asked[2].Body), "not in src/hello.py, character by character") {
		t.Errorf("the model was asked %d times; the last: %s", len(asked), asked[len(asked)-1].Body)
	}
	if strings.Contains(string(asked[2].Body), "the answer contains no edit") {
		t.Error("the conversation grows with each wrong answer")
	}
}

func TestEndpointTriesAreBounded(t *testing.T) {
	w := work(t, map[string]string{"src/hello.py": "print(\"hi\")\n"}, "src/hello.py")
	model := saying(t, "No.")
	_, err := Endpoint{URL: model.URL + "/v1", Model: "tiny", Tries: 2}.Edit(t.Context(), w)
	if err == nil || errors.Is(err, task.ErrTransient) || !strings.Contains(err.Error(), "no usable answer in 2 tries: the answer contains no edit") {
		t.Errorf("error %v", err)
	}
	if n := len(model.Take()); n != 2 {
		t.Errorf("the model was asked %d times", n)
	}
}

// One block of two that does not fit leaves both files as they were.
func TestEndpointAppliesWholeAnswer(t *testing.T) {
	w := work(t, map[string]string{"src/hello.py": "print(\"hi\")\n"}, "src/hello.py")
	model := saying(t, greeting+"src/new.py\n<<<<<<< SEARCH\n=======\nx = 1\n>>>>>>> REPLACE\nsrc/hello.py\n<<<<<<< SEARCH\nabsent\n=======\nx\n>>>>>>> REPLACE\n")
	if _, err := (Endpoint{URL: model.URL + "/v1", Model: "tiny", Tries: 1}).Edit(t.Context(), w); err == nil {
		t.Error("an answer was used of which a part does not fit")
	}
	if _, err := os.Stat(filepath.Join(w.Dir, "src/new.py")); err == nil || read(t, w.Dir, "src/hello.py") != "print(\"hi\")\n" {
		t.Error("a part of an answer was used")
	}
}

func TestEndpointServerErrors(t *testing.T) {
	cut := `{"choices":[{"message":{"content":` + fmt.Sprintf("%q", greeting) + `},"finish_reason":"length"}]}`
	for name, c := range map[string]struct {
		status    int
		body      string
		transient bool
		says      string
	}{
		"overloaded":   {503, `{"error":"loading model"}`, true, "loading model"},
		"too many":     {429, "", true, "429"},
		"unknown":      {404, "no such model", false, "no such model"},
		"a page":       {200, "<html>", false, "response is not a chat completion"},
		"two answers":  {200, `{"choices":[{},{}]}`, false, "response is not a chat completion"},
		"cut off":      {200, cut, false, "cut off"},
		"redirected":   {302, "", false, "302"},
		"without end":  {200, strings.Repeat("x", maxBody+10), false, "more than"},
		"breaking off": {0, "", true, ""},
	} {
		var asked atomic.Int32
		s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			asked.Add(1)
			if c.status == 0 {
				panic(http.ErrAbortHandler)
			}
			if c.status == 302 {
				w.Header().Set("Location", "http://127.0.0.1:1/")
			}
			w.WriteHeader(c.status)
			io.WriteString(w, c.body)
		}))
		w := work(t, map[string]string{"src/hello.py": "print(\"hi\")\n"}, "src/hello.py")
		_, err := Endpoint{URL: s.URL + "/v1", Model: "tiny", Tries: 1}.Edit(t.Context(), w)
		if err == nil || errors.Is(err, task.ErrTransient) != c.transient || !strings.Contains(err.Error(), c.says) {
			t.Errorf("%s: error %v", name, err)
		}
		if asked.Load() != 1 {
			t.Errorf("%s: asked %d times", name, asked.Load())
		}
		if read(t, w.Dir, "src/hello.py") != "print(\"hi\")\n" {
			t.Errorf("%s: the file was changed", name)
		}
		s.Close()
	}
}

func TestEndpointHonoursTaskTimeout(t *testing.T) {
	s := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		io.Copy(io.Discard, r.Body)
		<-r.Context().Done()
	}))
	defer s.Close()
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	w := work(t, map[string]string{"src/hello.py": "print(\"hi\")\n"}, "src/hello.py")
	if _, err := (Endpoint{URL: s.URL, Model: "tiny"}).Edit(ctx, w); !errors.Is(err, task.ErrTransient) {
		t.Errorf("error %v", err)
	}
}

func TestPromptFitsContext(t *testing.T) {
	files := map[string]string{"src/hello.py": "print(\"hi\")\n", "src/large.py": strings.Repeat("x = 1\n", 4000), "docs/a.md": "zqdocs"}
	w := work(t, files, "docs/a.md", "src/hello.py", "src/large.py")
	model := saying(t, greeting)
	e := Endpoint{URL: model.URL + "/v1", Model: "tiny", Context: 4096}
	if _, err := e.Edit(t.Context(), w); err != nil {
		t.Fatal(err)
	}
	body := model.Take()[0].Body
	if len(body) > 4096*perToken {
		t.Errorf("%d bytes for a context of 4096 tokens", len(body))
	}
	var q struct{ Messages []message }
	if err := json.Unmarshal(body, &q); err != nil {
		t.Fatal(err)
	}
	said := q.Messages[1].Content
	if !strings.Contains(said, "zqdocs") || !strings.Contains(said, "# Files that are there and not shown\n\nsrc/large.py\n") || strings.Contains(said, "x = 1") {
		t.Errorf("the model was told:\n%s", said)
	}
	w.Step.File = "src/large.py"
	if _, err := e.Edit(t.Context(), w); err == nil || errors.Is(err, task.ErrTransient) || !strings.Contains(err.Error(), "more than the") {
		t.Errorf("error %v", err)
	}
	if n := len(model.Take()); n != 0 {
		t.Errorf("asked %d times about a file that it cannot be shown", n)
	}
}

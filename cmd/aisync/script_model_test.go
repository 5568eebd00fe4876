package main

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"

	"github.com/rogpeppe/go-internal/testscript"
)

// modelCommand is a model server of the script's own:
//
//	model VARIABLE HOW   starts one, and puts its address, with /v1, into VARIABLE
//
// HOW is good, or what is wrong with it: html, broken, hangs, other (it serves
// another model), none (it serves none), mute (its answers hold no token),
// chatless (it has no chat API), keyed (it wants a key and a header).
func modelCommand(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: model VARIABLE HOW")
	}
	done := make(chan struct{})
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { answerAs(args[1], w, r, done) }))
	ts.Defer(s.Close)
	ts.Defer(func() { close(done) })
	ts.Setenv(args[0], s.URL+"/v1")
}

func answerAs(how string, w http.ResponseWriter, r *http.Request, done chan struct{}) {
	w.Header().Set("Content-Type", "application/json")
	name := map[string]string{"other": `{"id":"elephant"}`, "none": ""}[how]
	if name == "" && how != "none" {
		name = `{"id":"tiny"}`
	}
	text := "hi"
	switch how {
	case "html":
		w.Header().Set("Content-Type", "text/html")
		_, _ = io.WriteString(w, "<html><title>Welcome to the router</title></html>")
		return
	case "broken":
		w.WriteHeader(http.StatusInternalServerError)
		_, _ = io.WriteString(w, `{"error":{"message":"cudaMalloc failed"}}`)
		return
	case "hangs":
		select {
		case <-r.Context().Done():
		case <-done:
		}
		return
	case "mute":
		text = ""
	case "keyed":
		if r.Header.Get("Authorization") != "Bearer sk-the-key-itself" || r.Header.Get("X-Team") != "the-team-itself" {
			w.WriteHeader(http.StatusUnauthorized)
			_, _ = io.WriteString(w, `{"error":{"message":"Invalid API Key"}}`)
			return
		}
		if r.URL.Path == "/v1/responses" || r.URL.Path == "/v1/messages" {
			w.WriteHeader(http.StatusBadRequest)
			return
		}
	}
	switch {
	case r.URL.Path == "/v1/models":
		fmt.Fprintf(w, `{"object":"list","data":[%s]}`, name)
	case r.URL.Path == "/v1/chat/completions" && how != "chatless":
		fmt.Fprintf(w, `{"choices":[{"message":{"role":"assistant","content":%q}}]%s}`, text, map[bool]string{true: `,"timings":{"prompt_n":409,"prompt_per_second":818,"predicted_n":64,"predicted_per_second":41.5}`}[how == "timed" || how == "keyed"])
	default:
		w.WriteHeader(http.StatusNotFound)
		_, _ = io.WriteString(w, `{"error":"no such path"}`)
	}
}

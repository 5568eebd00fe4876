package main

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"image"
	"image/png"
	"net/http"
	"strconv"
	"strings"

	"github.com/rogpeppe/go-internal/testscript"

	"aisync.dev/aisync/internal/gguf/gguftest"
)

// ggufCommand writes small files that a real llama-server loads: a model whose tokens
// have 64 numbers, or a projector for models with so many.
func ggufCommand(ts *testscript.TestScript, neg bool, args []string) {
	var m *gguftest.Model
	switch {
	case !neg && len(args) == 2 && args[0] == "model":
		m = gguftest.Told("m", "")
	case !neg && len(args) == 3 && args[0] == "projector":
		n, err := strconv.Atoi(args[2])
		ts.Check(err)
		m = gguftest.Projector.Of(n)
	default:
		ts.Fatalf("usage: gguf model FILE, or gguf projector FILE NUMBERS")
	}
	ts.Check(m.Write(ts.MkAbs(args[1])))
}

// look asks a model of a llama-server the same with and without a picture, and wants
// its count of the prompt to differ by the picture's tokens and by the two marks that
// the server writes around them, which it splits itself.
func look(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 3 {
		ts.Fatalf("usage: look URL MODEL KEYFILE")
	}
	post := func(path string, body, answer any) {
		text, err := json.Marshal(body)
		ts.Check(err)
		req, err := http.NewRequest(http.MethodPost, args[0]+path, bytes.NewReader(text))
		ts.Check(err)
		req.Header.Set("Authorization", "Bearer "+strings.TrimSpace(ts.ReadFile(args[2])))
		resp, err := http.DefaultClient.Do(req)
		ts.Check(err)
		defer resp.Body.Close()
		if err := json.NewDecoder(resp.Body).Decode(answer); err != nil || resp.StatusCode != http.StatusOK {
			ts.Fatalf("%s: %s, %v", path, resp.Status, err)
		}
	}
	var picture bytes.Buffer
	ts.Check(png.Encode(&picture, image.NewRGBA(image.Rect(0, 0, 40, 30))))
	type part map[string]any
	prompt := func(parts ...part) int {
		var answer struct {
			Usage struct {
				Prompt int `json:"prompt_tokens"`
				Answer int `json:"completion_tokens"`
			}
		}
		post("/v1/chat/completions", part{"model": args[1], "max_tokens": 4, "messages": []part{{"role": "user", "content": parts}}}, &answer)
		if answer.Usage.Answer == 0 {
			ts.Fatalf("no token is answered to %v", parts)
		}
		return answer.Usage.Prompt
	}
	var marks struct{ Tokens []int }
	post("/tokenize", part{"model": args[1], "content": "<start_of_image><end_of_image>"}, &marks)
	text := part{"type": "text", "text": "What is this?"}
	without := prompt(text)
	with := prompt(text, part{"type": "image_url", "image_url": part{"url": "data:image/png;base64," + base64.StdEncoding.EncodeToString(picture.Bytes())}})
	if more := gguftest.Projector.Tokens() + len(marks.Tokens); with-without != more {
		ts.Fatalf("the prompt has %d tokens, %d with the picture, want %d more", without, with, more)
	}
}

// Package fakellama replaces llama-server in tests, because its binary is not
// available everywhere: it accepts the flags that aisync passes, refuses others,
// requires a GGUF file as its model, and answers without one. It proves that
// units and command lines fit together, not that llama-server accepts them. Call
// Main.
package fakellama

import (
	"bytes"
	"cmp"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/signal"
	"strconv"
	"strings"
	"syscall"
	"time"

	"aisync.dev/aisync/internal/fakemodel"
)

// DieVariable makes the server exit right after its start, with these words on
// standard error.
const DieVariable = "FAKELLAMA_DIE"

// LoadVariable is how long the server says that it loads its model, in milliseconds.
const LoadVariable = "FAKELLAMA_LOADS"

// Main is the program: it runs until SIGTERM.
func Main(args []string) int {
	f := flag.NewFlagSet("llama-server", flag.ContinueOnError)
	model, alias := f.String("model", "", ""), f.String("alias", "", "")
	host, port := f.String("host", "127.0.0.1", ""), f.Int("port", 8080, "")
	f.Int("parallel", 1, "")
	context := f.Int("ctx-size", 0, "")
	f.Int("n-gpu-layers", 0, "")
	f.Bool("jinja", false, "")
	f.Int("n-cpu-moe", 0, "")
	f.String("tensor-split", "", "")
	f.Bool("no-warmup", false, "")
	f.String("chat-template", "", "")
	f.String("slot-save-path", "", "")
	keyFile := f.String("api-key-file", "", "")
	template := f.String("chat-template-file", "", "")
	if err := f.Parse(args); err != nil {
		return 1
	}
	fmt.Fprintln(os.Stderr, "main: loading model", *model)
	for _, err := range []error{isModel(*model), readable(*template), readable(*keyFile), dies()} {
		if err != nil {
			fmt.Fprintln(os.Stderr, "main: exiting due to", err)
			return 1
		}
	}
	listener, err := net.Listen("tcp", net.JoinHostPort(*host, strconv.Itoa(*port)))
	if err != nil {
		fmt.Fprintln(os.Stderr, "start: couldn't bind HTTP server socket:", err)
		return 1
	}
	fmt.Fprintln(os.Stderr, "main: server is listening on", listener.Addr())
	server := http.Server{Handler: keyed(*keyFile, handler(*alias, *context)), ReadHeaderTimeout: 10 * time.Second}
	go func() { _ = server.Serve(listener) }()
	end := make(chan os.Signal, 1)
	signal.Notify(end, syscall.SIGTERM, syscall.SIGINT)
	<-end
	_ = server.Close()
	fmt.Fprintln(os.Stderr, "main: cleaning up before exit")
	return 0
}

func isModel(file string) error {
	r, err := os.Open(file)
	if err != nil {
		return fmt.Errorf("model loading error: %w", err)
	}
	defer r.Close()
	magic := make([]byte, 4)
	if _, err := io.ReadFull(r, magic); err != nil || !bytes.Equal(magic, []byte("GGUF")) {
		return fmt.Errorf("model loading error: %s: invalid magic characters", file)
	}
	return nil
}

func readable(file string) error {
	if file == "" {
		return nil
	}
	_, err := os.ReadFile(file)
	return err
}

func dies() error {
	if text := os.Getenv(DieVariable); text != "" {
		return fmt.Errorf("%s", text)
	}
	return nil
}

// keyed refuses requests without the key in a file, as llama-server b11669 does: all
// but those for its health.
func keyed(file string, next http.Handler) http.Handler {
	text, _ := os.ReadFile(file)
	key := strings.TrimSpace(string(text))
	if key == "" {
		return next
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		given := cmp.Or(strings.TrimPrefix(r.Header.Get("Authorization"), "Bearer "), r.Header.Get("X-Api-Key"))
		if given != key && r.URL.Path != "/health" {
			w.Header().Set("Content-Type", "application/json")
			w.WriteHeader(http.StatusUnauthorized)
			fmt.Fprint(w, `{"error":{"message":"Invalid API Key","type":"authentication_error","code":401}}`)
			return
		}
		next.ServeHTTP(w, r)
	})
}

// handler reports one model and its context, and answers like package fakemodel.
func handler(alias string, context int) http.Handler {
	answers := fakemodel.New(func(fakemodel.Request) fakemodel.Reply { return fakemodel.Reply{Text: "Hello from " + alias + "."} })
	mux := http.NewServeMux()
	mux.HandleFunc("GET /health", func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, `{"status":"ok"}`) })
	mux.HandleFunc("GET /props", func(w http.ResponseWriter, _ *http.Request) {
		fmt.Fprintf(w, `{"default_generation_settings":{"n_ctx":%d}}`, context)
	})
	mux.HandleFunc("GET /v1/models", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		_ = json.NewEncoder(w).Encode(map[string]any{"object": "list", "data": []map[string]string{{"id": alias, "object": "model", "owned_by": "llamacpp"}}})
	})
	mux.Handle("/", answers)
	took, _ := strconv.Atoi(os.Getenv(LoadVariable))
	ready := time.Now().Add(time.Duration(took) * time.Millisecond)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if time.Now().Before(ready) {
			w.Header().Set("Content-Type", "application/json")
			w.WriteHeader(http.StatusServiceUnavailable)
			fmt.Fprint(w, `{"error":{"code":503,"message":"Loading model","type":"unavailable_error"}}`)
			return
		}
		mux.ServeHTTP(w, r)
	})
}

package executor

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"strings"

	"aisync.dev/aisync/agents/confine"
	"aisync.dev/aisync/agents/task"
	"aisync.dev/aisync/internal/termtext"
	"aisync.dev/aisync/schema/spec"
)

// Endpoint asks a model server for edits, in the protocol of parseAnswer. The
// model sees the step, the task's goal, and files that the task lets it read; it
// runs nothing.
type Endpoint struct {
	URL     string // with /v1: the API is OpenAI's chat completions
	Model   string
	Context int64        // tokens; 0: unknown, taken as 8192
	Tries   int          // answers to one step, each after a note on the error of the previous one; 0: 3
	Client  *http.Client // nil: one that follows no redirects
	Access  spec.Access  // what requests must carry
	Secret  func(spec.Secret) (string, error)
}

// Bounds of questions and answers.
const (
	unknownContext = 8192
	maxAnswer      = 8192     // tokens of one answer
	maxShown       = 48 << 10 // bytes of files: a local server reads more for minutes
	maxBody        = 4 << 20  // bytes of a server's response
)

// answerTokens returns the limit of one answer: at most a quarter of the
// context.
func (e Endpoint) answerTokens() int64 { return min(maxAnswer, e.context()/4) }

func (e Endpoint) context() int64 {
	if e.Context > 0 {
		return e.Context
	}
	return unknownContext
}

// roomBytes returns how many bytes of files a prompt may hold: half of the context.
func (e Endpoint) roomBytes() int { return int(min(maxShown, e.context()/2*perToken)) }

// message is one message of a conversation.
type message struct {
	Role    string `json:"role"`
	Content string `json:"content"`
}

// Edit implements task.Executor. An incomplete answer, or one whose lines are
// not in the files, changes nothing and is asked for again, Tries times. A
// failure of the server is task.ErrTransient.
func (e Endpoint) Edit(ctx context.Context, w task.Work) (task.Outcome, error) {
	out := task.Outcome{Name: "endpoint " + e.Model}
	root, err := os.OpenRoot(w.Dir)
	if err != nil {
		return out, fmt.Errorf("open the work tree: %w", err)
	}
	defer root.Close()
	question, err := prompt(w, newFiles(root, w.Readable), e.roomBytes())
	if err != nil {
		return out, err
	}
	talk := []message{{"system", protocol}, {"user", question}}
	tries := e.Tries
	if tries == 0 {
		tries = 3
	}
	var wrong error
	for n := 1; n <= tries; n++ {
		fmt.Fprintf(w.Log, "executor: %s: question %d of at most %d, %d bytes\n", out.Name, n, tries, size(talk))
		said, tokens, cut, err := e.ask(ctx, talk)
		out.Tokens += tokens
		if err != nil {
			return out, err
		}
		fmt.Fprintf(w.Log, "executor: %s answers, %d tokens:\n%s\n", out.Name, tokens, said)
		f := newFiles(root, w.Readable)
		if out.Summary, wrong = take(f, said, cut); wrong == nil {
			return out, f.write()
		}
		fmt.Fprintf(w.Log, "executor: answer rejected: %v\n", wrong)
		talk = append(talk[:2:2], message{"assistant", said}, message{"user", "The answer was rejected: " + wrong.Error() + "\n\nAnswer again, with all edits."})
	}
	return out, fmt.Errorf("%s gave no usable answer in %d tries: %w", out.Name, tries, wrong)
}

// take applies the edits of an answer, in memory.
func take(f *files, said string, cut bool) (words string, err error) {
	if cut {
		return "", errors.New("the answer exceeded its limit and was cut off; make smaller edits")
	}
	edits, words, err := parseAnswer(said)
	if err != nil {
		return "", err
	}
	if len(edits) == 0 {
		return "", errors.New("the answer contains no edit")
	}
	for _, e := range edits {
		if err := f.apply(e); err != nil {
			return "", err
		}
	}
	return words, nil
}

func size(talk []message) (n int) {
	for _, m := range talk {
		n += len(m.Content)
	}
	return n
}

// ask asks the model once. cut reports an answer without its end.
func (e Endpoint) ask(ctx context.Context, talk []message) (said string, tokens int, cut bool, err error) {
	body, err := json.Marshal(struct {
		Model       string    `json:"model"`
		Messages    []message `json:"messages"`
		MaxTokens   int64     `json:"max_tokens"`
		Temperature float64   `json:"temperature"`
	}{e.Model, talk, e.answerTokens(), 0.2})
	if err != nil {
		return "", 0, false, err
	}
	url := strings.TrimSuffix(e.URL, "/") + "/chat/completions"
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, url, bytes.NewReader(body))
	if err != nil {
		return "", 0, false, fmt.Errorf("endpoint: %w", err)
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Authorization", "Bearer none")
	header, err := e.Access.Header(e.Secret)
	if err != nil {
		return "", 0, false, fmt.Errorf("the endpoint's %w", err)
	}
	for name, value := range header {
		req.Header.Set(name, value)
	}
	client := e.Client
	if client == nil {
		client = confine.NoRedirects
	}
	res, err := client.Do(req)
	if err != nil {
		return "", 0, false, fmt.Errorf("%w: %w", task.ErrTransient, err)
	}
	defer res.Body.Close()
	answer, err := io.ReadAll(io.LimitReader(res.Body, maxBody+1))
	switch {
	case err != nil:
		return "", 0, false, fmt.Errorf("%w: read the answer of %s: %w", task.ErrTransient, url, err)
	case len(answer) > maxBody:
		return "", 0, false, fmt.Errorf("%s: response of more than %d bytes", url, maxBody)
	case res.StatusCode != http.StatusOK:
		err := fmt.Errorf("%s answers %s: %s", url, res.Status, excerpt(answer))
		if confine.Temporary(res.StatusCode) {
			err = fmt.Errorf("%w: %w", task.ErrTransient, err)
		}
		return "", 0, false, err
	}
	return parseCompletion(url, answer)
}

// parseCompletion parses a response of chat completions.
func parseCompletion(url string, answer []byte) (said string, tokens int, cut bool, err error) {
	var c struct {
		Choices []struct {
			Message struct{ Content string }
			Finish  string `json:"finish_reason"`
		}
		Usage struct {
			Total int `json:"total_tokens"`
		}
	}
	if err := json.Unmarshal(answer, &c); err != nil || len(c.Choices) != 1 {
		return "", 0, false, fmt.Errorf("%s: response is not a chat completion: %s", url, excerpt(answer))
	}
	return c.Choices[0].Message.Content, c.Usage.Total, c.Choices[0].Finish == "length", nil
}

// excerpt returns the beginning of a server's response, on one line.
func excerpt(b []byte) string {
	s := termtext.OneLine(strings.ToValidUTF8(string(b), "?"))
	if len(s) > 300 {
		s = strings.ToValidUTF8(s[:300], "") + " …"
	}
	return s
}

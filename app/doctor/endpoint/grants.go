package endpoint

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"net/url"
	"strings"
	"time"
)

// PathOf is the path of an API below /v1.
func PathOf(api string) string {
	switch api {
	case "responses", "messages":
		return "/" + api
	}
	return "/chat/completions"
}

// Loading reports whether err is the answer of a server that still reads its
// model: llama-server's 503.
func Loading(err error) bool {
	var status Status
	return errors.As(err, &status) && status.Code == http.StatusServiceUnavailable && strings.Contains(strings.ToLower(status.Text), "loading")
}

// Refused reports whether err is the answer of a server that does not take the key
// of the request.
func Refused(err error) bool {
	var status Status
	return errors.As(err, &status) && (status.Code == http.StatusUnauthorized || status.Code == http.StatusForbidden)
}

// pause is the time between two questions to a server that loads its model.
const pause = 250 * time.Millisecond

// LoadedModels is Models, except that it waits for a server that loads its model
// until ctx ends; the error is then that answer.
func (e Endpoint) LoadedModels(ctx context.Context) ([]string, error) {
	var loading error
	for {
		names, err := e.Models(ctx)
		if loading != nil && ctx.Err() != nil {
			return nil, loading
		}
		if !Loading(err) {
			return names, err
		}
		loading = err
		select {
		case <-ctx.Done():
			return nil, loading
		case <-time.After(pause):
		}
	}
}

// Context returns the tokens that the server grants one conversation with a model;
// 0 where it does not say, as all but llama-server, and one of several models that
// has not loaded this one: the question loads none.
func (e Endpoint) Context(ctx context.Context, model string) int64 {
	e.URL = strings.TrimSuffix(strings.TrimSuffix(e.URL, "/"), "/v1")
	body, err := e.call(ctx, http.MethodGet, "/props?autoload=false&model="+url.QueryEscape(model), nil)
	var got struct {
		Settings struct {
			Context int64 `json:"n_ctx"`
		} `json:"default_generation_settings"`
	}
	if err != nil || json.Unmarshal(body, &got) != nil {
		return 0
	}
	return got.Settings.Context
}

package endpoint

import (
	"context"
	"encoding/json"
	"net/http"
	"slices"
	"strings"
)

// Tools reports whether an ollama takes requests with tools for a model. known is
// false where the server is none, or one that does not tell it: ollama 0.6.4 does.
func (e Endpoint) Tools(ctx context.Context, model string) (takes, known bool) {
	e.URL = strings.TrimSuffix(strings.TrimSuffix(e.URL, "/"), "/v1")
	if _, err := e.call(ctx, http.MethodGet, "/api/version", nil); err != nil {
		return false, false // llama-server has /api/show alone
	}
	ask, err := json.Marshal(map[string]string{"model": model})
	if err != nil {
		return false, false
	}
	body, err := e.call(ctx, http.MethodPost, "/api/show", ask)
	var got struct{ Capabilities []string }
	if err != nil || json.Unmarshal(body, &got) != nil || len(got.Capabilities) == 0 {
		return false, false
	}
	return slices.Contains(got.Capabilities, "tools"), true
}

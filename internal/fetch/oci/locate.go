package oci

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"oras.land/oras-go/v2/errdef"
	"oras.land/oras-go/v2/registry/remote/auth"
	"oras.land/oras-go/v2/registry/remote/errcode"

	"aisync.dev/aisync/internal/fetch/ssrf"
)

// locate requests a layer's first byte, to log in and to learn the address that
// the registry redirects to.
func (a *artifact) locate(ctx context.Context, l file) (string, http.Header, error) {
	scheme := "https"
	if a.repo.PlainHTTP {
		scheme = "http"
	}
	at := scheme + "://" + a.ref.Host() + "/v2/" + a.ref.Repository + "/blobs/" + l.digest.String()
	ctx = auth.AppendRepositoryScope(ctx, a.ref, auth.ActionPull)
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, at, nil)
	if err != nil {
		return "", nil, err
	}
	req.Header.Set("Range", "bytes=0-0")
	req.Header.Set("Accept-Encoding", "identity")
	resp, err := a.still.Do(req)
	if err != nil {
		return "", nil, err
	}
	resp.Body.Close()
	var header http.Header
	if v := resp.Request.Header.Get("Authorization"); v != "" {
		header = http.Header{"Authorization": {v}}
	}
	switch code := resp.StatusCode; {
	case code/100 == 2:
		return at, header, nil
	case code/100 != 3:
		after, _ := strconv.Atoi(resp.Header.Get("Retry-After"))
		return "", nil, &statusError{status: code, after: time.Duration(max(after, 0)) * time.Second}
	}
	to, err := resp.Location()
	if err != nil || to.Host == "" || to.Scheme != "https" && to.Scheme != "http" {
		return "", nil, fmt.Errorf("answered %s without a location", resp.Status)
	}
	if err := ssrf.Check(resp.Request.URL, to); err != nil {
		return "", nil, err
	}
	if !strings.EqualFold(to.Host, resp.Request.URL.Host) || to.Scheme != resp.Request.URL.Scheme {
		header = nil // the login belongs to the registry only
	}
	return to.String(), header, nil
}

// statusError is a status without content.
type statusError struct {
	status int
	after  time.Duration
}

func (e *statusError) Error() string {
	return fmt.Sprintf("answered %d %s", e.status, http.StatusText(e.status))
}

// temporaryError is a failure that may pass soon.
type temporaryError struct {
	error
	after time.Duration
}

func (l *temporaryError) Unwrap() error { return l.error }

// RetryAfter returns the wait that the registry asked for, 0 if none.
func (l *temporaryError) RetryAfter() time.Duration { return l.after }

// explain says what a registry's error means, and what to do. It leaves out the
// address of a failed request, which may be signed.
func (a *artifact) explain(err error) error {
	status, after := 0, time.Duration(0)
	var own *statusError
	var theirs *errcode.ErrorResponse
	var u *url.Error
	switch {
	case errors.As(err, &own):
		status, after = own.status, own.after
	case errors.As(err, &theirs):
		status = theirs.StatusCode
		err = fmt.Errorf("answered %d %s", status, http.StatusText(status))
		if len(theirs.Errors) > 0 {
			err = fmt.Errorf("%w (%w)", err, theirs.Errors)
		}
	case errors.As(err, &u):
		err = u.Err
	case errors.Is(err, errdef.ErrNotFound):
		status = http.StatusNotFound
	case errors.Is(err, auth.ErrBasicCredentialNotFound):
		status = http.StatusUnauthorized
	}
	switch {
	case status == http.StatusUnauthorized || status == http.StatusForbidden:
		err = fmt.Errorf("%w: %w; run: docker login %s", ErrDenied, err, a.ref.Registry)
		if a.login != nil {
			err = fmt.Errorf("%w (the logins could not be read: %w)", err, a.login)
		}
	case status == http.StatusNotFound:
		err = fmt.Errorf("%w; check the repository and the tag", ErrNotFound)
	case status == http.StatusTooManyRequests || status >= 500:
		err = &temporaryError{fmt.Errorf("%w; try again later", err), after}
	}
	return fmt.Errorf("%s: %w", a.name(), err)
}

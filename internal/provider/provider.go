// Package provider sends requests to providers of models and reads their answers.
package provider

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/oxbow-memory/oxbow/internal/oneline"
	"github.com/oxbow-memory/oxbow/internal/secrets"
)

// Server configures requests to a provider. As an http.RoundTripper it records each request in the Exchange of the
// request's context.
type Server struct {
	APIKey    string              // "": no key is sent
	Timeout   time.Duration       // of the whole exchange
	MaxAnswer int                 // in bytes
	Rewrite   func([]byte) []byte // changes the body of a successful answer; may be nil
}

// Client returns a client that sends requests to the server.
func (s Server) Client() *http.Client {
	// A redirect could send key and texts to another host, so it is not followed.
	return &http.Client{Transport: s,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
}

// RoundTrip sends a request with the key, reads the whole answer, whatever its status, and records both.
func (s Server) RoundTrip(req *http.Request) (*http.Response, error) {
	x := req.Context().Value(exchangeKey{}).(*Exchange)
	*x = Exchange{}
	ctx, cancel := context.WithTimeout(req.Context(), s.Timeout)
	defer cancel()
	resp, body, err := s.send(req.Clone(ctx))
	if err != nil {
		if ctx.Err() != nil && req.Context().Err() == nil {
			x.TimedOut, err = true, fmt.Errorf("no answer within %s", s.Timeout)
		}
		x.Err = err
		return nil, err
	}
	x.Status, x.RetryAfter = resp.StatusCode, retryAfter(resp.Header, time.Now())
	switch {
	case x.Status != http.StatusOK:
		x.Message, x.Code = s.Problem(body)
	case s.Rewrite != nil:
		body = s.Rewrite(body)
	}
	x.Answer = body
	resp.Body, resp.ContentLength = io.NopCloser(bytes.NewReader(body)), int64(len(body))
	return resp, nil
}

func (s Server) send(req *http.Request) (*http.Response, []byte, error) {
	req.Header.Del("Authorization") // client libraries send the header even without a key
	if s.APIKey != "" {
		req.Header.Set("Authorization", "Bearer "+s.APIKey)
	}
	resp, err := http.DefaultTransport.RoundTrip(req)
	if err != nil {
		return nil, nil, err
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(io.LimitReader(resp.Body, int64(s.MaxAnswer)+1))
	if err != nil {
		return nil, nil, fmt.Errorf("the answer ended early: %w", err)
	}
	if len(body) > s.MaxAnswer {
		return nil, nil, fmt.Errorf("the answer has more than %d bytes", s.MaxAnswer)
	}
	return resp, body, nil
}

// Problem extracts the server's error message, in the forms in use, as a line of at most 300
// characters, and OpenAI's error code. It leaves out everything else, because some servers echo the
// request with its texts. It removes the key from the message.
func (s Server) Problem(body []byte) (message, code string) {
	var answer struct {
		Error   json.RawMessage `json:"error"`
		Message json.RawMessage `json:"message"`
		Detail  json.RawMessage `json:"detail"`
	}
	if json.Unmarshal(body, &answer) != nil {
		return "", ""
	}
	var nested struct {
		Message string `json:"message"`
		Code    any    `json:"code"`
	}
	_ = json.Unmarshal(answer.Error, &nested) // not an object: read as text below
	message = nested.Message
	code, _ = nested.Code.(string)
	for _, raw := range []json.RawMessage{answer.Error, answer.Message, answer.Detail} {
		if message == "" {
			_ = json.Unmarshal(raw, &message) // not a text: try the next
		}
	}
	if s.APIKey != "" {
		message = strings.ReplaceAll(message, s.APIKey, "(API key)")
	}
	return Loggable(message), code
}

// Loggable returns what a provider says as a line of at most 300 characters without secrets: it may quote the request,
// and ends in logs and errors.
func Loggable(message string) string { return oneline.Shorten(secrets.Mask(oneline.Of(message)), 300) }

// Reason returns why a request failed, as a line of at most 300 characters without the address that Go's HTTP client
// adds, which may contain a secret.
func Reason(err error) string {
	if failed, ok := errors.AsType[*url.Error](err); ok {
		err = failed.Err
	}
	return Loggable(err.Error())
}

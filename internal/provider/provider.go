// Package provider sends requests to providers of models and reads their answers.
package provider

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"net/http"
	"strconv"
	"strings"
	"time"
	"unicode"
)

// ErrTimeout replaces the error of a request that took too long.
var ErrTimeout = errors.New("timeout")

// Server configures requests to a provider.
type Server struct {
	APIKey    string        // "": no key is sent
	Timeout   time.Duration // of the whole exchange
	MaxAnswer int           // in bytes
}

// Send sends a request with the key and reads the whole answer, whatever its status. The returned
// response's body is empty; SetBody replaces it. Send returns ErrTimeout if the server took too
// long, but not if the caller's context ended.
func (s Server) Send(req *http.Request) (*http.Response, []byte, error) {
	ctx, cancel := context.WithTimeout(req.Context(), s.Timeout)
	defer cancel()
	resp, body, err := s.send(req.Clone(ctx))
	if err != nil && ctx.Err() != nil && req.Context().Err() == nil {
		err = ErrTimeout
	}
	return resp, body, err
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

// SetBody sets the body of an answer.
func SetBody(resp *http.Response, body []byte) {
	resp.Body = io.NopCloser(bytes.NewReader(body))
	resp.ContentLength = int64(len(body))
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
	return Line(message, 300), code
}

// Line returns a text as one line of at most n characters, followed by an ellipsis if it was cut.
// The line is safe to show in terminals and logs.
func Line(text string, n int) string {
	text = strings.Map(func(r rune) rune {
		if Unprintable(r) {
			return ' '
		}
		return r
	}, text)
	return Beginning(strings.Join(strings.Fields(text), " "), n)
}

// Unprintable reports whether r is a control character, a line or paragraph break, or a character
// that changes the writing direction.
func Unprintable(r rune) bool {
	return unicode.IsControl(r) || r == unicode.ReplacementChar ||
		unicode.In(r, unicode.Zl, unicode.Zp, unicode.Bidi_Control)
}

// Beginning returns at most n characters of a text, followed by an ellipsis if it was cut.
func Beginning(text string, n int) string {
	if runes := []rune(text); len(runes) > n {
		return string(runes[:n]) + "…"
	}
	return text
}

// RetryAfter parses either form of the Retry-After header: seconds or a date. The result is between
// 0 and 24 hours, and 0 without a valid header.
func RetryAfter(header http.Header, now time.Time) time.Duration {
	const most = 24 * time.Hour
	value := header.Get("Retry-After")
	if seconds, err := strconv.ParseFloat(value, 64); err == nil && !math.IsNaN(seconds) {
		return time.Duration(min(max(seconds, 0), most.Seconds()) * float64(time.Second))
	}
	if at, err := http.ParseTime(value); err == nil {
		return min(max(at.Sub(now), 0), most)
	}
	return 0
}

// WithoutSecrets removes user, password and query from an address, however malformed.
func WithoutSecrets(address string) string {
	address, _, _ = strings.Cut(address, "?")
	if scheme, rest, ok := strings.Cut(address, "://"); ok {
		if at := strings.LastIndex(rest, "@"); at >= 0 {
			return scheme + "://" + rest[at+1:]
		}
		return address
	}
	return address[strings.LastIndex(address, "@")+1:]
}

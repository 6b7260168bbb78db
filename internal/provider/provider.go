// Package provider is what the providers of models have in common: how a request is sent to one,
// and what is kept of its answer.
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

// ErrTimeout stands for whatever error a request ends with that took too long.
var ErrTimeout = errors.New("timeout")

// Server says how one is asked.
type Server struct {
	Transport http.RoundTripper
	APIKey    string        // empty: it is not asked for one
	Timeout   time.Duration // for the whole answer
	MaxAnswer int           // in bytes
}

// Send sends a request with the key, and reads all of the answer, whatever its status. The answer's
// own body is empty after it: SetBody gives it another one. It returns ErrTimeout where the server
// took too long, but not where the caller stopped waiting.
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
	req.Header.Del("Authorization") // client libraries send one even where there is no key
	if s.APIKey != "" {
		req.Header.Set("Authorization", "Bearer "+s.APIKey)
	}
	resp, err := s.Transport.RoundTrip(req)
	if err != nil {
		return nil, nil, err
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(io.LimitReader(resp.Body, int64(s.MaxAnswer)+1))
	if err != nil {
		return nil, nil, fmt.Errorf("the answer broke off: %w", err)
	}
	if len(body) > s.MaxAnswer {
		return nil, nil, fmt.Errorf("the answer has more than %d bytes", s.MaxAnswer)
	}
	return resp, body, nil
}

// SetBody makes body what is read of an answer.
func SetBody(resp *http.Response, body []byte) {
	resp.Body = io.NopCloser(bytes.NewReader(body))
	resp.ContentLength = int64(len(body))
}

// Problem finds what the server says of an error, in the forms that are in use: in a line of at
// most 300 characters, and OpenAI's word for it. Anything else is left out, because some servers
// send the request, with its texts, back. The key is cut out of it.
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
	_ = json.Unmarshal(answer.Error, &nested) // not an object: tried as text below
	message = nested.Message
	code, _ = nested.Code.(string)
	for _, raw := range []json.RawMessage{answer.Error, answer.Message, answer.Detail} {
		if message == "" {
			_ = json.Unmarshal(raw, &message) // not a text: the next
		}
	}
	if s.APIKey != "" {
		message = strings.ReplaceAll(message, s.APIKey, "(API key)")
	}
	return Line(message, 300), code
}

// Line makes a line of at most n characters of any text, and an ellipsis where it was longer. It is
// shown in terminals and logs.
func Line(text string, n int) string {
	text = strings.Map(func(r rune) rune {
		if Unprintable(r) {
			return ' '
		}
		return r
	}, text)
	return Beginning(strings.Join(strings.Fields(text), " "), n)
}

// Unprintable are control characters, line and paragraph breaks, and what turns the direction of writing.
func Unprintable(r rune) bool {
	return unicode.IsControl(r) || r == unicode.ReplacementChar || unicode.In(r, unicode.Zl, unicode.Zp, unicode.Bidi_Control)
}

// Beginning is at most n characters of a text, and an ellipsis where it was longer.
func Beginning(text string, n int) string {
	if runes := []rune(text); len(runes) > n {
		return string(runes[:n]) + "…"
	}
	return text
}

// RetryAfter reads either form of the header of that name: seconds, or a date. It is 0 to 24 hours,
// and 0 where it says neither.
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

// WithoutSecrets cuts user, password and query from an address, however broken.
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

package llm

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
)

// maxAnswer is many times what a model writes in one answer, in bytes.
const maxAnswer = 8 << 20

// exchange is what the client library does not tell about a request: how it ended.
type exchange struct {
	schema     *schema       // of the answer
	status     int           // 0 without an answer
	retryAfter time.Duration // of the answer
	message    string        // the provider's, of an answer that is no success
	code       string        // of the error, in OpenAI's words
	failure    error         // why there was no answer
	doneReason string        // why Ollama stopped
}

type exchangeKey struct{}

func withExchange(ctx context.Context, x *exchange) context.Context {
	return context.WithValue(ctx, exchangeKey{}, x)
}

// transport sends the key, limits the time and the size of an answer, notes how it ended, and tells Ollama what the library
// has no option for.
type transport struct {
	next    http.RoundTripper
	apiKey  string
	timeout time.Duration // for the whole answer
}

// errTimeout stands for whatever error a request ends with that took too long.
var errTimeout = errors.New("timeout")

func (t *transport) RoundTrip(req *http.Request) (*http.Response, error) {
	x, _ := req.Context().Value(exchangeKey{}).(*exchange)
	if x == nil {
		x = &exchange{}
	}
	asked := req.Context()
	ctx, cancel := context.WithTimeout(asked, t.timeout)
	defer cancel()
	req = req.Clone(ctx)
	if strings.HasSuffix(req.URL.Path, "/api/chat") {
		if err := tellOllama(req, x.schema); err != nil {
			x.failure = err
			return nil, err
		}
	}
	resp, body, err := t.answer(req)
	if err != nil {
		if asked.Err() == nil && ctx.Err() != nil {
			err = errTimeout
		}
		x.failure = err
		return nil, err
	}
	x.status = resp.StatusCode
	x.retryAfter = retryAfter(resp.Header.Get("Retry-After"), time.Now())
	t.note(body, x)
	resp.Body = io.NopCloser(bytes.NewReader(body))
	resp.ContentLength = int64(len(body))
	return resp, nil
}

// tellOllama demands the answer's schema where the library can only demand JSON, and that a prompt that is too long is
// refused, and not shortened until the rules at its beginning are gone.
func tellOllama(req *http.Request, demanded *schema) error {
	raw, err := io.ReadAll(req.Body)
	if err != nil {
		return err
	}
	var body map[string]any
	if err := json.Unmarshal(raw, &body); err != nil {
		return err
	}
	if body["format"] == "json" && demanded != nil {
		body["format"] = demanded
	}
	body["truncate"], body["shift"] = false, false
	if raw, err = json.Marshal(body); err != nil {
		return err
	}
	req.Body = io.NopCloser(bytes.NewReader(raw))
	req.GetBody = func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(raw)), nil }
	req.ContentLength = int64(len(raw))
	return nil
}

// answer sends the request and reads all of the answer.
func (t *transport) answer(req *http.Request) (*http.Response, []byte, error) {
	req.Header.Del("Authorization") // the library sends one even where there is no key
	if t.apiKey != "" {
		req.Header.Set("Authorization", "Bearer "+t.apiKey)
	}
	resp, err := t.next.RoundTrip(req)
	if err != nil {
		return nil, nil, err
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(io.LimitReader(resp.Body, maxAnswer+1))
	if err != nil {
		return nil, nil, fmt.Errorf("the answer broke off: %w", err)
	}
	if len(body) > maxAnswer {
		return nil, nil, fmt.Errorf("the answer has more than %d bytes", maxAnswer)
	}
	return resp, body, nil
}

// note finds what the provider says of an error, in the forms that are in use, and why Ollama stopped, which it says in the
// last line of a success. Anything else is left out, because some servers send the request, with its texts, back. The key is
// cut out of it.
func (t *transport) note(body []byte, x *exchange) {
	if x.status == http.StatusOK {
		lines := bytes.Split(bytes.TrimSpace(body), []byte("\n"))
		body = lines[len(lines)-1]
	}
	var answer struct {
		Error      json.RawMessage `json:"error"`
		Message    json.RawMessage `json:"message"`
		Detail     json.RawMessage `json:"detail"`
		DoneReason string          `json:"done_reason"`
	}
	if json.Unmarshal(body, &answer) != nil {
		return
	}
	x.doneReason = answer.DoneReason
	var nested struct {
		Message string `json:"message"`
		Code    any    `json:"code"`
	}
	_ = json.Unmarshal(answer.Error, &nested) // not an object: tried as text below
	text := nested.Message
	x.code, _ = nested.Code.(string)
	for _, raw := range []json.RawMessage{answer.Error, answer.Message, answer.Detail} {
		if text == "" {
			_ = json.Unmarshal(raw, &text) // not a text: the next
		}
	}
	if t.apiKey != "" {
		text = strings.ReplaceAll(text, t.apiKey, "(API key)")
	}
	x.message = line(text, 300)
}

// retryAfter reads either form of the header: seconds, or a date.
func retryAfter(header string, now time.Time) time.Duration {
	const most = 24 * time.Hour
	if seconds, err := strconv.ParseFloat(header, 64); err == nil && !math.IsNaN(seconds) {
		return time.Duration(min(max(seconds, 0), most.Seconds()) * float64(time.Second))
	}
	if at, err := http.ParseTime(header); err == nil {
		return min(max(at.Sub(now), 0), most)
	}
	return 0
}

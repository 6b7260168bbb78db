package llm

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"time"

	"github.com/oxbow-memory/oxbow/internal/provider"
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

// transport sends the key, limits the time and the size of an answer, notes how it ended, and tells
// Ollama what the library has no option for.
type transport struct {
	server provider.Server
}

func (t *transport) RoundTrip(req *http.Request) (*http.Response, error) {
	x, _ := req.Context().Value(exchangeKey{}).(*exchange)
	if x == nil {
		x = &exchange{}
	}
	if strings.HasSuffix(req.URL.Path, "/api/chat") {
		req = req.Clone(req.Context())
		if err := tellOllama(req, x.schema); err != nil {
			x.failure = err
			return nil, err
		}
	}
	resp, body, err := t.server.Send(req)
	if err != nil {
		x.failure = err
		return nil, err
	}
	x.status = resp.StatusCode
	x.retryAfter = provider.RetryAfter(resp.Header, time.Now())
	t.note(body, x)
	provider.SetBody(resp, body)
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

// note finds what the server says of an error, and why Ollama stopped, which it says in the last line of a success.
func (t *transport) note(body []byte, x *exchange) {
	if x.status == http.StatusOK {
		lines := bytes.Split(bytes.TrimSpace(body), []byte("\n"))
		body = lines[len(lines)-1]
	}
	var answer struct {
		DoneReason string `json:"done_reason"`
	}
	_ = json.Unmarshal(body, &answer) // another form: it says nothing
	x.doneReason = answer.DoneReason
	x.message, x.code = t.server.Problem(body)
}

package llm

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"time"

	"github.com/oxbow-memory/oxbow/internal/llm/answer"
	"github.com/oxbow-memory/oxbow/internal/provider"
)

// maxAnswer is many times the size of an answer, in bytes.
const maxAnswer = 8 << 20

// exchange records how a request ended, which the client library does not report.
type exchange struct {
	schema     *answer.Schema // of the answer
	status     int            // 0 without an answer
	retryAfter time.Duration  // of the answer
	message    string         // the provider's message, if the status is not a success
	code       string         // OpenAI's error code
	failure    error          // why there was no answer
	doneReason string         // why Ollama stopped
}

type exchangeKey struct{}

func withExchange(ctx context.Context, x *exchange) context.Context {
	return context.WithValue(ctx, exchangeKey{}, x)
}

// transport adds the key, limits the time and the size of an answer, records how the request ended,
// and sends Ollama the options that the library lacks.
type transport struct {
	server provider.Server
}

func (t *transport) RoundTrip(req *http.Request) (*http.Response, error) {
	x := req.Context().Value(exchangeKey{}).(*exchange)
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

// tellOllama sets the answer's schema, where the library can only request JSON. It also makes
// Ollama refuse a prompt that is too long, instead of dropping the rules at its beginning.
func tellOllama(req *http.Request, demanded *answer.Schema) error {
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

// note records the server's error and the reason Ollama stopped, which is in the last line of a
// successful answer.
func (t *transport) note(body []byte, x *exchange) {
	if x.status == http.StatusOK {
		lines := bytes.Split(bytes.TrimSpace(body), []byte("\n"))
		body = lines[len(lines)-1]
	}
	var answer struct {
		DoneReason string `json:"done_reason"`
	}
	_ = json.Unmarshal(body, &answer) // another form has no such fields
	x.doneReason = answer.DoneReason
	x.message, x.code = t.server.Problem(body)
}

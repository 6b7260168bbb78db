package llm

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"

	"github.com/oxbow-memory/oxbow/internal/llm/answer"
	"github.com/oxbow-memory/oxbow/internal/provider"
)

// maxAnswer is many times the size of an answer, in bytes.
const maxAnswer = 8 << 20

// boundedLists is the JSON of a list in a schema, without and with a limit. Texts cannot contain it, because JSON escapes
// their quotes.
var boundedLists = [2][]byte{[]byte(`"type":"array"`), fmt.Appendf(nil, `"type":"array","maxItems":%d`, maxEntries)}

// boundedServer limits the lists of the answer's schema, where the library has no field for it. Without a limit, a small
// model that continues a list such as m1, m2, m3 does not find its end.
type boundedServer struct{ provider.Server }

func (s boundedServer) RoundTrip(req *http.Request) (*http.Response, error) {
	raw, err := io.ReadAll(req.Body)
	if err != nil {
		return nil, err
	}
	req = req.Clone(req.Context())
	send(req, bytes.ReplaceAll(raw, boundedLists[0], boundedLists[1]))
	return s.Server.RoundTrip(req)
}

// send sets the body of a request.
func send(req *http.Request, raw []byte) {
	req.Body = io.NopCloser(bytes.NewReader(raw))
	req.GetBody = func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(raw)), nil }
	req.ContentLength = int64(len(raw))
}

// ollamaServer adds the options that the library lacks to requests.
type ollamaServer struct {
	provider.Server
	schema  *answer.Schema // of the answer
	bounded bool           // with limits of lists
}

func (s ollamaServer) RoundTrip(req *http.Request) (*http.Response, error) {
	req = req.Clone(req.Context())
	if err := tellOllama(req, s.schema, s.bounded); err != nil {
		return nil, err
	}
	return s.Server.RoundTrip(req)
}

// tellOllama sets the answer's schema, where the library can only request JSON. It also makes
// Ollama refuse a prompt that is too long, instead of dropping the rules at its beginning.
func tellOllama(req *http.Request, demanded *answer.Schema, bounded bool) error {
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
	if bounded {
		raw = bytes.ReplaceAll(raw, boundedLists[0], boundedLists[1])
	}
	send(req, raw)
	return nil
}

// lastLine returns the last line of an answer, which of several from Ollama contains an error or the reason why it
// stopped.
func lastLine(answer []byte) []byte {
	answer = bytes.TrimSpace(answer)
	return answer[bytes.LastIndexByte(answer, '\n')+1:]
}

// doneReason returns why Ollama stopped.
func doneReason(body []byte) string {
	var last struct {
		DoneReason string `json:"done_reason"`
	}
	_ = json.Unmarshal(lastLine(body), &last) // another form has no such field
	return last.DoneReason
}

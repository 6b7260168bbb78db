package llm

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"

	"github.com/oxbow-memory/oxbow/internal/llm/answer"
	"github.com/oxbow-memory/oxbow/internal/provider"
)

// maxAnswer is many times the size of an answer, in bytes.
const maxAnswer = 8 << 20

// ollamaServer adds the options that the library lacks to requests.
type ollamaServer struct {
	provider.Server
	schema *answer.Schema // of the answer
}

func (s ollamaServer) RoundTrip(req *http.Request) (*http.Response, error) {
	req = req.Clone(req.Context())
	if err := tellOllama(req, s.schema); err != nil {
		return nil, err
	}
	return s.Server.RoundTrip(req)
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

package llm

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"

	"github.com/oxbow-memory/oxbow/internal/llm/answer"
	"github.com/oxbow-memory/oxbow/internal/provider"
	"github.com/oxbow-memory/oxbow/internal/reasoner"
)

// maxAnswer is many times the size of an answer, in bytes.
const maxAnswer = 8 << 20

// bounds limits the lists and texts of an answer. Without limits, a small model may continue a list such as m1, m2, m3, or
// repeat a word, until the token limit.
type bounds struct {
	entries    int // of a list
	characters int // of a text
}

// widest are the largest bounds.
var widest = bounds{maxEntries, reasoner.MaxSummary}

// boundsFor returns bounds for an answer that needs lists of n entries and texts of the given number of characters, but at
// most widest. It uses few different numbers, because servers cache what they derive from a schema.
func boundsFor(n, characters int) bounds {
	b := widest
	for _, entries := range []int{20, 10, 5, 3} {
		if n <= entries {
			b.entries = entries
		}
	}
	for _, most := range []int{400, 300, 120} {
		if characters <= most {
			b.characters = most
		}
	}
	return b
}

// limit writes the bounds into the JSON of a schema, because the libraries have no fields for them. The JSON of other texts
// cannot contain what limit replaces, because their quotes are escaped.
func (b bounds) limit(raw []byte) []byte {
	raw = bytes.ReplaceAll(raw, []byte(`"type":"array"`), fmt.Appendf(nil, `"type":"array","maxItems":%d`, b.entries))
	return bytes.ReplaceAll(raw, []byte(`"type":"string"`), fmt.Appendf(nil, `"type":"string","maxLength":%d`, b.characters))
}

// boundedServer limits the answer's schema.
type boundedServer struct {
	provider.Server
	bounds
}

func (s boundedServer) RoundTrip(req *http.Request) (*http.Response, error) {
	raw, err := io.ReadAll(req.Body)
	if err != nil {
		return nil, err
	}
	req = req.Clone(req.Context())
	send(req, s.limit(raw))
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
	schema *answer.Schema // of the answer
	bounds *bounds        // nil: none
}

func (s ollamaServer) RoundTrip(req *http.Request) (*http.Response, error) {
	req = req.Clone(req.Context())
	if err := tellOllama(req, s.schema, s.bounds); err != nil {
		return nil, err
	}
	return s.Server.RoundTrip(req)
}

// tellOllama sets the answer's schema, where the library can only request JSON. It also makes
// Ollama refuse a prompt that is too long, instead of dropping the rules at its beginning.
func tellOllama(req *http.Request, demanded *answer.Schema, limits *bounds) error {
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
	if limits != nil {
		raw = limits.limit(raw)
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

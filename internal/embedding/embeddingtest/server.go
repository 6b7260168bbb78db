// Package embeddingtest imitates an embedding provider: an HTTP server that speaks OpenAI's
// /v1/embeddings and Ollama's /api/embed, and misbehaves on request.
package embeddingtest

import (
	"encoding/json"
	"fmt"
	"hash/fnv"
	"io"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"slices"
	"sync"
	"testing"
)

// Server answers with the vectors of Vector unless a fault is set. It is safe for concurrent use.
type Server struct {
	dimension int
	http      *httptest.Server
	hanging   chan struct{}
	closing   chan struct{}

	mu       sync.Mutex
	once     []Fault // for the next requests, one each
	always   Fault   // for all other requests
	refuse   func(texts []string) bool
	requests []Request
}

// Request is a request that the server received.
type Request struct {
	Path          string
	Authorization string // the whole header
	Model         string
	Dimensions    int // 0 if not requested
	Texts         []string
}

// New starts a server of vectors with the given dimension. The server ends with the test.
func New(t testing.TB, dimension int) *Server {
	t.Helper()
	s := &Server{dimension: dimension, hanging: make(chan struct{}, 1024), closing: make(chan struct{})}
	s.http = httptest.NewServer(http.HandlerFunc(s.serve))
	t.Cleanup(func() {
		close(s.closing)
		s.http.Close()
	})
	return s
}

// OpenAIURL is the address to configure for an OpenAI-compatible provider.
func (s *Server) OpenAIURL() string { return s.http.URL + "/v1" }

// OllamaURL is the address to configure for Ollama.
func (s *Server) OllamaURL() string { return s.http.URL }

// Next makes the next requests fail, one for each fault.
func (s *Server) Next(faults ...Fault) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.once = append(s.once, faults...)
}

// Always makes every request without a fault from Next fail. Always(Fault{}) ends that.
func (s *Server) Always(fault Fault) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.always = fault
}

// Refuse answers requests with status 400 if refuse returns true for their texts. nil ends that.
func (s *Server) Refuse(refuse func(texts []string) bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.refuse = refuse
}

// Requests returns the requests received so far.
func (s *Server) Requests() []Request {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.requests)
}

// Hanging yields once for each request that begins to hang.
func (s *Server) Hanging() <-chan struct{} { return s.hanging }

// Vector returns the server's vector for a text. It is always the same, has an arbitrary length,
// and is close to no other.
func Vector(text string, dimension int) []float32 {
	h := fnv.New64a()
	_, _ = h.Write([]byte(text)) // never fails
	random := rand.New(rand.NewPCG(h.Sum64(), 0))
	v := make([]float32, dimension)
	for i := range v {
		v[i] = random.Float32()*2 - 1
	}
	return v
}

func (s *Server) serve(w http.ResponseWriter, r *http.Request) {
	var body struct {
		Model      string          `json:"model"`
		Dimensions int             `json:"dimensions"`
		Input      json.RawMessage `json:"input"`
	}
	raw, err := io.ReadAll(r.Body)
	if err != nil {
		return // the client is gone
	}
	if err := json.Unmarshal(raw, &body); err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	texts := []string{""}
	if json.Unmarshal(body.Input, &texts) != nil {
		texts = make([]string, 1)
		_ = json.Unmarshal(body.Input, &texts[0]) // neither form: taken as an empty text
	}

	s.mu.Lock()
	s.requests = append(s.requests, Request{r.URL.Path, r.Header.Get("Authorization"), body.Model, body.Dimensions,
		texts})
	fault := s.always
	if len(s.once) > 0 {
		fault, s.once = s.once[0], s.once[1:]
	}
	refuse := s.refuse
	s.mu.Unlock()

	if fault.If != nil && !fault.If(texts) {
		fault = Fault{}
	}
	if refuse != nil && refuse(texts) {
		fault = Status(http.StatusBadRequest, "input is not acceptable")
	}
	if fault.Respond != nil {
		fault.Respond(s, w, r)
		return
	}
	vectors := make([]any, len(texts))
	for i, text := range texts {
		vectors[i] = Vector(text, s.dimension)
	}
	if fault.Change != nil {
		vectors = fault.Change(vectors)
	}
	data := make([]map[string]any, len(vectors))
	for i, v := range vectors {
		data[i] = map[string]any{"object": "embedding", "index": i, "embedding": v}
	}
	switch r.URL.Path {
	case "/v1/embeddings":
		write(w, http.StatusOK, map[string]any{"object": "list", "model": body.Model, "data": data,
			"usage": map[string]int{"prompt_tokens": len(vectors), "total_tokens": len(vectors)}})
	case "/api/embed":
		write(w, http.StatusOK, map[string]any{"model": body.Model, "embeddings": vectors})
	default:
		http.NotFound(w, r)
	}
}

func write(w http.ResponseWriter, status int, answer any) {
	text, err := json.Marshal(answer)
	if err != nil {
		panic(fmt.Sprintf("embeddingtest: %v", err)) // a fault whose body is not JSON must write it itself
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_, _ = w.Write(text) // the client may be gone
}

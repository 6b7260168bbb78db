// Package llmtest imitates a language model: an HTTP server that speaks OpenAI's
// /v1/chat/completions, without streaming, and Ollama's /api/chat, and gives the answers that a
// test sets.
package llmtest

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
)

// Server gives the answers set by Answer. Until then it answers that nothing follows from the
// memories, that a trait is kept, that nothing is worth remembering or summarizing, and that a
// candidate is added. It is safe for concurrent use. A request that violates the protocol fails the
// test.
type Server struct {
	t       testing.TB
	http    *httptest.Server
	hanging chan struct{}
	closing chan struct{}

	mu       sync.Mutex
	once     []Reply // for the next requests, one each
	answer   func(Request) Reply
	requests []Request
}

// Message is a message of a request.
type Message struct {
	Role    string `json:"role"` // system, user, assistant
	Content string `json:"content"`
}

// Request is a request that the server received.
type Request struct {
	Path          string
	Authorization string // the whole header
	Model         string
	Messages      []Message
	Format        string          // json_schema, json_object, or empty
	Purpose       string          // reflect, review, extract, resolve, merge, judge, signals, abstract, question or summarize
	Schema        json.RawMessage // schema of the answer; nil if only the prompt has it
	MaxTokens     int             // from any of the protocol's members; 0: no limit
	Temperature   *float64
	Body          []byte
}

// New starts a server. The server ends with the test.
func New(t testing.TB) *Server {
	t.Helper()
	s := &Server{t: t, hanging: make(chan struct{}, 1024), closing: make(chan struct{}), answer: Nothing}
	s.http = httptest.NewServer(http.HandlerFunc(s.serve))
	t.Cleanup(func() {
		close(s.closing)
		s.http.Close()
	})
	return s
}

// URL is the address to configure for an OpenAI-compatible provider.
func (s *Server) URL() string { return s.http.URL + "/v1" }

// OllamaURL is the address to configure for Ollama.
func (s *Server) OllamaURL() string { return s.http.URL }

// Answer sets how the server answers from now on. Several requests may call answer at the same
// time.
func (s *Server) Answer(answer func(Request) Reply) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.answer = answer
}

// Next gives the next requests these replies, one each, before Answer's function is called again.
func (s *Server) Next(replies ...Reply) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.once = append(s.once, replies...)
}

// Requests returns the requests received so far.
func (s *Server) Requests() []Request {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.requests)
}

// Hanging yields once for each request that begins to hang.
func (s *Server) Hanging() <-chan struct{} { return s.hanging }

func (s *Server) serve(w http.ResponseWriter, r *http.Request) {
	raw, err := io.ReadAll(r.Body)
	if err != nil {
		return // the client is gone
	}
	request, err := read(r, raw)
	if err != nil {
		s.t.Errorf("llmtest: %v", err)
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	s.mu.Lock()
	s.requests = append(s.requests, request)
	answer := s.answer
	if len(s.once) > 0 {
		next := s.once[0]
		answer, s.once = func(Request) Reply { return next }, s.once[1:]
	}
	s.mu.Unlock()
	answer(request).write(s, w, r, request)
}

// read parses a request and checks its shape.
func read(r *http.Request, raw []byte) (Request, error) {
	var body struct {
		Model               string    `json:"model"`
		Messages            []Message `json:"messages"`
		Temperature         *float64  `json:"temperature"`
		MaxTokens           int       `json:"max_tokens"`
		MaxCompletionTokens int       `json:"max_completion_tokens"`
		Stream              bool      `json:"stream"`
		ResponseFormat      *struct {
			Type       string `json:"type"`
			JSONSchema *struct {
				Name   string          `json:"name"`
				Strict bool            `json:"strict"`
				Schema json.RawMessage `json:"schema"`
			} `json:"json_schema"`
		} `json:"response_format"`
		Format  json.RawMessage `json:"format"`
		Options struct {
			Temperature *float64 `json:"temperature"`
			NumPredict  int      `json:"num_predict"`
		} `json:"options"`
	}
	if err := json.Unmarshal(raw, &body); err != nil {
		return Request{}, fmt.Errorf("the request is not JSON: %w", err)
	}
	request := Request{Path: r.URL.Path, Authorization: r.Header.Get("Authorization"), Model: body.Model,
		Messages: body.Messages, MaxTokens: max(body.MaxTokens, body.MaxCompletionTokens, body.Options.NumPredict),
		Temperature: body.Temperature, Body: raw}
	switch {
	case r.Method != http.MethodPost || (r.URL.Path != "/v1/chat/completions" && r.URL.Path != "/api/chat"):
		return request, fmt.Errorf("unexpected request %s %s", r.Method, r.URL.Path)
	case body.Model == "":
		return request, fmt.Errorf("the request names no model")
	case body.Stream:
		return request, fmt.Errorf("the request asks for a stream")
	case len(body.Messages) < 2 || body.Messages[0].Role != "system" ||
		body.Messages[len(body.Messages)-1].Role != "user":
		return request, fmt.Errorf("the messages do not begin with the system's and end with the user's")
	case slices.ContainsFunc(body.Messages, func(m Message) bool { return strings.TrimSpace(m.Content) == "" }):
		return request, fmt.Errorf("a message is empty")
	}
	if f := body.ResponseFormat; f != nil {
		request.Format = f.Type
		if f.JSONSchema != nil {
			if !f.JSONSchema.Strict || len(f.JSONSchema.Schema) == 0 {
				return request, fmt.Errorf("the schema is not strict, or is missing")
			}
			request.Schema = f.JSONSchema.Schema
		}
	}
	if r.URL.Path == "/api/chat" {
		request.Temperature = body.Options.Temperature
		request.Format = "json_object"
		if len(body.Format) > 0 && body.Format[0] == '{' {
			request.Format, request.Schema = "json_schema", body.Format
		}
	}
	request.Purpose = "reflect"
	for data, purpose := range map[string]string{"trait": "review", "messages": "extract", "conflicts": "resolve",
		"facts": "judge", "groups": "merge", "turns": "signals", "fragments": "abstract",
		"recent": "question"} {
		if len(request.Data(data)) > 0 {
			request.Purpose = purpose
		}
	}
	if request.Purpose == "extract" && strings.Contains(request.Messages[1].Content, " summary\n[") {
		request.Purpose = "summarize"
	}
	return request, nil
}

package main

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"regexp"
	"sync"

	"github.com/oxbow-memory/oxbow/internal/llm/llmtest"
	"github.com/oxbow-memory/oxbow/lab/must"
)

// served is what a server of a language model answered, as its client should have recorded it.
type served struct {
	mu sync.Mutex
	tokens
	refused  map[string]int // by request: what of the answers has to be refused
	isMerged func(text string) bool
	fixed    map[string]fixed
	counter  string // address that counts tokens
}

// fixed is the number of tokens of what is the same in all requests of a kind: the instructions and what is around the
// data, and the schema of the answer.
type fixed struct{ Prompt, Schema int }

// tokens is what answers cost.
type tokens struct{ Answers, In, Out int }

type questionKey struct{}

type asked struct {
	Format struct {
		Schema struct {
			Name   string          `json:"name"`
			Schema json.RawMessage `json:"schema"`
		} `json:"json_schema"`
	} `json:"response_format"`
	Messages []llmtest.Message `json:"messages"`
}

type answered struct {
	Choices []struct {
		Reason  string                   `json:"finish_reason"`
		Message struct{ Content string } `json:"message"`
	} `json:"choices"`
	Usage struct {
		In  int `json:"prompt_tokens"`
		Out int `json:"completion_tokens"`
	} `json:"usage"`
}

// listen starts a server that passes requests on to the one at the URL. It ends with the program.
func (s *served) listen(to string) string {
	target := must.Get(url.Parse(to))
	s.counter = target.ResolveReference(&url.URL{Path: "/tokenize"}).String()
	proxy := &httputil.ReverseProxy{
		Rewrite: func(r *httputil.ProxyRequest) { r.SetURL(target) },
		ModifyResponse: func(r *http.Response) error {
			raw, err := io.ReadAll(r.Body)
			if err != nil {
				return err
			}
			r.Body = io.NopCloser(bytes.NewReader(raw))
			question, _ := r.Request.Context().Value(questionKey{}).([]byte)
			s.count(question, raw)
			return nil
		},
	}
	return httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		raw, err := io.ReadAll(r.Body)
		if err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		r.Body = io.NopCloser(bytes.NewReader(raw))
		proxy.ServeHTTP(w, r.WithContext(context.WithValue(r.Context(), questionKey{}, raw)))
	})).URL
}

func (s *served) count(question, raw []byte) {
	var q asked
	var a answered
	if json.Unmarshal(question, &q) != nil || json.Unmarshal(raw, &a) != nil || len(a.Choices) == 0 {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.Answers++
	s.In, s.Out = s.In+a.Usage.In, s.Out+a.Usage.Out
	purpose := q.Format.Schema.Name
	if _, known := s.fixed[purpose]; !known {
		s.fixed[purpose] = s.fixedPart(q)
	}
	if a.Choices[0].Reason == "stop" {
		s.refused[purpose] += refusals(llmtest.Request{Purpose: purpose, Messages: q.Messages},
			a.Choices[0].Message.Content, s.isMerged)
	}
}

// fenced matches the data in a prompt.
var fenced = regexp.MustCompile(`(?s)(<<<(?:\S+) \w+\n)\[.*?\n\](\n\S+>>>)`)

// fixedPart counts the tokens of a request without its data, as llama.cpp's server does; 0 if the server cannot.
func (s *served) fixedPart(q asked) (f fixed) {
	for _, m := range q.Messages[:2] {
		f.Prompt += s.tokensOf(fenced.ReplaceAllString(m.Content, "$1[]$2"))
	}
	f.Schema = s.tokensOf(string(q.Format.Schema.Schema))
	return f
}

func (s *served) tokensOf(text string) int {
	body, err := json.Marshal(map[string]string{"content": text})
	must.OK(err)
	resp, err := http.Post(s.counter, "application/json", bytes.NewReader(body))
	if err != nil {
		return 0
	}
	defer resp.Body.Close()
	var counted struct{ Tokens []json.RawMessage }
	_ = json.NewDecoder(resp.Body).Decode(&counted) // of another server: nothing to count
	return len(counted.Tokens)
}

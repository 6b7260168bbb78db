// Package rerank has a reranker for oxbow.WithReranker that asks a server. The server has the rerank route of Cohere's API,
// as Cohere, Jina, Voyage, vLLM, Infinity and llama.cpp have, or that of Text Embeddings Inference (TEI).
package rerank

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/oxbow-memory/oxbow"
	"github.com/oxbow-memory/oxbow/internal/provider"
	"github.com/oxbow-memory/oxbow/internal/secrets"
)

const (
	maxAnswer = 16 << 20 // bytes; some servers return the texts too
	// timeout ends the requests of callers without a deadline. oxbow.RerankOptions.Timeout usually ends them earlier.
	timeout = time.Minute
)

// Config selects a server.
type Config struct {
	// URL is the address of the server. Requests go to /rerank below it, such as https://api.cohere.com/v2/rerank.
	URL string
	// Model is the server's name for the model. Without it, requests follow TEI's API, whose servers have one model.
	Model string
	// APIKey is sent as a bearer token. Default: none.
	APIKey string
}

type server struct {
	cfg    Config
	client *http.Client
}

// New returns a reranker that asks the server. It does not contact it. An error names the field and its value.
func New(cfg Config) (oxbow.Reranker, error) {
	address, err := url.Parse(cfg.URL)
	switch {
	case err != nil || (address.Scheme != "http" && address.Scheme != "https") || address.Host == "":
		return nil, fmt.Errorf("rerank URL %q is not an http or https address", secrets.StripURL(cfg.URL))
	case strings.ContainsAny(cfg.APIKey, "\r\n"):
		return nil, errors.New("rerank API key contains a line break")
	}
	cfg.URL = address.JoinPath("rerank").String()
	return &server{cfg, provider.Server{APIKey: cfg.APIKey, Timeout: timeout, MaxAnswer: maxAnswer}.Client()}, nil
}

// Model returns the name of the model, or the URL if the model has no name.
func (s *server) Model() string {
	if s.cfg.Model == "" {
		return secrets.StripURL(s.cfg.URL)
	}
	return s.cfg.Model
}

// Rerank asks the server. The error is that of ctx, or describes the server's failure without secrets.
func (s *server) Rerank(ctx context.Context, query string, documents []string) ([]oxbow.RerankScore, error) {
	question := map[string]any{"query": query}
	if s.cfg.Model == "" {
		question["texts"], question["truncate"] = documents, true
	} else {
		question["model"], question["documents"] = s.cfg.Model, documents
	}
	body, err := json.Marshal(question)
	if err != nil {
		return nil, err
	}
	recorded, exchange := provider.Record(ctx)
	req, err := http.NewRequestWithContext(recorded, http.MethodPost, s.cfg.URL, bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	req.Header.Set("Content-Type", "application/json")
	resp, err := s.client.Do(req)
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	if err != nil || exchange.Status != http.StatusOK {
		return nil, errors.New(exchange.Failure(s.cfg.URL, s.Model()))
	}
	defer resp.Body.Close()
	scores, err := read(exchange.Answer)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", secrets.StripURL(s.cfg.URL), err)
	}
	return scores, nil
}

type result struct {
	Index          *int     `json:"index"`
	RelevanceScore *float64 `json:"relevance_score"` // Cohere
	Score          *float64 `json:"score"`           // TEI
}

// read reads an answer: a list of results (TEI), or an object with the list in "results" (Cohere) or "data" (Voyage).
func read(answer []byte) ([]oxbow.RerankScore, error) {
	var list []result
	if json.Unmarshal(answer, &list) != nil {
		var object struct{ Results, Data []result }
		if json.Unmarshal(answer, &object) != nil {
			return nil, errors.New("the answer is not a list of scores")
		}
		list = append(object.Results, object.Data...)
	}
	scores := make([]oxbow.RerankScore, len(list))
	for i, r := range list {
		score := r.RelevanceScore
		if score == nil {
			score = r.Score
		}
		if r.Index == nil || score == nil {
			return nil, fmt.Errorf("result %d of the answer has no index or no score", i+1)
		}
		scores[i] = oxbow.RerankScore{Index: *r.Index, Score: *score}
	}
	return scores, nil
}

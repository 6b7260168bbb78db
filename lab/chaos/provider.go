package chaos

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/oxbow-memory/oxbow/internal/embedding"
	"github.com/oxbow-memory/oxbow/internal/embedding/providers"
	"github.com/oxbow-memory/oxbow/internal/llm/llmtest"
)

// dimension is small, because large vectors cost more and find no more faults.
const dimension = 64

var (
	embeddingFaults = []string{"429", "500", "503", "hang", "cut", "garbage", "one vector less", "one vector more",
		"slow"}
	chatFaults = []string{"429", "500", "503", "hang", "cut", "garbage", "prose", "slow"}
)

// provider is a server of embeddings and chat completions, and the far end of a webhook, that can misbehave.
type provider struct {
	address string
	server  *http.Server
	vectors *embedding.Local
	violate func(Violation)

	mu      sync.Mutex
	faults  map[string]string // by "embedding", "chat", "webhook"
	until   map[string]time.Time
	heal    chan struct{} // closed when the faults end
	counts  map[string]int
	notices *notices
}

func startProvider(violate func(Violation)) (*provider, error) {
	notices, err := newNotices()
	if err != nil {
		return nil, err
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	p := &provider{address: listener.Addr().String(), vectors: embedding.NewLocal(dimension), violate: violate,
		faults: map[string]string{}, until: map[string]time.Time{},
		heal: make(chan struct{}), counts: map[string]int{}, notices: notices}
	mux := http.NewServeMux()
	mux.HandleFunc("POST /v1/embeddings", p.embed)
	mux.HandleFunc("POST /v1/chat/completions", p.chat)
	mux.HandleFunc("POST /v1/webhook", p.notify)
	p.server = &http.Server{Handler: mux, ReadHeaderTimeout: 5 * time.Second}
	go func() { _ = p.server.Serve(listener) }() // ends with close
	return p, nil
}

func (p *provider) close() { _ = p.server.Close() }

func (p *provider) url() string { return "http://" + p.address + "/v1" }

const embeddingModel = "chaos"

func (p *provider) embedderConfig() providers.Config {
	return providers.Config{Provider: "openai", Model: embeddingModel, Dimension: dimension, URL: p.url(),
		APIKey: "none", Timeout: 1500 * time.Millisecond}
}

// fail lets an endpoint misbehave for a while.
func (p *provider) fail(end, fault string, d time.Duration) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.faults[end], p.until[end] = fault, time.Now().Add(d)
}

// healAll ends all faults and releases hanging requests.
func (p *provider) healAll() {
	p.mu.Lock()
	defer p.mu.Unlock()
	clear(p.faults)
	close(p.heal)
	p.heal = make(chan struct{})
}

// misbehave answers the request if a fault says so, and reports whether it did. Otherwise it returns the fault, if any,
// that the caller applies.
func (p *provider) misbehave(end string, w http.ResponseWriter, r *http.Request) (fault string, done bool) {
	p.mu.Lock()
	fault, until, heal := p.faults[end], p.until[end], p.heal
	if time.Now().After(until) {
		fault = ""
	}
	p.counts[end]++
	if fault != "" {
		p.counts[end+": "+fault]++
	}
	p.mu.Unlock()
	status := func(code int) {
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(code)
		_, _ = w.Write([]byte(`{"error": {"message": "chaos", "type": "test"}}`)) // the client may be gone
	}
	switch fault {
	case "429":
		w.Header().Set("Retry-After", "1")
		status(http.StatusTooManyRequests)
	case "500":
		status(http.StatusInternalServerError)
	case "503":
		status(http.StatusServiceUnavailable)
	case "hang":
		select {
		case <-r.Context().Done():
		case <-heal:
		case <-time.After(time.Until(until) + time.Second):
		}
		panic(http.ErrAbortHandler)
	case "cut":
		w.Header().Set("Content-Length", "100000")
		_, _ = w.Write([]byte(`{"data": [{"embedding": [0.1, `)) // the client may be gone
	case "garbage":
		_, _ = w.Write([]byte("<html>gateway</html>")) // the client may be gone
	case "slow":
		sleep(r.Context(), 700*time.Millisecond)
		return "", false
	default:
		return fault, false
	}
	return "", true
}

func (p *provider) embed(w http.ResponseWriter, r *http.Request) {
	var body struct {
		Input []string `json:"input"`
	}
	raw, err := io.ReadAll(r.Body)
	if err != nil || json.Unmarshal(raw, &body) != nil {
		http.Error(w, "no such request", http.StatusBadRequest)
		return
	}
	fault, done := p.misbehave("embedding", w, r)
	if done {
		return
	}
	vectors, err := p.vectors.Embed(r.Context(), body.Input)
	if err != nil {
		return // the client is gone
	}
	switch fault {
	case "one vector less":
		vectors = vectors[1:]
	case "one vector more":
		vectors = append(vectors, vectors[0])
	}
	data := make([]any, len(vectors))
	for i, v := range vectors {
		data[i] = map[string]any{"index": i, "object": "embedding", "embedding": v}
	}
	answer(w, map[string]any{"object": "list", "model": embeddingModel, "data": data,
		"usage": map[string]any{"prompt_tokens": 1, "total_tokens": 1}})
}

// vector returns the correct vector of a text.
func (p *provider) vector(ctx context.Context, text string) ([]float32, error) {
	made, err := p.vectors.Embed(ctx, []string{text})
	if err != nil {
		return nil, err
	}
	return made[0], nil
}

func answer(w http.ResponseWriter, body any) {
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(body) // the client may be gone
}

func (p *provider) chat(w http.ResponseWriter, r *http.Request) {
	var body struct {
		Messages []llmtest.Message `json:"messages"`
	}
	raw, err := io.ReadAll(r.Body)
	if err != nil || json.Unmarshal(raw, &body) != nil || len(body.Messages) < 2 {
		http.Error(w, "no such request", http.StatusBadRequest)
		return
	}
	fault, done := p.misbehave("chat", w, r)
	if done {
		return
	}
	text := think(llmtest.Request{Messages: body.Messages})
	if fault == "prose" {
		text = "Sure! This person seems to like running. Shall I tell you more?"
	}
	answer(w, map[string]any{"id": "chatcmpl-1", "object": "chat.completion", "model": "chaos",
		"choices": []any{map[string]any{"index": 0, "message": map[string]any{"role": "assistant", "content": text},
			"finish_reason": "stop"}},
		"usage": map[string]any{"prompt_tokens": 100, "completion_tokens": 20, "total_tokens": 120}})
}

// think returns the model's answer: simple, and always the same for a request.
func think(r llmtest.Request) string {
	switch {
	case len(r.Data("conflicts")) > 0:
		return resolveConflicts(r.Data("conflicts"))
	case len(r.Data("messages")) > 0 && strings.Contains(r.Messages[1].Content, " summary\n["):
		return summarise(r.Data("messages"))
	case len(r.Data("messages")) > 0:
		return extract(r.Data("messages"))
	case len(r.Data("groups")) > 0:
		return mergeEvents(r.Data("groups"))
	case len(r.Data("trait")) > 0:
		return judgeTrait(r)
	case len(r.Data("turns")) > 0:
		return judgeTurns(r.Data("turns"))
	case len(r.Data("fragments")) > 0:
		return `{"conclusion": "", "sources": []}`
	case len(r.Data("recent")) > 0:
		return `{"questions": []}`
	}
	return reflectOn(r)
}

func lives(text string) bool {
	return strings.Contains(text, "live in") || strings.Contains(text, "住在")
}

func extract(messages []llmtest.Item) string {
	var e llmtest.Extraction
	for _, m := range messages {
		if !m.New || m.Role != "user" {
			continue
		}
		e.Candidates = append(e.Candidates, llmtest.Fact(m.Text, m.Ref))
	}
	return e.JSON()
}

func resolveConflicts(conflicts []llmtest.Item) string {
	var all llmtest.Resolutions
	for _, c := range conflicts {
		resolution := llmtest.Resolution{Conflict: c.Ref, Operation: "ADD", Reason: "nothing says it"}
		for _, s := range c.Similar {
			if s.Text == c.Text {
				resolution = llmtest.Resolution{Conflict: c.Ref, Operation: "NOOP", Target: s.Ref, Reason: "it says so"}
				break
			}
			if lives(s.Text) && lives(c.Text) && resolution.Operation == "ADD" {
				resolution = llmtest.Resolution{Conflict: c.Ref, Operation: "UPDATE", Target: s.Ref,
					Reason: "they moved"}
			}
		}
		all = append(all, resolution)
	}
	return all.JSON()
}

// mergeEvents merges the memories of each group that have the mark of its first.
func mergeEvents(groups []llmtest.Item) string {
	var all llmtest.Merges
	for _, g := range groups {
		var refs []string
		for _, m := range g.Memories {
			if slices.Equal(marksIn(m.Text), marksIn(g.Memories[0].Text)) {
				refs = append(refs, m.Ref)
			}
		}
		if len(refs) > 1 {
			all = append(all, llmtest.Merge{Memories: refs, Content: g.Memories[0].Text})
		}
	}
	return all.JSON()
}

func summarise(messages []llmtest.Item) string {
	var said []string
	for _, m := range messages {
		if m.New && m.Role == "user" && len(said) < 3 {
			said = append(said, m.Text)
		}
	}
	return llmtest.Summary(strings.Join(said, " "))
}

func judgeTrait(r llmtest.Request) string {
	if trait := r.Data("trait")[0]; len(trait.Text)%3 == 0 {
		return llmtest.Verdict{Action: "dissolve", Reason: "it is over"}.JSON()
	}
	return llmtest.Verdict{Action: "keep", Reason: "the contradictions are exceptions"}.JSON()
}

func judgeTurns(turns []llmtest.Item) string {
	var all llmtest.Signals
	for _, t := range turns {
		if complains(t.UserInput) {
			all = append(all, llmtest.Signal{Turn: t.Ref, Kind: "correction", Confidence: 0.9, Bad: []string{"final_answer"}})
		}
	}
	return all.JSON()
}

func reflectOn(r llmtest.Request) string {
	var a llmtest.Reflection
	for _, t := range topics {
		var speaking, against []string
		whose := ""
		for _, m := range r.Data("memories") {
			switch {
			case strings.Contains(m.Text, t.end):
				against = append(against, m.Ref)
			case strings.Contains(m.Text, t.word):
				speaking = append(speaking, m.Ref)
			default:
				continue
			}
			if marks := marksIn(m.Text); len(marks) > 0 {
				whose = marks[0].ofUser()
			}
		}
		if whose == "" {
			continue
		}
		content := fmt.Sprintf("%s, says %s", t.habit, whose)
		traits := r.Data("traits")
		at := slices.IndexFunc(traits, func(i llmtest.Item) bool { return i.Text == content })
		switch {
		case at >= 0 && len(speaking) > 0:
			a.Reinforcements = append(a.Reinforcements, llmtest.Reinforcement{Trait: traits[at].Ref,
				Evidence: llmtest.On(speaking...)})
		case len(speaking) > 0:
			pattern := llmtest.Pattern{Content: content, Context: "general", Evidence: llmtest.On(speaking...)}
			for _, clue := range r.Data("clues") {
				if clue.Text == content {
					pattern.Clue = clue.Ref
				}
			}
			a.Patterns = append(a.Patterns, pattern)
		}
		if at >= 0 && len(against) > 0 {
			a.Contradictions = append(a.Contradictions, llmtest.Contradiction{Trait: traits[at].Ref,
				Reason: "it is over", Evidence: llmtest.On(against...)})
		}
	}
	return a.JSON()
}

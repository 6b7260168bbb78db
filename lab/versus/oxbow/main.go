// Oxbow as a Go program runs it: the client and a worker in the process. It speaks the protocol of
// lab/versus/protocol/protocol.py.
package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"strconv"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/oxbow-memory/oxbow"
	"github.com/oxbow-memory/oxbow/lab/must"
	"github.com/oxbow-memory/oxbow/migrations"
	"github.com/oxbow-memory/oxbow/worker"
)

func main() { must.Main("versus/oxbow", command) }

// memory is a memory to add. At is the zero time if it is unknown.
type memory struct{ ID, Session, Speaker, At, Content string }

// request is a line of standard input.
type request struct {
	Do, User, Question string
	Memories           []memory
	Limit              int
}

// answer is a line of standard output.
type answer struct {
	IDs []string `json:"ids,omitempty"`
}

func command(ctx context.Context) {
	url := os.Getenv("DATABASE_URL")
	embedder := must.Get(oxbow.NewEmbedder(server{}, "openai:"+os.Getenv("EMBEDDING_MODEL"),
		must.Get(strconv.Atoi(os.Getenv("EMBEDDING_DIMENSION")))))
	must.OK(migrations.Up(ctx, url, migrations.Options{}))
	cfg := worker.Config{DatabaseURL: url, Embedder: embedder}
	must.Get(worker.Reembed(ctx, cfg, nil)) // a new database expects the model local-v1
	w := must.Get(worker.New(ctx, cfg))
	defer w.Close()
	running, stop := context.WithCancel(ctx)
	stopped := make(chan error)
	go func() { stopped <- w.Run(running) }()
	pool := must.Get(pgxpool.New(ctx, url))
	defer pool.Close()
	client := must.Get(oxbow.New(pool, oxbow.WithEmbedder(embedder)))

	answers := json.NewEncoder(os.Stdout)
	must.OK(answers.Encode(answer{}))
	lines := bufio.NewReader(os.Stdin)
	for {
		line, err := lines.ReadBytes('\n')
		if err == io.EOF {
			break
		}
		must.OK(err)
		var asked request
		must.OK(json.Unmarshal(line, &asked))
		var given answer
		switch asked.Do {
		case "add":
			must.Get(client.RememberMany(ctx, asked.memories()))
		case "search":
			found := must.Get(client.Recall(ctx, oxbow.Query{UserID: asked.User, Text: asked.Question, Limit: asked.Limit}))
			must.OK(found.Degraded)
			for _, m := range found.Memories {
				given.IDs = append(given.IDs, m.ExternalID)
			}
		case "settle":
			settle(ctx, pool)
		}
		must.OK(answers.Encode(given))
	}
	must.OK(client.Close(ctx))
	stop()
	must.OK(<-stopped)
}

func (r request) memories() (all []oxbow.NewMemory) {
	for _, m := range r.Memories {
		n := oxbow.NewMemory{UserID: r.User, ExternalID: m.ID, SessionID: m.Session, Speaker: m.Speaker, Content: m.Content}
		if m.At != "" {
			n.ValidAt = must.Get(time.Parse(time.RFC3339, m.At))
		}
		all = append(all, n)
	}
	return all
}

// settle returns when all memories are embedded.
func settle(ctx context.Context, pool *pgxpool.Pool) {
	for waiting := true; waiting; time.Sleep(10 * time.Millisecond) {
		must.OK(pool.QueryRow(ctx,
			`select exists (select from oxbow.river_job where kind = 'embed' and finalized_at is null)`).Scan(&waiting))
	}
}

// server is the embedding model, as langchaingo's embedders are.
type server struct{}

func (server) EmbedDocuments(ctx context.Context, texts []string) ([][]float32, error) {
	return embed(ctx, os.Getenv("PASSAGE_PREFIX"), texts)
}

func (server) EmbedQuery(ctx context.Context, text string) ([]float32, error) {
	vectors, err := embed(ctx, os.Getenv("QUERY_PREFIX"), []string{text})
	if err != nil {
		return nil, err
	}
	return vectors[0], nil
}

func embed(ctx context.Context, prefix string, texts []string) (vectors [][]float32, err error) {
	input := make([]string, len(texts))
	for i, text := range texts {
		input[i] = prefix + text
	}
	body, err := json.Marshal(map[string]any{"model": os.Getenv("EMBEDDING_MODEL"), "input": input})
	if err != nil {
		return nil, err
	}
	asked, err := http.NewRequestWithContext(ctx, http.MethodPost, os.Getenv("EMBEDDING_URL")+"/embeddings",
		bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	asked.Header.Set("Content-Type", "application/json")
	response, err := http.DefaultClient.Do(asked)
	if err != nil {
		return nil, err
	}
	defer func() { _ = response.Body.Close() }()
	var given struct {
		Data []struct{ Embedding []float32 }
	}
	if err := json.NewDecoder(response.Body).Decode(&given); err != nil {
		return nil, fmt.Errorf("embedding server: %s: %w", response.Status, err)
	}
	for _, d := range given.Data {
		vectors = append(vectors, d.Embedding)
	}
	return vectors, nil
}

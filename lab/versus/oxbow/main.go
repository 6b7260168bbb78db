// Oxbow as a Go program runs it: the client and a worker in the process. It speaks the protocol of
// lab/versus/protocol/protocol.py.
package main

import (
	"bufio"
	"context"
	"encoding/json"
	"io"
	"os"
	"strconv"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/oxbow-memory/oxbow"
	"github.com/oxbow-memory/oxbow/internal/embedding/providers"
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
	embedder := must.Get(providers.Open(providers.Config{Provider: providers.OpenAI, URL: os.Getenv("EMBEDDING_URL"),
		Model: os.Getenv("EMBEDDING_MODEL"), Dimension: must.Get(strconv.Atoi(os.Getenv("EMBEDDING_DIMENSION"))),
		QueryPrefix: os.Getenv("QUERY_PREFIX"), PassagePrefix: os.Getenv("PASSAGE_PREFIX")}))
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

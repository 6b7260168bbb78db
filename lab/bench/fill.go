package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/pgvector/pgvector-go"

	"github.com/oxbow-memory/oxbow/internal/embedding"
	"github.com/oxbow-memory/oxbow/worker"
)

// labels returns what filters select by. Each selects half of the memories, except the agent "rare": one in a hundred.
func labels(i int) (agent, metadata string) {
	agent = []string{"first", "second"}[i/10%2]
	if i%100 == 99 {
		agent = "rare"
	}
	return agent, fmt.Sprintf(`{"topic": %q, "context": %q}`, []string{"garden", "kitchen"}[i/10%2],
		[]string{"work", "personal"}[i/10%2])
}

// remember stores the texts of a user in conversations of ten, a tenth of them facts, spread over the year 2025.
func remember(ctx context.Context, pool *pgxpool.Pool, user string, texts []string) error {
	start, step := time.Date(2025, 1, 1, 0, 0, 0, 0, time.UTC), 365*24*time.Hour/time.Duration(len(texts)/10+1)
	columns := []string{"user_id", "memory_type", "content", "session_id", "seq", "agent_id", "metadata", "valid_at",
		"created_at"}
	_, err := pool.CopyFrom(ctx, pgx.Identifier{"oxbow", "memories"}, columns,
		pgx.CopyFromSlice(len(texts), func(i int) ([]any, error) {
			kind, at := "episodic", start.Add(time.Duration(i/10)*step+time.Duration(i%10)*time.Minute)
			if i%10 == 9 {
				kind = "fact"
			}
			agent, metadata := labels(i)
			return []any{user, kind, texts[i], fmt.Sprint("s", i/10), i, agent, []byte(metadata), at, at}, nil
		}))
	return err
}

// embedAll runs a worker until every memory has a vector and terms, then does what autovacuum would do later.
func embedAll(ctx context.Context, dsn string, pool *pgxpool.Pool) (err error) {
	stop, err := startWorker(ctx, worker.Config{DatabaseURL: dsn})
	if err != nil {
		return err
	}
	err = errors.Join(waitEmbedded(ctx, pool), stop())
	if err == nil {
		_, err = pool.Exec(ctx, "vacuum analyze")
	}
	return err
}

// waitEmbedded returns when no embed job is left and every memory has a vector and terms.
func waitEmbedded(ctx context.Context, pool *pgxpool.Pool) error {
	return waitFor(ctx, pool, `
		not exists (select from oxbow.river_job where kind = 'embed' and finalized_at is null)
		and (select count(*) from oxbow.memories) = (select count(*) from oxbow.memory_terms
			join oxbow.memory_vectors using (user_id, memory_type, memory_id))`)
}

// waitFor returns when a condition holds. It asks every 100 ms and gives up with the context.
func waitFor(ctx context.Context, pool *pgxpool.Pool, condition string) error {
	for {
		var holds bool
		if err := pool.QueryRow(ctx, "select "+condition).Scan(&holds); err != nil || holds {
			return err
		}
		if err := pause(ctx, 100*time.Millisecond); err != nil {
			return err
		}
	}
}

// startWorker runs a worker until the returned function is called.
func startWorker(ctx context.Context, cfg worker.Config) (stop func() error, err error) {
	w, err := worker.New(ctx, cfg)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithCancel(ctx)
	done := make(chan error, 1)
	go func() { done <- w.Run(ctx) }()
	return func() error {
		cancel()
		err := <-done
		w.Close()
		return err
	}, nil
}

func pause(ctx context.Context, d time.Duration) error {
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(d):
		return nil
	}
}

// question is what somebody asks about their memories.
type question struct {
	user, text string
	vector     pgvector.HalfVector
}

// ask makes n questions of a user, each about one of the texts.
func (w writer) ask(ctx context.Context, n int, user string, texts []string) ([]question, error) {
	questions := make([]question, n)
	for i := range questions {
		questions[i] = question{user: user, text: w.question(texts[w.IntN(len(texts))])}
	}
	return questions, embed(ctx, questions)
}

func embed(ctx context.Context, questions []question) error {
	local := embedding.NewLocal(embedding.LocalDimension)
	for i := range questions {
		vectors, err := local.Embed(ctx, []string{questions[i].text})
		if err != nil {
			return err
		}
		questions[i].vector = pgvector.NewHalfVector(vectors[0])
	}
	return nil
}

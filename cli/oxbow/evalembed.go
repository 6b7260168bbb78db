package main

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"sync"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/oxbow-memory/oxbow/internal/embedding"
	"github.com/oxbow-memory/oxbow/store"
)

const (
	evalBatch    = 128 // memories in a transaction, as in an embed job
	evalAttempts = 4   // requests to a provider that is unavailable
)

// batch is a batch of memories of one user.
type batch struct {
	userID string
	ids    []uuid.UUID
}

// embed adds what the worker's embed job adds to the memories: vectors and search terms.
func (r *evaluation) embed(ctx context.Context) error {
	var batches []batch
	var total int64
	for _, userID := range r.users {
		ids, err := store.MemoryIDs(ctx, r.pool, userID)
		if err != nil {
			return err
		}
		total += int64(len(ids))
		for len(ids) > 0 {
			n := min(len(ids), evalBatch)
			batches = append(batches, batch{userID, ids[:n]})
			ids = ids[n:]
		}
	}
	bar := r.progress("embed", total)
	defer bar.end()

	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	todo, done := make(chan batch), make(chan int)
	var workers sync.WaitGroup
	for range min(max(runtime.NumCPU(), 2), 4) {
		workers.Go(func() {
			for b := range todo {
				if err := r.embedBatch(ctx, b); err != nil {
					cancel(err)
					return
				}
				done <- len(b.ids)
			}
		})
	}
	go func() {
		defer close(done)
		defer workers.Wait()
		defer close(todo)
		for _, b := range batches {
			select {
			case todo <- b:
			case <-ctx.Done():
				return
			}
		}
	}()
	for n := range done {
		bar.add(int64(n))
	}
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return nil
}

func (r *evaluation) embedBatch(ctx context.Context, b batch) error {
	memories, err := store.Embeddables(ctx, r.pool, store.Refs(b.userID, b.ids), r.embedder.Model())
	if err != nil {
		return err
	}
	texts := make([]string, len(memories))
	for i, m := range memories {
		texts[i] = m.Text
	}
	made, err := r.vectors(ctx, texts)
	if err != nil {
		return err
	}
	var embedded []store.MemoryRef
	var vectors [][]float32
	for i, v := range made {
		if v != nil { // nil: the provider refused the text
			embedded, vectors = append(embedded, memories[i].MemoryRef), append(vectors, v)
		}
	}
	model := store.EmbeddingModel{Model: r.embedder.Model(), Dimension: r.embedder.Dimension()}
	return pgx.BeginFunc(ctx, r.pool, func(tx pgx.Tx) error {
		if _, err := store.WriteVectors(ctx, tx, model, embedded, vectors); err != nil {
			return err
		}
		_, err := store.IndexMemories(ctx, tx, store.Refs(b.userID, b.ids))
		return err
	})
}

// vectors asks the provider, and retries after a pause if it is unavailable.
func (r *evaluation) vectors(ctx context.Context, texts []string) ([][]float32, error) {
	for attempt := 1; ; attempt++ {
		made, err := r.embedder.Embed(ctx, texts)
		failed, ok := errors.AsType[*embedding.Error](err)
		switch {
		case err == nil || (ok && len(failed.Texts) > 0):
			return made, nil
		case !ok || attempt == evalAttempts:
			return nil, fmt.Errorf("asked %d times: %w", attempt, err)
		}
		pause := time.NewTimer(max(failed.RetryAfter, time.Duration(attempt)*2*time.Second))
		select {
		case <-pause.C:
		case <-ctx.Done():
			pause.Stop()
			return nil, ctx.Err()
		}
	}
}

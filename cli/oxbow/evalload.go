package main

import (
	"bytes"
	"context"
	"fmt"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"golang.org/x/sync/errgroup"

	"github.com/oxbow-memory/oxbow"
	"github.com/oxbow-memory/oxbow/store"
)

// load imports the file's memories. It hides the run's users from workers before it commits.
func (r *evaluation) load(ctx context.Context, file []byte) error {
	in := &countingReader{Reader: bytes.NewReader(file)}
	bar := r.progress("load (bytes)", int64(len(file)))
	defer bar.end()
	options := oxbow.ImportOptions{
		Rename:   func(userID string) string { return r.prefix + userID },
		Progress: func(oxbow.ImportReport) { bar.set(in.read.Load()) },
	}
	return pgx.BeginFunc(ctx, r.pool, func(tx pgx.Tx) error {
		report, err := r.client.WithTx(tx).Import(ctx, in, options)
		if err != nil {
			return err
		}
		r.loaded = report.New
		return store.HideFromWorkers(ctx, tx, r.users)
	})
}

// extract turns the loaded memories into messages and extracts memories from them, as a worker does.
func (r *evaluation) extract(ctx context.Context) error {
	var sessions []store.Session
	err := pgx.BeginFunc(ctx, r.pool, func(tx pgx.Tx) (err error) {
		sessions, r.messages, err = store.MessagesFromMemories(ctx, tx, r.users)
		return err
	})
	if err != nil {
		return err
	}
	bar := r.progress("extract", r.messages)
	defer bar.end()
	var extracted atomic.Int64
	err = inParallel(ctx, sessions, func(ctx context.Context, s store.Session) error {
		if err := r.worker.Extract(ctx, s.UserID, s.ID, func(done int) { extracted.Add(int64(done)) }); err != nil {
			return fmt.Errorf("extract from session %q: %w", s.ID, err)
		}
		return nil
	}, func(store.Session) { bar.set(extracted.Load()) })
	if err != nil {
		return err
	}
	err = pgx.BeginFunc(ctx, r.pool, func(tx pgx.Tx) error { return store.HideFromWorkers(ctx, tx, r.users) })
	if err != nil {
		return err
	}
	r.extracted, err = store.ExtractedOf(ctx, r.pool, r.users)
	r.loaded = int64(len(r.extracted))
	r.sources = map[uuid.UUID][]string{}
	for _, x := range r.extracted {
		r.sources[x.MemoryID] = x.Sources
	}
	return err
}

const evalBatch = 128 // memories in a transaction, as in an embed job

// embed adds what the worker's embed job adds to the memories: vectors and search terms.
func (r *evaluation) embed(ctx context.Context) error {
	var batches [][]store.MemoryRef // of one user each
	var total int64
	for _, userID := range r.users {
		ids, err := store.MemoryIDs(ctx, r.pool, userID)
		if err != nil {
			return err
		}
		total += int64(len(ids))
		batches = slices.AppendSeq(batches, slices.Chunk(store.Refs(userID, ids), evalBatch))
	}
	bar := r.progress("embed", total)
	defer bar.end()
	return inParallel(ctx, batches, r.worker.Embed, func(b []store.MemoryRef) { bar.add(int64(len(b))) })
}

// inParallel works on a few tasks at once until one fails. It calls done after each task, one at a time.
func inParallel[T any](ctx context.Context, tasks []T, work func(context.Context, T) error, done func(T)) error {
	var one sync.Mutex
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(min(max(runtime.NumCPU(), 2), 4))
	for _, task := range tasks {
		group.Go(func() error {
			if ctx.Err() != nil {
				return ctx.Err()
			}
			err := work(ctx, task)
			one.Lock()
			defer one.Unlock()
			done(task)
			return err
		})
	}
	return group.Wait()
}

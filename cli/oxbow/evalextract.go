package main

import (
	"context"
	"fmt"
	"runtime"
	"sync"

	"github.com/jackc/pgx/v5"

	"github.com/oxbow-memory/oxbow/store"
	"github.com/oxbow-memory/oxbow/worker"
)

// extract stores what was loaded as messages and extracts memories from them, as a worker would.
func (r *evaluation) extract(ctx context.Context, flags *evalFlags) error {
	var sessions []store.Session
	err := pgx.BeginFunc(ctx, r.pool, func(tx pgx.Tx) (err error) {
		sessions, r.messages, err = store.TalkOfMemories(ctx, tx, r.users)
		return err
	})
	if err != nil {
		return err
	}
	dsn, err := r.dsn()
	if err != nil {
		return err
	}
	cfg, err := flags.work.config(dsn, r.logger())
	if err != nil {
		return err
	}
	w, err := worker.New(ctx, cfg)
	if err != nil {
		return err
	}
	defer w.Close()
	bar := r.progress("extract", r.messages)
	defer bar.end()

	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	todo := make(chan store.Session)
	var workers sync.WaitGroup
	var shown sync.Mutex
	for range min(max(runtime.NumCPU(), 2), 4) {
		workers.Go(func() {
			for s := range todo {
				err := w.Extract(ctx, s.UserID, s.ID, func(done int) {
					shown.Lock()
					defer shown.Unlock()
					bar.add(int64(done))
				})
				if err != nil {
					cancel(fmt.Errorf("extract from session %q: %w", s.ID, err))
				}
			}
		})
	}
	for _, s := range sessions {
		if ctx.Err() != nil {
			break
		}
		todo <- s
	}
	close(todo)
	workers.Wait()
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	err = pgx.BeginFunc(ctx, r.pool, func(tx pgx.Tx) error { return store.HideFromWorkers(ctx, tx, r.users) })
	if err != nil {
		return err
	}
	r.sources, err = store.SourcesOf(ctx, r.pool, r.users)
	r.loaded = int64(len(r.sources))
	return err
}

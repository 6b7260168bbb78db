package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	pgxvec "github.com/pgvector/pgvector-go/pgx"

	"github.com/oxbow-memory/oxbow"
	"github.com/oxbow-memory/oxbow/internal/embedding"
	"github.com/oxbow-memory/oxbow/internal/eval"
	"github.com/oxbow-memory/oxbow/internal/pgtest"
	"github.com/oxbow-memory/oxbow/jobs"
	"github.com/oxbow-memory/oxbow/migrations"
	"github.com/oxbow-memory/oxbow/store"
	"github.com/oxbow-memory/oxbow/worker"
)

// reflectOn loads the records into a database that is dropped afterwards, and returns what the
// visible traits of each user say after reflection.
func reflectOn(ctx context.Context, records string, reasoner worker.ReasonerConfig) (traits map[string][]string,
	err error) {
	dsn, err := pgtest.Create(ctx)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, pgtest.Drop(context.WithoutCancel(ctx), dsn)) }()
	if err := migrations.Up(ctx, dsn, migrations.Options{}); err != nil {
		return nil, err
	}
	cfg, err := pgxpool.ParseConfig(dsn)
	if err != nil {
		return nil, err
	}
	cfg.AfterConnect = pgxvec.RegisterTypes
	pool, err := pgxpool.NewWithConfig(ctx, cfg)
	if err != nil {
		return nil, err
	}
	defer pool.Close()
	users, err := load(ctx, pool, records)
	if err != nil {
		return nil, err
	}
	traits = map[string][]string{}
	for _, user := range users {
		if err := embed(ctx, pool, user); err != nil {
			return nil, fmt.Errorf("embed the memories of %q: %w", user, err)
		}
		if traits[user], err = reflectOnUser(ctx, worker.Config{DatabaseURL: dsn, Reasoner: reasoner}, pool,
			user); err != nil {
			return nil, fmt.Errorf("reflect on %q: %w", user, err)
		}
	}
	return traits, nil
}

// load imports the memories of the records without their jobs, and returns the users.
func load(ctx context.Context, pool *pgxpool.Pool, records string) (users []string, err error) {
	file, err := os.ReadFile(records)
	if err != nil {
		return nil, err
	}
	set, err := eval.Read(bytes.NewReader(file))
	if err != nil {
		return nil, fmt.Errorf("%s: %w", records, err)
	}
	client, err := oxbow.New(pool, oxbow.WithoutUseReports())
	if err != nil {
		return nil, err
	}
	err = pgx.BeginFunc(ctx, pool, func(tx pgx.Tx) error {
		if _, err := client.WithTx(tx).Import(ctx, bytes.NewReader(file), oxbow.ImportOptions{}); err != nil {
			return fmt.Errorf("%s: %w", records, err)
		}
		return store.HideFromWorkers(ctx, tx, set.Users)
	})
	return set.Users, err
}

// embed gives a user's memories vectors and terms.
func embed(ctx context.Context, pool *pgxpool.Pool, user string) error {
	local := embedding.NewLocal(embedding.LocalDimension)
	model := store.EmbeddingModel{Model: local.Model(), Dimension: local.Dimension()}
	ids, err := store.MemoryIDs(ctx, pool, user)
	if err != nil {
		return err
	}
	for some := range slices.Chunk(ids, 128) {
		memories, err := store.Embeddables(ctx, pool, store.Refs(user, some), local.Model())
		if err != nil {
			return err
		}
		var texts []string
		var known []store.MemoryRef
		for _, m := range memories {
			texts, known = append(texts, m.Text), append(known, m.MemoryRef)
		}
		vectors, err := local.Embed(ctx, texts)
		if err != nil {
			return err
		}
		if err := pgx.BeginFunc(ctx, pool, func(tx pgx.Tx) error {
			_, written := store.WriteVectors(ctx, tx, model, known, vectors)
			_, indexed := store.IndexMemories(ctx, tx, store.Refs(user, some))
			return errors.Join(written, indexed)
		}); err != nil {
			return err
		}
	}
	return nil
}

// reflectOnUser puts all facts and episodes of a user into the inbox and reflects at the time of
// the latest of them. It returns the visible traits, the surest first.
func reflectOnUser(ctx context.Context, cfg worker.Config, pool *pgxpool.Pool, user string) ([]string, error) {
	var now time.Time
	if err := pool.QueryRow(ctx, `
		with inbox as (
		  insert into oxbow.reflection_inbox (user_id, memory_type, memory_id, importance, valid_at, session_id)
		  select user_id, memory_type, id, importance, coalesce(valid_at, created_at), session_id from oxbow.memories
		   where user_id = $1 and memory_type in ('fact', 'episodic') and forgotten_at is null and expired_at is null
		  returning valid_at
		), back as (
		  update oxbow.users set opted_out = false where user_id = $1
		)
		select coalesce(max(valid_at), now()) from inbox`, user).Scan(&now); err != nil {
		return nil, err
	}
	cfg.Now = func() time.Time { return now }
	w, err := worker.New(ctx, cfg)
	if err != nil {
		return nil, err
	}
	defer w.Close()
	if err := w.Reflect(ctx, user, false, func(jobs.Outcome) {}); err != nil {
		return nil, err
	}
	rows, err := pool.Query(ctx, `
		select content from oxbow.traits_as_of($1, $2) where stage in ('emerging', 'established', 'core')
		order by confidence desc, content`, user, now)
	if err != nil {
		return nil, err
	}
	return pgx.CollectRows(rows, pgx.RowTo[string])
}

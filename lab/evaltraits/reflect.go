package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
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
	"github.com/oxbow-memory/oxbow/lab/must"
	"github.com/oxbow-memory/oxbow/migrations"
	"github.com/oxbow-memory/oxbow/store"
	"github.com/oxbow-memory/oxbow/worker"
)

// reflectOn loads the records into a temporary database, reflects, and returns the contents of each user's visible
// traits. It prints how long reflection and the nights took, and what these asked and recalled.
func reflectOn(ctx context.Context, out io.Writer, records string, reasoner worker.ReasonerConfig,
	nights int) map[string][]string {
	dsn := must.Get(pgtest.Create(ctx))
	defer func() { must.OK(pgtest.Drop(context.WithoutCancel(ctx), dsn)) }()
	must.OK(migrations.Up(ctx, dsn, migrations.Options{}))
	cfg := must.Get(pgxpool.ParseConfig(dsn))
	cfg.AfterConnect = pgxvec.RegisterTypes
	pool := must.Get(pgxpool.NewWithConfig(ctx, cfg))
	defer pool.Close()
	traits := map[string][]string{}
	var spent struct{ reflection, nights time.Duration }
	for _, user := range load(ctx, pool, records) {
		embed(ctx, pool, user)
		traits[user] = reflectOnUser(ctx, worker.Config{DatabaseURL: dsn, Reasoner: reasoner}, pool, user, nights, &spent.reflection, &spent.nights)
	}
	var line string
	must.OK(pool.QueryRow(ctx, `
		select format('nights: %s questions, %s memories recalled, %s traits new, %s changed; tokens: %s', count(*),
		         coalesce(sum(trigger_value), 0), coalesce(sum(traits_created), 0), coalesce(sum(traits_updated), 0),
		         (select coalesce(sum(prompt_tokens + completion_tokens), 0) from oxbow.llm_calls))
		  from oxbow.reflection_cycles where trigger_type = 'sleep'`).Scan(&line))
	fmt.Fprintf(out, "%s; reflection took %s, the nights %s\n\n", line, spent.reflection.Round(time.Millisecond),
		spent.nights.Round(time.Millisecond))
	return traits
}

// load imports the memories of the records without their jobs, and returns the users.
func load(ctx context.Context, pool *pgxpool.Pool, records string) (users []string) {
	file := must.Get(os.ReadFile(records))
	set := must.Get(eval.Read(bytes.NewReader(file)))
	client := must.Get(oxbow.New(pool, oxbow.WithoutUseReports()))
	must.OK(pgx.BeginFunc(ctx, pool, func(tx pgx.Tx) error {
		must.Get(client.WithTx(tx).Import(ctx, bytes.NewReader(file), oxbow.ImportOptions{}))
		return store.HideFromWorkers(ctx, tx, set.Users)
	}))
	return set.Users
}

// embed gives a user's memories vectors and terms.
func embed(ctx context.Context, pool *pgxpool.Pool, user string) {
	local := embedding.NewLocal(embedding.LocalDimension)
	model := store.EmbeddingModel{Model: local.Model(), Dimension: local.Dimension()}
	for some := range slices.Chunk(must.Get(store.MemoryIDs(ctx, pool, user)), 128) {
		var texts []string
		var known []store.MemoryRef
		for _, m := range must.Get(store.Embeddables(ctx, pool, store.Refs(user, some), local.Model())) {
			texts, known = append(texts, m.Text), append(known, m.MemoryRef)
		}
		vectors := must.Get(local.Embed(ctx, texts))
		must.OK(pgx.BeginFunc(ctx, pool, func(tx pgx.Tx) error {
			_, written := store.WriteVectors(ctx, tx, model, known, vectors)
			_, indexed := store.IndexMemories(ctx, tx, store.Refs(user, some))
			return errors.Join(written, indexed)
		}))
	}
}

// reflectOnUser puts all facts and episodes of a user into the inbox, reflects at the time of the latest of them, and has
// the nights that follow. It returns the visible traits, the surest first, and adds up the times.
func reflectOnUser(ctx context.Context, cfg worker.Config, pool *pgxpool.Pool, user string, nights int,
	reflection, sleep *time.Duration) []string {
	var now time.Time
	must.OK(pool.QueryRow(ctx, `
		with inbox as (
		  insert into oxbow.reflection_inbox (user_id, memory_type, memory_id, importance, valid_at, session_id)
		  select user_id, memory_type, id, importance, coalesce(valid_at, created_at), session_id from oxbow.memories
		   where user_id = $1 and memory_type in ('fact', 'episodic') and forgotten_at is null and expired_at is null
		  returning valid_at
		), back as (
		  update oxbow.users set opted_out = false where user_id = $1
		)
		select coalesce(max(valid_at), now()) from inbox`, user).Scan(&now))
	cfg.Now = func() time.Time { return now }
	w := must.Get(worker.New(ctx, cfg))
	defer w.Close()
	begun := time.Now()
	must.OK(w.Reflect(ctx, user, false, func(jobs.Outcome) {}))
	*reflection += time.Since(begun)
	begun = time.Now()
	for range nights {
		_, err := pool.Exec(ctx, `
			select oxbow.set_policy('quiet_from', 3), oxbow.set_policy('quiet_to', 3); -- always
			delete from oxbow.river_job;
			update oxbow.nights set due_at = now(), began_at = null, questions = 0, memories = 0`)
		must.OK(err)
		_, err = pool.Exec(ctx, `insert into oxbow.river_job (kind, queue, max_attempts, args)
			values ('sleep', 'reflect', 25, jsonb_build_object('user_id', $1::text))`, user)
		must.OK(err)
		must.OK(w.RunUntilIdle(ctx, nil))
	}
	*sleep += time.Since(begun)
	return must.Get(pgx.CollectRows(must.Get(pool.Query(ctx, `
		select content from oxbow.traits_as_of($1, $2) where stage in ('emerging', 'established', 'core')
		order by confidence desc, content`, user, now)), pgx.RowTo[string]))
}

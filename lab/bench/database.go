package main

import (
	"context"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/pgvector/pgvector-go"
	pgxvec "github.com/pgvector/pgvector-go/pgx"

	"github.com/oxbow-memory/oxbow/internal/embedding"
	"github.com/oxbow-memory/oxbow/lab/must"
	"github.com/oxbow-memory/oxbow/migrations"
	"github.com/oxbow-memory/oxbow/worker"
)

// database is a database of the benchmark, and a pool of connections to it.
type database struct {
	*pgxpool.Pool
	ctx context.Context
	dsn string
}

// database creates a migrated database, in place of one of that name.
func (b *bench) database(name string) database { return b.copyOf("migrated", name) }

// copyOf creates a copy of a database, in place of one of that name.
func (b *bench) copyOf(template, name string) database {
	admin := b.open("postgres", nil)
	defer admin.Close()
	if b.databases == nil {
		b.databases = map[string]database{}
		admin.exec("create database migrated")
		must.OK(migrations.Up(b.ctx, b.server.DSN("migrated"), migrations.Options{}))
	}
	for _, used := range []string{template, name} {
		if d, ok := b.databases[used]; ok {
			d.Reset() // PostgreSQL copies and drops databases that nobody is connected to
		}
	}
	admin.exec("drop database if exists " + name + " with (force)")
	admin.exec("create database " + name + " template " + template)
	admin.exec("checkpoint")
	if d, ok := b.databases[name]; ok {
		return d
	}
	b.databases[name] = b.open(name, nil)
	return b.databases[name]
}

// open connects to a database with the given session settings.
func (b *bench) open(name string, settings map[string]string) database {
	cfg := must.Get(pgxpool.ParseConfig(b.server.DSN(name)))
	cfg.MaxConns, cfg.AfterConnect = 32, func(ctx context.Context, conn *pgx.Conn) error {
		if name == "postgres" {
			return nil
		}
		return pgxvec.RegisterTypes(ctx, conn)
	}
	for key, value := range settings {
		cfg.ConnConfig.RuntimeParams[key] = value
	}
	return database{must.Get(pgxpool.NewWithConfig(b.ctx, cfg)), b.ctx, b.server.DSN(name)}
}

func (d database) exec(sql string, args ...any) pgconn.CommandTag {
	return must.Get(d.Exec(d.ctx, sql, args...))
}

// ask returns the single value of a query.
func ask[T any](d database, sql string, args ...any) T {
	return must.Get(pgx.CollectExactlyOneRow(must.Get(d.Query(d.ctx, sql, args...)), pgx.RowTo[T]))
}

// copyInto copies n rows into a table.
func (d database) copyInto(schema, table string, columns []string, n int, row func(i int) []any) {
	must.Get(d.CopyFrom(d.ctx, pgx.Identifier{schema, table}, columns,
		pgx.CopyFromSlice(n, func(i int) ([]any, error) { return row(i), nil })))
}

// until returns when a condition holds. It asks every 100 ms.
func (b *bench) until(d database, condition string) {
	for !ask[bool](d, "select "+condition) {
		b.pause(100 * time.Millisecond)
	}
}

// working runs a worker during do.
func (b *bench) working(d database, cfg worker.Config, do func()) {
	cfg.DatabaseURL = d.dsn
	w := must.Get(worker.New(b.ctx, cfg))
	defer w.Close()
	ctx, cancel := context.WithCancel(b.ctx)
	done := make(chan error, 1)
	go func() { done <- w.Run(ctx) }()
	defer func() {
		cancel()
		must.OK(<-done)
	}()
	do()
}

// embedAll runs a worker until every memory has a vector and terms, and then vacuums as autovacuum would. Nothing is
// reviewed or reduced to a lower level, so that the memories stay as they were stored.
func (b *bench) embedAll(d database) {
	d.exec(`select oxbow.set_policy('reviews_per_run', 0), oxbow.set_policy('level_summary_weight', 0)`)
	b.working(d, worker.Config{}, func() { b.until(d, allEmbedded) })
	d.exec("vacuum analyze")
}

const allEmbedded = `
	not exists (select from oxbow.river_job where kind = 'embed' and finalized_at is null)
	and (select count(*) from oxbow.memories where level <> 'archive') = (select count(*) from oxbow.memory_terms
	  join oxbow.memory_vectors using (user_id, memory_type, memory_id))`

// remember stores the texts of a user in conversations of ten, a tenth of them facts, spread over the year 2025.
func (d database) remember(user string, texts []string) {
	d.rememberFrom(0, time.Date(2025, 1, 1, 0, 0, 0, 0, time.UTC), 365*24*time.Hour/time.Duration(len(texts)/10+1),
		user,
		texts)
}

// rememberFrom stores the texts as memories first, first+1, … of a user, whose conversations continue at the same
// interval.
func (d database) rememberFrom(first int, begin time.Time, every time.Duration, user string, texts []string) {
	columns := []string{"user_id", "memory_type", "content", "session_id", "seq", "agent_id", "metadata", "valid_at",
		"created_at"}
	d.copyInto("oxbow", "memories", columns, len(texts), func(row int) []any {
		i, kind := first+row, "episodic"
		if i%10 == 9 {
			kind = "fact"
		}
		at := begin.Add(time.Duration(i/10)*every + time.Duration(i%10)*time.Minute)
		agent, metadata := labels(i)
		return []any{user, kind, texts[row], fmt.Sprint("s", i/10), i, agent, []byte(metadata), at, at}
	})
}

// labels returns the values that filters select by. Each selects half of the memories, except the agent "rare", which
// selects one in a hundred.
func labels(i int) (agent, metadata string) {
	agent = []string{"first", "second"}[i/10%2]
	if i%100 == 99 {
		agent = "rare"
	}
	return agent, fmt.Sprintf(`{"topic": %q, "context": %q}`, []string{"garden", "kitchen"}[i/10%2],
		[]string{"work", "personal"}[i/10%2])
}

// question is a question of a user about their memories.
type question struct {
	user, text string
	vector     pgvector.HalfVector
}

// questions returns n questions of a user, each about one of the texts.
func (b *bench) questions(w writer, n int, user string, texts []string) []question {
	questions := make([]question, n)
	for i := range questions {
		questions[i] = b.question(user, w.question(texts[w.IntN(len(texts))]))
	}
	return questions
}

func (b *bench) question(user, text string) question {
	vectors := must.Get(embedding.NewLocal(embedding.LocalDimension).Embed(b.ctx, []string{text}))
	return question{user, text, pgvector.NewHalfVector(vectors[0])}
}

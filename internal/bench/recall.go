package bench

import (
	"bytes"
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/pgvector/pgvector-go"

	"github.com/oxbow-memory/oxbow"
	"github.com/oxbow-memory/oxbow/internal/embedding"
)

// size is a kind of user, by how many memories it has.
type size struct {
	memories, users int
	goal            float64 // the most that recall may take, in times of the bare query
}

var sizes = []size{{1_000, 8, 6}, {10_000, 2, 3}}

// fewestMemories is how many those users have together.
func fewestMemories() (n int) {
	for _, s := range sizes {
		n += s.memories * s.users
	}
	return n
}

// asked is one question of a user, and what the parts of recall need of it.
type asked struct {
	user, query  string
	embedding    pgvector.HalfVector
	words, dates []string
}

// part is a statement of which the time is told.
type part struct {
	name string
	sql  string
	args func(q asked) []any
}

// The types are those that the users have something of, as recall finds out for itself.
const ownTypes = "'{fact,episodic}'"

var (
	bareQuery = part{"bare vector query", "select memory_id from oxbow.memory_vectors where user_id = $1 order by embedding <=> $2 limit 10",
		func(q asked) []any { return []any{q.user, q.embedding} }}
	wholeRecall = part{"oxbow.recall", "select * from oxbow.recall($1, $2, $3)",
		func(q asked) []any { return []any{q.user, q.query, q.embedding} }}
	recallParts = []part{
		{"query_terms", "select * from oxbow.query_terms($1)", func(q asked) []any { return []any{q.query} }},
		{"recall_text", "select * from oxbow.recall_text($1, " + ownTypes + ", $2, $3, null, null, 70)",
			func(q asked) []any { return []any{q.user, q.words, q.dates} }},
		{"recall_vector", "select * from oxbow.recall_vector($1, " + ownTypes + ", $2, null, null, 70)",
			func(q asked) []any { return []any{q.user, q.embedding} }},
	}
)

// recallTimes compares oxbow.recall to the bare exact search of the same user's vectors.
func (b *bench) recallTimes(ctx context.Context) error {
	dsn, err := b.database(ctx, "bench_recall")
	if err != nil {
		return err
	}
	pool, err := openPool(ctx, dsn, 1)
	if err != nil {
		return err
	}
	start := time.Now()
	questions, err := b.fill(ctx, dsn, pool)
	if err != nil {
		return err
	}
	out := Table{Title: fmt.Sprintf("Recall in a database of %d memories (filled in %.0f s), milliseconds, median of %d questions in turns",
		b.Memories, time.Since(start).Seconds(), b.Questions)}
	out.add("user's memories", bareQuery.name, wholeRecall.name, "of it: terms", "text", "vector", "rest", "recall/bare", "promised")
	for i, size := range sizes {
		times, err := b.ask(ctx, pool, questions[i])
		if err != nil {
			return err
		}
		bare, recall := median(times[bareQuery.name]), median(times[wholeRecall.name])
		cells, rest := []string{fmt.Sprint(size.memories), ms(bare), ms(recall)}, recall
		for _, p := range recallParts {
			cells = append(cells, ms(median(times[p.name])))
			rest -= median(times[p.name])
		}
		ratio := float64(recall) / float64(bare)
		out.add(append(cells, ms(rest), fmt.Sprintf("%.1f", ratio), fmt.Sprintf("≤ %.0f %s", size.goal, verdict(ratio <= size.goal)))...)
	}
	pool.Close()
	b.show(out)
	if err := b.recallAtOnce(ctx, dsn, questions); err != nil {
		return err
	}
	if err := b.recallByLogin(ctx, dsn, questions); err != nil {
		return err
	}
	return b.drop(ctx, "bench_recall")
}

// fill imports and embeds the memories, as a worker does, and returns questions for each size of user. The rest of the
// memories belongs to users of 100.
func (b *bench) fill(ctx context.Context, dsn string, pool *pgxpool.Pool) ([][]asked, error) {
	w := newWriter(b.Seed)
	texts := make([][]asked, len(sizes))
	var file bytes.Buffer
	left := b.Memories
	for i, size := range sizes {
		for n := range size.users {
			name := fmt.Sprintf("of-%d-%d", size.memories, n)
			for _, text := range w.memories(&file, name, min(size.memories, left)) {
				texts[i] = append(texts[i], asked{user: name, query: text})
			}
			left -= min(size.memories, left)
		}
	}
	for n := 0; left > 0; n++ {
		w.memories(&file, fmt.Sprintf("of-100-%d", n), min(100, left))
		left -= min(100, left)
	}
	if _, err := b.importAndEmbed(ctx, dsn, func(ctx context.Context, client *oxbow.Client) error {
		_, err := client.Import(ctx, &file, oxbow.ImportOptions{})
		return err
	}); err != nil {
		return nil, err
	}
	// what autovacuum would have done in the meantime
	if _, err := pool.Exec(ctx, "vacuum analyze"); err != nil {
		return nil, err
	}

	questions := make([][]asked, len(sizes))
	embedder := embedding.NewLocal(embedding.LocalDimension)
	for i := range sizes {
		for range b.Questions {
			q := texts[i][w.IntN(len(texts[i]))]
			q.query = w.question(q.query)
			vectors, err := embedder.Embed(ctx, []string{q.query})
			if err != nil {
				return nil, err
			}
			q.embedding = pgvector.NewHalfVector(vectors[0])
			if err := pool.QueryRow(ctx, "select words, dates from oxbow.query_terms($1)", q.query).Scan(&q.words, &q.dates); err != nil {
				return nil, err
			}
			questions[i] = append(questions[i], q)
		}
	}
	return questions, nil
}

// ask times everything for each question, in an order that changes, after some questions that do not count.
func (b *bench) ask(ctx context.Context, pool *pgxpool.Pool, questions []asked) (map[string][]time.Duration, error) {
	return timeParts(ctx, pool, append([]part{bareQuery, wholeRecall}, recallParts...), questions, false)
}

// timeParts is ask of any parts; cold, every question counts.
func timeParts(ctx context.Context, pool *pgxpool.Pool, parts []part, questions []asked, cold bool) (map[string][]time.Duration, error) {
	times := map[string][]time.Duration{}
	warmUp := min(10, len(questions))
	if cold {
		warmUp = 0
	}
	for i, q := range append(questions[:warmUp:warmUp], questions...) {
		order := slices.Clone(parts)
		if i%2 == 0 {
			slices.Reverse(order)
		}
		for _, p := range order {
			start := time.Now()
			rows, err := pool.Query(ctx, p.sql, p.args(q)...)
			if err != nil {
				return nil, err
			}
			found := 0
			_, err = pgx.CollectRows(rows, func(pgx.CollectableRow) (struct{}, error) { found++; return struct{}{}, nil })
			if err != nil {
				return nil, fmt.Errorf("%s: %w", p.name, err)
			}
			if found == 0 {
				return nil, fmt.Errorf("%s finds nothing for %q of %s", p.name, q.query, q.user)
			}
			if i >= warmUp {
				times[p.name] = append(times[p.name], time.Since(start))
			}
		}
	}
	return times, nil
}

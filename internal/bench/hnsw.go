package bench

import (
	"bytes"
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/pgvector/pgvector-go"

	"github.com/oxbow-memory/oxbow"
	"github.com/oxbow-memory/oxbow/internal/embedding"
	"github.com/oxbow-memory/oxbow/store"
)

// recallGoal is the least share of the ten nearest vectors that an index has to find.
const recallGoal = 0.95

// large is a user with many memories, nine tenths of them episodes.
type large struct {
	name      string
	memories  int
	questions []asked
	exact     [2][]time.Duration // of the vector channel, and of recall
	indexed   [2][]time.Duration
	found     int // of the nearest, by the index
	build     time.Duration
	vectors   int
	bytes     int64
}

// hnsw compares recall of large users by the exact scan to recall by their index.
func (b *bench) hnsw(ctx context.Context) error {
	dsn, err := b.database(ctx, "bench_hnsw")
	if err != nil {
		return err
	}
	pool, err := openPool(ctx, dsn, 1)
	if err != nil {
		return err
	}
	defer pool.Close()
	if _, err := pool.Exec(ctx, `update oxbow.settings set value = '{"policy": "never"}' where key = 'vector_index'`); err != nil {
		return err
	}
	users, err := b.largeUsers(ctx, dsn, pool)
	if err != nil {
		return err
	}
	for _, u := range slices.Backward(users) { // the largest first: the others are below what is asked for
		if err := b.buildIndex(ctx, pool, u); err != nil {
			return err
		}
	}
	if _, err := pool.Exec(ctx, "vacuum analyze"); err != nil {
		return err
	}
	for _, u := range users {
		if err := u.measure(ctx, pool); err != nil {
			return err
		}
	}
	b.showIndexed(users)
	pool.Close()
	return b.drop(ctx, "bench_hnsw")
}

func (b *bench) largeUsers(ctx context.Context, dsn string, pool *pgxpool.Pool) ([]*large, error) {
	w := newWriter(b.Seed)
	var file bytes.Buffer
	var users []*large
	texts := map[*large][]string{}
	for _, n := range slices.Compact(slices.Sorted(slices.Values(b.Indexed))) {
		u := &large{name: fmt.Sprintf("of-%d", n), memories: n}
		texts[u] = w.memories(&file, u.name, n)
		users = append(users, u)
	}
	if _, err := b.importAndEmbed(ctx, dsn, func(ctx context.Context, client *oxbow.Client) error {
		_, err := client.Import(ctx, &file, oxbow.ImportOptions{})
		return err
	}); err != nil {
		return nil, err
	}
	if _, err := pool.Exec(ctx, "vacuum analyze"); err != nil {
		return nil, err
	}
	embedder := embedding.NewLocal(embedding.LocalDimension)
	for _, u := range users {
		for range b.Questions {
			q := asked{user: u.name, query: w.question(w.of(texts[u]))}
			vectors, err := embedder.Embed(ctx, []string{q.query})
			if err != nil {
				return nil, err
			}
			q.embedding = pgvector.NewHalfVector(vectors[0])
			u.questions = append(u.questions, q)
		}
	}
	return users, nil
}

// measure times the vector channel and the whole of recall with the index and without, in turns, and compares the ten nearest.
func (u *large) measure(ctx context.Context, pool *pgxpool.Pool) error {
	const warmUp = 5
	for i, q := range append(u.questions[:min(warmUp, len(u.questions)):warmUp], u.questions...) {
		nearest := map[bool][]string{}
		for _, scan := range []bool{i%2 == 0, i%2 != 0} {
			ids, channel, whole, err := u.once(ctx, pool, q, scan)
			if err != nil {
				return err
			}
			nearest[scan] = ids
			times := &u.indexed
			if scan {
				times = &u.exact
			}
			if i >= warmUp {
				times[0], times[1] = append(times[0], channel), append(times[1], whole)
			}
		}
		for _, id := range nearest[false] {
			if i >= warmUp && slices.Contains(nearest[true], id) {
				u.found++
			}
		}
	}
	return nil
}

// once asks a question, by a scan in a transaction in which the index is not ready.
func (u *large) once(ctx context.Context, pool *pgxpool.Pool, q asked, scan bool) (ids []string, channel, whole time.Duration, err error) {
	tx, err := pool.Begin(ctx)
	if err != nil {
		return nil, 0, 0, err
	}
	//nolint:errcheck // nothing is kept
	defer tx.Rollback(context.WithoutCancel(ctx))
	if scan {
		if _, err := tx.Exec(ctx, "update oxbow.vector_slots set ready_at = null where user_id = $1", u.name); err != nil {
			return nil, 0, 0, err
		}
	}
	start := time.Now()
	if err := tx.QueryRow(ctx, "select r.ids[1:10]::text[] from oxbow.recall_vector($1, '{episodic}', $2, null, null, 70) r", q.user, q.embedding).Scan(&ids); err != nil {
		return nil, 0, 0, err
	}
	channel = time.Since(start)
	start = time.Now()
	if err := askOnce(ctx, tx.Conn(), q); err != nil {
		return nil, 0, 0, err
	}
	return ids, channel, time.Since(start), nil
}

// buildIndex lets a user have an index, and does the job vector_index in its steps.
func (b *bench) buildIndex(ctx context.Context, pool *pgxpool.Pool, u *large) error {
	_, err := pool.Exec(ctx, `update oxbow.settings set value = jsonb_build_object('policy', 'auto', 'from', greatest($1::integer * 8 / 10, 100), 'most', 16) where key = 'vector_index'`, u.memories)
	if err != nil {
		return err
	}
	start := time.Now()
	if _, _, err := store.AssignSlots(ctx, pool); err != nil {
		return err
	}
	_, err = await(ctx, pool, 200*time.Millisecond, "select -count(*) from oxbow.indexed_vectors", func() (bool, error) {
		for _, step := range []struct {
			limit int
			do    func(context.Context, store.DB, int) (int, error)
		}{{1000, store.WalkVectors}, {64, store.IndexVectors}} {
			for {
				if n, err := step.do(ctx, pool, step.limit); err != nil {
					return false, err
				} else if n == 0 {
					break
				}
			}
		}
		// a step does nothing also where it waits for somebody's transaction to end
		ready, err := exists(ctx, pool, "oxbow.vector_slots where user_id = '"+u.name+"' and memory_type = 'episodic' and ready_at is not null")
		return !ready, err
	})
	if err != nil {
		return err
	}
	u.build = time.Since(start)
	b.notef("the index of %d memories took %.0f s", u.memories, u.build.Seconds())
	return pool.QueryRow(ctx, `
		select (select count(*) from oxbow.indexed_vectors x where x.user_id = s.user_id and x.slot = s.slot), pg_relation_size(format('oxbow.indexed_vectors_%s_idx', s.slot)::regclass)
		  from oxbow.vector_slots s where s.user_id = $1 and s.ready_at is not null`, u.name).Scan(&u.vectors, &u.bytes)
}

func (b *bench) showIndexed(users []*large) {
	out := Table{Title: fmt.Sprintf("Exact scan and index (HNSW) of one user's vectors, milliseconds, %d questions each, in turns", b.Questions)}
	out.add("vectors", "scan p50", "scan p95", "index p50", "index p95", "recall by scan p50", "p95", "by index p50", "p95", "recall@10 of the index", "promised")
	built := Table{Title: "Making the index, a vector at a time, in the background"}
	built.add("vectors", "seconds", "milliseconds a vector", "MB")
	for _, u := range users {
		share := float64(u.found) / float64(10*len(u.questions))
		cells := []string{fmt.Sprint(u.vectors)}
		for i := range 2 {
			for _, times := range [][]time.Duration{u.exact[i], u.indexed[i]} {
				cells = append(cells, ms(median(times)), ms(quantile(times, 0.95)))
			}
		}
		out.add(append(cells, fmt.Sprintf("%.3f", share), fmt.Sprintf("≥ %.2f %s", recallGoal, verdict(share >= recallGoal)))...)
		built.add(fmt.Sprint(u.vectors), fmt.Sprintf("%.0f", u.build.Seconds()), ms(u.build/time.Duration(max(u.vectors, 1))), fmt.Sprintf("%.0f", float64(u.bytes)/1e6))
	}
	b.show(out)
	b.show(built)
}

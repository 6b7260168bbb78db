package bench

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/pgvector/pgvector-go"

	"github.com/oxbow-memory/oxbow/internal/embedding"
)

const (
	mostTexts     = 60_000 // that are made up; other users say the same again
	strangers     = 100    // memories of each user who is there to fill the database
	strangeTraits = 5      // traits of each of them
	loadedAtOnce  = 5_000  // memories in a transaction
)

// scaled is a database that grows in place. What it grows by is written as a worker leaves it, and not by one: embedded,
// reflected on, with no job left.
type scaled struct {
	*bench
	name  string
	dsn   string
	pool  *pgxpool.Pool
	texts []string

	total  int
	filled time.Duration // how long the last growth took
	known  []known       // the users that came with it and are asked about
}

// known is a user whose memories are recalled.
type known struct {
	name      string
	memories  int
	first     int // the first of their texts
	questions []asked
}

// knownSizes are how many memories the users have that are asked about, and how many such users each growth brings, at most;
// they are at most half of it.
var knownSizes = []struct{ memories, users int }{{100, 10}, {1_000, 4}, {10_000, 2}, {100_000, 1}}

// openScaled makes a database in which nobody has anything yet, and the texts that will be said in it.
func (b *bench) openScaled(ctx context.Context) (s *scaled, err error) {
	s = &scaled{bench: b, name: "bench_scale"}
	if s.dsn, err = b.database(ctx, s.name); err != nil {
		return nil, err
	}
	if s.pool, err = openPool(ctx, s.dsn, loaders); err != nil {
		return nil, err
	}
	// an index would be made beside what is measured, and only where there is a worker
	if _, err := s.pool.Exec(ctx, `update oxbow.settings set value = '{"policy": "never"}' where key = 'vector_index'`); err != nil {
		s.pool.Close()
		return nil, err
	}
	start := time.Now()
	if err := s.say(ctx, min(mostTexts, slices.Max(b.Databases))); err != nil {
		s.pool.Close()
		return nil, err
	}
	b.notef("%d texts made up, embedded and divided into terms in %.0f s", len(s.texts), time.Since(start).Seconds())
	return s, nil
}

func (s *scaled) close(ctx context.Context) error {
	s.pool.Close()
	return s.drop(ctx, s.name)
}

// say makes up n texts, with the vectors and the terms that a worker would make of them.
func (s *scaled) say(ctx context.Context, n int) error {
	w := newWriter(s.Seed)
	for range n {
		s.texts = append(s.texts, w.text())
	}
	if _, err := s.pool.Exec(ctx, `
		create unlogged table public.said (n integer primary key, content text not null, embedding halfvec(1024) not null, len integer, tsv tsvector);
		alter table public.said alter column embedding set storage plain`); err != nil {
		return err
	}
	embedder := embedding.NewLocal(embedding.LocalDimension)
	return s.inParts(n, func(from, to int) error {
		conn, err := s.pool.Acquire(ctx)
		if err != nil {
			return err
		}
		defer conn.Release()
		for from < to {
			end := min(from+1_000, to)
			vectors, err := embedder.Embed(ctx, s.texts[from:end])
			if err != nil {
				return err
			}
			if _, err := conn.CopyFrom(ctx, pgx.Identifier{"public", "said"}, []string{"n", "content", "embedding"}, pgx.CopyFromSlice(end-from, func(i int) ([]any, error) {
				return []any{from + i, s.texts[from+i], pgvector.NewHalfVector(vectors[i])}, nil
			})); err != nil {
				return err
			}
			if _, err := conn.Exec(ctx, `
				update public.said s set len = t.len, tsv = t.tsv
				  from (select x.n, t.* from public.said x cross join lateral (select * from oxbow.terms(x.content) offset 0) t where x.n >= $1 and x.n < $2) t
				 where s.n = t.n`, from, end); err != nil {
				return err
			}
			from = end
		}
		return nil
	})
}

// inParts does what is to be done for 0 to n, in as many parts at once as there are loaders.
func (s *scaled) inParts(n int, do func(from, to int) error) error {
	var wg sync.WaitGroup
	errs := make([]error, loaders)
	for i := range loaders {
		wg.Go(func() { errs[i] = do(n*i/loaders, n*(i+1)/loaders) })
	}
	wg.Wait()
	return errors.Join(errs...)
}

// told is a memory that is to be written.
type told struct {
	user    string
	nth     int // of the user's
	text    int
	at      time.Time
	episode bool
	place   float64 // among the others
}

// grow adds memories until there are so many. The users that come with it tell theirs all the time meanwhile, a conversation
// of ten at a time, so that the memories of one lie far apart.
func (s *scaled) grow(ctx context.Context, total int) error {
	start := time.Now()
	added := total - s.total
	w := newWriter(s.Seed + uint64(total))
	rows := make([]told, 0, added)
	join := func(user string, n, first int) {
		conversations := (n + conversation - 1) / conversation
		for c := range conversations {
			place, at := (float64(c)+w.Float64())/float64(conversations), w.moment()
			for i := c * conversation; i < min((c+1)*conversation, n); i++ {
				rows = append(rows, told{user, i, (first + i) % len(s.texts), at.Add(time.Duration(i%conversation) * time.Minute), i%conversation != conversation-1, place})
			}
		}
	}
	s.known = nil
	came := fmt.Sprintf("in-%09d", total) // in their order, so that the first users are the same in every database
	for _, size := range knownSizes {
		for i := range size.users {
			if len(rows)+size.memories > added/2 {
				break
			}
			// the same texts in every database
			k := known{name: fmt.Sprintf("%s-of-%d-%d", came, size.memories, i), memories: size.memories, first: (size.memories + i*7*size.memories) % len(s.texts)}
			join(k.name, k.memories, k.first)
			s.known = append(s.known, k)
		}
	}
	others := came + "-stranger-"
	filling := 0
	for ; len(rows) < added; filling++ {
		join(fmt.Sprint(others, filling), min(strangers, added-len(rows)), w.IntN(len(s.texts)))
	}
	slices.SortStableFunc(rows, func(a, b told) int { return cmp.Compare(a.place, b.place) })
	if err := s.write(ctx, rows); err != nil {
		return err
	}
	if err := s.surround(ctx, others, filling); err != nil {
		return err
	}
	// what autovacuum would have done in the meantime
	for _, statement := range []string{"drop table public.telling", "vacuum analyze", "checkpoint"} {
		if _, err := s.pool.Exec(ctx, statement); err != nil {
			return err
		}
	}
	s.total, s.filled = total, time.Since(start)
	s.notef("%d memories more, %d in all, in %.0f s", added, total, s.filled.Seconds())
	return s.askAbout(ctx)
}

// write writes memories, vectors and terms in the order of the rows, and counts the terms.
func (s *scaled) write(ctx context.Context, rows []told) error {
	if _, err := s.pool.Exec(ctx, `
		create unlogged table public.telling (place integer primary key, id uuid not null default gen_random_uuid(), user_id text not null, memory_type text not null,
		  nth integer not null, n integer not null, at timestamptz not null)`); err != nil {
		return err
	}
	if _, err := s.pool.CopyFrom(ctx, pgx.Identifier{"public", "telling"}, []string{"place", "user_id", "memory_type", "nth", "n", "at"}, pgx.CopyFromSlice(len(rows), func(i int) ([]any, error) {
		r := rows[i]
		return []any{i, r.user, choose(r.episode, "episodic", "fact"), r.nth, r.text, r.at}, nil
	})); err != nil {
		return err
	}
	if _, err := s.pool.Exec(ctx, "analyze public.telling; analyze public.said"); err != nil {
		return err
	}
	return s.inParts(len(rows), func(from, to int) error {
		for ; from < to; from += loadedAtOnce {
			if err := s.untriggered(ctx, []any{from, min(from+loadedAtOnce, to)}, insertTold...); err != nil {
				return err
			}
		}
		return nil
	})
}

// insertTold writes what is told from one place to another. An English text begins with the name of a person.
var insertTold = []string{`
	insert into oxbow.memories (user_id, memory_type, id, content, valid_at, created_at, session_id, seq, metadata)
	select t.user_id, t.memory_type, t.id, s.content, t.at, t.at, 's' || t.nth / 10, t.nth,
	       case when s.content ~ '^[A-Z]' then jsonb_build_object('entities', jsonb_build_array(jsonb_build_object('name', split_part(s.content, ' ', 1), 'kind', 'person')))
	            else '{}' end
	  from public.telling t join public.said s using (n) where t.place >= $1 and t.place < $2 order by t.place`, `
	insert into oxbow.memory_vectors (user_id, memory_type, memory_id, embedding)
	select t.user_id, t.memory_type, t.id, s.embedding
	  from public.telling t join public.said s using (n) where t.place >= $1 and t.place < $2 order by t.place`, `
	insert into oxbow.memory_terms (user_id, memory_type, memory_id, len, tsv)
	select t.user_id, t.memory_type, t.id, s.len, s.tsv || array_to_tsvector(oxbow.date_terms(t.at at time zone 'UTC'))
	  from public.telling t join public.said s using (n) where t.place >= $1 and t.place < $2 order by t.place`}

// surround writes what a worker would have made of the memories besides, and what the users who fill the database have
// besides them: traits with evidence, cycles, sessions and messages.
func (s *scaled) surround(ctx context.Context, others string, users int) error {
	like := others + "%"
	for _, step := range []struct {
		sql  string
		args []any
	}{
		{`insert into oxbow.memory_term_stats (user_id, memory_type, documents, terms)
		  select t.user_id, t.memory_type, count(*), sum(s.len) from public.telling t join public.said s using (n) group by 1, 2`, nil},
		{`insert into oxbow.entities (user_id, kind, name, key, head)
		  select distinct t.user_id, 'person', x.name, oxbow.entity_key(x.name), oxbow.entity_head(oxbow.entity_key(x.name))
		    from public.telling t join public.said s using (n), split_part(s.content, ' ', 1) x(name) where s.content ~ '^[A-Z]'`, nil},
		{`insert into oxbow.entity_mentions (user_id, entity_id, memory_type, memory_id)
		  select t.user_id, e.id, t.memory_type, t.id
		    from public.telling t join public.said s using (n) join oxbow.entities e on e.user_id = t.user_id and e.name = split_part(s.content, ' ', 1)
		   where s.content ~ '^[A-Z]' order by t.place`, nil},
		{`select setseed(0.5)`, nil},
		{insertTraits, []any{users * strangeTraits, strangeTraits, others}},
		{insertEvents, []any{like}},
		{`insert into oxbow.trait_evidence (user_id, trait_id, direction, memory_type, memory_id, quality, session_key, observed_at, timezone, event_seq)
		  select m.user_id, m.id, 'supporting', t.memory_type, t.id, 'C', 's' || t.nth / 10, t.at, 'UTC', 1
		    from oxbow.memories_trait m join public.telling t on t.user_id = m.user_id and t.nth % 33 = abs(hashtext(m.id::text)) % 33 where m.user_id like $1`, []any{like}},
		{`insert into oxbow.reflection_cycles (user_id, trigger_type, memories_scanned, started_at, completed_at, status)
		  select distinct user_id, 'scheduled', 100, now() - interval '30 days', now() - interval '30 days', 'completed' from public.telling where user_id like $1`, []any{like}},
		{`insert into oxbow.sessions (user_id, id, started_at, last_activity_at, ended_at, last_reflected_at)
		  select distinct on (user_id, nth / 10) user_id, 's' || nth / 10, at, at, at, now() from public.telling where user_id like $1`, []any{like}},
		{`insert into oxbow.messages (user_id, session_id, content, seq, created_at, extracted_at)
		  select t.user_id, 's' || t.nth / 10, s.content, t.nth, t.at, t.at from public.telling t join public.said s using (n)
		   where t.user_id like $1 and t.nth % 5 = 0`, []any{like}},
	} {
		if err := s.untriggered(ctx, step.args, step.sql); err != nil {
			return fmt.Errorf("%w in %.60s", err, strings.TrimSpace(step.sql))
		}
	}
	return nil
}

// untriggered does statements in a transaction without triggers and foreign keys, which would make jobs.
func (s *scaled) untriggered(ctx context.Context, args []any, statements ...string) error {
	return pgx.BeginFunc(ctx, s.pool, func(tx pgx.Tx) error {
		if _, err := tx.Exec(ctx, "set local session_replication_role = replica"); err != nil {
			return err
		}
		for _, sql := range statements {
			if _, err := tx.Exec(ctx, sql, args...); err != nil {
				return err
			}
		}
		return nil
	})
}

// askAbout makes up questions about the texts of those who are known: the same in every database.
func (s *scaled) askAbout(ctx context.Context) error {
	embedder := embedding.NewLocal(embedding.LocalDimension)
	for i := range s.known {
		k := &s.known[i]
		w := newWriter(s.Seed + uint64(k.first))
		for range s.Questions {
			q := asked{user: k.name, query: w.question(s.texts[(k.first+w.IntN(k.memories))%len(s.texts)])}
			vectors, err := embedder.Embed(ctx, []string{q.query})
			if err != nil {
				return err
			}
			q.embedding = pgvector.NewHalfVector(vectors[0])
			if err := s.pool.QueryRow(ctx, "select words, dates from oxbow.query_terms($1)", q.query).Scan(&q.words, &q.dates); err != nil {
				return err
			}
			k.questions = append(k.questions, q)
		}
	}
	return nil
}

// atScales does something in databases of each size, one grown into the next.
func (b *bench) atScales(ctx context.Context, visits ...func(context.Context, *scaled) error) (err error) {
	s, err := b.openScaled(ctx)
	if err != nil {
		return err
	}
	for _, total := range slices.Compact(slices.Sorted(slices.Values(b.Databases))) {
		if err := s.grow(ctx, total); err != nil {
			return errors.Join(fmt.Errorf("grow to %d memories: %w", total, err), s.close(ctx))
		}
		for _, visit := range visits {
			if err := visit(ctx, s); err != nil {
				return errors.Join(fmt.Errorf("among %d memories: %w", total, err), s.close(ctx))
			}
		}
	}
	return s.close(ctx)
}

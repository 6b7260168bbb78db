package bench

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/pgvector/pgvector-go"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"

	"github.com/oxbow-memory/oxbow"
	"github.com/oxbow-memory/oxbow/internal/consistency"
	"github.com/oxbow-memory/oxbow/internal/embedding"
	"github.com/oxbow-memory/oxbow/internal/gauges"
	"github.com/oxbow-memory/oxbow/store"
	"github.com/oxbow-memory/oxbow/worker"
)

const (
	growerKnown  = 500 // memories that each of those has before to whom the change happens
	growerAdds   = 50  // memories that are the change
	growerSays   = 40  // messages
	growerDue    = 20  // traits that are settled
	growerAsks   = 12  // questions
	checkedUsers = 40
)

// spans adds up how long jobs ran, by their kinds.
type spans struct {
	mu    sync.Mutex
	kinds map[string]time.Duration
}

func (s *spans) OnStart(context.Context, sdktrace.ReadWriteSpan) {}
func (s *spans) Shutdown(context.Context) error                  { return nil }
func (s *spans) ForceFlush(context.Context) error                { return nil }

func (s *spans) OnEnd(span sdktrace.ReadOnlySpan) {
	if kind, ok := strings.CutPrefix(span.Name(), "job "); ok {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.kinds[kind] += span.EndTime().Sub(span.StartTime())
	}
}

// taken returns what was added up since it was asked last.
func (s *spans) taken() map[string]time.Duration {
	s.mu.Lock()
	defer s.mu.Unlock()
	taken := s.kinds
	s.kinds = map[string]time.Duration{}
	return taken
}

// growing is a database in which a change happens.
type growing struct {
	*growth
	*scaled
	writer writer
	spans  *spans
	people []*life
	model  string
	alone  *pgxpool.Pool // one connection, whose work is counted in pages
}

// measure lets the same happen to the same people, who are new in the database and erased in the end.
func (g *growth) measure(ctx context.Context, base *scaled) error {
	w := &growing{growth: g, scaled: base, writer: newWriter(base.Seed), spans: &spans{kinds: map[string]time.Duration{}}, model: embedding.LocalModel}
	for i := range base.Growers {
		w.people = append(w.people, base.newLife(fmt.Sprintf("grower-%d-in-%d", i, base.total), 5_000+i, []float64{0.9, 0.1}[i%2]))
	}
	if err := w.work(ctx); err != nil {
		return err
	}
	if err := w.look(ctx); err != nil {
		return err
	}
	g.totals = append(g.totals, base.total)
	base.notef("the jobs were measured among %d memories", base.total)
	return nil
}

// step times something, and counts the pages where there is one connection alone.
func (g *growing) step(ctx context.Context, name string, do func() error) error {
	before, err := g.countPages(ctx)
	if err != nil {
		return err
	}
	start := time.Now()
	if err := do(); err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	g.took(name, g.total, time.Since(start))
	if g.alone == nil {
		return nil
	}
	after, err := g.countPages(ctx)
	g.touched(name, g.total, after-before)
	return err
}

// countPages tells how many pages have been touched so far; counting itself touches a few.
func (g *growing) countPages(ctx context.Context) (pages int, err error) {
	if g.alone == nil {
		return 0, nil
	}
	if _, err := g.alone.Exec(ctx, "select pg_stat_force_next_flush()"); err != nil {
		return 0, err
	}
	err = g.alone.QueryRow(ctx, "select blks_hit + blks_read from pg_stat_database where datname = current_database()").Scan(&pages)
	return pages, err
}

// work measures jobs at a real worker that has nothing else to do.
func (g *growing) work(ctx context.Context) (err error) {
	var file bytes.Buffer
	for _, l := range g.people {
		l.memories(&file, growerKnown)
	}
	client, err := oxbow.New(g.pool, oxbow.WithoutUseReports())
	if err != nil {
		return err
	}
	if _, err := client.Import(ctx, &file, oxbow.ImportOptions{}); err != nil {
		return err
	}
	began := time.Now()
	stop, err := startWorker(ctx, worker.Config{DatabaseURL: g.dsn, TracerProvider: sdktrace.NewTracerProvider(sdktrace.WithSpanProcessor(g.spans))})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, stop()) }()
	// what the worker does first
	if _, err := await(ctx, g.pool, 50*time.Millisecond, workLeft, func() (waiting bool, err error) {
		err = g.pool.QueryRow(ctx, `
			select count(distinct kind) < 4 from oxbow.river_job
			 where kind in ('settle', 'sweep', 'sensory', 'consistency_check') and state = 'completed' and finalized_at > $1`, began).Scan(&waiting)
		return waiting, err
	}); err != nil {
		return err
	}
	if err := g.idle(ctx); err != nil {
		return err
	}
	if _, err := g.pool.Exec(ctx, "vacuum analyze"); err != nil { // what autovacuum would have done in the meantime
		return err
	}
	for _, l := range g.people {
		if err := g.refer(ctx); err != nil {
			return err
		}
		for _, change := range []func(context.Context, *life) error{g.remember, g.talk, g.review, g.expire} {
			g.spans.taken()
			if err := change(ctx, l); err != nil {
				return err
			}
		}
		for _, kind := range []string{"sweep", "settle", "sensory"} {
			g.spans.taken()
			if _, err := g.pool.Exec(ctx, sweepFromFirst); err != nil {
				return err
			}
			// periodic jobs are no spans unless something traced caused them
			if err := g.enqueue(ctx, kind, "default", "{}"); err != nil {
				return err
			}
			if err := g.note(ctx, kind, kind+", nothing to do"); err != nil {
				return err
			}
		}
	}
	return nil
}

// refer measures the reference.
func (g *growing) refer(ctx context.Context) error {
	if _, err := g.pool.Exec(ctx, "create table if not exists public.reference (n integer, x double precision)"); err != nil {
		return err
	}
	return g.step(ctx, reference, func() error {
		_, err := g.pool.Exec(ctx, "insert into public.reference select n % 100, max(ln(n)) from generate_series(1, 20000) n group by 1")
		return err
	})
}

// idle waits until there is no job that could run.
func (g *growing) idle(ctx context.Context) error {
	since := time.Now()
	_, err := await(ctx, g.pool, 10*time.Millisecond, workLeft, func() (waiting bool, err error) {
		err = g.pool.QueryRow(ctx, `
			select exists (select from oxbow.river_job where state in ('available', 'running', 'retryable') and kind <> 'flush_activity')
			    or exists (select from oxbow.river_job where state = 'scheduled' and scheduled_at < now() + interval '1 minute')`).Scan(&waiting)
		if waiting {
			since = time.Now()
		}
		return time.Since(since) <= 100*time.Millisecond, err // what follows a job is there when it ends
	})
	return err
}

// note waits for the jobs, and notes how long those of a kind ran.
func (g *growing) note(ctx context.Context, kindsAndSteps ...string) error {
	if err := g.idle(ctx); err != nil {
		return err
	}
	taken := g.spans.taken()
	for i := 0; i < len(kindsAndSteps); i += 2 {
		kind, step := kindsAndSteps[i], kindsAndSteps[i+1]
		if taken[kind] == 0 {
			return fmt.Errorf("no job %s ran", kind)
		}
		g.took(step, g.total, taken[kind])
	}
	return nil
}

func (g *growing) enqueue(ctx context.Context, kind, queue, args string) error {
	_, err := g.pool.Exec(ctx, `
		insert into oxbow.river_job (kind, queue, max_attempts, args, metadata)
		values ($1, $2, 1, $3, '{"traceparent": "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"}')`, kind, queue, args)
	return err
}

// remember adds memories to those that the person has.
func (g *growing) remember(ctx context.Context, l *life) error {
	var file bytes.Buffer
	l.memories(&file, growerAdds)
	lines := "[" + strings.ReplaceAll(strings.TrimSpace(file.String()), "\n", ",") + "]"
	if err := g.step(ctx, fmt.Sprintf("INSERT of %d memories", growerAdds), func() error {
		_, err := g.pool.Exec(ctx, `
			insert into oxbow.memories (user_id, memory_type, content, session_id, seq, valid_at)
			select "user", coalesce(memory_type, 'episodic'), content, session, seq, at
			  from jsonb_to_recordset($1) as l("user" text, memory_type text, content text, session text, seq bigint, at timestamptz)`, lines)
		return err
	}); err != nil {
		return err
	}
	return g.note(ctx, "embed", fmt.Sprintf("embed, %d memories", growerAdds), "check_trigger", "check_trigger", "reflect", fmt.Sprintf("reflect, %d memories", growerAdds))
}

// talk says something in a conversation that is then quiet.
func (g *growing) talk(ctx context.Context, l *life) error {
	var said []map[string]any
	t := talking{bench: g.bench, writer: newWriter(g.Seed + uint64(l.told))}
	for i := range growerSays {
		said = append(said, map[string]any{"role": []string{"user", "assistant"}[i%2], "seq": i, "content": choose(i%2 == 0, t.statement(), "I see. Tell me more.")})
	}
	lines, err := json.Marshal(said)
	if err != nil {
		return err
	}
	if err := g.step(ctx, fmt.Sprintf("INSERT of %d messages", growerSays), func() error {
		_, err := g.pool.Exec(ctx, `
			insert into oxbow.messages (user_id, session_id, role, content, seq)
			select $1, 'talk', role, content, seq from jsonb_to_recordset($2) as m(role text, content text, seq bigint)`, l.user, string(lines))
		return err
	}); err != nil {
		return err
	}
	if _, err := g.pool.Exec(ctx, `
		update oxbow.river_job set state = 'available', scheduled_at = now()
		 where kind = 'extract' and state = 'scheduled' and args ->> 'user_id' = $1`, l.user); err != nil {
		return err
	}
	return g.note(ctx, "extract", fmt.Sprintf("extract, %d messages", growerSays), "summarize", fmt.Sprintf("summarize, %d messages", growerSays))
}

// review has the trait reviewed that rests on most.
func (g *growing) review(ctx context.Context, l *life) error {
	tag, err := g.pool.Exec(ctx, `
		update oxbow.memories_trait m set trait_review_due_at = now()
		 where m.user_id = $1 and m.id = (
		   select t.id from oxbow.traits t join oxbow.trait_evidence e on e.user_id = $1 and e.trait_id = t.id
		    where t.user_id = $1 and t.stage not in ('trend', 'dissolved') group by t.id order by count(*) desc, max(t.content) limit 1)`, l.user)
	if err != nil || tag.RowsAffected() != 1 {
		return errors.Join(err, fmt.Errorf("%d traits of %s are to be reviewed", tag.RowsAffected(), l.user))
	}
	if err := g.enqueue(ctx, "contradiction_review", "reflect", fmt.Sprintf(`{"user_id": %q}`, l.user)); err != nil {
		return err
	}
	return g.note(ctx, "contradiction_review", "contradiction_review")
}

// expire gives the person a trend whose window is over, and has the job see to it.
func (g *growing) expire(ctx context.Context, l *life) error {
	trait := uuid.New()
	if err := g.untriggered(ctx, []any{l.user, trait}, `
		insert into oxbow.memories_trait (user_id, memory_type, id, content, valid_at, created_at, source, trait_key, trait_subtype, trait_stage, trait_confidence_at,
		  trait_context, trait_first_observed, trait_last_reinforced, trait_window_start, trait_window_end, trait_derived_from, trait_next_transition_at)
		values ($1, 'trait', $2, '最近常去河边散步', now() - interval '31 days', now() - interval '31 days', 'reflection', 'do:walks', 'behavior', 'trend', now() - interval '31 days',
		  'general', now() - interval '31 days', now() - interval '31 days', now() - interval '31 days', now() - interval '1 day', 'patterns', now() - interval '1 day')`, `
		insert into oxbow.trait_events (user_id, trait_id, seq, event, at, memories, subtype, window_end, stage)
		values ($1, $2, 1, 'created', now() - interval '31 days', 2, 'behavior', now() - interval '1 day', 'trend')`); err != nil {
		return err
	}
	if err := g.enqueue(ctx, "expire_trend", "default", fmt.Sprintf(`{"user_id": %q, "trait_id": %q}`, l.user, trait)); err != nil {
		return err
	}
	if err := g.note(ctx, "expire_trend", "expire_trend"); err != nil {
		return err
	}
	var stage string
	err := g.pool.QueryRow(ctx, "select trait_stage from oxbow.memories_trait where user_id = $1 and id = $2", l.user, trait).Scan(&stage)
	if err == nil && stage != "dissolved" {
		err = fmt.Errorf("the trend is %s", stage)
	}
	return err
}

// look measures what is no job: recall, the steps of the jobs that look after everybody, and erasure. There is no worker now.
func (g *growing) look(ctx context.Context) error {
	var err error
	if g.alone, err = openPool(ctx, g.dsn, 1); err != nil {
		return err
	}
	defer g.alone.Close()
	for _, l := range g.people {
		if err := g.refer(ctx); err != nil {
			return err
		}
		for _, do := range []func(context.Context, *life) error{g.recall, g.use, g.sweep, g.settle} {
			if err := do(ctx, l); err != nil {
				return err
			}
		}
	}
	for _, l := range g.people {
		if err := g.erase(ctx, l); err != nil {
			return err
		}
	}
	return nil
}

func (g *growing) recall(ctx context.Context, l *life) error {
	embedder := embedding.NewLocal(embedding.LocalDimension)
	w := newWriter(g.Seed)
	var questions []asked
	for range growerAsks {
		q := asked{user: l.user, query: w.question(choose(w.IntN(2) == 0, l.didEnglish(l.dear(l.pastimes)), l.didChinese(l.dear(l.pastimes))))}
		vectors, err := embedder.Embed(ctx, []string{q.query})
		if err != nil {
			return err
		}
		q.embedding = pgvector.NewHalfVector(vectors[0])
		questions = append(questions, q)
	}
	prompt := part{"context", "select * from oxbow.context_parts($1, $2, $3)", wholeRecall.args}
	times, err := timeParts(ctx, g.alone, []part{wholeRecall, prompt}, questions, false)
	if err != nil {
		return err
	}
	for _, p := range []part{wholeRecall, prompt} {
		g.took(strings.TrimPrefix(p.name, "oxbow."), g.total, median(times[p.name]))
	}
	return nil
}

// use reports that memories were used, and adds that up.
func (g *growing) use(ctx context.Context, l *life) error {
	if _, err := g.alone.Exec(ctx, `
		select oxbow.touch($1, (select array_agg(id) from (select id from oxbow.memories where user_id = $1 order by seq, id limit $2) m))`, l.user, growerAdds); err != nil {
		return err
	}
	return g.step(ctx, fmt.Sprintf("flush_activity, %d uses", growerAdds), func() error {
		n, err := store.FoldActivity(ctx, g.alone, 1_000)
		if err == nil && n != growerAdds {
			err = fmt.Errorf("%d uses were added up", n)
		}
		return err
	})
}

// sweepFromFirst lets sweep begin with the first users again.
const sweepFromFirst = "delete from oxbow.settings where key in ('sweep.walk', 'sweep.inbox', 'sweep.reviews', 'sweep.stats', 'sweep.messages')"

// sweep measures the steps of the job each for itself, and undoes what they did. Each begins with the first users, who are the
// same in every database.
func (g *growing) sweep(ctx context.Context, _ *life) error {
	now := time.Now()
	before := now.Add(-10 * time.Minute)
	for _, s := range []struct {
		name string
		do   func(tx pgx.Tx) error
	}{
		{"given up", func(tx pgx.Tx) error { _, err := store.GivenUpEmbeds(ctx, tx, before, 100); return err }},
		{"recent memories", func(tx pgx.Tx) error { _, err := store.LostRecently(ctx, tx, before, 2_000, g.model); return err }},
		{"walk", func(tx pgx.Tx) error { _, err := store.LostAnywhere(ctx, tx, before, 2_000, g.model); return err }},
		{"messages", func(tx pgx.Tx) error { _, err := store.LostMessages(ctx, tx, before, 500); return err }},
		{"triggers", func(tx pgx.Tx) error { _, err := store.DueTriggers(ctx, tx, 500, now); return err }},
		{"reviews", func(tx pgx.Tx) error { _, err := store.DueReviews(ctx, tx, 500); return err }},
		{"forgotten", func(tx pgx.Tx) error { _, err := store.EraseForgotten(ctx, tx, before, 200); return err }},
		{"statistics", func(tx pgx.Tx) error { _, err := store.RecountTerms(ctx, tx, 10); return err }},
		{"entities", func(tx pgx.Tx) error { _, err := store.NoteOldEntities(ctx, tx, 20); return err }},
	} {
		if err := g.step(ctx, "sweep: "+s.name, func() error {
			tx, err := g.alone.Begin(ctx)
			if err != nil {
				return err
			}
			_, err = tx.Exec(ctx, sweepFromFirst)
			return errors.Join(err, s.do(tx), tx.Rollback(ctx))
		}); err != nil {
			return err
		}
	}
	if _, err := g.alone.Exec(ctx, "delete from oxbow.settings where key = 'consistency'"); err != nil {
		return err
	}
	if err := g.step(ctx, fmt.Sprintf("consistency_check, %d users", checkedUsers), func() error {
		_, err := consistency.CheckNext(ctx, g.alone, now, checkedUsers, func(consistency.Problem) error { return nil })
		return err
	}); err != nil {
		return err
	}
	return g.step(ctx, "gauges", func() error { _, err := gauges.Read(ctx, g.alone); return err })
}

// settle settles the traits that are due next, of whomever.
func (g *growing) settle(ctx context.Context, _ *life) error {
	var clock time.Time
	if err := g.alone.QueryRow(ctx, `
		select max(d.at) from (select m.trait_next_transition_at as at from oxbow.memories_trait m
		                        where m.trait_next_transition_at is not null order by 1 limit $1) d`, growerDue).Scan(&clock); err != nil {
		return err
	}
	if err := g.step(ctx, fmt.Sprintf("settle, %d traits", growerDue), func() error {
		n, _, err := store.SettleTraits(ctx, g.alone, clock, growerDue)
		if err == nil && n != growerDue {
			err = fmt.Errorf("%d traits were settled", n)
		}
		return err
	}); err != nil {
		return err
	}
	return g.step(ctx, "settle, summaries", func() error { _, _, err := store.ExpireMemories(ctx, g.alone, time.Now(), 1_000); return err })
}

// erase erases one memory that speaks for a trait, and then the user.
func (g *growing) erase(ctx context.Context, l *life) error {
	var id uuid.UUID
	if err := g.alone.QueryRow(ctx, `
		select e.memory_id from oxbow.trait_evidence e where e.user_id = $1 order by e.observed_at, e.memory_id limit 1`, l.user).Scan(&id); err != nil {
		return err
	}
	if err := g.step(ctx, "erase one memory", func() error {
		_, err := store.EraseMemory(ctx, g.alone, l.user, id, "a proof of the bench")
		return err
	}); err != nil {
		return err
	}
	return g.step(ctx, fmt.Sprintf("erase a user of %d memories", l.told), func() error {
		_, err := store.EraseUser(ctx, g.alone, l.user, "a proof of the bench")
		return err
	})
}

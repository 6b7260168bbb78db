package bench

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/pgvector/pgvector-go"
	"golang.org/x/sync/errgroup"

	"github.com/oxbow-memory/oxbow/internal/embedding"
)

const (
	soakWriters  = 4
	soakUsers    = 10 // that each writer has at once
	soakRecalls  = 3  // clients that ask
	soakAge      = 150
	soakMessages = 8 // in a conversation
	recallPause  = 100 * time.Millisecond
	compareEach  = 4                     // recalls to a computation
	compareTime  = 10 * time.Millisecond // that one takes alone
	vacuumAfter  = time.Second           // for which autovacuum is taken to matter: plans are made anew after it
	probePause   = 2 * time.Second
	soakDefault  = 30 * time.Minute
	leastSoak    = 9 * time.Second // a second for each sample
	mostSoakRate = 100_000
)

// soak is a mixed load for long, and what is seen of it.
type soak struct {
	*bench
	pool    *pgxpool.Pool
	work    *process
	metrics string // where the worker tells of itself

	mu      sync.Mutex
	done    map[string]int
	refused int
	ended   int             // transactions that PostgreSQL took back, because of a deadlock for example
	recalls []time.Duration // since the last sample
	asks    []time.Duration // all recalls
	beside  []time.Duration // those of them beside autovacuum
	counts  []time.Duration // the computations
	counted int             // numbers in a computation
	vacuum  time.Time       // when autovacuum was seen last
	lags    []time.Duration
	asked   []string // users who may be asked about

	samples []sample
}

// soaked is a user under a soak: they say and change things, and are erased when they have done so often enough.
type soaked struct {
	*life
	slot, number      int
	acts              int
	session, messages int
	ids               []uuid.UUID
}

// soaking is the section: a worker of its own under a load that stays alike, with users that come and go, so that what grows
// with the time is seen.
func (b *bench) soaking(ctx context.Context) (err error) {
	if b.Soak == 0 {
		b.Soak = soakDefault
	}
	dsn, err := b.database(ctx, "bench_soak")
	if err != nil {
		return err
	}
	s := &soak{bench: b, done: map[string]int{}, asked: make([]string, soakWriters*soakUsers)}
	if s.pool, err = openPool(ctx, dsn, soakWriters+soakRecalls+3); err != nil {
		return err
	}
	defer s.pool.Close()
	if s.counted, err = s.calibrate(ctx); err != nil {
		return err
	}
	if s.metrics, err = freeAddress(ctx); err != nil {
		return err
	}
	if s.work, err = b.oxbow(ctx, dsn, "work", "--metrics-addr", s.metrics); err != nil {
		return err
	}
	start := time.Now()
	err = s.run(ctx)
	took := time.Since(start)
	err = errors.Join(err, s.work.stop())
	s.tables(took) // also of a load that broke off
	if err != nil {
		return err
	}
	s.pool.Close()
	return b.drop(context.WithoutCancel(ctx), "bench_soak")
}

// run loads until the time is over, or somebody interrupts.
func (s *soak) run(ctx context.Context) error {
	s.notef("the load begins, for %s", s.Soak)
	over, cancel := context.WithTimeout(ctx, s.Soak)
	defer cancel()
	group, over := errgroup.WithContext(over)
	loop := func(work func(context.Context) error) {
		group.Go(func() error {
			for over.Err() == nil {
				if err := work(over); err != nil && over.Err() == nil {
					return err
				}
			}
			return nil
		})
	}
	for i := range soakWriters {
		loop(s.writer(i))
	}
	for i := range soakRecalls {
		loop(s.recaller(i))
	}
	loop(s.prober())
	loop(s.watchVacuum)
	loop(s.sampler())
	return group.Wait()
}

// writer returns what one writer does next, in its time: an act of one of its users.
func (s *soak) writer(number int) func(context.Context) error {
	users := make([]*soaked, soakUsers)
	for i := range users {
		users[i] = s.newUser(number*soakUsers+i, 0)
		users[i].acts = (i*soakWriters+number+1)*soakAge/(soakUsers*soakWriters) - 1 // no two of them end at once
	}
	start, acts := time.Now(), 0
	return func(ctx context.Context) error {
		due := start.Add(time.Duration(float64(acts) / s.SoakRate * soakWriters * float64(time.Second)))
		if err := pause(ctx, time.Until(due)); err != nil {
			return err
		}
		u := users[acts%soakUsers]
		acts++
		if u.acts < soakAge {
			return s.act(ctx, u)
		}
		if err := s.do(ctx, "user erased", "select from oxbow.erase_user($1)", u.user); err != nil {
			return err
		}
		users[(acts-1)%soakUsers] = s.newUser(u.slot, u.number+1)
		return nil
	}
}

func (s *soak) newUser(slot, number int) *soaked {
	name := fmt.Sprintf("person-%d-%d", slot, number)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.asked[slot] = name
	return &soaked{life: s.newLife(name, slot+1000*number, 0.5), slot: slot, number: number}
}

// act is what a user does: most often they say something.
func (s *soak) act(ctx context.Context, u *soaked) error {
	u.acts++
	switch kind := u.IntN(100); {
	case kind < 35:
		var id uuid.UUID
		err := s.pool.QueryRow(ctx, `
			insert into oxbow.memories (user_id, memory_type, content, session_id) values ($1, 'episodic', $2, $3) returning id`, u.user, u.says(), u.in()).Scan(&id)
		if err == nil {
			u.ids = append(u.ids, id)
		}
		return s.note("memory inserted", err)
	case kind < 45:
		return s.do(ctx, "5 memories inserted", `
			insert into oxbow.memories (user_id, memory_type, content, session_id) select $1, 'fact', c, $3 from unnest($2::text[]) c`,
			u.user, []string{u.says(), u.says(), u.says(), u.says(), u.says()}, u.in())
	case kind < 80 && u.messages < soakMessages:
		u.messages++
		return s.do(ctx, "message", "insert into oxbow.messages (user_id, session_id, content) values ($1, $2, $3)", u.user, u.in(), u.says())
	case kind < 80:
		ended := u.in()
		u.session, u.messages = u.session+1, 0
		return s.do(ctx, "conversation ended", "select oxbow.end_session($1, $2)", u.user, ended)
	case kind < 88:
		return s.do(ctx, "fact superseded", `
			select oxbow.supersede($1, f.id, $2) from (select id from oxbow.memories
			 where user_id = $1 and memory_type = 'fact' and expired_at is null and forgotten_at is null order by created_at desc limit 1) f`, u.user, u.says())
	case kind < 93 && len(u.ids) > 0:
		id := u.ids[0]
		u.ids = u.ids[1:]
		return s.do(ctx, "memory forgotten", "select oxbow.forget($1, $2)", u.user, id)
	}
	return s.do(ctx, "uses reported", "select oxbow.touch($1, $2)", u.user, u.ids[max(len(u.ids)-5, 0):])
}

// in is the session that the user is in.
func (u *soaked) in() string { return fmt.Sprintf("s%d", u.session) }

// do does something, once more where PostgreSQL took it back, as an application would.
func (s *soak) do(ctx context.Context, what, sql string, args ...any) error {
	for {
		_, err := s.pool.Exec(ctx, sql, args...)
		if failed := s.note(what, err); failed != nil || !takenBack(err) {
			return failed
		}
	}
}

// takenBack tells whether PostgreSQL ended a transaction that may be repeated: a deadlock, for example.
func takenBack(err error) bool {
	var pg *pgconn.PgError
	return errors.As(err, &pg) && strings.HasPrefix(pg.Code, "40")
}

// note counts what was done. That somebody else changed the same memory a moment before (an extraction, say) is an answer; a
// transaction that PostgreSQL took back is one that an application repeats.
func (s *soak) note(what string, err error) error {
	var pg *pgconn.PgError
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case err == nil:
		s.done[what]++
	case errors.As(err, &pg) && (pg.Code == "OX102" || pg.Code == "OX103"):
		s.refused++
	case takenBack(err):
		s.ended++
	default:
		return fmt.Errorf("%s: %w", what, err)
	}
	return nil
}

// recaller returns what a client does who asks, with words and a vector, and reports the use.
func (s *soak) recaller(number int) func(context.Context) error {
	l, embedder, n := s.newLife("", 1_000_000+number, 0.5), embedding.NewLocal(embedding.LocalDimension), 0
	return func(ctx context.Context) error {
		if err := pause(ctx, recallPause); err != nil {
			return err
		}
		if n++; n%compareEach == 0 {
			took, err := s.compute(ctx, s.counted)
			s.mu.Lock()
			s.counts = append(s.counts, took)
			s.mu.Unlock()
			return err
		}
		s.mu.Lock()
		who := s.asked[l.IntN(len(s.asked))]
		s.mu.Unlock()
		question := l.question(l.says())
		vectors, err := embedder.Embed(ctx, []string{question})
		if err != nil {
			return err
		}
		start := time.Now()
		rows, err := s.pool.Query(ctx, "select id from oxbow.recall($1, $2, $3)", who, question, pgvector.NewHalfVector(vectors[0]))
		if err != nil {
			return err
		}
		found, err := pgx.CollectRows(rows, pgx.RowTo[uuid.UUID])
		took := time.Since(start)
		if failed := s.note("recall", err); failed != nil || err != nil {
			return failed
		}
		s.mu.Lock()
		s.recalls, s.asks = append(s.recalls, took), append(s.asks, took)
		if start.Sub(s.vacuum) < vacuumAfter {
			s.beside = append(s.beside, took)
		}
		s.mu.Unlock()
		return s.do(ctx, "uses reported", "select oxbow.touch($1, $2)", who, found)
	}
}

// compute lets PostgreSQL count numbers, which needs nothing but a processor.
func (s *soak) compute(ctx context.Context, numbers int) (time.Duration, error) {
	start := time.Now()
	_, err := s.pool.Exec(ctx, "select count(*) from generate_series(1, $1::integer)", numbers)
	return time.Since(start), err
}

// calibrate returns how many numbers are counted in compareTime where nothing else goes on: at its quickest, as what slows a
// computation down is not part of it.
func (s *soak) calibrate(ctx context.Context) (int, error) {
	const numbers = 50_000
	var took []time.Duration
	for range 20 {
		t, err := s.compute(ctx, numbers)
		if err != nil {
			return 0, err
		}
		took = append(took, t)
	}
	return int(numbers * compareTime / slices.Min(took)), nil
}

// watchVacuum sees when autovacuum is at work.
func (s *soak) watchVacuum(ctx context.Context) error {
	if err := pause(ctx, vacuumAfter/10); err != nil {
		return err
	}
	var busy bool
	err := s.pool.QueryRow(ctx, "select exists (select from pg_stat_activity where backend_type = 'autovacuum worker' and datname = current_database())").Scan(&busy)
	if busy {
		s.mu.Lock()
		s.vacuum = time.Now()
		s.mu.Unlock()
	}
	return err
}

// prober returns how one memory after another is waited for until it can be recalled.
func (s *soak) prober() func(context.Context) error {
	n := 0
	return func(ctx context.Context) error {
		if err := pause(ctx, min(probePause, s.every()/3)); err != nil {
			return err
		}
		n++
		who, word := fmt.Sprintf("prober-%d", n/30), fmt.Sprintf("word%d", n)
		if err := s.do(ctx, "memory inserted", "insert into oxbow.memories (user_id, content) values ($1, $2)", who, "A memory with the "+word); err != nil {
			return err
		}
		start := time.Now()
		for found := false; !found; {
			if err := pause(ctx, 2*time.Millisecond); err != nil {
				return err
			}
			if err := s.pool.QueryRow(ctx, "select exists (select from oxbow.recall($1, $2))", who, word).Scan(&found); err != nil {
				return err
			}
			if time.Since(start) > recallLimit {
				return fmt.Errorf("a memory was not recallable within %s", recallLimit)
			}
		}
		s.mu.Lock()
		s.lags = append(s.lags, time.Since(start))
		s.mu.Unlock()
		if n%30 == 29 {
			return s.do(ctx, "user erased", "select from oxbow.erase_user($1)", who)
		}
		return nil
	}
}

// freeAddress is one where nobody listens.
func freeAddress(ctx context.Context) (string, error) {
	listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return "", err
	}
	return listener.Addr().String(), listener.Close()
}

// doneTable tells what the load was.
func (s *soak) doneTable(took time.Duration) Table {
	out := Table{Title: fmt.Sprintf("Load for %s: %d users at a time who are erased after %d acts, %.0f acts a second, %d clients that ask",
		took.Round(time.Second), soakWriters*soakUsers, soakAge, s.SoakRate, soakRecalls)}
	out.add("what", "how often", "a second")
	for _, what := range slices.Sorted(maps.Keys(s.done)) {
		out.add(what, fmt.Sprint(s.done[what]), fmt.Sprintf("%.1f", float64(s.done[what])/took.Seconds()))
	}
	out.add("refused, because another was quicker", fmt.Sprint(s.refused), fmt.Sprintf("%.1f", float64(s.refused)/took.Seconds()))
	out.add("taken back by PostgreSQL (deadlock, …)", fmt.Sprint(s.ended), fmt.Sprintf("%.1f", float64(s.ended)/took.Seconds()))
	return out
}

// recallTable tells of all recalls, beside everything else that goes on, and of what that does to a computation.
func (s *soak) recallTable() Table {
	out := Table{Title: fmt.Sprintf("Recalls under this load, ms; in turns with a computation in the database that takes %d ms alone", compareTime.Milliseconds())}
	out.add("", "times", "p50", "p95", "p99", "p99 / p50", "promised")
	for _, row := range []struct {
		name   string
		took   []time.Duration
		recall bool
	}{
		{"recall", s.asks, true},
		{"of them within a second of autovacuum's work", s.beside, false},
		{"reference: a computation", s.counts, false},
	} {
		if len(row.took) == 0 {
			continue
		}
		half, tail := median(row.took), quantile(row.took, 0.99)
		ratio, promise := float64(tail)/float64(half), ""
		if row.recall && len(row.took) >= fewestForTail {
			promise = fmt.Sprintf("≤ %.0f %s", tailGoal, verdict(ratio <= tailGoal))
		}
		out.add(row.name, fmt.Sprint(len(row.took)), ms(half), ms(quantile(row.took, 0.95)), ms(tail), fmt.Sprintf("%.1f", ratio), promise)
	}
	return out
}

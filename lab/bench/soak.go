package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/pgvector/pgvector-go"
	"golang.org/x/sync/errgroup"

	"github.com/oxbow-memory/oxbow/internal/embedding"
)

// soak is a mixed load for long, by 40 users at a time who come and go.
type soak struct {
	pool    *pgxpool.Pool
	metrics string // where the worker serves its metrics

	mu             sync.Mutex
	recalls, waits []time.Duration // since the last row of the table
}

// soaking loads a worker for -size minutes (30), and prints a row of what it takes every 30 seconds. A reader sees
// what grows.
func soaking(ctx context.Context, b *bench) (err error) {
	minutes := b.sized(30)
	dsn, pool, err := b.fresh(ctx, "bench_soak", 10)
	if err != nil {
		return err
	}
	s := &soak{pool: pool}
	listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", "127.0.0.1:0") // a free port
	if err != nil {
		return err
	}
	s.metrics = listener.Addr().String()
	if err := listener.Close(); err != nil {
		return err
	}
	work, err := startProcess(ctx, dsn, "work", "--metrics-addr", s.metrics)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, work.stop()) }()
	over, cancel := context.WithTimeout(ctx, time.Duration(minutes)*time.Minute)
	defer cancel()
	group, over := errgroup.WithContext(over)
	loop := func(do func(context.Context) error) {
		group.Go(func() error {
			for over.Err() == nil {
				if err := do(over); err != nil && over.Err() == nil {
					return err
				}
			}
			return nil
		})
	}
	for i := range 4 {
		loop(s.writer(i))
	}
	loop(s.recaller(0))
	loop(s.recaller(1))
	loop(s.prober())
	loop(s.sampler(b))
	return group.Wait()
}

// writer returns what one writer does next, five times a second: an act of one of its ten users, each of whom is
// erased after 150 acts and followed by another.
func (s *soak) writer(number int) func(context.Context) error {
	acts, users := 0, make([]*life, 10)
	return func(ctx context.Context) error {
		if err := pause(ctx, 200*time.Millisecond); err != nil {
			return err
		}
		slot := acts % len(users)
		acts++
		if u := users[slot]; u == nil || u.IntN(150) == 0 {
			users[slot] = newLife(soakUser(number, slot), acts*100+number, 0.5)
			return s.do(ctx, "select from oxbow.erase_user($1)", users[slot].user)
		}
		u := users[slot]
		session := fmt.Sprint("s", acts/500)
		switch kind := u.IntN(100); {
		case kind < 40:
			return s.do(ctx, `
				insert into oxbow.memories (user_id, memory_type, content, session_id)
				values ($1, 'episodic', $2, $3)`, u.user, u.says(), session)
		case kind < 75:
			return s.do(ctx, "insert into oxbow.messages (user_id, session_id, content) values ($1, $2, $3)", u.user,
				session, u.says())
		case kind < 82:
			return s.do(ctx, `
				select oxbow.end_session($1, id) from oxbow.sessions
				 where user_id = $1 and ended_at is null limit 1`, u.user)
		case kind < 90:
			return s.do(ctx, `
				select oxbow.supersede($1, id, $2) from oxbow.memories_fact
				 where user_id = $1 and expired_at is null limit 1`, u.user, u.says())
		case kind < 95:
			return s.do(ctx, `
				select oxbow.forget($1, id) from oxbow.memories_episodic
				 where user_id = $1 and forgotten_at is null limit 1`, u.user)
		}
		return s.do(ctx, "select oxbow.touch($1, array(select id from oxbow.memories where user_id = $1 limit 5))",
			u.user)
	}
}

func soakUser(writer, slot int) string { return fmt.Sprintf("person-%d-%d", writer, slot) }

// do repeats what PostgreSQL took back (a deadlock, say), as an application would. That another was quicker is an
// answer.
func (s *soak) do(ctx context.Context, sql string, args ...any) error {
	for {
		var pg *pgconn.PgError
		_, err := s.pool.Exec(ctx, sql, args...)
		if !errors.As(err, &pg) || !strings.HasPrefix(pg.Code, "40") && !strings.HasPrefix(pg.Code, "OX") {
			return err
		} else if strings.HasPrefix(pg.Code, "OX") {
			return nil
		}
	}
}

func (s *soak) recaller(number int) func(context.Context) error {
	l, local := newLife("", 1_000_000+number, 0.5), embedding.NewLocal(embedding.LocalDimension)
	return func(ctx context.Context) error {
		if err := pause(ctx, 100*time.Millisecond); err != nil {
			return err
		}
		user, text := soakUser(l.IntN(4), l.IntN(10)), l.question(l.says())
		vectors, err := local.Embed(ctx, []string{text})
		if err != nil {
			return err
		}
		start := time.Now()
		var found []uuid.UUID
		if err := s.pool.QueryRow(ctx, "select array(select id from oxbow.recall($1, $2, $3))", user, text,
			pgvector.NewHalfVector(vectors[0])).Scan(&found); err != nil {
			return err
		}
		s.note(&s.recalls, time.Since(start))
		return s.do(ctx, "select oxbow.touch($1, $2)", user, found)
	}
}

func (s *soak) note(times *[]time.Duration, took time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	*times = append(*times, took)
}

// prober waits for one memory after another.
func (s *soak) prober() func(context.Context) error {
	n := 0
	return func(ctx context.Context) error {
		if err := pause(ctx, 2*time.Second); err != nil {
			return err
		}
		n++
		took, err := untilRecallable(ctx, s.pool, fmt.Sprint("prober-", n/30), "A memory with the",
			fmt.Sprint("word", n))
		if err == nil {
			s.note(&s.waits, took)
		}
		return err
	}
}

// sampler prints a row of the table.
func (s *soak) sampler(b *bench) func(context.Context) error {
	t := b.table("Soak", "minute", "worker MiB", "goroutines", "connections", "recall p50", "recall p99",
		"recallable p50", "jobs due", "dead rows", "database MiB")
	begun := time.Now()
	return func(ctx context.Context) error {
		if err := pause(ctx, 30*time.Second); err != nil {
			return err
		}
		memory, goroutines, err := s.scrape(ctx)
		if err != nil {
			return err
		}
		var connections, due, dead, mib int
		if err := s.pool.QueryRow(ctx, `
			select (select count(*) from pg_stat_activity where application_name like 'oxbow worker%'
			  and datname = current_database()),
			       (select count(*) from oxbow.river_job where state = 'available' and scheduled_at <= now()),
			       (select sum(n_dead_tup) from pg_stat_user_tables), pg_database_size(current_database()) >> 20`).
			Scan(&connections, &due, &dead, &mib); err != nil {
			return err
		}
		s.mu.Lock()
		defer s.mu.Unlock()
		t.row(fmt.Sprintf("%.1f", time.Since(begun).Minutes()), memory, goroutines, connections,
			median(s.recalls), quantile(s.recalls, 0.99), median(s.waits), due, dead, mib)
		s.recalls, s.waits = nil, nil
		return nil
	}
}

// scrape reads the worker's resident memory in MiB, and its goroutines.
func (s *soak) scrape(ctx context.Context) (memory, goroutines int, err error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+s.metrics+"/metrics", nil)
	if err != nil {
		return 0, 0, err
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return 0, 0, err
	}
	defer response.Body.Close()
	for lines := bufio.NewScanner(response.Body); lines.Scan(); {
		name, text, _ := strings.Cut(lines.Text(), " ")
		value, err := strconv.ParseFloat(text, 64)
		switch {
		case err != nil:
		case name == "process_resident_memory_bytes":
			memory = int(value) >> 20
		case name == "go_goroutines":
			goroutines = int(value)
		}
	}
	return memory, goroutines, nil
}

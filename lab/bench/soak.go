package main

import (
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/oxbow-memory/oxbow/lab/must"
)

// soak is a long mixed load of 40 users at a time, who are erased and replaced.
type soak struct {
	*bench
	d database

	mu             sync.Mutex
	recalls, waits []float64 // since the last row of the table
}

// soaking loads a worker for -size minutes (30), and prints a row of its resources every 30 seconds, which shows what
// grows.
func soaking(b *bench) {
	s := &soak{bench: b, d: b.database("bench_soak")}
	work := b.start(s.d, "work")
	defer work.stop()
	var loops []func()
	for number := range 4 {
		acts, users := 0, make([]*life, 10)
		loops = append(loops, func() {
			b.pause(200 * time.Millisecond)
			acts++
			s.act(number, acts, users)
		})
	}
	for number := range 2 {
		l := newLife("", 1_000_000+number, 0.5)
		loops = append(loops, func() {
			b.pause(100 * time.Millisecond)
			s.recall(l)
		})
	}
	probes := 0
	loops = append(loops, func() {
		b.pause(2 * time.Second)
		probes++
		s.note(&s.waits, b.untilRecallable(s.d, fmt.Sprint("prober-", probes/30), "A memory with the",
			fmt.Sprint("word", probes)))
	})
	b.table("Soak", "minute", "worker MiB", "connections", "recall p50", "recall p99", "wait p50, ms", "jobs due",
		"dead rows", "database MiB")
	begun := time.Now()
	loops = append(loops, func() {
		b.pause(30 * time.Second)
		s.sample(time.Since(begun).Minutes(), work)
	})
	end := begun.Add(time.Duration(b.sized(30)) * time.Minute)
	together(len(loops), func(i int) {
		for time.Now().Before(end) {
			loops[i]()
		}
	})
}

// act performs the next action of one of a writer's ten users. A user is erased after about 150 actions and replaced by
// another.
func (s *soak) act(writer, acts int, users []*life) {
	slot := acts % len(users)
	u := users[slot]
	if u == nil || u.IntN(150) == 0 {
		users[slot] = newLife(soakUser(writer, slot), acts*100+writer, 0.5)
		s.do("select from oxbow.erase_user($1)", users[slot].user)
		return
	}
	session := fmt.Sprint("s", acts/500)
	switch kind := u.IntN(100); {
	case kind < 40:
		s.do(`insert into oxbow.memories (user_id, memory_type, content, session_id) values ($1, 'episodic', $2, $3)`,
			u.user, u.says(), session)
	case kind < 75:
		s.do("insert into oxbow.messages (user_id, session_id, content) values ($1, $2, $3)", u.user, session, u.says())
	case kind < 82:
		s.do("select oxbow.end_session($1, id) from oxbow.sessions where user_id = $1 and ended_at is null limit 1",
			u.user)
	case kind < 90:
		s.do(`select oxbow.supersede($1, id, $2) from oxbow.memories_fact
			where user_id = $1 and expired_at is null limit 1`, u.user, u.says())
	case kind < 95:
		s.do(`select oxbow.forget($1, id) from oxbow.memories_episodic
			where user_id = $1 and forgotten_at is null limit 1`, u.user)
	default:
		s.do("select oxbow.touch($1, array(select id from oxbow.memories where user_id = $1 limit 5))", u.user)
	}
}

func soakUser(writer, slot int) string { return fmt.Sprintf("person-%d-%d", writer, slot) }

// do retries a transaction that PostgreSQL aborted, for example by a deadlock, as an application would. A conflict with
// another writer is a result, not an error.
func (s *soak) do(sql string, args ...any) {
	for {
		var pg *pgconn.PgError
		_, err := s.d.Exec(s.ctx, sql, args...)
		if errors.As(err, &pg) && strings.HasPrefix(pg.Code, "40") {
			continue
		}
		if pg == nil || !strings.HasPrefix(pg.Code, "OX") {
			must.OK(err)
		}
		return
	}
}

func (s *soak) recall(l *life) {
	q := s.question(soakUser(l.IntN(4), l.IntN(10)), l.question(l.says()))
	start := time.Now()
	rows := must.Get(s.d.Query(s.ctx, "select id from oxbow.recall($1, $2, $3)", q.user, q.text, q.vector))
	found := must.Get(pgx.CollectRows(rows, pgx.RowTo[uuid.UUID]))
	s.note(&s.recalls, msSince(start))
	s.do("select oxbow.touch($1, $2)", q.user, found)
}

func (s *soak) note(times *[]float64, ms float64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	*times = append(*times, ms)
}

// sample prints a row of the table.
func (s *soak) sample(minute float64, work process) {
	var connections, due, dead, mib int
	must.OK(s.d.QueryRow(s.ctx, `
		select (select count(*) from pg_stat_activity where application_name like 'oxbow worker%'
		  and datname = current_database()),
		       (select count(*) from oxbow.river_job where state = 'available' and scheduled_at <= now()),
		       (select sum(n_dead_tup) from pg_stat_user_tables), pg_database_size(current_database()) >> 20`).
		Scan(&connections, &due, &dead, &mib))
	s.mu.Lock()
	defer s.mu.Unlock()
	s.row(minute, work.memory("VmRSS"), connections, quantile(s.recalls, 0.5), quantile(s.recalls, 0.99),
		quantile(s.waits, 0.5), due, dead, mib)
	s.recalls, s.waits = nil, nil
}

package migrations

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
)

// blocker is a session that holds a lock a migration waits for.
type blocker struct {
	PID         int32
	Role        string
	Application string
	State       string        // such as "idle in transaction"; "" if our role may not see it
	Open        time.Duration // age of its transaction
}

func (b blocker) String() string {
	text := fmt.Sprintf("pid %d", b.PID)
	var more []string
	for _, part := range []string{b.Role, b.Application, b.State} {
		if part != "" {
			more = append(more, part)
		}
	}
	if b.Open > 0 {
		more = append(more, "in a transaction for "+b.Open.Round(time.Second).String())
	}
	if len(more) > 0 {
		text += " (" + strings.Join(more, ", ") + ")"
	}
	return text
}

func describe(bs []blocker) string {
	if len(bs) == 0 {
		return "not known"
	}
	texts := make([]string, len(bs))
	for i, b := range bs {
		texts[i] = b.String()
	}
	return strings.Join(texts, ", ")
}

func lockError(what string, waited time.Duration, bs []blocker, err error) error {
	return fmt.Errorf("%s: gave up after %s, because other sessions hold locks that it needs: %s; "+
		"let them finish, or end one with select pg_terminate_backend(pid), and run it again: %w",
		what, waited.Round(time.Second), describe(bs), err)
}

// watcher is a separate connection that finds the sessions blocking another one. PostgreSQL reports
// blockers only while the session waits, so the watcher connects beforehand: connecting may take
// longer than one attempt.
type watcher struct{ conn *pgx.Conn } // nil if the connection failed; blockers are then not reported

func (s *session) openWatcher(ctx context.Context) watcher {
	conn, err := pgx.ConnectConfig(ctx, s.conn.Config())
	if err != nil {
		return watcher{}
	}
	return watcher{conn}
}

func (w watcher) close(ctx context.Context) {
	if w.conn != nil {
		_ = w.conn.Close(context.WithoutCancel(ctx)) // the connection only reads
	}
}

// watch polls for sessions that block the backend with the given process ID. stop ends the polling
// and returns the blockers found last.
func (w watcher) watch(ctx context.Context, pid uint32) (stop func() []blocker) {
	if w.conn == nil {
		return func() []blocker { return nil }
	}
	done, result := make(chan struct{}), make(chan []blocker, 1)
	go func() {
		var seen []blocker
		defer func() { result <- seen }()
		for {
			if now, err := blockersOf(ctx, w.conn, pid); err == nil && len(now) > 0 {
				seen = now
			}
			select {
			case <-done: // not by its context, which would close the connection
				return
			case <-time.After(20 * time.Millisecond):
			}
		}
	}()
	return func() []blocker {
		close(done)
		return <-result
	}
}

func blockersOf(ctx context.Context, conn *pgx.Conn, pid uint32) ([]blocker, error) {
	rows, err := conn.Query(ctx, `
		select b.pid, coalesce(a.usename, ''), coalesce(a.application_name, ''), coalesce(a.state, ''),
		       coalesce(extract(epoch from clock_timestamp() - a.xact_start), 0)::float8
		from unnest(pg_blocking_pids($1)) as b (pid) left join pg_stat_activity a using (pid)
		order by b.pid`, int32(pid))
	if err != nil {
		return nil, err
	}
	return pgx.CollectRows(rows, func(row pgx.CollectableRow) (blocker, error) {
		var b blocker
		var seconds float64
		err := row.Scan(&b.PID, &b.Role, &b.Application, &b.State, &seconds)
		b.Open = time.Duration(seconds * float64(time.Second))
		return b, err
	})
}

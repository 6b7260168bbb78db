package migrations

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
)

// blocker is another session that holds locks in the schema.
type blocker struct {
	PID         int32
	Role        string
	Application string
	State       string  // such as "idle in transaction"; "" if our role may not see it
	Seconds     float64 // age of its transaction
}

func (b blocker) String() string {
	text := fmt.Sprintf("pid %d", b.PID)
	var more []string
	for _, part := range []string{b.Role, b.Application, b.State} {
		if part != "" {
			more = append(more, part)
		}
	}
	if b.Seconds >= 0.5 {
		more = append(more, fmt.Sprintf("in a transaction for %.0fs", b.Seconds))
	}
	if len(more) > 0 {
		text += " (" + strings.Join(more, ", ") + ")"
	}
	return text
}

// blockers describes the sessions that hold locks in the schema, the oldest transactions first. It runs after an
// attempt has failed; sessions that have finished since are not reported.
func (s *session) blockers(ctx context.Context) string {
	rows, err := s.conn.Query(ctx, `
		select a.pid, coalesce(a.usename, '') as role, coalesce(a.application_name, '') as application,
		       coalesce(a.state, '') as state,
		       coalesce(extract(epoch from clock_timestamp() - min(a.xact_start)), 0)::float8 as seconds
		from pg_locks l
		join pg_class c on c.oid = l.relation
		join pg_stat_activity a on a.pid = l.pid
		where l.granted and l.pid <> pg_backend_pid() and c.relnamespace = to_regnamespace('oxbow')
		  and l.database = (select oid from pg_database where datname = current_database())
		group by a.pid, a.usename, a.application_name, a.state
		order by seconds desc, a.pid limit 5`)
	if err != nil {
		return "unknown"
	}
	all, err := pgx.CollectRows(rows, pgx.RowToStructByName[blocker])
	if err != nil || len(all) == 0 {
		return "unknown"
	}
	texts := make([]string, len(all))
	for i, b := range all {
		texts[i] = b.String()
	}
	return strings.Join(texts, ", ")
}

func lockError(what string, waited time.Duration, blockers string, err error) error {
	return fmt.Errorf("%s: gave up after %s: other sessions hold the required locks (%s); let them finish, or end one "+
		"with select pg_terminate_backend(pid), and run it again: %w", what, waited.Round(time.Second), blockers, err)
}

package pgtest

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
)

// callsVariable names a directory. Each run writes the functions that the login of a worker called to a file there.
const callsVariable = "OXBOW_TEST_CALLS"

// trackCalls lets PostgreSQL count the calls of the worker's login. The caller holds the advisory lock.
func trackCalls(ctx context.Context, conn *pgx.Conn) error {
	if os.Getenv(callsVariable) == "" {
		return nil
	}
	_, err := conn.Exec(ctx, `alter role worker set track_functions = 'all'`)
	return err
}

// noteCalls appends the functions that were called in a database. A session reports its calls when it ends.
func (r *run) noteCalls(ctx context.Context, database string) error {
	dir := os.Getenv(callsVariable)
	if dir == "" {
		return nil
	}
	conn, err := pgx.Connect(ctx, r.dsn(database))
	if err != nil {
		return err
	}
	defer conn.Close(context.WithoutCancel(ctx))
	for {
		var busy bool
		err := conn.QueryRow(ctx, `select exists (select from pg_stat_activity
			where datname = current_database() and usename = 'worker')`).Scan(&busy)
		if err != nil {
			return err
		}
		if !busy {
			break
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(10 * time.Millisecond):
		}
	}
	rows, err := conn.Query(ctx, `select funcname || E'\n' from pg_stat_user_functions where schemaname = 'oxbow'`)
	if err != nil {
		return err
	}
	names, err := pgx.CollectRows(rows, pgx.RowTo[string])
	if err != nil {
		return err
	}
	file, err := os.OpenFile(filepath.Join(dir, r.id), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
	if err != nil {
		return err
	}
	if _, err := file.WriteString(strings.Join(names, "")); err != nil {
		return err
	}
	return file.Close()
}

// Uncalled returns the functions that oxbow_worker may call, and oxbow_app may not, without a call in the files of a
// directory that OXBOW_TEST_CALLS named. It leaves out those that the planner inlines, because they are not counted.
func Uncalled(ctx context.Context, dir string) ([]string, error) {
	files, err := filepath.Glob(filepath.Join(dir, "*"))
	if err != nil {
		return nil, err
	}
	if len(files) == 0 {
		return nil, fmt.Errorf("%s has no files: run the tests with %s=%s", dir, callsVariable, dir)
	}
	var called []string
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			return nil, err
		}
		called = append(called, strings.Fields(string(text))...)
	}
	slices.Sort(called)
	r, err := startRun()
	if err != nil {
		return nil, err
	}
	pool, err := r.sharedPool()
	if err != nil {
		return nil, err
	}
	defer pool.Close()
	if _, err := pool.Exec(ctx, `alter role worker reset track_functions`); err != nil {
		return nil, err
	}
	rows, err := pool.Query(ctx, `
		select p.proname::text from pg_proc p join pg_language l on l.oid = p.prolang
		 where p.pronamespace = 'oxbow'::regnamespace and has_function_privilege('oxbow_worker', p.oid, 'execute')
		   and not has_function_privilege('oxbow_app', p.oid, 'execute')
		   and (l.lanname <> 'sql' or p.proconfig is not null) and p.proname <> all($1) order by 1`, slices.Compact(called))
	if err != nil {
		return nil, err
	}
	return pgx.CollectRows(rows, pgx.RowTo[string])
}

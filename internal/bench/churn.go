package bench

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/oxbow-memory/oxbow/internal/noop"
)

const (
	// portion is how many jobs come at once; the next ones come when half of them are taken.
	portion = 2000
	// vacuumTime is how long autovacuum is waited for; it looks every minute, but may be busy with other tables.
	vacuumTime = 15 * time.Minute
)

// jobTable is what jobs have left in their table.
type jobTable struct {
	live, dead, vacuums, analyzes int
	table, indexes                float64 // MiB
}

// churn lets jobs come and go, and tells how large their table gets, and whether that costs throughput. Completed jobs stay for
// an hour; as it is not waited for, River clears them away with a shorter time.
func (b *bench) churn(ctx context.Context, pool *pgxpool.Pool, dsn string) error {
	if _, err := pool.Exec(ctx, "truncate oxbow.river_job; select pg_stat_reset_single_table_counters('oxbow.river_job'::regclass)"); err != nil {
		return err
	}
	out := Table{Title: "What jobs leave in oxbow.river_job, with the settings that it is installed with: no-op jobs that come and go, our worker"}
	out.add("when", "jobs so far", "a second", "rows", "dead rows", "table MiB", "indexes MiB", "autovacuums", "autoanalyzes")
	so, tenth := 0, max(b.Churn/10, 1)
	row := func(when, rate string) error {
		t, err := readJobTable(ctx, pool)
		if err != nil {
			return err
		}
		out.add(when, fmt.Sprint(so), rate, fmt.Sprint(t.live), fmt.Sprint(t.dead), fmt.Sprintf("%.0f", t.table), fmt.Sprintf("%.0f", t.indexes),
			fmt.Sprint(t.vacuums), fmt.Sprint(t.analyzes))
		return nil
	}
	work := func(jobs int) (string, error) {
		rate, err := comeAndGo(ctx, pool, dsn, jobs)
		so += jobs
		return fmt.Sprintf("%.0f", rate), err
	}
	for i := range 10 {
		rate, err := work(tenth)
		if err != nil {
			return err
		}
		b.notef("%d jobs: %s a second", so, rate)
		if i == 0 || i == 9 {
			if err := row(map[int]string{0: "after the first tenth", 9: "after the last tenth"}[i], rate); err != nil {
				return err
			}
		}
	}
	if err := clearAway(ctx, pool, dsn); err != nil {
		return err
	}
	if err := row("completed jobs deleted", ""); err != nil {
		return err
	}
	vacuumed, err := waitVacuum(ctx, pool)
	if err != nil {
		return err
	}
	if err := row(choose(vacuumed, "and vacuumed", fmt.Sprintf("and not vacuumed within %.0f minutes", vacuumTime.Minutes())), ""); err != nil {
		return err
	}
	rate, err := work(tenth)
	if err != nil {
		return err
	}
	if err := row("after a tenth more", rate); err != nil {
		return err
	}
	b.show(out)
	return nil
}

// comeAndGo lets our worker work jobs as they come, and returns how many were a second.
func comeAndGo(ctx context.Context, pool *pgxpool.Pool, dsn string, jobs int) (rate float64, err error) {
	stop, err := ourWorker(ctx, dsn, manyWorkers)
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, stop()) }()
	kind, start := noop.Args{}.Kind(), time.Now()
	for done := 0; done < jobs; done += portion {
		if err := insertJobs(ctx, pool, kind, min(portion, jobs-done)); err != nil {
			return 0, err
		}
		if err := waitJobs(ctx, pool, kind, portion/2); err != nil {
			return 0, err
		}
	}
	err = waitJobs(ctx, pool, kind, 0)
	return float64(jobs) / time.Since(start).Seconds(), err
}

// clearAway deletes completed jobs as River does when they are old enough.
func clearAway(ctx context.Context, pool *pgxpool.Pool, dsn string) (err error) {
	stop, err := startRiver(ctx, dsn, 1, time.Millisecond)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, stop()) }()
	_, err = await(ctx, pool, 200*time.Millisecond, "select count(*) from oxbow.river_job", func() (bool, error) {
		return exists(ctx, pool, "oxbow.river_job where state = 'completed'")
	})
	return err
}

// waitVacuum returns when autovacuum has passed over what was deleted, or, with false, after a time that it should not take.
func waitVacuum(ctx context.Context, pool *pgxpool.Pool) (vacuumed bool, err error) {
	for end := time.Now().Add(vacuumTime); time.Now().Before(end); {
		if err := pause(ctx, 2*time.Second); err != nil { // also for the statistics, which come late
			return false, err
		}
		t, err := readJobTable(ctx, pool)
		if err != nil {
			return false, err
		}
		if t.dead < 500+t.live/50 {
			return true, nil
		}
	}
	return false, nil
}

func readJobTable(ctx context.Context, pool *pgxpool.Pool) (t jobTable, err error) {
	err = pool.QueryRow(ctx, `
		select n_live_tup, n_dead_tup, autovacuum_count, autoanalyze_count, pg_table_size(relid) / 1048576.0, pg_indexes_size(relid) / 1048576.0
		  from pg_stat_user_tables where relid = 'oxbow.river_job'::regclass`).
		Scan(&t.live, &t.dead, &t.vacuums, &t.analyzes, &t.table, &t.indexes)
	return t, err
}

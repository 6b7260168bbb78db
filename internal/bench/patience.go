package bench

import (
	"context"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
)

// patience ends a wait for jobs of which none is done any more.
type patience struct {
	most   time.Duration // without progress
	every  time.Duration // how often is looked: seldom, as that costs what is measured
	looked time.Time
	since  time.Time // when fewer were left than ever before
	fewest int       // -1: not known yet
}

func newPatience() *patience {
	return &patience{most: 15 * time.Minute, every: time.Minute, looked: time.Now(), since: time.Now(), fewest: -1}
}

// check fails when jobs and memories to reflect on have not become fewer for too long, and tells which jobs are left.
func (p *patience) check(ctx context.Context, pool *pgxpool.Pool) error {
	if time.Since(p.looked) < p.every {
		return nil
	}
	p.looked = time.Now()
	var left int
	var jobs string
	if err := pool.QueryRow(ctx, `
		select coalesce(sum(n), 0)::integer + (select count(*) from oxbow.reflection_inbox)::integer,
		       coalesce(string_agg(kind || ' ' || state || ' ' || n, ', ' order by kind, state), 'none')
		  from (select kind, state::text, count(*) as n from oxbow.river_job where finalized_at is null group by 1, 2) j`).Scan(&left, &jobs); err != nil {
		return err
	}
	if p.fewest < 0 || left < p.fewest {
		p.fewest, p.since = left, p.looked
	}
	if p.looked.Sub(p.since) > p.most {
		return fmt.Errorf("no progress for %s; jobs left: %s", p.most, jobs)
	}
	return nil
}

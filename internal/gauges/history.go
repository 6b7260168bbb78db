package gauges

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/oxbow-memory/oxbow/store"
)

// Series is how a number developed: a value for each time of a History or a Fading.
type Series struct {
	Name   string
	Values []float64
}

// History is how the contents of a database developed, as far as the rows that are left show it: what was erased is
// missing from the past too.
type History struct {
	Times    []time.Time // ascending; the last is now
	Memories []Series    // current memories by type
	Traits   []Series    // traits by stage
	// Changes counts changes of weights by cause since the time before, from the weight_log. Only the latest
	// changesRead are counted: from ChangesSince on.
	Changes      []Series
	ChangesSince time.Time
	// Estimated reports that the memories or traits are an estimate from a sample.
	Estimated bool
}

const (
	historyPages = 400    // of each table that a history reads, of 8 kB
	samplePages  = 50     // of each table whose weights are computed
	changesRead  = 20_000 // rows of weight_log that a history reads
)

// sampled returns a FROM item that reads about as many pages of a table, under the name m, and an expression for how many
// rows each row stands for.
func sampled(table string, pages int) (from, times string) {
	times = fmt.Sprintf("greatest(pg_relation_size('oxbow.%s') / current_setting('block_size')::float8 / %d, 1)",
		table, pages)
	return fmt.Sprintf("oxbow.%s m tablesample system (100 / %s)", table, times), times
}

// ReadHistory reads the history of the last days at a number of points of equal distance, at least two. Its cost is bounded, however
// large the database is. It requires the rights of the schema's owner, the worker or an operator.
func ReadHistory(ctx context.Context, db store.DB, days, points int) (h History, err error) {
	err = readAll(ctx, db, func(ctx context.Context, db store.DB) error {
		now, err := store.CollectOne[time.Time](ctx, db, `select now()`)
		step := time.Duration(days) * 24 * time.Hour / time.Duration(points-1)
		for i := range points {
			h.Times = append(h.Times, now.Add(-time.Duration(points-1-i)*step))
		}
		return err
	}, h.readMemories, h.readTraits, h.readChanges)
	return h, err
}

// step is a change of a number between two times: Nth times are before or at it.
type step struct {
	Name      string
	Nth       int
	Change    float64
	Estimated bool
}

// readMemories adds the memories that were stored, and subtracts those that were replaced, expired or forgotten.
func (h *History) readMemories(ctx context.Context, db store.DB) error {
	var samples []string
	for _, t := range store.MemoryTypes() {
		from, times := sampled("memories_"+string(t), historyPages)
		samples = append(samples, fmt.Sprintf(`
			select '%s' as name, m.created_at, least(m.expired_at, m.forgotten_at) as ended_at, %s as times from %s`,
			t, times, from))
	}
	steps, err := store.Collect[step](ctx, db, `
		with sample as materialized (`+strings.Join(samples, " union all ")+`)
		select s.name, width_bucket(c.at, $1::timestamptz[]) as nth, sum(c.change) as change,
		       bool_or(s.times > 1) as estimated
		  from sample s cross join lateral (values (s.created_at, s.times), (s.ended_at, -s.times)) c(at, change)
		 where c.at is not null group by 1, 2`, h.Times)
	h.Memories = h.sum(steps, "fact", "episodic", "trait", "document")
	return err
}

// readTraits follows the stages of traits through their events. A trait without events has its stage from the start.
func (h *History) readTraits(ctx context.Context, db store.DB) error {
	from, times := sampled("memories_trait", historyPages)
	steps, err := store.Collect[step](ctx, db, fmt.Sprintf(`
		with sample as materialized (
		  select m.user_id, m.id, m.created_at, m.trait_stage, least(m.expired_at, m.forgotten_at) as ended_at, %s as times
		    from %s where m.superseded_by is null
		), event as (
		  select s.times, max(e.at) over past as at, e.stage, lag(e.stage) over past as before
		    from sample s, lateral (
		      select e.seq, e.at, e.stage from oxbow.trait_events e
		       where e.user_id = s.user_id and e.trait_id = s.id offset 0) e
		  window past as (partition by s.user_id, s.id order by e.seq)
		), change (name, at, change, times) as (
		  select e.stage, e.at, e.times, e.times from event e where e.stage is distinct from e.before
		  union all
		  select e.before, e.at, -e.times, e.times from event e where e.stage is distinct from e.before
		  union all
		  select s.trait_stage, s.created_at, s.times, s.times from sample s
		   where not exists (select from oxbow.trait_events e where e.user_id = s.user_id and e.trait_id = s.id)
		  union all
		  select s.trait_stage, s.ended_at, -s.times, s.times from sample s
		)
		select c.name, width_bucket(c.at, $1::timestamptz[]) as nth, sum(c.change) as change,
		       bool_or(c.times > 1) as estimated
		  from change c where c.at is not null and c.name is not null group by 1, 2`, times, from), h.Times)
	h.Traits = h.sum(steps, "trend", "candidate", "emerging", "established", "core", "dissolved")
	return err
}

// sum adds up the steps of each name.
func (h *History) sum(steps []step, names ...string) []Series {
	var found []Series
	for _, name := range names {
		s := Series{name, make([]float64, len(h.Times))}
		for _, step := range steps {
			if step.Name != name {
				continue
			}
			h.Estimated = h.Estimated || step.Estimated
			for i := step.Nth; i < len(s.Values); i++ {
				s.Values[i] += step.Change
			}
		}
		found = append(found, s)
	}
	return found
}

// readChanges counts the latest rows of the log of weights.
func (h *History) readChanges(ctx context.Context, db store.DB) error {
	h.ChangesSince = h.Times[0]
	steps, err := store.Collect[struct {
		step
		Rows   int64
		Oldest time.Time
	}](ctx, db, `
		select l.cause as name, width_bucket(l.at, $1::timestamptz[]) as nth, count(*)::float8 as change,
		       sum(count(*)) over ()::bigint as rows, min(min(l.at)) over () as oldest
		  from (select l.cause, l.at from oxbow.weight_log l where l.at >= ($1::timestamptz[])[1]
		         order by l.at desc limit $2) l
		 group by 1, 2 order by 1, 2`, h.Times, changesRead)
	for _, s := range steps {
		if s.Rows == changesRead {
			h.ChangesSince = s.Oldest
		}
		if n := len(h.Changes); n == 0 || h.Changes[n-1].Name != s.Name {
			h.Changes = append(h.Changes, Series{s.Name, make([]float64, len(h.Times))})
		}
		h.Changes[len(h.Changes)-1].Values[min(s.Nth, len(h.Times)-1)] += s.Change
	}
	return err
}

// Fading is how the weights of today's current facts and episodes will fall if nothing more happens to them.
type Fading struct {
	Days      []int    // from now
	Memories  []Series // by weight: those of a Series weigh at least its name, and less than the name of the next
	Estimated bool     // from a sample
}

// bounds are those of the levels, and 1, which a new memory weighs.
var bounds = []string{"0", "0.05", "0.1", "0.15", "0.3", "1"}

// ReadFading computes the weights of a sample of memories on the given days from now, without the users' forgetting
// factors. It requires the rights of the schema's owner, the worker or an operator.
func ReadFading(ctx context.Context, db store.DB, days []int) (f Fading, err error) {
	f.Days = days
	var samples []string
	for _, table := range []string{"memories_fact", "memories_episodic"} {
		from, times := sampled(table, samplePages)
		samples = append(samples, fmt.Sprintf(`
			select m.category, m.created_at, m.activated_at, m.used_at, m.mentions, m.negated_at, m.strength, m.tier, m.source,
			       %s as times
			  from %s where m.forgotten_at is null and m.expired_at is null`, times, from))
	}
	for _, name := range bounds {
		f.Memories = append(f.Memories, Series{name, make([]float64, len(days))})
	}
	var counts []struct {
		Day, Bound int
		Memories   float64
		Estimated  bool
	}
	read := func(ctx context.Context, db store.DB) (err error) {
		counts, err = store.Collect[struct {
			Day, Bound int
			Memories   float64
			Estimated  bool
		}](ctx, db, `
			with rules as materialized (select oxbow.recall_rules('', 'infinity') as r),
			sample as materialized (`+strings.Join(samples, " union all ")+`)
			select d.nth - 1 as day, width_bucket(w.weight, $2::float8[]) - 1 as bound, sum(s.times) as memories,
			       bool_or(s.times > 1) as estimated
			  from sample s cross join unnest($1::integer[]) with ordinality d(days, nth) cross join rules
			 cross join lateral oxbow.weight_factors(s.category, s.created_at, s.activated_at, s.used_at, s.mentions,
			         s.negated_at, s.strength, s.tier, s.source, now() + make_interval(days => d.days), rules.r) w
			 group by 1, 2`, days, bounds)
		return err
	}
	if err := readAll(ctx, db, read); err != nil {
		return f, err
	}
	for _, c := range counts {
		f.Memories[max(c.Bound, 0)].Values[c.Day] = c.Memories
		f.Estimated = f.Estimated || c.Estimated
	}
	return f, nil
}

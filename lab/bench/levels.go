package main

import (
	"fmt"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/oxbow-memory/oxbow/lab/must"
	"github.com/oxbow-memory/oxbow/store"
)

const dueLevels = 1000

// levels measures the cost of compressing the 1,000 memories that are due, among many and among a tenth of them, and
// the cost of recall for a user with nine tenths of the memories archived.
func levels(b *bench) {
	memories := b.sized(1_000_000)
	few, all := b.database("bench_levels_few"), b.database("bench_levels_all")
	few.insertEpisodes(memories / 10)
	all.insertEpisodes(memories)
	months := func(n int) func(d database) float64 {
		return func(d database) float64 { return d.settleLevels(n) }
	}
	timed := func(name string, d database, measure func(database) float64) variant {
		return variant{name, func() float64 {
			d.exec("checkpoint")
			return measure(d)
		}}
	}
	r := b.compare(fmt.Sprintf("Compressing %d memories", dueLevels), "ms",
		timed(fmt.Sprintf("summaries among %d", memories), all, months(0)),
		timed(fmt.Sprintf("summaries among %d", memories/10), few, months(0)),
		timed("traces among as many", all, months(18)))
	b.atMost(fmt.Sprintf("keeping summaries of %d of %d memories, ms", dueLevels, memories), 150, r.median(0))
	b.atMost("the same / among a tenth of them", 1.5, r.ratio(0, 1))
	b.recallArchived()
}

// insertEpisodes writes n indexed memories, spread over 80 days, and schedules when a summary of each is due. Triggers
// and foreign keys are off meanwhile.
func (d database) insertEpisodes(n int) {
	must.OK(pgx.BeginFunc(d.ctx, d, func(tx pgx.Tx) error {
		must.Get(tx.Exec(d.ctx, "set local session_replication_role = replica"))
		must.Get(tx.Exec(d.ctx, `
			insert into oxbow.memories (user_id, memory_type, content, stored_at, created_at)
			select 'user-' || n / 1000, 'episodic', format('I met number %s at the station of town %s. We talked about the '
			         'weather, the price of bread and the long way home, until it was late. Then number %s went to bed, and I '
			         'wrote a letter to the mayor of town %s about all of it.', n, n % 997, n, n % 991),
			       at.at, at.at
			  from generate_series(1, $1::integer) n
			 cross join lateral (select now() - interval '80 days' + n * interval '80 days' / $1::integer) at(at)`, n))
		_, err := tx.Exec(d.ctx, `
			insert into oxbow.memory_terms (user_id, memory_type, memory_id, len, tsv)
			select m.user_id, m.memory_type, m.id, t.len, t.tsv from oxbow.memories m, oxbow.terms(m.content) t;
			insert into oxbow.memory_term_stats (user_id, memory_type, documents, terms)
			select user_id, memory_type, count(*), sum(len) from oxbow.memory_terms group by 1, 2;
			update oxbow.memories m set weight_next_at = m.created_at + p.after
			  from (select p.next - o.created_at as after
			          from (select * from oxbow.memories order by created_at limit 1) o
			         cross join oxbow.plan_levels(array[o.user_id], array[o.id], now()) p) p`)
		return err
	}))
	d.exec("vacuum analyze")
}

// settleLevels settles the memories that are due next, some months after they are due, and returns the milliseconds.
func (d database) settleLevels(months int) float64 {
	clock := ask[time.Time](d, `
		select max(d.at) from (select weight_next_at as at from oxbow.memories
		                        where weight_next_at is not null order by 1 limit $1) d`, dueLevels).AddDate(0, months, 0)
	start := time.Now()
	if done := must.Get(store.SettleLevels(d.ctx, d, clock, dueLevels)); done.Compressed != dueLevels {
		must.OK(fmt.Errorf("compressed %d memories instead of %d", done.Compressed, dueLevels))
	}
	return msSince(start)
}

// recallArchived compares recall of a user with nine tenths of the memories archived with that of a user who has only
// the rest.
func (b *bench) recallArchived() {
	const memories = 20_000
	d, w := b.database("bench_levels_recall"), newWriter(seed)
	texts := w.texts(memories)
	d.remember("archived", texts) // nine tenths are episodes
	b.embedAll(d)
	d.exec(`insert into oxbow.memories (user_id, memory_type, content, session_id, seq, agent_id, metadata, valid_at,
		created_at) select 'rest', memory_type, content, session_id, seq, agent_id, metadata, valid_at, created_at
		from oxbow.memories where memory_type = 'fact'`)
	d.exec("select oxbow.set_policy('level_summary_weight', 0.3)")
	d.exec(`update oxbow.memories set weight_next_at = now(), created_at = '2015-01-01', stored_at = '2015-01-01'
		where memory_type = 'episodic'`)
	for must.Get(store.SettleLevels(d.ctx, d, time.Now(), dueLevels)).Settled > 0 {
	}
	b.embedAll(d)
	d.exec("vacuum analyze")
	rest := b.questions(w, 8, "rest", texts)
	archived := slices.Clone(rest)
	for i := range archived {
		archived[i].user = "archived"
	}
	r := b.compare(fmt.Sprintf("Recall over the tenth of %d memories that is not archived", memories), "ms",
		b.asking("others deleted", d, plainRecall, rest), b.asking("others archived", d, plainRecall, archived))
	b.atMost(fmt.Sprintf("recall, 90 %% of %d archived / only the others stored", memories), 1.3, r.ratio(1, 0))
}

package kill

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/oxbow-memory/oxbow/internal/failpoint"
)

// However often the worker is killed while it reconciles what applications stored, each home and each employer ends once,
// when the next begins, in whatever order the jobs of a user take turns. OXBOW_KILL_FACTS makes it a long run.
func TestKilledReconciliationLeavesTheSameFacts(t *testing.T) {
	t.Parallel()
	k := newKilling(t)
	facts := k.number("OXBOW_KILL_FACTS", 600)
	k.exec(k.dsn, fmt.Sprintf(`
		insert into oxbow.memories (user_id, content, valid_at)
		select 'person ' || i %% 20,
		       format((array['I live in Milltown%%s', '我住在磨坊路%%s号', 'I work at company number %%s',
		         'I found box number %%s'])[1 + i / 20 %% 4], i),
		       timestamptz '2026-01-01 08:00:00+00' + i * interval '1 hour'
		  from generate_series(1, %d) i`, facts))
	calm, wild := k.clone("calm"), k.clone("wild")
	k.work(calm, wild, k.reconciled, []string{failpoint.ReconcileDecided, failpoint.ReconcileWritten, failpoint.ReconcileCommitted})
	for _, dsn := range []string{calm, wild} {
		current := k.count(dsn, `oxbow.memories_fact m join oxbow.fact_subjects s
			on s.user_id = m.user_id and s.memory_id = m.id where m.expired_at is null`)
		require.Equal(t, 2*20, current, "one home and one employer each")
		require.Equal(t, k.count(dsn, `oxbow.fact_subjects`)-current,
			k.count(dsn, `oxbow.memories_fact where expired_at is not null`))
		require.Zero(t, k.count(dsn, `oxbow.memories_fact m where m.expired_at is not null and not exists (select
			from oxbow.memory_history h where h.user_id = m.user_id and h.memory_id = m.id and h.event = 'UPDATE')`))
	}
	k.oxbow(wild, "check")
}

// reconciled returns what reconciliation wrote, except what depends on the clock or on the order of jobs.
func (k *killing) reconciled(dsn string) []string {
	return k.lines(dsn,
		`select jsonb_build_array('memory', user_id, content, valid_at, invalid_at, expired_at is null, category,
			mention_count, strength) from oxbow.memories_fact`,
		`select jsonb_build_array('subject', s.user_id, s.about, m.content) from oxbow.fact_subjects s
		   join oxbow.memories_fact m on m.user_id = s.user_id and m.id = s.memory_id`,
		`select jsonb_build_array('weight', w.user_id, m.content, w.cause, w.times, w.actor) from oxbow.weight_log w
		   join oxbow.memories_fact m on m.user_id = w.user_id and m.id = w.memory_id`,
	)
}

package kill

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/oxbow-memory/oxbow/internal/failpoint"
)

// However often the worker is killed while it merges, each repeated event becomes one memory that counts each
// repetition once, and so does each fact stated in different words. OXBOW_KILL_EVENTS makes it a long run.
func TestKilledMergesLeaveTheSameMemories(t *testing.T) {
	t.Parallel()
	k := newKilling(t)
	events := k.number("OXBOW_KILL_EVENTS", 600)
	k.exec(k.dsn, `insert into oxbow.settings (key, value) values ('reconcile', '{"enabled": false}')`)
	k.exec(k.dsn, fmt.Sprintf(`
		insert into oxbow.memories (user_id, memory_type, content, valid_at)
		select 'person ' || i %% 20, 'episodic',
		       format((array['Had soup number %%s for lunch', '午饭在工位吃了%%s号扁豆汤'])[1 + i / 20 %% 2],
		         i / 40 %% 3),
		       timestamptz '2026-01-01 08:00:00+00' + i * interval '7 hours'
		  from generate_series(1, %d) i
		union all
		select 'person ' || i %% 20, 'fact',
		       (array['The cat has a red collar', 'My cat still has the red collar'])[1 + i / 20], '2026-01-01 08:00:00+00'
		  from generate_series(0, 39) i`, events))
	calm, wild := k.clone("calm"), k.clone("wild")
	k.work(calm, wild, k.merged, []string{failpoint.MergeDecided, failpoint.MergeWritten, failpoint.MergeCommitted})
	for _, current := range []string{"source = 'merge'", "memory_type in ('fact', 'episodic') and source is distinct from 'abstract'"} {
		require.Equal(t, 20*(2*3+1), k.count(wild, `oxbow.memories where expired_at is null and `+current))
	}
	require.Equal(t, events+40, k.count(wild, `oxbow.memory_links where relation = 'merged_from'`))
	k.oxbow(wild, "check")
}

// merged returns what merging wrote, except what depends on the clock or on how many memories a job had.
func (k *killing) merged(dsn string) []string {
	return k.lines(dsn,
		`select jsonb_build_array('memory', user_id, memory_type, content, valid_at, invalid_at, expired_at is null, source,
			mention_count, strength, metadata -> 'merged') from oxbow.memories
		  where memory_type in ('fact', 'episodic') and source is distinct from 'abstract'`,
		`select jsonb_build_array('link', l.user_id, l.relation, f.content, t.content, t.valid_at, t.superseded_by = f.id)
			from oxbow.memory_links l join oxbow.memories f on f.user_id = l.user_id and f.id = l.from_id
			join oxbow.memories t on t.user_id = l.user_id and t.id = l.to_id`,
		`select jsonb_build_array('history', h.user_id, m.content, m.valid_at, h.event, h.actor) from oxbow.memory_history h
		   join oxbow.memories m on m.user_id = h.user_id and m.id = h.memory_id where h.event = 'SUPERSEDE'`,
		`select jsonb_build_array('weight', w.user_id, m.content, w.cause, sum(w.times), w.actor) from oxbow.weight_log w
		   join oxbow.memories m on m.user_id = w.user_id and m.id = w.memory_id where w.cause = 'merged'
		  group by w.user_id, m.content, w.cause, w.actor`,
	)
}

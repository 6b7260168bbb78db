package kill

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/oxbow-memory/oxbow/internal/failpoint"
)

// However often the worker is killed while it compresses old facts and reviews those that are due, each fact has one
// level and one verdict, as in an undisturbed run. OXBOW_KILL_PEOPLE makes it a long run.
func TestKilledReviewLeavesTheSameFacts(t *testing.T) {
	t.Parallel()
	k := newKilling(t)
	people := k.number("OXBOW_KILL_PEOPLE", 60) // with 18 old facts each: settle writes two batches
	k.exec(k.dsn, fmt.Sprintf(`
		insert into oxbow.memories (user_id, content, category, importance, strength, created_at)
		select 'person ' || i %% %d, format(f.text, i), f.category, 0, f.strength, now() - f.days * interval '1 day'
		  from generate_series(0, 20 * %[1]d - 1) i, lateral (
		    select 'I was tired after race number %%s', 'mood', 1, 200 where i / %[1]d < 9 union all
		    select '我画了第%%s号房子', null, 1, 400 where i / %[1]d between 9 and 17 union all
		    select 'I adore the song number %%s', 'stable_preference', 2.9, 1 where i / %[1]d = 18 union all
		    select 'I bought box %%s', null, 2.9, 1 where i / %[1]d > 18) f(text, category, strength, days)`, people))
	k.exec(k.dsn, `update oxbow.memories set stored_at = created_at`)
	k.oxbow(k.dsn, "work", "--until-idle")
	calm, wild := k.clone("calm"), k.clone("wild")

	k.run("settle", calm, wild)
	k.work(calm, wild, k.reviewed, []string{failpoint.SettleBatch, failpoint.SettleWalked, failpoint.SettleLeveled})
	require.Equal(t, 18*people, k.count(wild, `oxbow.memories_fact where level <> 'full'`))

	for _, dsn := range []string{calm, wild} { // 91 days pass for the old facts, which wait for so long
		k.exec(dsn, `update oxbow.memories_fact set review_at = review_at - interval '121 days';
			insert into oxbow.river_job (kind, queue, max_attempts, args) select distinct 'review', 'reflect', 25,
				jsonb_build_object('user_id', user_id) from oxbow.memories_fact`)
	}
	k.work(calm, wild, k.reviewed, []string{failpoint.ReviewDecided, failpoint.ReviewWritten, failpoint.ReviewCommitted})
	require.Equal(t, 20*people, k.count(wild, `oxbow.memories_fact where reviews = 1`))
	for event, facts := range map[string]int{"DELETE": 9, "PROMOTE": 1, "KEEP": 10} {
		require.Equal(t, facts*people, k.count(wild, fmt.Sprintf(`oxbow.memory_history
			where actor like 'review %%' and event = '%s'`, event)), event)
	}
	k.oxbow(wild, "check")
}

// reviewed returns what levels and reviews wrote, except what depends on the clock.
func (k *killing) reviewed(dsn string) []string {
	return k.lines(dsn,
		`select jsonb_build_array('fact', user_id, content, level, tier, strength, forgotten_by, reviews,
			review_at is null, weight_next_at is null, used_at is null) from oxbow.memories_fact`,
		`select jsonb_build_array('history', h.user_id, m.content, h.event, h.old_metadata, h.new_metadata, h.actor,
			h.reason)
		   from oxbow.memory_history h join oxbow.memories_fact m on m.user_id = h.user_id and m.id = h.memory_id`,
		`select jsonb_build_array('weight', w.user_id, m.content, w.cause, w.times, w.actor) from oxbow.weight_log w
		   join oxbow.memories_fact m on m.user_id = w.user_id and m.id = w.memory_id`,
	)
}

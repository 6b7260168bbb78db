package kill

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/oxbow-memory/oxbow/internal/failpoint"
)

// However often the worker is killed during a reflection, the traits equal those of an undisturbed run. OXBOW_KILLS and
// OXBOW_KILL_RECORDS (a file for "oxbow import") make it a long run: make kill-reflect.
func TestKilledReflectionLeavesTheSameTraits(t *testing.T) {
	t.Parallel()
	records := os.Getenv("OXBOW_KILL_RECORDS")
	if records == "" {
		records = filepath.Join(t.TempDir(), "records.jsonl")
		require.NoError(t, os.WriteFile(records, []byte(lives(3, 500)), 0o600))
	}
	k := newKilling(t)
	now := k.prepare(records)

	calm, wild := k.clone("calm"), k.clone("wild")
	lines := k.work(calm, wild, k.traits, []string{failpoint.ReflectAsked, failpoint.ReflectLocked,
		failpoint.ReflectWritten, failpoint.ReflectCommitted, failpoint.ContradictionWritten}, "--now", now)
	require.Greater(t, len(lines), 100)
	k.oxbow(wild, "check")
}

// prepare imports and embeds the records while the reflect queue is paused. It returns the day of the last memory.
func (k *killing) prepare(records string) (now string) {
	k.oxbow(k.dsn, "import", records)
	conn := k.connect(k.dsn)
	require.NoError(k, conn.QueryRow(k.Context(),
		"select to_char(max(valid_at) at time zone 'UTC', 'YYYY-MM-DD') from oxbow.memories").Scan(&now))
	conn.Close(context.Background())
	k.exec(k.dsn, `insert into oxbow.river_queue (name, paused_at, updated_at) values ('reflect', now(), now())
		on conflict (name) do update set paused_at = now()`)
	worker := k.command(k.dsn, "work", "--now", now)
	require.NoError(k, worker.Start())
	require.Eventually(k, func() bool {
		return k.count(k.dsn, `oxbow.river_job where kind in ('embed', 'check_trigger') and state <> 'completed'`) == 0
	}, 10*time.Minute, 200*time.Millisecond)
	require.NoError(k, worker.Process.Signal(os.Interrupt))
	require.NoError(k, worker.Wait())
	k.exec(k.dsn, `update oxbow.river_queue set paused_at = null`)
	k.exec(k.dsn, `analyze`)
	require.Positive(k, k.count(k.dsn, `oxbow.river_job where kind = 'reflect' and state = 'available'`))
	require.Zero(k, k.count(k.dsn, `oxbow.trait_events`))
	return now
}

// traits returns everything that reflection wrote, except ids and columns that depend on the clock.
func (k *killing) traits(dsn string) []string {
	const name = `(select coalesce(t.trait_key, '') || ': ' || t.content from oxbow.memories_trait t
		where t.user_id = %[1]s.user_id and t.id = %[1]s.%[2]s)`
	trait := func(table, column string) string { return fmt.Sprintf(name, table, column) }
	return k.lines(dsn,
		`select jsonb_build_array('trait', m.user_id, m.trait_key, m.content, m.valid_at, m.expired_at is null,
			m.trait_subtype, m.trait_stage,
		        m.trait_confidence, m.trait_confidence_at, m.trait_context, m.trait_contexts, `+
			trait("m", "trait_parent_id")+`,
		        m.trait_reinforcement_count, m.trait_contradiction_count, m.trait_first_observed,
		        m.trait_last_reinforced, m.trait_window_start, m.trait_window_end, m.trait_next_transition_at,
		        m.trait_review_due_at, m.trait_derived_from, m.version, m.metadata) from oxbow.memories_trait m`,
		`select jsonb_build_array('evidence', e.user_id, `+trait("e", "trait_id")+`, e.direction, e.memory_type,
		        case e.memory_type when 'trait' then `+trait("e", "memory_id")+
			` else e.memory_id::text end, e.quality,
		        case e.memory_type when 'trait' then '' else e.session_key end, e.context, e.stated, e.observed_at,
		        e.timezone, e.event_seq) from oxbow.trait_evidence e`,
		`select jsonb_build_array('event', e.user_id, `+trait("e", "trait_id")+
			`, e.seq, e.event, e.at, e.factor, e.sets, e.memories, e.subtype,
		        e.window_end, e.confidence, e.stage, e.actor, e.reason, e.details - 'parent' - 'version')
		   from oxbow.trait_events e`,
		`select jsonb_build_array('clue', user_id, key, content, memory_type, memory_id, session_key, context, stated,
			observed_at, against) from oxbow.trait_clues`,
		// the trigger of a cycle depends on the time, its result does not
		`select jsonb_build_array('cycle', user_id, memories_scanned, traits_created, traits_updated, traits_dissolved,
			status, reasoner, now, count(*))
		   from oxbow.reflection_cycles group by user_id, memories_scanned, traits_created, traits_updated,
		   traits_dissolved, status, reasoner, now`,
		`select jsonb_build_array('inbox', user_id, memory_type, memory_id) from oxbow.reflection_inbox`,
	)
}

// lives returns records of people with habits, tastes and changes of mind, in English and Chinese.
func lives(people, memories int) string {
	habits := [][]string{
		{"Went climbing at the hall with Noor.", "Climbing again tonight, the blue route at last.",
			"I like ramen more than any other soup.", "Had ramen near the station.",
			"Played chess in the park.", "Worked on the report until late.", "Read a novel on the train.",
			"I no longer go climbing.", "I am a rather quiet person."},
		{"晚上去打羽毛球了。", "今天又和老陈打羽毛球。", "中午吃了牛肉面。", "我很喜欢吃牛肉面。", "周末去钓鱼，天气很好。", "加班写报告到很晚。", "我比较内向。", "我不再打羽毛球了。",
			"在家看电影。"},
	}
	random := rand.New(rand.NewPCG(1, 2))
	begin := time.Date(2025, 1, 1, 8, 0, 0, 0, time.UTC)
	var b strings.Builder
	for p := range people {
		for i := range memories {
			texts := habits[p%len(habits)]
			at := begin.Add(time.Duration(i) * 10 * time.Hour)
			fmt.Fprintf(&b,
				`{"type":"memory","user":"person%d","id":"%d","session":"s%d","seq":%d,"role":"user","at":%q,`+
					`"content":%q}`+"\n",
				p, i, i/4, i, at.Format(time.RFC3339), fmt.Sprintf("%s (%d)", texts[random.IntN(len(texts))], i))
		}
	}
	return b.String()
}

package kill

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/oxbow-memory/oxbow/internal/failpoint"
)

// However often the worker is killed during an extraction, every message is extracted once, and the
// memories are those of an undisturbed run. OXBOW_KILLS and OXBOW_KILL_MESSAGES make it a long run:
// make kill-extract.
func TestKilledExtractionLeavesTheSameMemories(t *testing.T) {
	t.Parallel()
	k := newKilling(t)
	messages := k.number("OXBOW_KILL_MESSAGES", 600)
	k.exec(k.dsn, fmt.Sprintf(`
		insert into oxbow.messages (user_id, session_id, seq, role, content, created_at)
		select 'person ' || i %% 20, 's' || i %% 60, i, case when i %% 5 = 4 then 'assistant' else 'user' end,
		       case i %% 5 when 0 then format('I bought a bicycle with the number %%s.',
		       i) when 1 then format('我在仓库里找到了第%%s号箱子。', i)
		         when 2 then format('Yesterday I met customer number %%s in Hamburg.',
		         i) when 3 then 'ok' else 'I see, tell me more.' end,
		       timestamptz '2026-01-01 08:00:00+00' + i * interval '1 minute'
		  from generate_series(1, %d) i`, messages))
	k.exec(k.dsn, `update oxbow.settings set value = value || '{"summary_after": 6}' where key = 'conversations'`)
	calm, wild := k.clone("calm"), k.clone("wild")
	lines := k.work(calm, wild, k.extracted, []string{failpoint.ExtractDecided, failpoint.ExtractWritten,
		failpoint.ExtractDone, failpoint.ExtractCommitted, failpoint.SummaryMade, failpoint.SummaryWritten,
		failpoint.SummaryCommitted})
	require.Greater(t, len(lines), messages)
	for _, dsn := range []string{calm, wild} {
		require.Zero(t, k.count(dsn, `oxbow.messages where extracted_at is null`))
		require.Zero(t, k.count(dsn, `oxbow.memories m where source = 'extraction' and not exists (select
			from oxbow.memory_sources s where s.memory_id = m.id)`))
		require.Zero(t, k.count(dsn, `(select from oxbow.memories_fact where expired_at is null
			group by user_id, content having count(*) > 1) d`))
		// one summary that counts for each long conversation in which something was said
		require.Zero(t, k.count(dsn, `oxbow.sessions s where (select count(*) from oxbow.messages g
			where g.user_id = s.user_id and g.session_id = s.id) > 6
			and exists (select from oxbow.memories m where m.user_id = s.user_id and m.session_id = s.id)
			and (select count(*) from oxbow.memory_sources o join oxbow.memories m on m.user_id = o.user_id
			and m.id = o.memory_id
			      where o.user_id = s.user_id and o.session_id = s.id and o.message_id is null and m.source = 'summary'
			      and m.expired_at is null) <> 1`))
	}
}

// extracted returns everything that extraction wrote, except ids, columns that depend on the clock, the content of
// summaries, which depends on the timing, and conclusions, which quote messages of the same time in the order of their ids.
func (k *killing) extracted(dsn string) []string {
	return k.lines(dsn,
		`select jsonb_build_array('memory', user_id, memory_type, content, valid_at, invalid_at, expired_at is null,
			session_id, seq, speaker, source, category,
		        importance, strength, mention_count, metadata) from oxbow.memories where memory_type <> 'trait'
		        and source not in ('summary', 'abstract')`,
		`select jsonb_build_array('source', s.user_id, m.content, g.content) from oxbow.memory_sources s
		   join oxbow.memories m on m.user_id = s.user_id and m.id = s.memory_id
		   join oxbow.messages g on g.user_id = s.user_id and g.id = s.message_id where m.source <> 'summary'`,
		`select jsonb_build_array('history', h.user_id, m.content, h.event, h.old_content, h.new_content, h.actor,
			h.reason, (select jsonb_agg(g.content order by g.seq) from oxbow.messages g where g.user_id = h.user_id
		        and g.id = any(h.message_ids)))
		   from oxbow.memory_history h join oxbow.memories m on m.user_id = h.user_id and m.id = h.memory_id
		   where m.memory_type <> 'trait' and m.source not in ('summary', 'abstract')`,
		`select jsonb_build_array('mention', n.user_id, e.key, e.kind, m.content) from oxbow.entity_mentions n
		   join oxbow.entities e on e.user_id = n.user_id and e.id = n.entity_id
		   join oxbow.memories m on m.user_id = n.user_id and m.id = n.memory_id`,
		`select jsonb_build_array('edge', n.user_id, a.key, n.relation, b.key, m.content, n.valid_at, n.invalid_at)
			from oxbow.entity_edges n
		   join oxbow.entities a on a.user_id = n.user_id and a.id = n.from_id
		   join oxbow.entities b on b.user_id = n.user_id and b.id = n.to_id
		   join oxbow.memories m on m.user_id = n.user_id and m.id = n.memory_id`,
		`select jsonb_build_array('session', user_id, id, last_activity_at, ended_at) from oxbow.sessions`,
	)
}

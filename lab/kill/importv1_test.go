package kill

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/oxbow-memory/oxbow/internal/failpoint"
	"github.com/oxbow-memory/oxbow/internal/importv1"
)

// An import of version 1 that is killed in every stage, before and after a commit, resumes where it
// was: what it leaves in the end is what an undisturbed import leaves.
func TestKilledImportV1StoresNothingTwice(t *testing.T) {
	t.Parallel()
	k := newKilling(t)
	k.exec(k.dsn, `
		create table public.embeddings (id uuid primary key, user_id varchar(1000), content text, embedding vector,
		memory_type varchar(50), metadata jsonb,
		  valid_from timestamptz, valid_until timestamptz, superseded_by uuid, version integer default 1,
		  access_count integer default 0,
		  last_accessed_at timestamp, created_at timestamptz)`)
	k.exec(k.dsn, `
		insert into embeddings (id, user_id, content, memory_type, metadata, created_at, superseded_by)
		select md5('row ' || g)::uuid, 'user' || g % 7, case when g % 500 = 0 then ' ' else 'Text number ' || g end,
		       (array['fact', 'general', 'episodic', 'episodic', 'document', 'insight', 'trait', 'odd'])[1 + g % 8],
		       case when g % 8 in (5, 6) then jsonb_build_object('evidence', jsonb_build_object('supporting',
		       jsonb_build_array(jsonb_build_object('id', md5('row ' || g - 7)::uuid, 'quality', 'C'))),
		         'trait_stage', case g % 16 when 6 then 'established' end, 'reinforcement_count',
		         g % 3) else '{"importance": 7}' end,
		       '2024-01-01'::timestamptz + g * interval '1 minute',
		       case when g % 11 = 0 then md5('row ' || g + 7)::uuid end
		  from generate_series(1, 3000) g
		union all
		select '00000000-0000-0000-0000-000000000000', 'user1', 'The least of all ids', 'fact', '{}', '2024-01-01',
		null`)
	calm, wild := k.clone("calm"), k.clone("wild")
	k.oxbow(calm, "import-v1", "--batch", "200")
	var report importv1.Report
	require.NoError(t, json.Unmarshal([]byte(k.text(calm, `select value::text from oxbow.settings
		where key = 'import_v1'`)), &report))
	require.Equal(t, importv1.Type{Rows: 3001, New: 3001 - 6 - 375, Rejected: 6 + 375}, report.Sum(),
		"the empty ones and the odd ones")

	interrupted, points := map[string]int{}, []string{failpoint.ImportWritten + ":2", failpoint.ImportCommitted + ":2"}
	for n := 0; k.killAt(wild, points[n%2], 0, "import-v1", "--batch", "200"); n++ {
		interrupted[k.text(wild, `select coalesce((select value ->> 'stage' from oxbow.settings
			where key = 'import_v1'), 'begin')`)]++
	}
	t.Logf("killed in stage %v", interrupted)
	for _, stage := range []string{importv1.StageMemories, importv1.StageEvidence, importv1.StageFinish} {
		require.Contains(t, interrupted, stage)
	}
	want, got := k.text(calm, v1Imported), k.text(wild, v1Imported)
	require.Greater(t, strings.Count(want, "\n"), 3_000)
	require.True(t, want == got, "the same comes of it")
	counters := `select (value - 'after' - 'started' - 'finished' - 'took' - 'resumed')::text from oxbow.settings
		where key = 'import_v1'`
	require.Equal(t, k.text(calm, counters), k.text(wild, counters), "and it is counted once")
	require.Equal(t, k.count(wild, `oxbow.memories`),
		k.count(wild, `(select distinct args ->> 'user_id', unnest(string_to_array(args ->> 'ids', ','))
			from oxbow.river_job where kind = 'embed') j`),
		"every memory has a job")
	k.oxbow(wild, "check")
}

// v1Imported returns everything that an import wrote, except columns that depend on the clock.
const v1Imported = `
	select string_agg(line::text, E'\n' order by line::text) from (
	  select to_jsonb(m) - 'trait_window_start' - 'trait_window_end' - 'trait_next_transition_at' - 'created_at' - 'seq'
	         - 'trait_confidence_at' - 'expired_at' - 'stored_at'
	    from oxbow.memories m
	  union all select to_jsonb(e) - 'created_at' from oxbow.trait_evidence e
	  union all select to_jsonb(e) - 'created_at' - 'window_end' - 'at' from oxbow.trait_events e
	  union all select to_jsonb(h) - 'created_at' - 'new_metadata' - 'old_metadata' from oxbow.memory_history h
	  union all select to_jsonb(l) - 'created_at' from oxbow.memory_links l
	  union all select to_jsonb(s) - 'created_at' from oxbow.memory_sources s) l(line)`

package migrations_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/oxbow-memory/oxbow/internal/pgtest"
	"github.com/oxbow-memory/oxbow/migrations"
)

// Traits that were imported before there were events get those that lead to where they stand.
func TestTraitsOfVersion3(t *testing.T) {
	t.Parallel()
	dsn := pgtest.Empty(t)
	conn := connect(t, dsn)
	require.NoError(t, migrations.Up(t.Context(), dsn, migrations.Options{}))
	require.NoError(t, migrations.Down(t.Context(), dsn, 3, migrations.Options{}))
	exec(t, conn, `drop trigger if exists complete_trait on oxbow.memories_trait`) // not there in version 3
	exec(t, conn, `set oxbow.origin = 'import'`)
	exec(t, conn, `insert into oxbow.memories (user_id, memory_type, content, trait_subtype, trait_stage, trait_confidence, trait_reinforcement_count, trait_contradiction_count)
		values ('ann', 'trait', 'bare', null, null, null, null, null),
		       ('ann', 'trait', 'sure', 'preference', 'established', 0.7, 4, 2),
		       ('ann', 'trait', 'only a stage', 'behavior', 'core', null, null, null),
		       ('ann', 'trait', 'contradicts itself', 'behavior', 'core', 0.4, 1, 0),
		       ('ann', 'trait', 'a trend', 'behavior', 'trend', 0.3, 1, null),
		       ('ann', 'trait', 'over', 'behavior', 'dissolved', 0.5, 2, 1)`)
	require.NoError(t, migrations.Up(t.Context(), dsn, migrations.Options{}))

	require.EqualValues(t, 6, value[int64](t, conn, `select count(distinct trait_id) from oxbow.trait_events where event = 'created' and seq = 1`))
	// their replay is what their rows say
	require.Equal(t, []string{}, list(t, conn, `
		select format('%s: %s is not %s', m.content, r, row(m.trait_subtype, m.trait_stage, m.trait_confidence, m.trait_confidence_at,
		         m.trait_reinforcement_count, m.trait_contradiction_count, m.trait_window_end))
		  from oxbow.memories_trait m, oxbow.replay_trait(m.user_id, m.id) r
		 where r is distinct from row(m.trait_subtype, m.trait_stage, m.trait_confidence, m.trait_confidence_at,
		         m.trait_reinforcement_count, m.trait_contradiction_count, m.trait_window_end)`))
	// and settle finds what comes next
	exec(t, conn, `select oxbow.settle_traits(now(), 1000)`)
	require.Equal(t, []string{"a trend trend -", "bare candidate 0.20", "contradicts itself emerging 0.40", "only a stage core 0.90", "over dissolved -", "sure established 0.70"},
		list(t, conn, `select format('%s %s %s', content, stage, case when stage in ('trend', 'dissolved') then '-' else to_char(confidence, 'FM0.00') end)
			from oxbow.traits order by content`))
	require.EqualValues(t, 5, value[int64](t, conn, `select count(*) from oxbow.memories_trait where trait_next_transition_at > now()`))
}

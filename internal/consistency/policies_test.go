package consistency

import (
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"github.com/oxbow-memory/oxbow/internal/pgtest"
	"github.com/oxbow-memory/oxbow/store"
)

// After all policies change, the check finds nothing: not before settle has recomputed the
// transitions, not afterwards, and not when earlier evidence is erased, which reweighs events, or
// when a trait is used or edited later.
func TestCheckAfterPoliciesChange(t *testing.T) {
	t.Parallel()
	pool := pgtest.Pool(t)
	f := insertFamily(t, pool, "ann")
	nothing := func(when string) {
		t.Helper()
		report, problems := check(t, pool, "ann", false)
		require.Empty(t, problems, when)
		require.EqualValues(t, 4, report.Traits)
	}
	exec := func(sql string, args ...any) {
		t.Helper()
		_, err := pool.Exec(t.Context(), sql, args...)
		require.NoError(t, err)
	}
	yesterday := time.Now().AddDate(0, 0, -1)
	asOf := func() []string {
		rows, err := pool.Query(t.Context(), `select row(a.*)::text from oxbow.traits_as_of('ann', $1) a`, yesterday)
		require.NoError(t, err)
		held, err := pgx.CollectRows(rows, pgx.RowTo[string])
		require.NoError(t, err)
		return held
	}
	settle := func(now time.Time) {
		t.Helper()
		for n := 1000; n == 1000; {
			var err error
			n, err = store.FollowPolicies(t.Context(), pool, 1000)
			require.NoError(t, err)
		}
		_, err := store.SettleTraits(t.Context(), pool, now, 1000)
		require.NoError(t, err)
	}
	settle(time.Now())
	nothing("at first")
	before := asOf()

	rows, err := pool.Query(t.Context(), `select name from oxbow.policies`)
	require.NoError(t, err)
	names, err := pgx.CollectRows(rows, pgx.RowTo[string])
	require.NoError(t, err)
	for _, name := range names { // each commits by itself, because it has to do so within 2 seconds
		exec(`select oxbow.set_policy(name,
		        ("default" + case when maximum - "default" > "default" - minimum then maximum else minimum end) / 2)
		      from oxbow.policies where name = $1`, name)
	}
	nothing("before the transitions follow")
	settle(time.Now().Add(2 * time.Second)) // transitions are in whole seconds
	nothing("after the transitions follow")
	require.Equal(t, before, asOf(), "yesterday stays as it was")

	exec(`select oxbow.edit_trait('ann', $1, confidence => 0.7)`, f.trait)
	exec(`select oxbow.use_trait('ann', $1, clock_timestamp(), 'app')`, f.trait)
	nothing("after an edit and a use")
	exec(`select oxbow.erase_memory('ann', id) from oxbow.memories where user_id = 'ann' and content = 'ann three'`)
	nothing("after an erasure")
}

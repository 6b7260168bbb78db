package oxbow_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/oxbow-memory/oxbow"
)

func TestSensoryOfAUser(t *testing.T) {
	t.Parallel()
	b := setup(t)
	app := b.app(t) // the client sets oxbow.user_id
	_, err := b.pool.Exec(t.Context(), `
		insert into oxbow.sensory (user_id, content, at, kind, metadata) values
		  ('ann', 'first', now() - interval '2 hours', 'page', '{"n": 1}'), ('ann', 'second', now() - interval '1 hour',
		  'input', '{}'), ('bob', 'his', now(), 'input', '{}');
		insert into oxbow.sensory_candidates (user_id, hash, content, times, first_at, last_at) values
		  ('ann', md5('a')::uuid, 'a', 3, now(), now()), ('ann', md5('b')::uuid, 'b', 9, now(), now()), ('bob',
		  md5('a')::uuid, 'a', 5, now(), now())`)
	require.NoError(t, err)

	items, err := app.Sensory(t.Context(), "ann", 10)
	require.NoError(t, err)
	require.Len(t, items, 2)
	require.Equal(t, "second", items[0].Content)
	require.Equal(t, "page", items[1].Kind)
	require.Equal(t, map[string]any{"n": 1.0}, items[1].Metadata)
	items, err = app.Sensory(t.Context(), "ann", 1)
	require.NoError(t, err)
	require.Len(t, items, 1)
	candidates, err := app.SensoryCandidates(t.Context(), "ann", 10)
	require.NoError(t, err)
	require.Len(t, candidates, 2)
	require.Equal(t, "b", candidates[0].Content)
	require.Equal(t, 9, candidates[0].Times)

	for _, limit := range []int{0, 1001} {
		_, err = app.Sensory(t.Context(), "ann", limit)
		require.ErrorContains(t, err, "limit must be between 1 and 1000")
		_, err = app.SensoryCandidates(t.Context(), "ann", limit)
		require.ErrorAs(t, err, new(*oxbow.InvalidError))
	}
}

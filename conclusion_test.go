package oxbow_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/oxbow-memory/oxbow"
)

func TestConclusions(t *testing.T) {
	t.Parallel()
	b := setup(t)
	for i := range 5 { // due for reflection only together
		_, err := b.pool.Exec(t.Context(), `insert into oxbow.memories (user_id, memory_type, content, valid_at, importance)
			values ('ann', 'episodic', $1, now() - $2 * interval '1 day', 0.6)`, fmt.Sprintf("Went running, round %d", i), 9-i)
		require.NoError(t, err)
	}
	b.work(t)
	all, err := b.client.Conclusions(t.Context(), "ann", oxbow.ConclusionsQuery{})
	require.NoError(t, err)
	require.Len(t, all, 1)
	require.Equal(t, []string{""}, all[0].Voices)
	require.Equal(t, "do:running", all[0].Topic)
	require.Len(t, all[0].Sources, 5)
	require.Equal(t, 1, all[0].Version)
	require.Zero(t, all[0].EndedAt)
	memory, err := b.client.Get(t.Context(), "ann", all[0].ID)
	require.NoError(t, err)
	require.Equal(t, all[0].Content, memory.Content)

	for _, q := range []oxbow.ConclusionsQuery{{Topic: "do:swimming"}, {Topic: "do:'; drop table x"}} {
		all, err := b.client.Conclusions(t.Context(), "ann", q)
		require.NoError(t, err)
		require.Empty(t, all)
	}
	all, err = b.client.Conclusions(t.Context(), "bob", oxbow.ConclusionsQuery{Versions: true})
	require.NoError(t, err)
	require.Empty(t, all)
	var invalid *oxbow.InvalidError
	_, err = b.client.Conclusions(t.Context(), "ann", oxbow.ConclusionsQuery{Limit: 1001})
	require.ErrorAs(t, err, &invalid)
	_, err = b.client.Conclusions(t.Context(), "", oxbow.ConclusionsQuery{})
	require.ErrorAs(t, err, &invalid)
}

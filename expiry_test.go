package oxbow_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/oxbow-memory/oxbow"
)

func TestExpiresAt(t *testing.T) {
	t.Parallel()
	b := setup(t)
	in := time.Now().Add(time.Hour).Truncate(time.Second)
	id := b.remember(t, oxbow.NewMemory{Content: "Ann has a guest pass.", ExpiresAt: in})
	m, err := b.client.Get(t.Context(), "ann", id)
	require.NoError(t, err)
	require.True(t, in.Equal(m.ExpiresAt))

	for _, at := range []time.Time{time.Now().Add(-time.Second), time.Date(10000, 1, 2, 0, 0, 0, 0, time.UTC)} {
		_, err = b.client.RememberMany(t.Context(), []oxbow.NewMemory{{UserID: "ann", Content: "One."},
			{UserID: "ann", Content: "Two.", ExpiresAt: at}})
		var bad *oxbow.InvalidError
		require.ErrorAs(t, err, &bad)
		require.Equal(t, "expires_at", bad.Field)
		require.Equal(t, 1, bad.Index)
	}
}

package store

import (
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/oxbow-memory/oxbow/internal/pgtest"
)

func TestColumnOf(t *testing.T) {
	t.Parallel()
	for field, column := range map[string]string{"ID": "id", "UserID": "user_id", "MessageIDs": "message_ids",
		"At": "at", "SealedKey": "sealed_key"} {
		require.Equal(t, column, columnOf(field))
	}
}

func TestCollect(t *testing.T) {
	t.Parallel()
	tx := pgtest.Tx(t)
	type row struct {
		MemoryRef
		At       time.Time
		Every    *float64
		Metadata map[string]any
		Unread   int
	}
	id := uuid.New()
	found, err := Collect[row](t.Context(), tx, `
		select 'ann' as user_id, $1::uuid as id, null::timestamptz as at,
		1.5::float8 as every, '{"a": 1}'::jsonb as metadata
		union all select null, null, null, null, null`, id)
	require.NoError(t, err)
	require.Equal(t, []row{{MemoryRef: MemoryRef{"ann", id}, Every: new(1.5), Metadata: map[string]any{"a": 1.0}}, {}},
		found)

	none, err := CollectOne[time.Time](t.Context(), tx, `select null::timestamptz`)
	require.NoError(t, err)
	require.Zero(t, none)
	_, err = one[int](t.Context(), tx, "count", `select 1 where false`)
	require.ErrorIs(t, err, ErrNotFound)
	require.ErrorContains(t, err, "count: ")
	_, err = Collect[row](t.Context(), tx, `select 1 as other`)
	require.ErrorContains(t, err, `no field for the column "other"`)
}

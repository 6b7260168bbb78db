package doctor_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/oxbow-memory/oxbow/internal/doctor"
	"github.com/oxbow-memory/oxbow/internal/pgtest"
	"github.com/oxbow-memory/oxbow/migrations"
)

// An operator may examine everything but the sessions of other logins.
func TestExamineAsOperator(t *testing.T) {
	t.Parallel()
	dsn := pgtest.Database(t)
	_, err := pgtest.Open(t, dsn, "").Exec(t.Context(), `
		insert into oxbow.river_job (kind, queue, args, state, attempt, finalized_at, errors)
		values ('embed', 'embed', '{}', 'discarded', 25, now(), array['{"error": "the disk is full"}']::jsonb[])`)
	require.NoError(t, err)
	var want doctor.Expected
	for _, x := range migrations.Indexes() {
		want.Indexes = append(want.Indexes, doctor.ExpectedIndex(x))
	}
	found := map[string]doctor.Finding{}
	for _, f := range doctor.Examine(t.Context(), pgtest.Open(t, dsn, "oxbow_operator"), want) {
		if f.About != "transactions" && f.About != "workers" {
			require.NotEqual(t, doctor.LevelUnseen, f.Level, "%+v", f)
		}
		found[f.About] = f
	}
	require.Len(t, found, 14)
	require.Equal(t, "1 job of kind embed given up: the disk is full", found["queue"].What)
}

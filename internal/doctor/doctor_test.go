package doctor_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/oxbow-memory/oxbow/internal/doctor"
	"github.com/oxbow-memory/oxbow/internal/pgtest"
	"github.com/oxbow-memory/oxbow/migrations"
)

// The roles have the rights that their functions need, and each one that is missing is found.
func TestExamineRights(t *testing.T) {
	t.Parallel()
	pool := pgtest.Pool(t)
	rights := func() (found []doctor.Finding) {
		for _, f := range doctor.Examine(t.Context(), pool, doctor.Expected{}) {
			if f.About == "rights" {
				found = append(found, f)
			}
		}
		require.NotEmpty(t, found)
		return found
	}
	require.Equal(t, doctor.LevelOK, rights()[0].Level, "%+v", rights())
	for revoke, want := range map[string]string{
		"execute on function oxbow.lock_repeats from oxbow_worker":    "oxbow_worker lacks rights: execute on lock_repeats",
		"execute on function oxbow.reject from oxbow_app":             "oxbow_app lacks rights: execute on reject",
		"execute on function oxbow.ring_doorbell from oxbow_operator": "oxbow_operator lacks rights: execute on ring_doorbell",
		"select on oxbow.recall_rules from oxbow_worker":              "oxbow_worker lacks rights: select on recall_rules",
		"insert on oxbow.memory_links from oxbow_worker":              "oxbow_worker lacks rights on memory_links",
		"usage on schema public from public":                          "a group role may not use the schema of pgvector, public",
	} {
		grant := strings.Replace(revoke, " from ", " to ", 1)
		_, err := pool.Exec(t.Context(), "revoke "+revoke)
		require.NoError(t, err)
		found := rights()
		require.Equal(t, doctor.LevelError, found[0].Level, revoke)
		require.Contains(t, found[0].What, want, revoke)
		_, err = pool.Exec(t.Context(), "grant "+grant)
		require.NoError(t, err)
	}
}

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

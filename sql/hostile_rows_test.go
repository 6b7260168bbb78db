package sqlcode_test

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/oxbow-memory/oxbow/internal/pgtest"
)

// Applications may write the counters of memories. A full one stays full; nothing fails, because other users' uses are
// counted in the same statement.
func TestFullCounters(t *testing.T) {
	t.Parallel()
	tx := pgtest.Tx(t)
	full := row{"user_id": ann(t), "mention_count": math.MaxInt32, "access_count": math.MaxInt32}
	id := remember(t, tx, full.with(row{"created_at": ago(0)}))
	index(t, tx, ann(t))
	remember(t, tx, full)
	index(t, tx, ann(t))
	exec(t, tx, `select oxbow.touch($1, array[$2::text::uuid])`, ann(t), id)
	exec(t, tx, `select oxbow.fold_activity(1000)`)
	exec(t, tx, `select oxbow.write_extraction($1, 's', 'test', '{}', json_build_array(json_build_object(
		'id', gen_random_uuid(), 'type', 'fact', 'operation', 'NOOP', 'target', $2::text, 'sources', '[]'::json)),
		'{}', true)`, ann(t), id)
	require.Equal(t, []int{math.MaxInt32, math.MaxInt32}, all[int](t, tx,
		`select unnest(array[mention_count, access_count]) from oxbow.memories where user_id = $1 and id = $2`,
		ann(t), id))
}

// Applications may write superseded_by, so a document may be its own later version.
func TestDocumentIsItsOwnLaterVersion(t *testing.T) {
	t.Parallel()
	tx := pgtest.Tx(t)
	ingest := func(texts ...string) {
		exec(t, tx, `select oxbow.ingest_file($1, 'boats.txt', $2)`, ann(t), texts)
	}
	ingest("one", "two")
	exec(t, tx, `update oxbow.memories set superseded_by = id where user_id = $1`, ann(t))
	ingest("one", "three")
	exec(t, tx, `select oxbow.delete_file($1, 'boats.txt')`, ann(t))
	require.Zero(t, one[int](t, tx, `select count(*) from oxbow.memories where user_id = $1`, ann(t)))
}

func TestOddArgumentsAreRefused(t *testing.T) {
	t.Parallel()
	tx := pgtest.Tx(t)
	id := remember(t, tx, row{"user_id": ann(t)})
	for sql, says := range map[string]string{
		"ingest_file($1, 'p', array[['a', 'b'], ['c', 'd']])": "contents must be a list of texts",
		"ingest_file($1, 'p', array['a'], bytes => -5)":       "bytes must not be negative",
		"supersede($1, '" + id + "', 'another', actor => 'reflection')": "actor must not be reflection, settle, import or " +
			"check, which are Oxbow's own",
	} {
		err := fails(t, tx, "select oxbow."+sql, ann(t))
		require.Equal(t, says, err.Message)
		require.Equal(t, "23514", err.Code)
	}
}

// An application changes a trait only by the functions for it.
func TestAppCannotChangeTraits(t *testing.T) {
	t.Parallel()
	tx := pgtest.Tx(t)
	early(ann(t)).Insert(t, tx)
	asApp(t, tx)
	setUser(t, tx, ann(t))
	for _, change := range []string{"trait_stage = 'core'", "expired_at = now()", "superseded_by = gen_random_uuid()",
		"valid_at = now()", "invalid_at = now()", "created_at = '2020-01-01'"} {
		for _, table := range []string{"memories", "memories_trait"} {
			err := fails(t, tx, "update oxbow."+table+" set "+change+" where memory_type = 'trait'")
			require.Equal(t, "42501", err.Code, "%s: %v", change, err)
			require.Contains(t, err.Hint, "oxbow.edit_trait")
		}
	}
	exec(t, tx, "update oxbow.memories set importance = 0.7")
	exec(t, tx, "update oxbow.memories set expired_at = now() where memory_type <> 'trait'")
}

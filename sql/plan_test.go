package sqlcode_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/oxbow-memory/oxbow/internal/pgtest"
)

// reads returns how many rows this transaction has read so far from the tables of memories, by sequential
// scans and through indexes.
func reads(t *testing.T, tx db) (sequential, indexed int) {
	t.Helper()
	require.NoError(t, tx.QueryRow(t.Context(), `
		select coalesce(sum(seq_tup_read), 0), coalesce(sum(idx_tup_fetch), 0)
		  from pg_stat_xact_user_tables where schemaname = 'oxbow' and relname ~ '^memor'`).Scan(&sequential, &indexed))
	return sequential, indexed
}

// A plan made while the tables were empty does not read the rows of all users once they are full.
func TestPlansFitTablesThatGrow(t *testing.T) {
	t.Parallel()
	tx := pgtest.Tx(t)
	calls := []row{
		{"query": "boat 17 lamp"},
		{"query": nil, "embedding": axis(3)},
		{"query": "boat 17 in October", "embedding": axis(3)},
		{"query": "boat", "valid_as_of": ago(-10000 * 24 * time.Hour), "agent": "a"},
	}
	for range 6 { // PostgreSQL considers generic plans from the sixth call on
		for _, args := range calls {
			require.Empty(t, recall(t, tx, row{"user_id": ann(t)}.with(args)))
		}
	}

	const others, each, own = 50, 100, 10
	for i := range others + 1 {
		user, rows := fmt.Sprintf("%s %d", ann(t), i), each
		if i == others {
			user, rows = ann(t), own
		}
		episodes(t, tx, user, rows)
		exec(t, tx, `insert into oxbow.memory_vectors (user_id, memory_type, memory_id, embedding)
		             select user_id, memory_type, id, $2::text::halfvec from oxbow.memories where user_id = $1`, user,
			axis(3, i))
		index(t, tx, user)
	}
	for _, args := range calls {
		sequential, fetched := reads(t, tx)
		require.NotEmpty(t, recall(t, tx, row{"user_id": ann(t)}.with(args)))
		sequentialAfter, fetchedAfter := reads(t, tx)
		require.Equal(t, sequential, sequentialAfter, "no sequential scan for %v", args)
		require.Less(t, fetchedAfter-fetched, 40*own, "a user of %d memories does not pay for %d of others: %v", own,
			others*each, args)
	}
}

// Recall of a large user reads the rows that it finds and not all of the user's rows, without statistics
// as well as when all other users are small, so that a generic plan expects few rows.
func TestRecallReadsWhatItFinds(t *testing.T) {
	t.Parallel()
	const own = 3_000
	for _, known := range []bool{false, true} {
		t.Run(fmt.Sprintf("statistics %t", known), func(t *testing.T) {
			t.Parallel()
			tx := begin(t, pgtest.Database(t)) // its own reads are counted
			episodes(t, tx, ann(t), own)
			index(t, tx, ann(t))
			if known {
				exec(t, tx, `insert into oxbow.memories (user_id, content)
					select 'user ' || n, 'The boat ' || n || ' has a lamp.' from generate_series(1, 3000) n`)
				exec(t, tx, `insert into oxbow.memory_terms (user_id, memory_type, memory_id, len, tsv)
				             select m.user_id, m.memory_type, m.id, 3, to_tsvector('simple', m.content)
				             from oxbow.memories m where m.user_id <> $1`, ann(t))
				exec(t, tx, "analyze")
			}
			ask := func(filter row) {
				for range 2 {
					whole, before := reads(t, tx)
					found := recall(t, tx, row{"user_id": ann(t), "query": "1717 1313 2222",
						"max_results": 5}.with(filter))
					wholeAfter, after := reads(t, tx)
					require.Len(t, found, 5, filter)
					require.Less(t, after-before+wholeAfter-whole, own/4, "of %d memories: %v", own, filter)
				}
			}
			later := time.Now().Add(time.Hour)
			for _, filter := range []row{{}, {"agent": "a"}, {"metadata_contains": "{}"}, {"valid_as_of": later},
				{"believed_as_of": later}} {
				ask(filter)
			}
			exec(t, tx, "update oxbow.memories set expired_at = now() where user_id = $1 and seq % 2 = 0", ann(t))
			ask(row{})
		})
	}
}

func episodes(t *testing.T, tx db, user string, n int) {
	t.Helper()
	exec(t, tx, `insert into oxbow.memories (user_id, memory_type, content, session_id, seq, agent_id)
	             select $1, 'episodic', 'The boat ' || n || ' has a lamp.', 's' || n / 20, n, 'a'
	             from generate_series(1, $2::int) n`, user, n)
}

// The cost of embed depends on the batch and not on the number of the user's memories, although its plans
// were made while the tables had one row. Autovacuum has analyzed the tables since: without statistics,
// PostgreSQL may consider a full scan of some hundred rows as cheap.
func TestEmbedReadsOnlyItsBatch(t *testing.T) {
	t.Parallel()
	tx := pgtest.Tx(t)
	batches := func(do func(ids []string)) {
		ids := all[string](t, tx, "select id::text from oxbow.memories where user_id = $1", ann(t))
		for batch := range slices.Chunk(ids, 100) {
			do(batch)
		}
	}
	steps := map[string]func(ids []string){
		"embeddables": func(ids []string) {
			exec(t, tx, "select from oxbow.embeddables(array[$1], $2::text[]::uuid[], 'local-v1')", ann(t), ids)
		},
		"write_vectors": func(ids []string) {
			exec(t, tx, `select oxbow.write_vectors(array[$1], '{"model": "local-v1", "dimension": 1024}', $2::text[]::uuid[],
				array_fill($3::text::halfvec, array[cardinality($2)]))`,
				ann(t), ids, axis(1))
		},
		"index_memories": func(ids []string) {
			exec(t, tx, "select oxbow.index_memories(array[$1], $2::text[]::uuid[])", ann(t), ids)
		},
		"nothing left": func(ids []string) {
			exec(t, tx, "select oxbow.index_memories(array[$1], $2::text[]::uuid[])", ann(t), ids)
		},
	}
	remember(t, tx, row{"user_id": ann(t)})
	for range 6 { // make the generic plans while tables have one row
		for _, name := range []string{"embeddables", "write_vectors", "index_memories"} {
			batches(steps[name])
		}
	}
	episodes(t, tx, ann(t), 1000)
	exec(t, tx,
		`insert into oxbow.memories (user_id, content) select $1, 'The lamp ' || n % 1100
			from generate_series(1, 2000) n`, ann(t))
	exec(t, tx, "analyze oxbow.memories")
	for _, name := range []string{"embeddables", "write_vectors", "index_memories", "nothing left"} {
		batches(func(ids []string) {
			sequential, fetched := reads(t, tx)
			steps[name](ids)
			sequentialAfter, fetchedAfter := reads(t, tx)
			require.Equal(t, sequential, sequentialAfter, name)
			require.Less(t, fetchedAfter-fetched, 100*len(ids), name)
		})
	}
	require.Equal(t, 3001, requireStats(t, tx, ann(t)))
	require.Equal(t, 1100, one[int](t, tx,
		`select count(*) from oxbow.memories where user_id = $1 and memory_type = 'fact' and expired_at is null
				and content like 'The lamp%'`, ann(t)))
}

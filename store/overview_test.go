package store

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/oxbow-memory/oxbow/internal/pgtest"
)

func TestOverview(t *testing.T) {
	t.Parallel()
	pool := pgtest.Pool(t)
	exec := func(sql string) {
		_, err := pool.Exec(t.Context(), sql)
		require.NoError(t, err)
	}
	exec(`insert into oxbow.memories (user_id, content) select 'ada', 'fact ' || n from generate_series(1, 5) n`)
	exec(`insert into oxbow.memories (user_id, memory_type, content) select 'ada', 'document', 'x' from generate_series(1, 300)`)
	exec(`select oxbow.index_memories('ada', array(select id from oxbow.memories_fact order by id limit 2))`)
	exec(`update oxbow.memories_fact set forgotten_at = now() where content = 'fact 1'`)
	exec(`update oxbow.memories_fact set expired_at = now() where content = 'fact 2'`)
	exec(`update oxbow.memories_document set forgotten_at = now() where ctid = '(0,1)'`)
	exec(`update oxbow.memories_document set expired_at = now() where ctid = '(0,2)'`)
	exec(`analyze oxbow.memories_document`)
	exec(`analyze oxbow.memory_terms_document`)

	exact, err := ReadOverview(t.Context(), pool, ExactCounts)
	require.NoError(t, err)
	estimated, err := ReadOverview(t.Context(), pool, 100)
	require.NoError(t, err)

	var waiting int64
	err = pool.QueryRow(t.Context(), `select count(*) from oxbow.memories_fact m where forgotten_at is null
		and not exists (select from oxbow.memory_terms t where t.memory_id = m.id)`).Scan(&waiting)
	require.NoError(t, err)
	facts := TypeCount{Type: Fact, Current: 3, Superseded: 1, Forgotten: 1, Waiting: waiting}
	require.Equal(t, facts, exact.Memories[0])
	require.Equal(t, facts, estimated.Memories[0], "few are counted")
	require.Equal(t, TypeCount{Type: Document, Current: 298, Superseded: 1, Forgotten: 1, Waiting: 299}, exact.Memories[3])
	require.Equal(t, TypeCount{Type: Document, Current: 298, Superseded: 1, Forgotten: 1, Waiting: 299, Estimated: true}, estimated.Memories[3])
	require.Equal(t, int64(4), exact.Jobs[0].Jobs, "one of the facts, three of the documents")
	require.Equal(t, "embed", exact.OldestWaiting.Kind)
	require.Positive(t, exact.EmbeddingLagSeconds)
	require.Equal(t, EmbeddingModel{"local-v1", 1024}, exact.Embedding)
}

package gauges

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/oxbow-memory/oxbow/internal/pgtest"
	"github.com/oxbow-memory/oxbow/store"
)

func TestOverview(t *testing.T) {
	t.Parallel()
	pool := pgtest.Pool(t)
	exec := func(sql string) {
		_, err := pool.Exec(t.Context(), sql)
		require.NoError(t, err)
	}
	exec(`insert into oxbow.memories (user_id, content) select 'ada', 'fact ' || n from generate_series(1, 5) n`)
	exec(`insert into oxbow.memories (user_id, memory_type, content) select 'ada', 'document', 'x'
		from generate_series(1, 300)`)
	exec(`select oxbow.index_memories(array['ada'], array(select id from oxbow.memories_fact order by id limit 2))`)
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
	facts := TypeCount{Type: store.Fact, Current: 3, Superseded: 1, Forgotten: 1, Waiting: waiting}
	require.Equal(t, facts, exact.Memories[0])
	require.Equal(t, facts, estimated.Memories[0], "few are counted")
	require.Equal(t, TypeCount{Type: store.Document, Current: 298, Superseded: 1, Forgotten: 1, Waiting: 299},
		exact.Memories[3])
	require.Equal(t, TypeCount{Type: store.Document, Current: 298, Superseded: 1, Forgotten: 1, Waiting: 299,
		Estimated: true}, estimated.Memories[3])
	require.Equal(t, int64(4), exact.Jobs[0].Jobs, "one of the facts, three of the documents")
	require.Equal(t, "embed", exact.OldestWaiting.Kind)
	require.Positive(t, exact.EmbeddingLagSeconds)
	require.Equal(t, store.EmbeddingModel{Model: "local-v1", Dimension: 1024}, exact.Embedding)
	require.Nil(t, exact.Reasoner)
}

// DownSince is the first failed call after the last successful one.
func TestReasonerState(t *testing.T) {
	t.Parallel()
	tx := pgtest.Tx(t)
	call := func(minutesAgo int, failure *string) {
		_, err := tx.Exec(t.Context(), `insert into oxbow.llm_calls (user_id, purpose, model, attempt, started_at,
			latency,
			error)
			values ($1, 'reflect', 'm' || $2::integer, 1, date_trunc('minute',
			now()) - $2::integer * interval '1 minute', '1 s',
			  $3)`,
			fmt.Sprintf("user of %s", t.Name()), minutesAgo, failure)
		require.NoError(t, err)
	}
	state := func() *ReasonerState {
		o, err := ReadOverview(t.Context(), tx, ExactCounts)
		require.NoError(t, err)
		return o.Reasoner
	}
	minutes := func(n int) time.Time {
		var at time.Time
		require.NoError(t, tx.QueryRow(t.Context(), `select date_trunc('minute',
			now()) - $1::integer * interval '1 minute'`,
			n).Scan(&at))
		return at
	}
	first, last := "it is overloaded", "it does not answer"
	call(90, &first)
	s := state()
	require.Nil(t, s.WorkedAt)
	require.True(t, s.DownSince.Equal(minutes(90)), "it never worked")
	call(60, nil)
	s = state()
	require.Nil(t, s.DownSince)
	require.True(t, s.WorkedAt.Equal(minutes(60)))
	require.Zero(t, s.Failures)
	call(50, &first)
	call(40, &first)
	call(30, &last)
	_, err := tx.Exec(t.Context(), `insert into oxbow.river_job (kind, queue, max_attempts, args, state, scheduled_at,
		metadata)
		select k, 'reflect', 25, '{}', 'scheduled', now() + interval '1 minute', m::jsonb
		  from (values ('reflect', '{"snoozes": 3}'), ('contradiction_review', '{"snoozes": 1}'), ('reflect', '{}'),
		    ('embed', '{"snoozes": 1}')) j(k, m)`)
	require.NoError(t, err)
	s = state()
	require.True(t, s.DownSince.Equal(minutes(50)))
	require.True(t, s.WorkedAt.Equal(minutes(60)))
	require.Equal(t, []any{"m30", int64(3), last, int64(2)}, []any{s.Model, s.Failures, s.LastError, s.Waiting})
}

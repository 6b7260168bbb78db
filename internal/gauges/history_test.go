package gauges

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/oxbow-memory/oxbow/internal/pgtest"
	"github.com/oxbow-memory/oxbow/internal/traittest"
)

// of returns the values of a series.
func of(t *testing.T, all []Series, name string) []float64 {
	t.Helper()
	for _, s := range all {
		if s.Name == name {
			return s.Values
		}
	}
	require.Fail(t, "no series", "%s in %v", name, all)
	return nil
}

// A history counts what was current at each time, as an operator may read it.
func TestHistory(t *testing.T) {
	t.Parallel()
	dsn := pgtest.Database(t)
	owner, operator := pgtest.Open(t, dsn, ""), pgtest.Open(t, dsn, "oxbow_operator")
	exec := func(sql string) {
		_, err := owner.Exec(t.Context(), sql)
		require.NoError(t, err)
	}
	exec(`insert into oxbow.memories (user_id, content, created_at)
		select 'ada', 'fact ' || n, now() - n * interval '1 day' - interval '1 hour' from generate_series(0, 9) n`)
	exec(`update oxbow.memories_fact set forgotten_at = now() - interval '2 days' where content = 'fact 9'`)
	exec(`update oxbow.memories_fact set expired_at = now() - interval '1 day' where content = 'fact 8'`)
	now := time.Now()
	traittest.Trait{UserID: "ada", Events: []traittest.Event{
		traittest.Created(now.AddDate(0, 0, -3), 0.4), traittest.Reinforced(now.AddDate(0, 0, -1), 0.9)}}.Insert(t, owner)
	exec(`insert into oxbow.weight_log (user_id, memory_type, memory_id, at, cause, before, after)
		select user_id, memory_type, id, now() - interval '30 hours', 'used', 0.5, 0.6 from oxbow.memories_fact limit 3`)

	h, err := ReadHistory(t.Context(), operator, 4, 5)
	require.NoError(t, err)
	require.Len(t, h.Times, 5)
	require.False(t, h.Estimated)
	require.Equal(t, []float64{6, 7, 7, 7, 8}, of(t, h.Memories, "fact"))
	require.Equal(t, []float64{0, 0, 0, 0, 0}, of(t, h.Memories, "document"))
	stages := func(i int) map[string]float64 {
		found := map[string]float64{}
		for _, s := range h.Traits {
			if s.Values[i] != 0 {
				found[s.Name] = s.Values[i]
			}
		}
		return found
	}
	require.Empty(t, stages(0))
	require.Equal(t, map[string]float64{"emerging": 1}, stages(2))
	require.Equal(t, map[string]float64{"core": 1}, stages(4))
	require.Equal(t, []float64{0, 0, 0, 3, 0}, of(t, h.Changes, "used"))
	require.Equal(t, h.Times[0], h.ChangesSince)
}

// A large table is estimated from a sample of its pages.
func TestHistoryIsEstimated(t *testing.T) {
	t.Parallel()
	pool := pgtest.Pool(t)
	_, err := pool.Exec(t.Context(), `alter table oxbow.memories_document disable trigger user`)
	require.NoError(t, err)
	_, err = pool.Exec(t.Context(), `insert into oxbow.memories (user_id, memory_type, content, created_at)
		select 'ada', 'document', repeat('x', 1500), now() - interval '1 day' from generate_series(1, 4000)`)
	require.NoError(t, err)
	h, err := ReadHistory(t.Context(), pool, 4, 5)
	require.NoError(t, err)
	require.True(t, h.Estimated)
	require.Zero(t, of(t, h.Memories, "document")[0])
	require.InDelta(t, 4000, of(t, h.Memories, "document")[4], 1000)
}

func TestFading(t *testing.T) {
	t.Parallel()
	dsn := pgtest.Database(t)
	_, err := pgtest.Open(t, dsn, "").Exec(t.Context(), `insert into oxbow.memories (user_id, content, category)
		select 'ada', 'fact ' || n, 'temporary' from generate_series(1, 10) n`)
	require.NoError(t, err)
	f, err := ReadFading(t.Context(), pgtest.Open(t, dsn, "oxbow_operator"), []int{0, 3650})
	require.NoError(t, err)
	require.False(t, f.Estimated)
	sum := []float64{0, 0}
	for _, s := range f.Memories {
		sum[0], sum[1] = sum[0]+s.Values[0], sum[1]+s.Values[1]
	}
	require.Equal(t, []float64{10, 10}, sum)
	require.InDelta(t, 10, of(t, f.Memories, "0.3")[0], 0, "%v", f.Memories)
	require.InDelta(t, 10, of(t, f.Memories, "0")[1], 0, "%v", f.Memories)
}

// An operator may read all gauges.
func TestOperatorReads(t *testing.T) {
	t.Parallel()
	dsn := pgtest.Database(t)
	_, err := pgtest.Open(t, dsn, "").Exec(t.Context(), `insert into oxbow.memories (user_id, content) values ('ada', 'one')`)
	require.NoError(t, err)
	operator := pgtest.Open(t, dsn, "oxbow_operator")
	p, err := ReadPulse(t.Context(), operator, 5*time.Minute)
	require.NoError(t, err)
	kinds := p.Kinds()
	require.Len(t, kinds, 1)
	require.Equal(t, "embed", kinds[0].Kind)
	require.Equal(t, map[string]int64{"available": 1}, kinds[0].Jobs)
	require.Positive(t, kinds[0].DueSeconds)
	_, err = ReadOverview(t.Context(), operator, ExactCounts)
	require.NoError(t, err)
	_, err = Read(t.Context(), operator)
	require.NoError(t, err)
}

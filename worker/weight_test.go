package worker

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/oxbow-memory/oxbow/store"
)

// Mentions, uses and merges are counted once, by whichever job noted them.
func TestWeightEventsAreCounted(t *testing.T) {
	b := setup(t)
	b.exec(`insert into oxbow.memories (user_id, content) select 'ann', unnest(array['Ann rows', 'Ann rows', 'Ann sings']);
		select oxbow.touch(user_id, array[id]), oxbow.touch(user_id, array[id], false) from oxbow.memories
		 where content = 'Ann sings'`)
	b.exec(`insert into oxbow.memories (user_id, memory_type, content)
		select 'ann', 'episodic', unnest($1::text[])`, lunches)
	w := b.worker()
	before, _ := scrape(t, w)
	require.Contains(t, before, `oxbow_weight_events_total{event="negated"}`, "made before the first")
	b.hurry()
	require.NoError(t, w.RunUntilIdle(t.Context(), func(store.Backlog) {}))
	after, _ := scrape(t, w)
	require.Equal(t, 1.0, after[`oxbow_weight_events_total{event="mentioned"}`])
	require.Equal(t, 1.0, after[`oxbow_weight_events_total{event="used"}`])
	require.Zero(t, after[`oxbow_weight_events_total{event="negated"}`])
	require.Equal(t, 1.0, after[`oxbow_weight_events_total{event="merged"}`])
}

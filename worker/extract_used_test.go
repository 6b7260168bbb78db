package worker

import (
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/oxbow-memory/oxbow/internal/reasoner"
	"github.com/oxbow-memory/oxbow/internal/traittest"
)

// A used memory gains strength; one that is only recalled does not.
func TestUsedMemoriesGainStrength(t *testing.T) {
	b := setup(t)
	l := b.listen()
	b.say("ann", "s1", "fact: Ann plays chess", "fact: Ann has a cat")
	b.work()
	chess := get[uuid.UUID](b, `select id from oxbow.memories where content = 'Ann plays chess'`)
	l.before = func(_ int, c reasoner.Conversation) (*reasoner.Extraction, error) {
		require.Len(t, c.Recalled, 2)
		return &reasoner.Extraction{Used: []uuid.UUID{chess}}, nil
	}
	b.exec(`insert into oxbow.messages (user_id, session_id, role, content, metadata)
		select 'ann', 's1', 'assistant', 'How about a game?', jsonb_build_object('recalled', (select jsonb_agg(id)
		from oxbow.memories))`)
	b.work()
	require.Equal(t, "Ann has a cat 1.0, Ann plays chess 1.3",
		get[string](b, `select string_agg(content || ' ' || strength::numeric(2, 1), ', ' order by content)
			from oxbow.memories`))
	require.Equal(t, 1, b.count(`oxbow.memory_history where event = 'BOOST' and memory_id = $1`, chess))
}

// A trait that a reply used, in the extractor's judgment, gains confidence through an event, at most once in 24 hours.
func TestUsedTraitGainsConfidence(t *testing.T) {
	b := setup(t)
	l := b.listen()
	start := time.Now().Add(-time.Hour)
	used := traittest.Trait{Content: "Ann likes to swim", Events: []traittest.Event{traittest.Created(start,
		0.5)}}.Insert(t, b.pool)
	traittest.Trait{Content: "Ann likes to ski", Events: []traittest.Event{traittest.Created(start, 0.5)}}.Insert(t,
		b.pool)
	l.before = func(_ int, c reasoner.Conversation) (*reasoner.Extraction, error) {
		require.Len(t, c.Recalled, 2)
		return &reasoner.Extraction{Used: []uuid.UUID{used}}, nil
	}
	for range 2 {
		b.exec(`insert into oxbow.messages (user_id, session_id, role, content, metadata)
			select 'ann', 's1', 'assistant', 'The pool is open.', jsonb_build_object('recalled', (select jsonb_agg(id)
			from oxbow.memories))`)
		b.work()
	}
	require.Equal(t, 2, b.count(`oxbow.memory_history where event = 'BOOST' and memory_id = $1`, used))
	require.Equal(t, 1, b.count(`oxbow.trait_events where event = 'used'`))
	require.Equal(t, 1, b.count(`oxbow.trait_events where trait_id = $1 and event = 'used' and factor = 0.02
		and actor = 'extraction'`, used))
	require.InDelta(t, 0.51, get[float64](b, `select trait_confidence from oxbow.memories_trait where id = $1`, used),
		0.001)
}

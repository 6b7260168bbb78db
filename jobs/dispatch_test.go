package jobs

import (
	"log/slog"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"

	"github.com/oxbow-memory/oxbow/internal/consistency"
	"github.com/oxbow-memory/oxbow/internal/traittest"
	"github.com/oxbow-memory/oxbow/store"
)

// dispatching is a user with a memory, and the worker that counts what the user says of it.
type dispatching struct {
	*testing.T
	pool *pgxpool.Pool
	db   *pgxpool.Pool // of the worker
	id   uuid.UUID
	now  time.Time
}

func newDispatching(t *testing.T) *dispatching {
	d := &dispatching{T: t, now: time.Now()}
	d.pool, d.db = newDatabase(t)
	require.NoError(t, d.pool.QueryRow(t.Context(),
		`insert into oxbow.memories (user_id, content) values ('ann', 'The boat is green') returning id`).Scan(&d.id))
	return d
}

// says stores a signal of the judge about the memory.
func (d *dispatching) says(kind, direction string, confidence float64) {
	d.Helper()
	_, err := d.pool.Exec(d.Context(), `
		with s as (
		  insert into oxbow.feedback_signals (user_id, source, kind, type, confidence, message_id, at)
		  values ('ann', 'judge', $1, $2, $3, gen_random_uuid(), $5) returning id)
		insert into oxbow.feedback_subjects (user_id, signal_id, memory_type, memory_id)
		select 'ann', s.id, m.memory_type, m.id from s, oxbow.memories m where m.user_id = 'ann' and m.id = $4`,
		kind, direction, confidence, d.id, d.now)
	require.NoError(d, err)
}

// dispatch runs the job and returns the adjustments in force or undone, newest first.
func (d *dispatching) dispatch() []store.Adjusted {
	d.Helper()
	d.now = d.now.Add(time.Second)
	w := &dispatchWorker{Config{DB: d.db, Now: func() time.Time { return d.now }, Logger: slog.New(slog.DiscardHandler)}}
	require.NoError(d, w.Work(d.Context(), nil))
	adjustments, err := store.Adjustments(d.Context(), d.pool, "ann", uuid.Nil, 100)
	require.NoError(d, err)
	return adjustments
}

func (d *dispatching) strength() (value float64) {
	d.Helper()
	require.NoError(d, d.pool.QueryRow(d.Context(), `select strength from oxbow.memories where id = $1`, d.id).Scan(&value))
	return value
}

func TestDispatch(t *testing.T) {
	t.Parallel()
	d := newDispatching(t)
	d.says("complaint", "negative", 0.8)
	d.says("complaint", "negative", 0.5) // not sure enough to count
	require.Empty(t, d.dispatch())
	d.says("correction", "negative", 0.7)
	first := d.dispatch()
	require.Len(t, first, 1)
	require.Equal(t, 0.5, d.strength())
	require.Equal(t, "2 signals against it", first[0].Cause)
	require.Len(t, first[0].Signals, 2)
	require.Len(t, d.dispatch(), 1, "no signal counts twice")

	d.says("thanks", "positive", 0.8)
	d.says("thanks", "positive", 0.8)
	require.Equal(t, "worse", d.dispatch()[0].UndoneBy)
	require.Equal(t, 1.0, d.strength())
	d.says("thanks", "positive", 0.8)
	require.Equal(t, "3 signals for it", d.dispatch()[0].Cause)
	require.InDelta(t, 1.3, d.strength(), 1e-9)

	d.now = d.now.AddDate(0, 0, 91)
	require.Equal(t, "expiry", d.dispatch()[0].UndoneBy)
	require.InDelta(t, 1, d.strength(), 1e-9)
}

// One certain signal about one memory is enough, unless it is about a question, and old signals do not add up with new ones.
func TestDispatchCertain(t *testing.T) {
	t.Parallel()
	d := newDispatching(t)
	d.says("complaint", "negative", 0.8)
	require.Empty(t, d.dispatch())
	d.now = d.now.AddDate(0, 0, 8)
	d.says("complaint", "negative", 0.8)
	require.Empty(t, d.dispatch())
	d.says("complaint", "negative", 1)
	require.Len(t, d.dispatch(), 1)

	for query, adjustments := range map[string]int{"Green?": 0, "": 1} {
		d := newDispatching(t)
		_, err := store.GiveFeedback(t.Context(), d.pool, "ann", "user", store.Feedback{Kind: "wrong", IDs: []uuid.UUID{d.id},
			Query: query})
		require.NoError(t, err)
		require.Len(t, d.dispatch(), adjustments, query)
	}
}

// An adjusted trait is the replay of its events, before and after the adjustment is undone.
func TestDispatchTrait(t *testing.T) {
	t.Parallel()
	d := newDispatching(t)
	traittest.Trait{UserID: "ann", Events: []traittest.Event{traittest.Created(d.now.Add(-time.Hour), 0.7)}}.Insert(t, d.pool)
	require.NoError(t, d.pool.QueryRow(t.Context(), `select id from oxbow.memories_trait`).Scan(&d.id))
	confidence := func() (value float64) {
		t.Helper()
		report, err := consistency.Check(t.Context(), d.pool, consistency.Options{})
		require.NoError(t, err)
		require.Zero(t, report.Problems, "%+v", report)
		require.NoError(t, d.pool.QueryRow(t.Context(), `select trait_confidence from oxbow.memories_trait`).Scan(&value))
		return value
	}
	d.says("correction", "negative", 0.9)
	d.says("correction", "negative", 0.9)
	adjustments := d.dispatch()
	require.Len(t, adjustments, 1)
	require.Equal(t, "trait_confidence", adjustments[0].Kind)
	require.InDelta(t, 0.56, confidence(), 1e-3)
	d.says("thanks", "positive", 0.9)
	d.says("thanks", "positive", 0.9)
	d.dispatch()
	require.InDelta(t, 0.7, confidence(), 1e-3)
}

package jobs

import (
	"bytes"
	"log/slog"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/oxbow-memory/oxbow/internal/consistency"
	"github.com/oxbow-memory/oxbow/internal/traittest"
)

func TestSettleWorker(t *testing.T) {
	t.Parallel()
	pool, db := newDatabase(t)
	now := traittest.Day(6, 1)
	at := traittest.Day(1, 10)
	for user, events := range map[string][]traittest.Event{
		"decayed": {traittest.Created(at, 0.61)}, "weak": {traittest.Created(at, 0.06)},
		"trend":   {traittest.Watched(at, at.AddDate(0, 0, 30))},
		"not due": {traittest.Created(traittest.Day(5, 31), 0.5)},
	} {
		traittest.Trait{UserID: user, Events: events}.Insert(t, pool)
	}
	// more than a batch
	_, err := pool.Exec(t.Context(), `
		select set_config('oxbow.origin', 'import', false);
		insert into oxbow.memories (user_id, memory_type, content, trait_stage, trait_confidence, trait_confidence_at)
		select 'many', 'trait', 'trait ' || n, 'emerging', 0.31, '2025-01-10' from generate_series(1, 2500) n;
		select oxbow.adopt_trait(user_id, id, 'import') from oxbow.memories_trait where user_id = 'many';
		select set_config('oxbow.origin', '', false)`)
	require.NoError(t, err)

	var log bytes.Buffer
	w := &settleWorker{Config{DB: db, Now: func() time.Time { return now },
		Logger: slog.New(slog.NewTextHandler(&log, nil))}}
	require.NoError(t, w.Work(t.Context(), nil))
	require.Contains(t, log.String(), `msg="settled traits" number=2503 dissolved=2`)
	stages := map[string]string{}
	rows, err := pool.Query(t.Context(), `select user_id, string_agg(distinct trait_stage, ' ')
		from oxbow.memories_trait group by 1`)
	require.NoError(t, err)
	for rows.Next() {
		var user, stage string
		require.NoError(t, rows.Scan(&user, &stage))
		stages[user] = stage
	}
	require.NoError(t, rows.Err())
	require.Equal(t, map[string]string{"decayed": "candidate", "weak": "dissolved", "trend": "dissolved",
		"not due": "emerging", "many": "candidate"}, stages)
	report, err := consistency.Check(t.Context(), pool, consistency.Options{})
	require.NoError(t, err)
	require.EqualValues(t, 2504, report.Traits)
	require.Zero(t, report.Problems, "rows and events agree")

	log.Reset()
	require.NoError(t, w.Work(t.Context(), nil))
	require.Empty(t, log.String(), "nothing is due any more")
}

func TestConsistencyWorker(t *testing.T) {
	t.Parallel()
	pool, db := newDatabase(t)
	for _, user := range []string{"ann", "bob"} {
		for range 15 {
			traittest.Trait{UserID: user}.Insert(t, pool)
		}
	}
	now := traittest.Day(6, 1)
	var log bytes.Buffer
	w := &consistencyWorker{Config{DB: db, Now: func() time.Time { return now },
		Logger: slog.New(slog.NewTextHandler(&log, nil))}}
	require.NoError(t, w.Work(t.Context(), nil))
	require.Empty(t, log.String())

	_, err := pool.Exec(t.Context(), `update oxbow.memories_trait set trait_confidence = 0.5`)
	require.NoError(t, err)
	require.NoError(t, w.Work(t.Context(), nil))
	require.Equal(t, checkProblems, bytes.Count(log.Bytes(),
		[]byte("level=ERROR msg=\"a trait contradicts its events or its evidence\" user=ann"))+
		bytes.Count(log.Bytes(), []byte("level=ERROR msg=\"a trait contradicts its events or its evidence\" user=bob")))
	require.Contains(t, log.String(), "kind=confidence found=0.5 expected=0.4")
	require.Contains(t, log.String(),
		`msg="there are more problems: oxbow check shows all" number=30`)
	require.NotContains(t, log.String(), "gets up", "texts are never logged")
	state, err := consistency.ReadState(t.Context(), pool)
	require.NoError(t, err)
	require.Equal(t, consistency.State{At: now, Users: 2, Problems: 30}, state)
	report, err := consistency.Check(t.Context(), pool, consistency.Options{})
	require.NoError(t, err)
	require.EqualValues(t, 30, report.Problems, "it repaired nothing")
}

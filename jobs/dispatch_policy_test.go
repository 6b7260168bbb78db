package jobs

import (
	"fmt"
	"log/slog"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/oxbow-memory/oxbow/internal/molt"
	"github.com/oxbow-memory/oxbow/store"
)

// complain has people, numbered, say a kind of feedback of a memory of their own.
func complain(m *molts, kind string, from, to int) {
	m.Helper()
	_, err := m.pool.Exec(m.Context(), `
		with m as (
		  insert into oxbow.memories (user_id, content)
		  select 'person ' || i, 'A secret' from generate_series($2::int, $3) i returning user_id, id)
		select oxbow.feedback(m.user_id, $1, array[m.id], reason => 'the secret') from m`, kind, from, to)
	require.NoError(m, err)
	w := &dispatchWorker{Config{DB: m.db, Now: time.Now, Logger: slog.New(slog.DiscardHandler)}}
	require.NoError(m, w.Work(m.Context(), nil))
}

// When enough people complain of the same, the job proposes another value within the policy's range, once. The proposal
// waits to be tried and adopted. In the mode off there is none.
func TestDispatchProposesPolicies(t *testing.T) {
	t.Parallel()
	m := &molts{T: t}
	m.pool, m.db = newDatabase(t)
	proposed := func() (all []string) {
		t.Helper()
		strategies, err := store.Strategies(t.Context(), m.pool, 100)
		require.NoError(t, err)
		for _, s := range strategies {
			all = append(all, fmt.Sprintf("%s %s %v: %s", s.State, s.About, s.Changes, s.Cause))
		}
		return all
	}
	m.set("feedback_people", 3)
	complain(m, "outdated", 1, 3)
	require.Empty(t, proposed(), "off")
	m.set("molt_mode", 1)
	_, err := m.pool.Exec(t.Context(), `insert into oxbow.users (user_id, opted_out) values ('person 1', true)`)
	require.NoError(t, err)
	complain(m, "outdated", 1, 3) // the same people
	require.Empty(t, proposed(), "one of three opted out")
	complain(m, "helpful", 1, 4)
	complain(m, "outdated", 4, 4)
	require.Empty(t, proposed(), "as many people were helped")
	complain(m, "outdated", 5, 5)
	want := "proposed outdated map[weight_decay:0.02]: 4 people said within 7 days that memories are outdated."
	require.Equal(t, []string{want}, proposed())
	complain(m, "outdated", 6, 9)
	require.Equal(t, []string{want}, proposed(), "it waits to be tried")
	said, err := store.WhyStrategy(t.Context(), m.pool, 1, "zh")
	require.NoError(t, err)
	require.Contains(t, said[0].Sentence, "很多人说记忆已经过时。")

	require.NoError(t, store.AdoptStrategy(t.Context(), m.pool, 1))
	require.Equal(t, 0.02, m.policy("weight_decay"))
	complain(m, "outdated", 2, 3)
	require.Len(t, proposed(), 1, "what people said of the old value does not count")
	m.set("weight_decay", 8)
	complain(m, "outdated", 2, 4)
	require.Contains(t, proposed()[0], "weight_decay:10]", "the maximum")
	require.NoError(t, store.AdoptStrategy(t.Context(), m.pool, 2))
	complain(m, "outdated", 2, 4)
	require.Len(t, proposed(), 2, "there is no faster decay")
	require.NoError(t, store.RollbackStrategy(t.Context(), m.pool, 2))
	require.Equal(t, 8.0, m.policy("weight_decay"))
	complain(m, "outdated", 2, 4)
	require.Len(t, proposed(), 2, "what was rolled back rests")

	complain(m, "too_much", 2, 6)
	require.Equal(t, "proposed too_much map[recall_threshold:0.2]: 5 people said within 7 days that memories are mentioned "+
		"too often.", proposed()[0])
	require.NotContains(t, fmt.Sprint(proposed()), "secret")
}

// In the mode auto a proposal is adopted if past replies gain by it, and rejected if not. A used memory that people
// complained about does not count as used.
func TestProposalsAreTried(t *testing.T) {
	t.Parallel()
	recallWeight := map[string]float64{"too_much": 0.3, "outdated": 0.64}
	policy := map[string]string{"too_much": "recall_threshold", "outdated": "weight_decay"}
	for kind, want := range map[string][]string{
		"too_much": {"rejected 0.2", "rejected 0.4", "adopted 0.6"}, // on these replies, less than that leaves nothing out
		"outdated": {"rejected 0.02", "rejected 0.02"},              // it loses
	} {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			m := newMolts(t, 4)
			m.set("molt_mode", 2)
			m.set("molt_rank", 0)
			m.set("recall_weight", recallWeight[kind])
			m.ask()
			m.set("feedback_people", 3)
			m.set("molt_rest_days", 0)
			for _, want := range want {
				complain(m, kind, 1, 3)
				s := m.run()[0]
				require.Equal(t, want, fmt.Sprintf("%s %v", s.State, s.Changes[policy[kind]]), "%+v", s)
			}
		})
	}
	m := newMolts(t, 5)
	m.ask()
	answers, err := store.ReplayedAnswers(t.Context(), m.pool, 3)
	require.NoError(t, err)
	_, err = store.GiveFeedback(t.Context(), m.pool, "ann", "user", store.Feedback{Kind: "outdated", AnswerID: answers[0].ID})
	require.NoError(t, err)
	without, err := store.ReplayedAnswers(t.Context(), m.pool, 100)
	require.NoError(t, err)
	require.Equal(t, answers[1:], without[:2])
	reported, err := store.AnswersBetween(t.Context(), m.pool, 1, time.Time{}, time.Time{})
	require.NoError(t, err)
	require.Zero(t, molt.Measure(molt.MRR, reported[0].Recalled, reported[0].Used))
}

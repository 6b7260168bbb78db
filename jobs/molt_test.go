package jobs

import (
	"fmt"
	"log/slog"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/riverqueue/river"
	"github.com/riverqueue/river/riverdriver/riverpgxv5"
	"github.com/stretchr/testify/require"

	"github.com/oxbow-memory/oxbow/internal/molt"
	"github.com/oxbow-memory/oxbow/store"
)

// molts is an installation with a user whose replies use old memories that newer ones resemble.
type molts struct {
	*testing.T
	pool   *pgxpool.Pool
	db     *pgxpool.Pool // of the worker
	random *rand.Rand
	asks   []string
	worker *moltWorker
}

// asked is the number of answers that one setting gives.
const asked = 24

func newMolts(t *testing.T, seed uint64) *molts {
	m := &molts{T: t, random: rand.New(rand.NewPCG(seed, seed))}
	m.pool, m.db = newDatabase(t)
	m.worker = &moltWorker{Config{DB: m.db, Now: time.Now, Logger: slog.New(slog.DiscardHandler)}}
	for range asked {
		one, other := m.word(), m.word()
		m.asks = append(m.asks, one+" "+other)
		m.remember(one+" lantern "+other, 200+m.random.IntN(200))
		for range 4 + m.random.IntN(3) {
			m.remember(one+" harbour "+m.word(), m.random.IntN(20))
		}
	}
	m.set("molt_answers", 20)
	m.set("molt_share", 0.1) // one in seven that are recalled is used
	_, err := m.pool.Exec(t.Context(), `
		select oxbow.index_memories(array['ann'], array(select id from oxbow.memories where user_id = 'ann'))`)
	require.NoError(t, err)
	return m
}

func (m *molts) word() string {
	word := make([]byte, 7)
	for i := range word {
		word[i] = byte('a' + m.random.IntN(26))
	}
	return string(word)
}

func (m *molts) remember(content string, days int) {
	m.Helper()
	_, err := m.pool.Exec(m.Context(), `insert into oxbow.memories (user_id, content, created_at, valid_at)
		values ('ann', $1, now() - make_interval(days => $2), now() - make_interval(days => $2))`, content, days)
	require.NoError(m, err)
}

func (m *molts) set(policy string, value float64) {
	m.Helper()
	_, err := m.pool.Exec(m.Context(), `select oxbow.set_policy($1, $2)`, policy, value)
	require.NoError(m, err)
}

func (m *molts) policy(name string) (value float64) {
	m.Helper()
	require.NoError(m, m.pool.QueryRow(m.Context(), `select oxbow.policy($1)`, name).Scan(&value))
	return value
}

// ask asks each question, with the settings of the moment, and reports which memory the reply used. It returns the
// mean reciprocal rank.
func (m *molts) ask() float64 {
	m.Helper()
	var sum float64
	for _, question := range m.asks {
		var recalled, used []uuid.UUID
		require.NoError(m, m.pool.QueryRow(m.Context(), `
			select array_agg(id order by nth), array_agg(id) filter (where content like '% lantern %')
			  from (select r.id, r.content, row_number() over () as nth from oxbow.recall('ann', $1) r) r`, question).
			Scan(&recalled, &used))
		sum += molt.Measure(molt.MRR, recalled, used)
		_, err := store.RecordAnswer(m.Context(), m.pool, "ann", store.Answer{Query: question, Recalled: recalled, Used: used})
		require.NoError(m, err)
	}
	_, err := store.FoldActivity(m.Context(), m.pool, activityBatch)
	require.NoError(m, err)
	return sum / asked
}

// run runs the job and returns the strategies, the latest first.
func (m *molts) run() []store.Strategy {
	m.Helper()
	require.NoError(m, m.worker.Work(m.Context(), nil))
	strategies, err := store.Strategies(m.Context(), m.pool, 100)
	require.NoError(m, err)
	return strategies
}

// A replay that fails with the changed values fails the run.
func TestReplayFails(t *testing.T) {
	t.Parallel()
	m := newMolts(t, 1)
	m.ask()
	answers, err := store.ReplayedAnswers(t.Context(), m.pool, 2)
	require.NoError(t, err)
	run := &molting{moltWorker: m.worker, answers: answers, vectors: make([][]float32, len(answers))}
	_, _, err = run.replayBoth(t.Context(), molt.MRR, molt.Change{"unknown": 1}, 0, 1)
	require.ErrorContains(t, err, "unknown")
}

// TestMolt is U §11: on an installation whose recency boost is far too high, the job finds a lower one, and the figure of
// recall improves; when a worse value is adopted, the job rolls it back; and where nothing is wrong it changes nothing.
// Each for 20 seeds.
func TestMolt(t *testing.T) {
	t.Parallel()
	const seeds = 20
	var found, rolledBack, unchanged int
	var before, after, worst float64
	for seed := range uint64(seeds) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			m := newMolts(t, seed)
			m.set("molt_mode", 2)
			m.set("recall_recency", 6)
			before += m.ask() / seeds
			adopted := m.run()
			if m.policy("recall_recency") < 6 && adopted[0].State == "adopted" && adopted[0].MetricAfter > adopted[0].MetricBefore {
				found++
			}
			now := m.ask()
			after += now / seeds
			if kept := m.run(); kept[len(kept)-len(adopted)].State == "adopted" {
				require.False(t, kept[len(kept)-len(adopted)].JudgedAt.IsZero(), "it was compared with the time before")
			}
		})
		t.Run(fmt.Sprintf("worse %d", seed), func(t *testing.T) {
			m := newMolts(t, seed)
			m.ask()
			m.set("molt_mode", 2)
			if len(m.run()) == 0 {
				unchanged++
			}
			version, err := store.ProposePolicy(t.Context(), m.pool, "recall_recency", 6, "somebody thinks so", "request")
			require.NoError(t, err)
			require.NoError(t, store.AdoptStrategy(t.Context(), m.pool, version))
			require.Equal(t, 6.0, m.policy("recall_recency"))
			require.Equal(t, "adopted", m.run()[0].State, "too few replies to judge it")
			worst += m.ask() / seeds
			if s := m.run()[0]; s.State == "rolled_back" && m.policy("recall_recency") == 0.15 {
				rolledBack++
			}
		})
	}
	t.Logf("planted better: found %d of %d, mrr of the replies %.3f before and %.3f after", found, seeds, before, after)
	t.Logf("planted worse: rolled back %d of %d, mrr %.3f while it was in force", rolledBack, seeds, worst)
	t.Logf("nothing wrong: unchanged %d of %d", unchanged, seeds)
	require.Equal(t, []int{seeds, seeds, seeds}, []int{found, rolledBack, unchanged})
}

// A replay shows what other values would recall, and leaves nothing behind: not the values, in this or another session,
// and not the memories as they were before their use.
func TestReplayLeavesNothing(t *testing.T) {
	t.Parallel()
	m := newMolts(t, 1)
	m.ask()
	answers, err := store.ReplayedAnswers(t.Context(), m.pool, 1)
	require.NoError(t, err)
	require.Len(t, answers, 1)
	state := func() (text string) {
		require.NoError(t, m.pool.QueryRow(t.Context(), `
			select (select count(*) || max(value)::text from oxbow.policy_changes)
			  || (select md5(string_agg(m::text, '' order by id)) from oxbow.memories m)
			  || (select count(*) from oxbow.recall_rules)`).Scan(&text))
		return text
	}
	m.set("recall_recency", 0.15000001)
	was := state()
	same, err := store.ReplayAnswer(t.Context(), m.pool, answers[0], nil, nil, 10)
	require.NoError(t, err)
	require.Equal(t, answers[0].Recalled, same)
	other, err := store.ReplayAnswer(t.Context(), m.pool, answers[0], nil, molt.Change{"recall_recency": 6}, 10)
	require.NoError(t, err)
	require.NotEqual(t, same, other)
	require.Equal(t, was, state())

	tx, err := m.pool.Begin(t.Context())
	require.NoError(t, err)
	_, err = tx.Exec(t.Context(), "select from oxbow.memories where id = any($1) for update", answers[0].Used)
	require.NoError(t, err)
	locked, err := store.ReplayAnswer(t.Context(), m.pool, answers[0], nil, nil, 10)
	require.NoError(t, err)
	require.Nil(t, locked, "it does not wait for others")
	require.NoError(t, tx.Rollback(t.Context()))
}

// In the mode off the job does nothing, and in the mode suggest it changes nothing.
func TestMoltModes(t *testing.T) {
	t.Parallel()
	m := newMolts(t, 2)
	m.set("recall_recency", 6)
	m.ask()
	require.Empty(t, m.run())
	m.set("molt_mode", 1)
	suggested := m.run()
	require.Equal(t, "tried", suggested[0].State, "%+v", suggested)
	require.Equal(t, 6.0, m.policy("recall_recency"))
	require.NoError(t, store.AdoptStrategy(t.Context(), m.pool, suggested[0].Version))
	require.Less(t, m.policy("recall_recency"), 6.0)
	require.NoError(t, store.RollbackStrategy(t.Context(), m.pool, suggested[0].Version))
	require.Equal(t, 6.0, m.policy("recall_recency"))
	for language, want := range map[string][]string{
		"en": {"recall_recency from 6 to", "It was tried on", "It was adopted on", "rolled back on"},
		"zh": {"把recall_recency从6改为", "个过去的回答试过", "被采用", "被撤销"},
	} {
		said, err := store.WhyStrategy(t.Context(), m.pool, suggested[0].Version, language)
		require.NoError(t, err)
		require.Len(t, said, len(want))
		for i, text := range want {
			require.Contains(t, said[i].Sentence, text)
		}
	}
	require.ErrorContains(t, store.AdoptStrategy(t.Context(), m.pool, 99), "no strategy has the version 99")
	_, err := store.ProposePolicy(t.Context(), m.pool, "recall_recency", 11, "", "request")
	require.ErrorContains(t, err, "value of recall_recency must be between 0 and 10")
	_, err = store.ProposePolicy(t.Context(), m.pool, "molt_mode", 0, "", "request")
	require.ErrorContains(t, err, "must not be a policy of the job molt itself")
}

// Topics with enough fragments that nobody looked at go to the job abstract (U §10).
func TestMoltTriggersAbstraction(t *testing.T) {
	t.Parallel()
	m := newMolts(t, 3)
	m.set("molt_mode", 1)
	m.ask()
	_, err := m.pool.Exec(t.Context(), `
		insert into oxbow.topics (user_id, topic, pending, concluded, refused) values
		  ('ann', 'dense', 9, false, false), ('ann', 'thin', 1, false, false), ('ann', 'refused', 9, false, true),
		  ('ben', 'dense', 9, false, false)`)
	require.NoError(t, err)
	workers := river.NewWorkers()
	for _, kind := range Kinds() {
		kind.register(workers, m.worker.Config)
	}
	client, err := river.NewClient(riverpgxv5.New(m.db), &river.Config{Schema: "oxbow", Workers: workers,
		Queues: map[string]river.QueueConfig{QueueDefault: {MaxWorkers: 1}}})
	require.NoError(t, err)
	completed, _ := client.Subscribe(river.EventKindJobCompleted, river.EventKindJobFailed)
	_, err = client.Insert(t.Context(), MoltArgs{}, nil)
	require.NoError(t, err)
	require.NoError(t, client.Start(t.Context()))
	require.Equal(t, river.EventKindJobCompleted, (<-completed).Kind)
	require.NoError(t, client.Stop(t.Context()))
	var due []string
	require.NoError(t, m.pool.QueryRow(t.Context(), `select array_agg(user_id || ' ' || topic) from oxbow.topics where due`).
		Scan(&due))
	require.Equal(t, []string{"ann dense"}, due)
	var users []string
	require.NoError(t, m.pool.QueryRow(t.Context(), `select array_agg(args ->> 'user_id') from oxbow.river_job
		where kind = 'abstract'`).Scan(&users))
	require.Equal(t, []string{"ann"}, users)
}

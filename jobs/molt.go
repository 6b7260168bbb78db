package jobs

import (
	"context"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/riverqueue/river"

	"github.com/oxbow-memory/oxbow/internal/failpoint"
	"github.com/oxbow-memory/oxbow/internal/molt"
	"github.com/oxbow-memory/oxbow/store"
)

// MoltArgs are the arguments of the job. They are empty because the job covers all users.
type MoltArgs struct{}

// Kind returns "molt".
func (MoltArgs) Kind() string { return "molt" }

// InsertOpts returns the insert options of the kind.
func (a MoltArgs) InsertOpts() river.InsertOpts { return insertOpts(a) }

var _ = describe(Kind{
	Does:  "tries other values of policies on past replies, and adopts them if they gain",
	Every: time.Hour,
	Timeout: func(Config) time.Duration {
		return 10 * time.Minute
	},
}, func(c Config) worker[MoltArgs] { return &moltWorker{c} })

// Limits of a run.
const (
	moltCandidates = 16
	moltHistory    = 200 // strategies looked at
)

// moltWorker is the controller of U §10: it watches how recall does and changes one policy at a time.
type moltWorker struct{ Config }

// molting is one run.
type molting struct {
	*moltWorker
	policies molt.Policies
	answers  []molt.Answer
	vectors  [][]float32 // of the questions
	recent   []store.Strategy
}

// Work judges the strategy that was adopted last. If none is waiting to be judged, it tries the proposals and looks for
// another change. What it writes is one statement at each step, so a run that ended anywhere is continued by the next.
func (w *moltWorker) Work(ctx context.Context, _ *river.Job[MoltArgs]) error {
	policies, err := store.MoltPolicies(ctx, w.DB)
	if err != nil || policies["molt_mode"].Value == 0 {
		return err
	}
	m := &molting{moltWorker: w, policies: policies}
	if m.recent, err = store.Strategies(ctx, w.DB, moltHistory); err != nil {
		return err
	}
	if waiting, err := m.judge(ctx); err != nil || waiting {
		return err
	}
	if m.answers, err = store.ReplayedAnswers(ctx, w.DB, int(policies["molt_sample"].Value)); err != nil {
		return err
	}
	if err := m.triggerAbstraction(ctx); err != nil {
		return err
	}
	if len(m.answers) < int(policies["molt_answers"].Value) {
		return nil
	}
	if err := m.embed(ctx); err != nil {
		return err
	}
	return m.improve(ctx)
}

// judge compares the replies since a strategy was adopted with those before. It reports whether an adopted strategy
// still waits for enough replies.
func (m *molting) judge(ctx context.Context) (waiting bool, err error) {
	least := int(m.policies["molt_answers"].Value)
	for _, s := range m.recent {
		if s.State != "adopted" || !s.JudgedAt.IsZero() {
			continue
		}
		after, err := store.AnswersBetween(ctx, m.DB, 4*least, s.AdoptedAt, time.Time{})
		if err != nil {
			return false, err
		}
		if len(after) < least {
			return true, nil
		}
		before, err := store.AnswersBetween(ctx, m.DB, 4*least, time.Time{}, s.AdoptedAt)
		if err != nil {
			return false, err
		}
		gain := molt.Unpaired(reported(s.Metric, before), reported(s.Metric, after))
		if err := store.JudgeStrategy(ctx, m.DB, s.Version, gain); err != nil {
			return false, err
		}
		failpoint.Reach(failpoint.MoltJudged)
		if gain.Worse() {
			m.Logger.WarnContext(ctx, "rolled back a strategy", "version", s.Version, "before", gain.Before, "after", gain.After)
			return true, nil // the next run sees the restored values
		}
	}
	return false, nil
}

// reported returns the metric of answers as the applications reported them.
func reported(metric string, answers []molt.Answer) []float64 {
	values := make([]float64, len(answers))
	for i, a := range answers {
		values[i] = molt.Measure(metric, a.Recalled, a.Used)
	}
	return values
}

// triggerAbstraction enqueues abstract for the users of the answers with dense topics.
func (m *molting) triggerAbstraction(ctx context.Context) error {
	users := make([]string, len(m.answers))
	for i, a := range m.answers {
		users[i] = a.UserID
	}
	slices.Sort(users)
	return pgx.BeginFunc(ctx, m.DB, func(tx pgx.Tx) error {
		dense, err := store.MakeDenseTopicsDue(ctx, tx, slices.Compact(users))
		if err != nil {
			return err
		}
		for _, user := range dense {
			if err := enqueue(ctx, tx, AbstractArgs{UserID: user}); err != nil {
				return err
			}
		}
		return nil
	})
}

// embed computes the vectors of the questions. Those that the provider refuses have none.
func (m *molting) embed(ctx context.Context) error {
	m.vectors = make([][]float32, len(m.answers))
	if m.Embedder == nil {
		return nil
	}
	if err := store.CheckModel(ctx, m.DB, store.ModelOf(m.Embedder)); err != nil {
		return err
	}
	const texts = 64
	for from := 0; from < len(m.answers); from += texts {
		batch := m.answers[from:min(from+texts, len(m.answers))]
		questions := make([]string, len(batch))
		for i, a := range batch {
			questions[i] = a.Query
		}
		vectors, _, err := vectorsInTime(ctx, m.Embedder, m.Embedder.EmbedQueries, questions)
		if err != nil {
			return err
		}
		copy(m.vectors[from:], vectors)
	}
	return nil
}

// improve tries the proposals that wait, or else the candidates for each sign, until one gains. In the mode auto it
// also tries again strategies that gained but were not adopted, because a run ended there or the mode was suggest.
func (m *molting) improve(ctx context.Context) error {
	for _, s := range slices.Backward(m.recent) {
		if s.State == "proposed" || s.State == "tried" && m.policies["molt_mode"].Value == 2 {
			metric := s.Metric
			if metric == "" {
				metric = molt.MRR
				if _, ok := s.Changes["recall_threshold"]; ok {
					metric = molt.F1
				}
			}
			from, step := 0, 1
			if slices.Contains([]string{"recall", "decay", "conflict"}, s.About) { // a run ended before it measured the best candidate
				from, step = 1, 2
			}
			before, after, err := m.replayBoth(ctx, metric, s.Changes, from, step)
			if err != nil {
				return err
			}
			if adopted, err := m.conclude(ctx, s.Version, metric, before, after); err != nil || adopted {
				return err
			}
		}
	}
	for _, sign := range molt.Signs(m.answers, m.policies) {
		if adopted, err := m.try(ctx, sign); err != nil || adopted {
			return err
		}
	}
	return nil
}

// try looks for the best candidate on every second answer, and measures it on the others: the one that is best by
// chance does not gain there.
func (m *molting) try(ctx context.Context, sign molt.Sign) (adopted bool, err error) {
	candidates := slices.DeleteFunc(molt.Candidates(sign, m.policies), m.rests)
	candidates = candidates[:min(len(candidates), moltCandidates)]
	if len(candidates) == 0 {
		return false, nil
	}
	before, err := m.replay(ctx, sign.Metric, nil, 0, 2)
	if err != nil {
		return false, err
	}
	var gains []float64
	for _, c := range candidates {
		after, err := m.replay(ctx, sign.Metric, c, 0, 2)
		if err != nil {
			return false, err
		}
		gains = append(gains, molt.MeanGain(pairs(before, after)))
	}
	best := 0
	for i := range gains {
		if gains[i] > gains[best] {
			best = i
		}
	}
	if gains[best] <= 0 {
		return false, nil
	}
	var name string
	var value float64
	for n, v := range candidates[best] {
		name, value = n, v
	}
	version, err := store.ProposePolicy(ctx, m.DB, name, value, sign.Cause, sign.About)
	if err != nil {
		return false, err
	}
	failpoint.Reach(failpoint.MoltProposed)
	b, a, err := m.replayBoth(ctx, sign.Metric, candidates[best], 1, 2)
	if err != nil {
		return false, err
	}
	return m.conclude(ctx, version, sign.Metric, b, a)
}

// rests reports whether a change is open already, or failed recently.
func (m *molting) rests(c molt.Change) bool {
	rest := time.Duration(m.policies["molt_rest_days"].Value * float64(24*time.Hour))
	return slices.ContainsFunc(m.recent, func(s store.Strategy) bool {
		return c.Equal(s.Changes) && (s.EndedAt.IsZero() && s.State != "adopted" || m.Now().Sub(s.EndedAt) < rest)
	})
}

// conclude records a trial, and adopts the strategy in the mode auto. It reports whether it was a gain.
func (m *molting) conclude(ctx context.Context, version int64, metric string, before, after []float64) (bool, error) {
	if len(before) < int(m.policies["molt_answers"].Value)/2 {
		return false, nil // the answers were locked: the next run tries again
	}
	gain := molt.Paired(before, after)
	gained := gain.Adopt(m.policies["molt_gain"].Value)
	if err := store.NoteTrial(ctx, m.DB, version, gained, metric, len(before), gain); err != nil {
		return false, err
	}
	failpoint.Reach(failpoint.MoltTried)
	if !gained || m.policies["molt_mode"].Value < 2 {
		return gained, nil
	}
	err := store.AdoptStrategy(ctx, m.DB, version)
	failpoint.Reach(failpoint.MoltAdopted)
	return true, err
}

// replayBoth replays answers with the values in force and with changes, and leaves out those that one could not replay.
func (m *molting) replayBoth(ctx context.Context, metric string, c molt.Change, from, step int) (before, after []float64,
	err error) {
	b, err := m.replay(ctx, metric, nil, from, step)
	if err != nil {
		return nil, nil, err
	}
	a, err := m.replay(ctx, metric, c, from, step)
	if err != nil {
		return nil, nil, err
	}
	before, after = pairs(b, a)
	return before, after, nil
}

// replay returns the metric of every step-th answer; negative: it could not be replayed.
func (m *molting) replay(ctx context.Context, metric string, c molt.Change, from, step int) ([]float64, error) {
	var values []float64
	for i := from; i < len(m.answers); i += step {
		a := m.answers[i]
		found, err := store.ReplayAnswer(ctx, m.DB, a, m.vectors[i], c, a.Depth(metric))
		switch {
		case err != nil:
			return nil, err
		case found == nil:
			values = append(values, -1)
		default:
			values = append(values, molt.Measure(metric, found, a.Used))
		}
	}
	return values, nil
}

// pairs returns the values of the answers that both replayed.
func pairs(before, after []float64) (b, a []float64) {
	for i := range before {
		if before[i] >= 0 && after[i] >= 0 {
			b, a = append(b, before[i]), append(a, after[i])
		}
	}
	return b, a
}

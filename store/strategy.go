package store

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/google/uuid"

	"github.com/oxbow-memory/oxbow/internal/molt"
)

// Strategy is a version of policies that was proposed, and what became of it.
type Strategy struct {
	Version      int64              `json:"version"`
	At           time.Time          `json:"at"`
	About        string             `json:"about"` // recall, decay, conflict, outdated, too_much, request
	Cause        string             `json:"cause"`
	Policies     []PolicyChange     `json:"changes" db:"-"`
	Changes      map[string]float64 `json:"-"`                // the values of Policies by name
	Previous     map[string]float64 `json:"-"`                // those that it replaced
	State        string             `json:"state"`            // proposed, tried, adopted, rejected, rolled_back
	Metric       string             `json:"metric,omitzero"`  // mrr, f1
	Answers      int                `json:"answers,omitzero"` // number that it was tried on
	MetricBefore float64            `json:"metric_before,omitzero"`
	MetricAfter  float64            `json:"metric_after,omitzero"`
	Low          float64            `json:"low,omitzero"`         // lower bound of the gain
	LiveBefore   float64            `json:"live_before,omitzero"` // the same metric of the replies before and after
	LiveAfter    float64            `json:"live_after,omitzero"`
	AdoptedAt    time.Time          `json:"adopted_at,omitzero"`
	JudgedAt     time.Time          `json:"judged_at,omitzero"`
	EndedAt      time.Time          `json:"ended_at,omitzero"`
	Actor        string             `json:"actor"`
}

// PolicyChange is a policy with the value that a strategy gives it.
type PolicyChange struct {
	Name     string   `json:"name"`
	Value    float64  `json:"value"`
	Previous *float64 `json:"previous,omitempty"` // the value that it replaced when the strategy was adopted
}

// String returns a change such as "recall_weight 0.3 → 0.6".
func (c PolicyChange) String() string {
	if c.Previous == nil {
		return fmt.Sprintf("%s → %g", c.Name, c.Value)
	}
	return fmt.Sprintf("%s %g → %g", c.Name, *c.Previous, c.Value)
}

// Strategies returns the latest strategies, at most limit.
func Strategies(ctx context.Context, db DB, limit int) ([]Strategy, error) {
	found, err := list[Strategy](ctx, db, "read strategies", `
		select version, at, about, cause, changes, previous, state, metric, answers, metric_before, metric_after, low,
		       live_before, live_after, adopted_at, judged_at, ended_at, actor
		  from oxbow.strategies order by version desc limit $1`, limit)
	for i := range found {
		s := &found[i]
		for _, name := range slices.Sorted(maps.Keys(s.Changes)) {
			c := PolicyChange{Name: name, Value: s.Changes[name]}
			if old, ok := s.Previous[name]; ok {
				c.Previous = &old
			}
			s.Policies = append(s.Policies, c)
		}
	}
	return found, err
}

// WhyStrategy explains a strategy in sentences, in English or Chinese.
func WhyStrategy(ctx context.Context, db DB, version int64, language string) ([]Sentence, error) {
	return list[Sentence](ctx, db, "explain a strategy", `
		select aspect, sentence, '{}'::uuid[] as refs from oxbow.why_strategy($1, $2)`, version, language)
}

// MoltModes are the modes of the job molt by the value of the policy molt_mode.
var MoltModes = []string{"off", "suggest", "auto"}

// MoltMode returns the mode of the job molt.
func MoltMode(ctx context.Context, db DB) (string, error) {
	value, err := one[float64](ctx, db, "read the mode of molt", `select value from oxbow.policies where name = 'molt_mode'`)
	return MoltModes[int(value)], err
}

// SetMoltMode sets the mode of the job molt.
func SetMoltMode(ctx context.Context, db DB, mode string) error {
	_, err := run(ctx, db, "set the mode of molt", `select oxbow.set_molt_mode($1)`, mode)
	return err
}

// MoltPolicies returns all policies by name.
func MoltPolicies(ctx context.Context, db DB) (molt.Policies, error) {
	found, err := list[molt.Policy](ctx, db, "read policies", `select name, value, "default", minimum, maximum from oxbow.policies`)
	policies := molt.Policies{}
	for _, p := range found {
		policies[p.Name] = p
	}
	return policies, err
}

// ReplayedAnswers returns the latest answers of all users that used a memory, at most limit.
func ReplayedAnswers(ctx context.Context, db DB, limit int) ([]molt.Answer, error) {
	return list[molt.Answer](ctx, db, "read answers", `
		select user_id, id, at, query, recalled, used, faded, conflicting from oxbow.replayed_answers($1)`, limit)
}

// AnswersOf returns the latest answers of a user that used a memory, at most limit, without Faded and Conflicting.
func AnswersOf(ctx context.Context, db DB, userID string, limit int) ([]molt.Answer, error) {
	return list[molt.Answer](ctx, db, "read answers", `
		select user_id, id, at, query, recalled, used from oxbow.answers
		 where user_id = $1 and used <> '{}' and query <> '' order by at desc, id limit $2`, userID, limit)
}

// AnswersBetween returns the latest answers of all users between two moments, at most limit. A zero moment is no bound.
// They include those that used nothing, because a worse setting finds nothing to use.
func AnswersBetween(ctx context.Context, db DB, limit int, after, before time.Time) ([]molt.Answer, error) {
	return list[molt.Answer](ctx, db, "read answers", `
		select user_id, id, at, query, recalled, used, faded, conflicting
		  from oxbow.replayed_answers($1, coalesce($2, 'infinity'::timestamptz), coalesce($3, '-infinity'::timestamptz),
		         true)`,
		limit, pointer(before), pointer(after))
}

// ReplayAnswer asks the question of an answer again with other values of policies, which it does not change. It returns
// the ids, best first, or nil if that is not possible now.
func ReplayAnswer(ctx context.Context, db DB, a molt.Answer, embedding []float32, changes molt.Change, depth int) (
	[]uuid.UUID, error) {
	if changes == nil {
		changes = molt.Change{}
	}
	return one[[]uuid.UUID](ctx, db, "replay an answer", `select oxbow.replay_answer($1, $2, $3, $4, $5)`,
		a.UserID, a.ID, embedding, changes, depth)
}

// ProposePolicy proposes a change of a policy and returns its version.
func ProposePolicy(ctx context.Context, db DB, name string, value float64, cause, about string) (int64, error) {
	return one[int64](ctx, db, "propose a policy", `select oxbow.propose_policy($1, $2, $3, $4)`, name, value, cause, about)
}

// ProposeFromFeedback proposes changes of policies because of what many people complain of, and returns their number.
func ProposeFromFeedback(ctx context.Context, db DB, now time.Time) (int, error) {
	return one[int](ctx, db, "propose policies", `select oxbow.propose_from_feedback($1)`, now)
}

// NoteTrial records how a proposal did on past answers.
func NoteTrial(ctx context.Context, db DB, version int64, gained bool, metric string, answers int, g molt.Gain) error {
	_, err := run(ctx, db, "record a trial", `select oxbow.note_trial($1, $2, $3, $4, $5, $6, $7)`,
		version, gained, metric, answers, g.Before, g.After, g.Low)
	return err
}

// AdoptStrategy sets the policies of a strategy.
func AdoptStrategy(ctx context.Context, db DB, version int64) error {
	_, err := run(ctx, db, "adopt a strategy", `select oxbow.adopt_strategy($1)`, version)
	return err
}

// JudgeStrategy records how an adopted strategy compares with the time before, and rolls it back if it did worse.
func JudgeStrategy(ctx context.Context, db DB, version int64, g molt.Gain) error {
	_, err := run(ctx, db, "judge a strategy", `select oxbow.judge_strategy($1, $2, $3, $4)`,
		version, g.Before, g.After, g.Worse())
	return err
}

// RollbackStrategy restores the values that a strategy replaced.
func RollbackStrategy(ctx context.Context, db DB, version int64) error {
	_, err := run(ctx, db, "roll back a strategy", `select oxbow.rollback_strategy($1)`, version)
	return err
}

// MakeDenseTopicsDue makes topics of users due in which enough fragments lie together, and returns the users with such.
func MakeDenseTopicsDue(ctx context.Context, db DB, userIDs []string) ([]string, error) {
	return list[string](ctx, db, "find dense topics", `select oxbow.make_dense_topics_due($1)`, userIDs)
}

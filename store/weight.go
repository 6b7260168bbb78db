package store

import (
	"context"
	"time"

	"github.com/google/uuid"
)

// TrimWeightLog deletes at most limit rows of the log of weights that are older than the policy weight_log_days, and
// returns their number. Fewer than limit means that none are left.
func TrimWeightLog(ctx context.Context, db DB, now time.Time, limit int) (int, error) {
	return one[int](ctx, db, "trim the log of weights", `select oxbow.trim_weight_log($1, $2)`, now, limit)
}

// Weight is the weight of a memory at a moment, and its factors (docs/weight.md).
type Weight struct {
	At            time.Time `json:"at"`
	Weight        float64   `json:"weight"`    // between 0.01 and 2 (policies weight_min and weight_max)
	Unclamped     float64   `json:"unclamped"` // the product of the factors, which recall uses
	Time          float64   `json:"time"`
	Reinforcement float64   `json:"reinforcement"`
	Conflict      float64   `json:"conflict"`
	Importance    float64   `json:"importance"`
	Momentum      float64   `json:"momentum"`
	Strength      float64   `json:"strength"`
	ActivatedAt   time.Time `json:"activated_at"`
}

// Weights returns the weights of a memory at the given moments if nothing more happens to it, in order. It returns
// ErrNotFound for a trait, which has none, and for a forgotten memory.
func Weights(ctx context.Context, db DB, userID string, id uuid.UUID, moments []time.Time) ([]Weight, error) {
	found, err := Collect[Weight](ctx, db, `
		select a.at, w.weight, w.unclamped, w."time", w.reinforcement, w.conflict, w.importance, w.momentum, w.strength,
		       w.activated_at
		  from unnest($3::timestamptz[]) with ordinality a(at, nth)
		 cross join lateral oxbow.weight($1, $2, a.at) w
		 order by a.nth`, userID, id, moments)
	if err == nil && len(found) < len(moments) {
		err = notFound(userID, id)
	}
	return found, err
}

// WeightChange is a row of the log of weights.
type WeightChange struct {
	At     time.Time `json:"at"`
	Cause  string    `json:"cause"`  // mentioned, used, negated, classified, restored, reviewed, merged, unmerged
	Before float64   `json:"before"` // unclamped, at that moment
	After  float64   `json:"after"`
	Times  int       `json:"times"` // the number of mentions or uses that it adds up
	Actor  string    `json:"actor"`
}

// WeightLog returns the last changes of a memory's weight, at most limit, the latest first.
func WeightLog(ctx context.Context, db DB, userID string, id uuid.UUID, limit int) ([]WeightChange, error) {
	return Collect[WeightChange](ctx, db, `
		select l.at, l.cause, l.before, l.after, l.times, l.actor from oxbow.weight_log l
		 where l.user_id = $1 and l.memory_type in ('fact', 'episodic', 'document') and l.memory_id = $2
		 order by l.at desc, l.id limit $3`, userID, id, limit)
}

// WeightLevels are the weights below which a memory may be kept at a lower level: summary, tag, trace and archive (W).
var WeightLevels = []float64{0.30, 0.15, 0.10, 0.05}

// WeightCrossing is the moment asked for, or a later one at which a weight falls below a level or reaches it again.
type WeightCrossing struct {
	At    time.Time `json:"at"`
	Days  int       `json:"days"` // until then
	Below bool      `json:"below"`
}

// WeightCrossings returns whether the weight of a memory is below a level at a moment, and the days within the given
// number on which that changes if nothing more happens to it.
func WeightCrossings(ctx context.Context, db DB, userID string, id uuid.UUID, level float64, at time.Time,
	days int) ([]WeightCrossing, error) {
	return Collect[WeightCrossing](ctx, db, `
		select c."when" as at, c.day as days, c.below from oxbow.weight_crossings($1, $2, $3, $4, $5) c order by c.day`,
		userID, id, level, at, days)
}

// WeightEvents counts the events that changed weights in a transaction, the memories that were compressed or raised
// because of their weights, and the merges.
type WeightEvents struct{ Mentioned, Used, Negated, Compressed, Raised, Merged int }

// CountWeightEvents counts the rows that the transaction has added to the log of weights.
func CountWeightEvents(ctx context.Context, tx DB) (WeightEvents, error) {
	return one[WeightEvents](ctx, tx, "count changes of weights", `
		select coalesce(sum(l.times) filter (where l.cause = 'mentioned'), 0)::bigint as mentioned,
		       coalesce(sum(l.times) filter (where l.cause = 'used'), 0)::bigint as used,
		       coalesce(sum(l.times) filter (where l.cause = 'negated'), 0)::bigint as negated,
		       0 as compressed, 0 as raised, 0 as merged
		  from oxbow.weight_log l where l.at >= now() and l.xmin = pg_current_xact_id()::xid`)
}

package store

import (
	"context"
	"time"

	"github.com/google/uuid"
)

// Prediction is something that a user will probably do, ask or need.
type Prediction struct {
	Kind        string      `json:"kind"`           // activity, topic, question, intention
	Topic       string      `json:"topic,omitzero"` // of the memories
	Content     string      `json:"content"`        // the latest memory or question, or the intention
	Probability float64     `json:"probability"`    // that it happens at least once in the period, 0 to 1
	BaseRate    float64     `json:"base_rate"`      // the same from its frequency alone
	StartsAt    time.Time   `json:"starts_at"`      // with EndsAt, the likeliest day and hours
	EndsAt      time.Time   `json:"ends_at"`
	Days        int         `json:"days"`     // on which it happened before
	Evidence    []uuid.UUID `json:"evidence"` // memories, answers or the intention behind it, the latest first
}

// Predict returns at most limit predictions for the period between two moments, the most probable first. The zero times
// stand for now and for a day later.
func Predict(ctx context.Context, db DB, userID string, from, until time.Time, limit int) ([]Prediction, error) {
	if err := moment("from_at", from); err != nil {
		return nil, err
	}
	if err := moment("until", until); err != nil {
		return nil, err
	}
	return list[Prediction](ctx, db, "predict", `select * from oxbow.predict($1, $2, $3, $4)`, userID, pointer(from),
		pointer(until), limit)
}

package oxbow

import (
	"context"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/oxbow-memory/oxbow/store"
)

// Prediction is something that a user will probably do, ask or need.
type Prediction = store.Prediction

// Predict returns what a user will probably do, ask or need between two moments, at most 31 days apart: at most limit
// (1 to 1,000) predictions, the most probable first. The zero times stand for now and for a day later. It is computed
// from the user's own recurrences and open intentions; a user who opted out has no predictions. An invalid value is an
// *InvalidError.
func (c *Client) Predict(ctx context.Context, userID string, from, until time.Time, limit int) ([]Prediction, error) {
	return inUser(ctx, c, userID, func(tx pgx.Tx) ([]Prediction, error) {
		return store.Predict(ctx, tx, userID, from, until, limit)
	})
}

package oxbow

import (
	"context"

	"github.com/jackc/pgx/v5"

	"github.com/oxbow-memory/oxbow/store"
)

// SensoryItem is an item of the sensory stream, the raw input of the last few days.
type SensoryItem = store.SensoryItem

// SensoryCandidate is a text that occurs often in the sensory stream.
type SensoryCandidate = store.SensoryCandidate

// Sensory returns the latest items of a user's sensory stream, newest first. limit is 1 to 1000.
func (c *Client) Sensory(ctx context.Context, userID string, limit int) (items []SensoryItem, err error) {
	err = c.on(ctx, userID, func(tx pgx.Tx) error {
		items, err = store.LatestSensory(ctx, tx, userID, limit)
		return err
	})
	return items, err
}

// SensoryCandidates returns the frequent texts of a user's sensory stream, most frequent first. limit is 1 to 1000.
func (c *Client) SensoryCandidates(ctx context.Context, userID string, limit int) (
	candidates []SensoryCandidate, err error,
) {
	err = c.on(ctx, userID, func(tx pgx.Tx) error {
		candidates, err = store.SensoryCandidates(ctx, tx, userID, limit)
		return err
	})
	return candidates, err
}

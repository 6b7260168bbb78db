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
func (c *Client) Sensory(ctx context.Context, userID string, limit int) ([]SensoryItem, error) {
	return inUser(ctx, c, userID, func(tx pgx.Tx) ([]SensoryItem, error) {
		return store.LatestSensory(ctx, tx, userID, limit)
	})
}

// SensoryCandidates returns the frequent texts of a user's sensory stream, most frequent first. limit is 1 to 1000.
func (c *Client) SensoryCandidates(ctx context.Context, userID string, limit int) ([]SensoryCandidate, error) {
	return inUser(ctx, c, userID, func(tx pgx.Tx) ([]SensoryCandidate, error) {
		return store.SensoryCandidates(ctx, tx, userID, limit)
	})
}

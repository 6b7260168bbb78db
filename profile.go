package oxbow

import (
	"context"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/oxbow-memory/oxbow/store"
)

// ProfileValue is a value that an application keeps about a user.
type ProfileValue = store.ProfileValue

// Feeling is a row of an emotional profile.
type Feeling = store.Feeling

// SetValue stores a value of the namespace profile, which json.Marshal encodes, and returns the number of facts that
// changed because of it. nil deletes it. Keys with a row in oxbow.profile_mapping, such as occupation and interests,
// become facts. An invalid value is an *InvalidError.
func (c *Client) SetValue(ctx context.Context, userID, key string, value any) (int, error) {
	return inUser(ctx, c, userID, func(tx pgx.Tx) (int, error) {
		return store.SetValue(ctx, tx, userID, "", key, value)
	})
}

// Profile returns the values of a user, by key: those of the namespace profile.
func (c *Client) Profile(ctx context.Context, userID string) ([]ProfileValue, error) {
	return inUser(ctx, c, userID, func(tx pgx.Tx) ([]ProfileValue, error) {
		return store.Profile(ctx, tx, userID, "profile")
	})
}

// EmotionProfile returns how a user felt: the baseline, the mood of the last days, what moves it, what calms, and the
// last weeks, computed from the emotions of memories with their ids as evidence. The zero time means now.
func (c *Client) EmotionProfile(ctx context.Context, userID string, now time.Time) ([]Feeling, error) {
	return inUser(ctx, c, userID, func(tx pgx.Tx) ([]Feeling, error) { return store.EmotionProfile(ctx, tx, userID, now) })
}

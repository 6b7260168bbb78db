package store

import (
	"context"
	"encoding/json"
	"time"

	"github.com/google/uuid"
)

// ProfileValue is a value that an application keeps about a user.
type ProfileValue struct {
	Namespace string          `json:"namespace"`
	Key       string          `json:"key"`
	Value     json.RawMessage `json:"value"`
	UpdatedAt time.Time       `json:"updated_at"`
	Facts     int             `json:"facts"` // number of facts that it became
}

// SetValue stores a value, which json.Marshal encodes, and returns the number of facts that changed. nil deletes it.
func SetValue(ctx context.Context, db DB, userID, namespace, key string, value any) (int, error) {
	encoded, err := json.Marshal(value)
	if err != nil {
		return 0, Invalid("value", nil, "must be JSON: "+err.Error())
	}
	return one[int](ctx, db, "store the value", `select oxbow.set_value($1, $2, $3, coalesce($4, 'profile'))`, userID, key,
		string(encoded), pointer(namespace))
}

// Profile returns the values of a user in a namespace; all if it is empty.
func Profile(ctx context.Context, db DB, userID, namespace string) ([]ProfileValue, error) {
	return list[ProfileValue](ctx, db, "read the profile", `
		select "group" as namespace, name as key, value, updated_at, facts from oxbow.profile($1, $2)`, userID,
		pointer(namespace))
}

// Feeling is a row of an emotional profile.
type Feeling struct {
	Aspect   string      `json:"aspect"`        // baseline, mood, trigger, calms, week
	Name     string      `json:"name,omitzero"` // of a trigger or of what calms; the Monday of a week
	Valence  float64     `json:"valence"`       // -1 (unpleasant) to 1
	Arousal  float64     `json:"arousal"`       // 0 (calm) to 1
	Shift    float64     `json:"shift"`         // of the valence from the baseline
	Memories int         `json:"memories"`
	Evidence []uuid.UUID `json:"evidence"` // the latest of them, at most 20
}

// EmotionProfile returns the emotional profile of a user at a moment; zero: now.
func EmotionProfile(ctx context.Context, db DB, userID string, now time.Time) ([]Feeling, error) {
	if err := moment("now", now); err != nil {
		return nil, err
	}
	return list[Feeling](ctx, db, "read the emotional profile", `select * from oxbow.emotion_profile($1, $2)`, userID,
		pointer(now))
}

package store

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
)

// ReadSetting decodes the setting with the given key into value. If the setting does not exist,
// value is unchanged.
func ReadSetting(ctx context.Context, db DB, key string, value any) error {
	raw, err := one[json.RawMessage](ctx, db, fmt.Sprintf("read the setting %q", key),
		`select value from oxbow.settings where key = $1::text`, key)
	if errors.Is(err, ErrNotFound) {
		return nil
	}
	if err != nil {
		return err
	}
	if err := json.Unmarshal(raw, value); err != nil {
		return fmt.Errorf("setting %q: cannot decode %s: %w", key, raw, err)
	}
	return nil
}

// WriteSetting stores value as JSON under the given key.
func WriteSetting(ctx context.Context, db DB, key string, value any) error {
	raw, err := json.Marshal(value)
	if err == nil {
		_, err = Exec(ctx, db, `
			insert into oxbow.settings (key, value) values ($1::text, $2::jsonb)
			on conflict (key) do update set value = excluded.value, updated_at = now()`, key, raw)
	}
	return failed(fmt.Sprintf("write the setting %q", key), err)
}

// ChannelWeights are the weights of the channels of recall, and the number of nearest vectors that it considers in
// addition to its results.
type ChannelWeights struct {
	Text, Vector, Entity float64
	Nearest              int
}

// ReadChannelWeights returns the weights in force.
func ReadChannelWeights(ctx context.Context, db DB) (ChannelWeights, error) {
	return one[ChannelWeights](ctx, db, "read the weights of recall",
		`select text, vector, entity, nearest from oxbow.channel_weights()`)
}

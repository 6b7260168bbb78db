package store

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5"

	"github.com/oxbow-memory/oxbow/store/internal/dbsqlc"
)

// ReadSetting decodes a setting into value, which stays as it is where there is none.
func ReadSetting(ctx context.Context, db DB, key string, value any) error {
	raw, err := dbsqlc.New().SettingGet(ctx, db, key)
	if errors.Is(err, pgx.ErrNoRows) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("read the setting %q: %w", key, err)
	}
	if err := json.Unmarshal(raw, value); err != nil {
		return fmt.Errorf("the setting %q is %s, which is not what it should be: %w", key, raw, err)
	}
	return nil
}

func WriteSetting(ctx context.Context, db DB, key string, value any) error {
	raw, err := json.Marshal(value)
	if err != nil {
		return fmt.Errorf("write the setting %q: %w", key, err)
	}
	if err := dbsqlc.New().SettingPut(ctx, db, &dbsqlc.SettingPutParams{Key: key, Value: raw}); err != nil {
		return fmt.Errorf("write the setting %q: %w", key, err)
	}
	return nil
}

func decodeModel(raw []byte, into *EmbeddingModel) error { return json.Unmarshal(raw, into) }

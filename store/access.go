package store

import (
	"context"
	"encoding/json"
	"time"

	"github.com/google/uuid"
)

// Access is an entry of the log of who read or changed a user's data through the API.
type Access struct {
	UserID    string    `json:"user_id"`
	ID        uuid.UUID `json:"id"` // ordered by time
	At        time.Time `json:"at"`
	KeyID     uuid.UUID `json:"key_id,omitzero"` // absent for a token of the issuer
	Role      Role      `json:"role"`
	Operation string    `json:"operation"`
	Target    string    `json:"target,omitzero"`
	Status    int       `json:"status"` // of HTTP
}

// LogAccess stores entries, and gives ids to those without one.
func LogAccess(ctx context.Context, db DB, entries []Access) error {
	for i := range entries {
		if entries[i].ID == uuid.Nil {
			id, err := uuid.NewV7()
			if err != nil {
				return err
			}
			entries[i].ID = id
		}
	}
	encoded, err := json.Marshal(entries)
	if err != nil {
		return err
	}
	_, err = run(ctx, db, "log accesses", `
		insert into oxbow.api_log (user_id, id, at, key_id, role, operation, target, status)
		select user_id, id, at, key_id, role, operation, target, status
		  from jsonb_to_recordset($1::jsonb) as e(user_id text, id uuid, at timestamptz, key_id uuid, role text,
		       operation text, target text, status integer)
		on conflict do nothing`, encoded)
	return err
}

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
		 where not oxbow.erased_after(e.user_id, e.at) -- another server may have erased the user
		on conflict do nothing`, string(encoded))
	return err
}

// CheckWrites returns ErrReadOnly if the database accepts no writes.
func CheckWrites(ctx context.Context, db DB) error {
	_, err := Exec(ctx, db, `insert into oxbow.api_log select * from oxbow.api_log where false`)
	return err
}

// TrimAPI deletes answers to repeated requests, parts of imports that are older than an hour and entries of the log of
// accesses that are too old, at most limit of each, and returns the largest of the three numbers. Fewer than limit
// means that none are left.
func TrimAPI(ctx context.Context, db DB, now time.Time, limit int) (int, error) {
	return one[int](ctx, db, "trim what the server keeps", `select oxbow.trim_api($1, $2)`, now, limit)
}

// AccessLog returns entries of the log of accesses to a user's data, at most limit, the latest first, before the entry
// with the given id unless it is uuid.Nil.
func AccessLog(ctx context.Context, db DB, userID string, before uuid.UUID, limit int) ([]Access, error) {
	return Collect[Access](ctx, db, `
		select user_id, id, at, key_id, role, operation, target, status from oxbow.api_log
		 where user_id = $1 and ($2::uuid is null or id < $2) order by id desc limit $3`, userID, pointer(before), limit)
}

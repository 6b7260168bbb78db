package store

import (
	"context"
	"time"

	"github.com/google/uuid"
)

// Erased is the number of rows that an erasure deleted from a table.
type Erased struct {
	Table string `json:"table"`
	Rows  int64  `json:"rows"`
}

// Receipt describes an erasure without naming the user.
type Receipt struct {
	ID     uuid.UUID `json:"id"`
	At     time.Time `json:"at"`
	Kind   string    `json:"kind"`   // user or memory
	Actor  string    `json:"actor"`  // the database role that requested it
	Erased []Erased  `json:"erased"` // only tables that lost rows
	// Proof is the secret needed to find the receipt again. The database does not store it.
	Proof string `json:"proof"`
}

// Rows returns the number of rows that the erasure deleted.
func (r Receipt) Rows() (total int64) {
	for _, e := range r.Erased {
		total += e.Rows
	}
	return total
}

// EraseMemory erases a memory and everything that refers to it. It returns a zero Receipt if the
// memory does not exist.
func EraseMemory(ctx context.Context, db DB, userID string, id uuid.UUID, proof string) (Receipt, error) {
	var rows int64
	err := db.QueryRow(ctx, `select oxbow.erase_memory(user_id => $1, id => $2, proof => $3)`, userID, id,
		proof).Scan(&rows)
	if err != nil || rows == 0 {
		return Receipt{}, Explain(err)
	}
	return FindReceipt(ctx, db, userID, id, proof)
}

// EraseUser erases all data of a user.
func EraseUser(ctx context.Context, db DB, userID, proof string) (Receipt, error) {
	if _, err := db.Exec(ctx, `select from oxbow.erase_user(user_id => $1, proof => $2)`, userID, proof); err != nil {
		return Receipt{}, Explain(err)
	}
	return FindReceipt(ctx, db, userID, uuid.Nil, proof)
}

// FindReceipt returns the receipt for the erasure of a memory or, if id is uuid.Nil, of the user.
// It returns ErrNoReceipt if the proof does not match.
func FindReceipt(ctx context.Context, db DB, userID string, id uuid.UUID, proof string) (Receipt, error) {
	r := Receipt{Proof: proof}
	found := false
	var e Erased
	err := ForEach(ctx, db, []any{&r.ID, &r.At, &r.Kind, &r.Actor, &e.Table, &e.Rows}, func() error {
		if found = true; e.Table != "" {
			r.Erased = append(r.Erased, e)
		}
		return nil
	}, `
		select r.id, r.at, r.kind, r.actor, coalesce(e.key, ''), coalesce(e.value::bigint, 0)
		from oxbow.erasure(user_id => $1, proof => $2, memory_id => $3) r left join jsonb_each_text(r.rows) e on true
		order by r.at, e.key`, userID, proof, pointer(id))
	if err == nil && !found {
		err = ErrNoReceipt
	}
	if err != nil {
		return Receipt{}, err
	}
	return r, nil
}

package store

import (
	"context"
	"fmt"
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
	rows, err := CollectOne[int64](ctx, db,
		`select oxbow.erase_memory(user_id => $1, id => $2, proof => $3)`, userID, id, proof)
	if err != nil || rows == 0 {
		return Receipt{}, err
	}
	return FindReceipt(ctx, db, userID, id, proof)
}

// EraseUser erases all data of a user.
func EraseUser(ctx context.Context, db DB, userID, proof string) (Receipt, error) {
	if _, err := Exec(ctx, db, `select from oxbow.erase_user(user_id => $1, proof => $2)`, userID, proof); err != nil {
		return Receipt{}, err
	}
	return FindReceipt(ctx, db, userID, uuid.Nil, proof)
}

// FindReceipt returns the receipt for the erasure of a memory or, if id is uuid.Nil, of the user.
// It returns ErrNoReceipt if the proof does not match.
func FindReceipt(ctx context.Context, db DB, userID string, id uuid.UUID, proof string) (Receipt, error) {
	found, err := Collect[struct {
		Receipt
		Table string
		Rows  int64
	}](ctx, db, `
		select r.id, r.at, r.kind, r.actor, e.key as "table", e.value::bigint as rows
		from oxbow.erasure(user_id => $1, proof => $2, memory_id => $3) r left join jsonb_each_text(r.rows) e on true
		order by r.at, e.key`, userID, proof, pointer(id))
	if err == nil && len(found) == 0 {
		err = fmt.Errorf("%w: no erasure of user %q has the proof %q", ErrNoReceipt, userID, proof)
		if id != uuid.Nil {
			err = fmt.Errorf("%w: no erasure of memory %s of user %q has the proof %q", ErrNoReceipt, id, userID, proof)
		}
	}
	if err != nil {
		return Receipt{}, err
	}
	r := found[len(found)-1].Receipt
	r.Proof = proof
	for _, f := range found {
		if f.Table != "" {
			r.Erased = append(r.Erased, Erased{f.Table, f.Rows})
		}
	}
	return r, nil
}

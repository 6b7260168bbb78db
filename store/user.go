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
	// CompletedAt is when the last transaction that began before the erasure committed had ended. It is zero while
	// such transactions are open; what they store is erased later and added to Erased.
	CompletedAt time.Time `json:"completed_at,omitzero"`
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

// EraseMemory erases a memory and everything that refers to it.
func EraseMemory(ctx context.Context, db DB, userID string, id uuid.UUID, proof string) error {
	_, err := Exec(ctx, db, `select oxbow.erase_memory(user_id => $1, id => $2, proof => $3)`, userID, id, proof)
	return err
}

// EraseUser erases all data of a user.
func EraseUser(ctx context.Context, db DB, userID, proof string) error {
	_, err := Exec(ctx, db, `select from oxbow.erase_user(user_id => $1, proof => $2)`, userID, proof)
	return err
}

// OpenErasures has the number of open erasures of a user, the largest number of older transactions that one of them
// waits for, and the number of those that have written.
type OpenErasures struct{ Open, Awaited, Writing int }

// FinishErasures erases what transactions that began before an erasure of the user committed have stored. db must not
// be the transaction of the erasure.
func FinishErasures(ctx context.Context, db DB, userID string) (OpenErasures, error) {
	return CollectOne[OpenErasures](ctx, db, `select * from oxbow.finish_erasures(user_id => $1)`, userID)
}

// ErasingUsers returns users with an open erasure, at most limit.
func ErasingUsers(ctx context.Context, db DB, limit int) ([]string, error) {
	return list[string](ctx, db, "list open erasures", `select oxbow.erasing_users($1)`, limit)
}

// FindReceipt returns the receipt for the erasure of a memory or, if id is uuid.Nil, of the user.
// It returns ErrNoReceipt if the proof does not match.
func FindReceipt(ctx context.Context, db DB, userID string, id uuid.UUID, proof string) (Receipt, error) {
	found, err := Collect[struct {
		Receipt
		Table string
		Rows  int64
	}](ctx, db, `
		select r.id, r.at, r.kind, r.actor, r.completed_at, e.key as "table", e.value::bigint as rows
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

package store

import (
	"context"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
)

// Erased is how many rows of a table were erased.
type Erased struct {
	Table string `json:"table"`
	Rows  int64  `json:"rows"`
}

// EraseMemory erases a memory and all that refers to it, and returns how many rows that were.
func EraseMemory(ctx context.Context, db DB, userID string, id uuid.UUID) (rows int64, err error) {
	err = db.QueryRow(ctx, `select oxbow.erase_memory(user_id => $1, id => $2)`, userID, id).Scan(&rows)
	return rows, Explain(err)
}

// EraseUser erases everything of a user, and returns what each table lost.
func EraseUser(ctx context.Context, db DB, userID string) ([]Erased, error) {
	rows, err := db.Query(ctx, `select table_name, rows from oxbow.erase_user(user_id => $1)`, userID)
	if err != nil {
		return nil, Explain(err)
	}
	erased, err := pgx.CollectRows(rows, pgx.RowToStructByPos[Erased])
	return erased, Explain(err)
}

package store

import (
	"context"
	"fmt"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
)

// SetApart takes the memories of users out of the workers' sight, in the transaction that inserted them: their jobs are
// deleted, and nothing will be reflected on. Whoever measures with them embeds them, and erases the users in the end.
func SetApart(ctx context.Context, tx pgx.Tx, users []string) error {
	_, err := tx.Exec(ctx, `
		insert into oxbow.users (user_id, opted_out) select u, true from unnest($1::text[]) u order by u
		on conflict (user_id) do update set opted_out = true`, users)
	if err != nil {
		return fmt.Errorf("set the users of an evaluation apart: %w", Explain(err))
	}
	_, err = tx.Exec(ctx, `
		delete from oxbow.river_job j using unnest($1::text[]) u where j.args @> jsonb_build_object('user_id', u)`, users)
	if err != nil {
		return fmt.Errorf("take the jobs of an evaluation out of the queue: %w", Explain(err))
	}
	return nil
}

// MemoryIDs returns the ids of a user's memories that are not forgotten, in their order.
func MemoryIDs(ctx context.Context, db DB, userID string) ([]uuid.UUID, error) {
	rows, err := db.Query(ctx, `select id from oxbow.memories where user_id = $1 and forgotten_at is null order by seq, id`, userID)
	if err != nil {
		return nil, Explain(err)
	}
	ids, err := pgx.CollectRows(rows, pgx.RowTo[uuid.UUID])
	return ids, Explain(err)
}

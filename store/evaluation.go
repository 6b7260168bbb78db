package store

import (
	"context"
	"fmt"
	"time"

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

// ToReflect puts all facts and episodes of a user who was set apart into the inbox, ends the setting apart, and returns the
// time of the latest of them, which the evaluation takes for now.
func ToReflect(ctx context.Context, db DB, userID string) (now time.Time, err error) {
	err = db.QueryRow(ctx, `
		with inbox as (
		  insert into oxbow.reflection_inbox (user_id, memory_type, memory_id, importance, valid_at, session_id)
		  select user_id, memory_type, id, importance, coalesce(valid_at, created_at), session_id from oxbow.memories
		   where user_id = $1 and memory_type in ('fact', 'episodic') and forgotten_at is null and expired_at is null
		  returning valid_at
		), back as (
		  update oxbow.users set opted_out = false where user_id = $1
		)
		select coalesce(max(valid_at), now()) from inbox`, userID).Scan(&now)
	if err != nil {
		return now, fmt.Errorf("put the memories of an evaluation into the inbox: %w", Explain(err))
	}
	return now, nil
}

// VisibleTraits returns what the traits of a user say that were visible at a moment, the surest first.
func VisibleTraits(ctx context.Context, db DB, userID string, at time.Time) ([]string, error) {
	rows, err := db.Query(ctx, `
		select content from oxbow.traits_as_of($1, $2) where stage in ('emerging', 'established', 'core') order by confidence desc, content`, userID, at)
	if err != nil {
		return nil, Explain(err)
	}
	traits, err := pgx.CollectRows(rows, pgx.RowTo[string])
	return traits, Explain(err)
}

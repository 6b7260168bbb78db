package store

import (
	"context"
	"time"

	"github.com/google/uuid"
)

// The evaluation of lives writes what happened in the past.

// SetForgetting sets a user's forgetting factor, above 0; 0 leaves the default.
func SetForgetting(ctx context.Context, db DB, userID string, factor float64) error {
	if factor == 0 {
		return nil
	}
	_, err := run(ctx, db, "set the forgetting factor",
		`insert into oxbow.users (user_id, forgetting_factor) values ($1, $2)`, userID, factor)
	return err
}

// PastMemory is a memory that an application stored in the past.
type PastMemory struct {
	Type, Content, Category, Tier string // empty: the default
	Importance                    *float64
	Sensitivity                   int
}

// InsertAt stores a memory as if it had been inserted at a moment, and returns its id.
func InsertAt(ctx context.Context, db DB, userID string, at time.Time, m PastMemory) (uuid.UUID, error) {
	return one[uuid.UUID](ctx, db, "insert a memory", `
		insert into oxbow.memories (user_id, memory_type, content, category, importance, tier, sensitivity, valid_at,
		  created_at)
		values ($1, coalesce(nullif($2, ''), 'fact'), $3, nullif($4, ''), coalesce($5, 0.5),
		  coalesce(nullif($6, ''), 'normal'), $7, $8, $8)
		returning id`, userID, m.Type, m.Content, m.Category, m.Importance, m.Tier, m.Sensitivity, at)
}

// SaidIn returns the memory with a word in it that was extracted from a conversation.
func SaidIn(ctx context.Context, db DB, userID, sessionID, word string) (uuid.UUID, error) {
	return one[uuid.UUID](ctx, db, "look for the memory of a conversation", `
		select m.id from oxbow.memory_sources s
		  join oxbow.memories m on m.user_id = s.user_id and m.memory_type = s.memory_type and m.id = s.memory_id
		 where s.user_id = $1 and s.session_id = $2 and m.source = 'extraction' and position(lower($3) in lower(m.content)) > 0
		 order by m.created_at desc limit 1`, userID, sessionID, word)
}

// State is what the evaluation of lives checks of a memory.
type State struct {
	ID       uuid.UUID
	Weight   float64 // 0 for traits
	Current  bool
	Mentions int // after it was stored
	Tier     string
}

// States returns the state of each memory of a user.
func States(ctx context.Context, db DB, userID string) (map[uuid.UUID]State, error) {
	found, err := list[State](ctx, db, "read the state of memories", `
		select m.id, coalesce(w.unclamped, 0) as weight, m.mention_count - 1 as mentions, m.tier,
		       m.expired_at is null and m.forgotten_at is null and (m.invalid_at is null or m.invalid_at > now())
		         as current
		  from oxbow.memories m left join lateral oxbow.weight(m.user_id, m.id) w on true
		 where m.user_id = $1`, userID)
	all := make(map[uuid.UUID]State, len(found))
	for _, s := range found {
		all[s.ID] = s
	}
	return all, err
}

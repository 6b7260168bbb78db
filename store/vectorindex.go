package store

import (
	"context"
	"time"
)

// IndexedUser is a user whose vectors of one type have an index or are about to get one.
type IndexedUser struct {
	UserID  string     `json:"user_id"`
	Type    MemoryType `json:"memory_type"`
	Slot    int        `json:"slot"`
	Vectors int64      `json:"vectors"`
	Waiting int64      `json:"waiting"` // copies not yet moved into the index
	State   string     `json:"state"`   // walking, filling, ready or ending
	Since   time.Time  `json:"since"`
}

// AssignSlots decides again, if due, who gets an index. It returns the number of indexes begun and
// ended.
func AssignSlots(ctx context.Context, db DB) (begun, ended int, err error) {
	slots, err := one[struct{ Begun, Ended int }](ctx, db, "assign vector indexes",
		`select a.begun, a.ended from oxbow.assign_slots() a`)
	return slots.Begun, slots.Ended, err
}

// EndSlots deletes at most limit copies of vectors of users who no longer have an index, and
// returns their number. 0 means that none are left.
func EndSlots(ctx context.Context, db DB, limit int) (int, error) {
	return vectorStep(ctx, db, `select oxbow.end_slots($1)`, limit)
}

// WalkVectors reads at most limit further vectors of a user with an index and records those missing
// from it. It returns the number of vectors read. 0 means that no walk is pending.
func WalkVectors(ctx context.Context, db DB, limit int) (int, error) {
	return vectorStep(ctx, db, `select oxbow.walk_vectors($1)`, limit)
}

// IndexVectors moves at most limit recorded vectors into their index and returns their number. 0
// means that none are left.
func IndexVectors(ctx context.Context, db DB, limit int) (int, error) {
	return vectorStep(ctx, db, `select oxbow.index_vectors($1)`, limit)
}

func vectorStep(ctx context.Context, db DB, sql string, limit int) (int, error) {
	return one[int](ctx, db, "maintain the vector index", sql, limit)
}

// IndexedUsers returns the users whose vectors are indexed, in the order in which they got their
// index.
func IndexedUsers(ctx context.Context, db DB) ([]IndexedUser, error) {
	return Collect[IndexedUser](ctx, db, `
		select s.user_id, s.memory_type::text as type, s.slot, t.documents as vectors,
		       (select count(*) from oxbow.indexed_vectors x
		         where x.user_id = s.user_id and x.memory_type = s.memory_type and x.slot is null) as waiting,
		       case when s.ending then 'ending' when s.ready_at is not null then 'ready' when s.walked_at is not null
		         then 'filling' else 'walking' end as state,
		       s.since
		  from oxbow.vector_slots s
		  left join oxbow.memory_term_stats t on t.user_id = s.user_id and t.memory_type = s.memory_type
		 order by s.since, s.user_id, s.memory_type`)
}

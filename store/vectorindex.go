package store

import (
	"context"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
)

// IndexPolicy says which users' vectors are indexed. The vectors of the others are scanned.
type IndexPolicy struct {
	Policy string `json:"policy"` // auto, always or never
	From   int64  `json:"from"`   // with auto: the minimum number of memories of one type
	Most   int    `json:"most"`   // with auto: the maximum number of indexed users and types
}

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
	if err := db.QueryRow(ctx, `select a.begun, a.ended from oxbow.assign_slots() a`).Scan(&begun, &ended); err != nil {
		return 0, 0, fmt.Errorf("decide whose vectors have an index: %w", err)
	}
	return begun, ended, nil
}

// EndSlots deletes at most limit copies of vectors of users who no longer have an index, and
// returns their number. 0 means that none are left.
func EndSlots(ctx context.Context, db DB, limit int) (int, error) {
	return vectorStep(ctx, db, "end_slots", limit)
}

// WalkVectors reads at most limit further vectors of a user with an index and records those missing
// from it. It returns the number of vectors read. 0 means that no walk is pending.
func WalkVectors(ctx context.Context, db DB, limit int) (int, error) {
	return vectorStep(ctx, db, "walk_vectors", limit)
}

// IndexVectors moves at most limit recorded vectors into their index and returns their number. 0
// means that none are left.
func IndexVectors(ctx context.Context, db DB, limit int) (int, error) {
	return vectorStep(ctx, db, "index_vectors", limit)
}

func vectorStep(ctx context.Context, db DB, function string, limit int) (n int, err error) {
	if err := db.QueryRow(ctx, `select oxbow.`+function+`($1)`, limit).Scan(&n); err != nil {
		return 0, fmt.Errorf("keep the index of vectors: %w", err)
	}
	return n, nil
}

// ReadIndexPolicy reads the setting vector_index.
func ReadIndexPolicy(ctx context.Context, db DB) (p IndexPolicy, err error) {
	err = db.QueryRow(ctx, `select s.policy, s."from", s.most from oxbow.vector_index_setting() s`).Scan(&p.Policy,
		&p.From, &p.Most)
	return p, err
}

// IndexedUsers returns the users whose vectors are indexed, in the order in which they got their
// index.
func IndexedUsers(ctx context.Context, db DB) ([]IndexedUser, error) {
	return Collect(ctx, db, pgx.RowToStructByPos[IndexedUser], `
		select s.user_id, s.memory_type::text, s.slot, coalesce(t.documents, 0),
		       (select count(*) from oxbow.indexed_vectors x where x.user_id = s.user_id and x.memory_type = s.memory_type
		         and x.slot is null),
		       case when s.ending then 'ending' when s.ready_at is not null then 'ready' when s.walked_at is not null
		         then 'filling' else 'walking' end,
		       s.since
		  from oxbow.vector_slots s
		  left join oxbow.memory_term_stats t on t.user_id = s.user_id and t.memory_type = s.memory_type
		 order by s.since, s.user_id, s.memory_type`)
}

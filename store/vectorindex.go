package store

import (
	"context"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
)

// IndexPolicy says whose vectors have an index, the others being scanned.
type IndexPolicy struct {
	Policy string `json:"policy"` // auto, always or never
	From   int64  `json:"from"`   // with auto: memories of one type that a user must have
	Most   int    `json:"most"`   // with auto: users and types that have one at the most
}

// IndexedUser is one whose vectors of a type have an index, or are about to.
type IndexedUser struct {
	UserID  string     `json:"user_id"`
	Type    MemoryType `json:"memory_type"`
	Slot    int        `json:"slot"`
	Vectors int64      `json:"vectors"`
	Waiting int64      `json:"waiting"` // copies that are to be moved into the index
	State   string     `json:"state"`   // walking, filling, ready or ending
	Since   time.Time  `json:"since"`
}

// AssignSlots decides anew who has an index, where that is due. It returns how many get one and how many lose it.
func AssignSlots(ctx context.Context, db DB) (begun, ended int, err error) {
	if err := db.QueryRow(ctx, `select a.begun, a.ended from oxbow.assign_slots() a`).Scan(&begun, &ended); err != nil {
		return 0, 0, fmt.Errorf("decide whose vectors have an index: %w", err)
	}
	return begun, ended, nil
}

// EndSlots deletes copies of vectors whose user has no index any more, at most limit, and returns how many; 0: there
// are none.
func EndSlots(ctx context.Context, db DB, limit int) (int, error) {
	return vectorStep(ctx, db, "end_slots", limit)
}

// WalkVectors looks at the next vectors of a user who has an index, at most limit, and notes those that the index
// lacks. It returns at how many it looked; 0: there is no walk to make.
func WalkVectors(ctx context.Context, db DB, limit int) (int, error) {
	return vectorStep(ctx, db, "walk_vectors", limit)
}

// IndexVectors moves vectors that were noted into their index, at most limit, and returns how many; 0: none is left.
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

// IndexedUsers lists whose vectors have an index, in the order in which they got it.
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

package store

import (
	"context"
	"fmt"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
)

// SensoryItem is an item of the sensory stream, the raw input of the last days.
type SensoryItem struct {
	ID       uuid.UUID      `json:"id"`
	At       time.Time      `json:"at"`
	Kind     string         `json:"kind"` // in the application's words; default "input"
	Content  string         `json:"content"`
	Metadata map[string]any `json:"metadata"`
}

// SensoryCandidate is a text that is frequent in the sensory stream.
type SensoryCandidate struct {
	Hash    uuid.UUID `json:"hash"` // MD5 of the content
	Content string    `json:"content"`
	Times   int       `json:"times"` // within the days that are kept, at most 1000
	FirstAt time.Time `json:"first_at"`
	LastAt  time.Time `json:"last_at"`
}

// maxSensory limits what is listed.
const maxSensory = 1000

// LatestSensory returns the latest items of a user's stream, the latest first. limit is 1 to 1000.
func LatestSensory(ctx context.Context, db DB, userID string, limit int) ([]SensoryItem, error) {
	if err := validateSensoryLimit(limit); err != nil {
		return nil, err
	}
	return Collect(ctx, db, pgx.RowToStructByName[SensoryItem], `
		select s.id, s.at, s.kind, s.content, s.metadata from oxbow.sensory s
		 where s.user_id = $1
		 order by s.at desc, s.id desc
		 limit $2::integer`, userID, limit)
}

// SensoryCandidates returns the frequent texts of a user's stream, the most frequent first. limit is 1 to 1000.
func SensoryCandidates(ctx context.Context, db DB, userID string, limit int) ([]SensoryCandidate, error) {
	if err := validateSensoryLimit(limit); err != nil {
		return nil, err
	}
	return Collect(ctx, db, pgx.RowToStructByName[SensoryCandidate], `
		select c.hash, c.content, c.times, c.first_at, c.last_at from oxbow.sensory_candidates c
		 where c.user_id = $1
		 order by c.times desc, c.last_at desc, c.hash
		 limit $2::integer`, userID, limit)
}

func validateSensoryLimit(limit int) error {
	if limit < 1 || limit > maxSensory {
		return Invalid("limit", fmt.Sprint(limit), fmt.Sprintf("must be between 1 and %d", maxSensory))
	}
	return nil
}

// SensoryDays is what was done about the days of the sensory stream.
type SensoryDays struct {
	Made    int   // partitions
	Moved   int64 // rows, into them
	Dropped int   // partitions
	Deleted int64 // rows too old, that no partition took
	PutOff  int   // what has to wait because somebody holds a lock
}

// KeepSensoryDays makes the partitions of the days to come and drops those that are too old.
func KeepSensoryDays(ctx context.Context, db DB) (SensoryDays, error) {
	d, err := CollectOne(ctx, db, pgx.RowToStructByName[SensoryDays],
		`select p.made, p.moved, p.dropped, p.deleted, p.put_off from oxbow.sensory_partitions() p`)
	if err != nil {
		return SensoryDays{}, fmt.Errorf("make and drop days of the sensory stream: %w", err)
	}
	return d, nil
}

// CountSensory looks at the next rows of the sensory stream, about limit, and notes what came often. It returns at
// how many it looked: fewer than limit means that there are no more.
func CountSensory(ctx context.Context, db DB, limit int) (int, error) {
	n, err := CollectOne(ctx, db, pgx.RowTo[int], `select oxbow.count_sensory($1::integer)::bigint`, limit)
	if err != nil {
		return 0, fmt.Errorf("count what is frequent in the sensory stream: %w", err)
	}
	return n, nil
}

// AgeSensoryCandidates counts up to limit candidates anew that lost occurrences to age, and deletes those that are not
// frequent any more. It returns at how many it looked.
func AgeSensoryCandidates(ctx context.Context, db DB, limit int) (int, error) {
	n, err := CollectOne(ctx, db, pgx.RowTo[int], `select oxbow.age_candidates($1::integer)::bigint`, limit)
	if err != nil {
		return 0, fmt.Errorf("let candidates of the sensory stream age: %w", err)
	}
	return n, nil
}

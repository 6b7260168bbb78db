package store

import (
	"context"
	"fmt"
	"time"

	"github.com/google/uuid"
)

// SensoryItem is an item of the sensory stream, the raw input of the last days.
type SensoryItem struct {
	ID       uuid.UUID      `json:"id"`
	At       time.Time      `json:"at"`
	Kind     string         `json:"kind"` // chosen by the application; default "input"
	Content  string         `json:"content"`
	Metadata map[string]any `json:"metadata"`
}

// SensoryCandidate is a text that occurs often in the sensory stream.
type SensoryCandidate struct {
	Hash    uuid.UUID `json:"hash"` // MD5 of the content
	Content string    `json:"content"`
	Times   int       `json:"times"` // occurrences within the retention period, at most 1000
	FirstAt time.Time `json:"first_at"`
	LastAt  time.Time `json:"last_at"`
}

// maxSensory is the highest limit of a listing.
const maxSensory = 1000

// LatestSensory returns the latest items of a user's stream, the latest first. limit must be
// between 1 and 1000.
func LatestSensory(ctx context.Context, db DB, userID string, limit int) ([]SensoryItem, error) {
	if err := validateSensoryLimit(limit); err != nil {
		return nil, err
	}
	return Collect[SensoryItem](ctx, db, `
		select s.id, s.at, s.kind, s.content, s.metadata from oxbow.sensory s
		 where s.user_id = $1
		 order by s.at desc, s.id desc
		 limit $2::integer`, userID, limit)
}

// SensoryCandidates returns the frequent texts of a user's stream, the most frequent first. limit
// must be between 1 and 1000.
func SensoryCandidates(ctx context.Context, db DB, userID string, limit int) ([]SensoryCandidate, error) {
	if err := validateSensoryLimit(limit); err != nil {
		return nil, err
	}
	return Collect[SensoryCandidate](ctx, db, `
		select c.hash, c.content, c.times, c.first_at, c.last_at from oxbow.sensory_candidates c
		 where c.user_id = $1
		 order by c.times desc, c.last_at desc, c.hash
		 limit $2::integer`, userID, limit)
}

func validateSensoryLimit(limit int) error {
	if limit < 1 || limit > maxSensory {
		return Invalid("limit", limit, fmt.Sprintf("must be between 1 and %d", maxSensory))
	}
	return nil
}

// SensoryDays counts the changes to the partitions of the sensory stream, one per day.
type SensoryDays struct {
	Made    int   // partitions created
	Moved   int64 // rows moved into them
	Dropped int   // partitions dropped
	Deleted int64 // expired rows deleted outside of dropped partitions
	PutOff  int   // changes postponed because of a lock
}

// KeepSensoryDays creates partitions for the coming days and drops expired ones.
func KeepSensoryDays(ctx context.Context, db DB) (SensoryDays, error) {
	return one[SensoryDays](ctx, db, "maintain the partitions of the sensory stream",
		`select p.made, p.moved, p.dropped, p.deleted, p.put_off from oxbow.sensory_partitions() p`)
}

// CountSensory counts texts in about limit further rows of the sensory stream and records frequent
// ones. It returns the number of rows read. Fewer than limit means that none are left.
func CountSensory(ctx context.Context, db DB, limit int) (int, error) {
	return one[int](ctx, db, "count texts of the sensory stream", `select oxbow.count_sensory($1)`, limit)
}

// AgeSensoryCandidates recounts up to limit candidates with expired occurrences and deletes those
// that are no longer frequent. It returns the number of candidates recounted.
func AgeSensoryCandidates(ctx context.Context, db DB, limit int) (int, error) {
	return one[int](ctx, db, "recount candidates of the sensory stream", `select oxbow.age_candidates($1)`, limit)
}

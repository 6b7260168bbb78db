package store

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/oxbow-memory/oxbow/store/internal/dbsqlc"
)

// MemoryRef names a memory.
type MemoryRef struct {
	UserID string
	ID     uuid.UUID
}

// GivenUpJob is an embed job that is not tried any more.
type GivenUpJob struct {
	ID     int64
	UserID string
	IDs    string // as in its arguments
}

// GivenUpEmbeds returns and locks embed jobs that were discarded or cancelled before a moment and not marked since.
func GivenUpEmbeds(ctx context.Context, tx DB, before time.Time, limit int) ([]GivenUpJob, error) {
	rows, err := dbsqlc.New().SweepGivenUp(ctx, tx, &dbsqlc.SweepGivenUpParams{Before: before, Max: int32(limit)})
	if err != nil {
		return nil, fmt.Errorf("look for jobs that were given up: %w", err)
	}
	given := make([]GivenUpJob, len(rows))
	for i, r := range rows {
		given[i] = GivenUpJob(r)
	}
	return given, nil
}

// MarkGivenUp makes GivenUpEmbeds pass over the jobs.
func MarkGivenUp(ctx context.Context, tx DB, jobs []GivenUpJob) error {
	ids := make([]int64, len(jobs))
	for i, j := range jobs {
		ids[i] = j.ID
	}
	if err := dbsqlc.New().SweepGivenUpDone(ctx, tx, ids); err != nil {
		return fmt.Errorf("mark jobs that were given up: %w", err)
	}
	return nil
}

// Unembedded returns those of a user's memories that lack terms, or a vector of the model.
func Unembedded(ctx context.Context, db DB, userID string, ids []uuid.UUID, model string) ([]MemoryRef, error) {
	rows, err := dbsqlc.New().SweepUnembedded(ctx, db, &dbsqlc.SweepUnembeddedParams{UserID: userID, IDs: ids, Model: model})
	if err != nil {
		return nil, fmt.Errorf("look for memories that are not embedded: %w", err)
	}
	refs := make([]MemoryRef, len(rows))
	for i, r := range rows {
		refs[i] = MemoryRef(r)
	}
	return refs, nil
}

// EmbedQueueIsLong tells whether limit embed jobs wait, or more.
func EmbedQueueIsLong(ctx context.Context, db DB, limit int) (bool, error) {
	long, err := dbsqlc.New().SweepQueueIsLong(ctx, db, int32(limit))
	if err != nil {
		return false, fmt.Errorf("count embed jobs: %w", err)
	}
	return long, nil
}

// Where the sweep has got to, in the settings.
const (
	sweepRecentKey   = "sweep.recent"
	sweepWalkKey     = "sweep.walk"
	sweepInboxKey    = "sweep.inbox"
	sweepReviewKey   = "sweep.reviews"
	sweepStatsKey    = "sweep.stats"
	sweepMessagesKey = "sweep.messages"
	sweepEntitiesKey = "sweep.entities" // there until all is done
)

// recentTime limits LostRecently, whatever came in.
const recentTime = 5 * time.Second

// LostRecently returns memories made since the last call (at first: within a day) and before a moment that are not
// embedded, nor named by a job. Where there are more than limit, the next call begins at the same place. Where so much came
// in that looking through it takes too long, it is left to LostAnywhere.
func LostRecently(ctx context.Context, tx DB, before time.Time, limit int, model string) ([]MemoryRef, error) {
	after := before.Add(-24 * time.Hour)
	if err := ReadSetting(ctx, tx, sweepRecentKey, &after); err != nil {
		return nil, err
	}
	var rows []dbsqlc.SweepRecentRow
	err := pgx.BeginFunc(ctx, tx, func(savepoint pgx.Tx) (err error) {
		_, err = savepoint.Exec(ctx, `select set_config('statement_timeout', $1, true)`, fmt.Sprintf("%dms", recentTime.Milliseconds()))
		if err != nil {
			return err
		}
		rows, err = dbsqlc.New().SweepRecent(ctx, savepoint,
			&dbsqlc.SweepRecentParams{After: after, Before: before, Max: int32(limit), Model: model})
		return err
	})
	if err != nil && !IsTimeout(err) {
		return nil, fmt.Errorf("look for new memories that are not embedded: %w", err)
	}
	refs := make([]MemoryRef, len(rows))
	for i, r := range rows {
		refs[i] = MemoryRef(r)
	}
	if len(refs) == limit || before.Before(after) {
		return refs, nil
	}
	return refs, WriteSetting(ctx, tx, sweepRecentKey, before)
}

// IsTimeout recognises PostgreSQL's error query_canceled.
func IsTimeout(err error) bool {
	var pg *pgconn.PgError
	return errors.As(err, &pg) && pg.Code == "57014"
}

// walkKey is a place in the order of all memories.
type walkKey struct {
	UserID string     `json:"user_id"`
	Type   MemoryType `json:"memory_type"`
	ID     uuid.UUID  `json:"id"`
}

// LostAnywhere looks at the next memories, at most limit, in the order of their keys, goes on there the next time, and
// begins anew after the last. It returns those made before a moment that are not embedded, nor named by a job.
func LostAnywhere(ctx context.Context, tx DB, before time.Time, limit int, model string) ([]MemoryRef, error) {
	var from walkKey
	if err := ReadSetting(ctx, tx, sweepWalkKey, &from); err != nil {
		return nil, err
	}
	rows, err := dbsqlc.New().SweepPage(ctx, tx, &dbsqlc.SweepPageParams{
		UserID: from.UserID, MemoryType: string(from.Type), ID: from.ID, Max: int32(limit), Before: before, Model: model,
	})
	if err != nil {
		return nil, fmt.Errorf("look for memories that are not embedded: %w", err)
	}
	if len(rows) == 0 { // the end
		if from == (walkKey{}) {
			return nil, nil // of nothing
		}
		return nil, WriteSetting(ctx, tx, sweepWalkKey, walkKey{})
	}
	var refs []MemoryRef
	for _, r := range rows {
		if r.ID != nil {
			refs = append(refs, MemoryRef{*r.UserID, *r.ID})
		}
	}
	end := walkKey{rows[0].LastUserID, MemoryType(rows[0].LastMemoryType), rows[0].LastID}
	return refs, WriteSetting(ctx, tx, sweepWalkKey, end)
}

// DueTriggers asks for the next users with something in their inbox, at most limit, whether reflection is due; it goes on
// there the next time, and begins anew after the last. It returns those for whom it is.
func DueTriggers(ctx context.Context, tx DB, limit int, now time.Time) ([]UserTrigger, error) {
	var after string
	if err := ReadSetting(ctx, tx, sweepInboxKey, &after); err != nil {
		return nil, err
	}
	users, err := InboxTriggers(ctx, tx, after, limit, now)
	if err != nil {
		return nil, err
	}
	next := ""
	if len(users) == limit {
		next = users[limit-1].UserID
	}
	var due []UserTrigger
	for _, u := range users {
		if u.Due() {
			due = append(due, u)
		}
	}
	if next == after {
		return due, nil
	}
	return due, WriteSetting(ctx, tx, sweepInboxKey, next)
}

// DueReviews returns the next users of whom a trait is to be reviewed, at most limit; it goes on there the next time, and begins
// anew after the last.
func DueReviews(ctx context.Context, tx DB, limit int) ([]string, error) {
	var after string
	if err := ReadSetting(ctx, tx, sweepReviewKey, &after); err != nil {
		return nil, err
	}
	users, err := dbsqlc.New().SweepReviews(ctx, tx, &dbsqlc.SweepReviewsParams{After: after, Max: int32(limit)})
	if err != nil {
		return nil, fmt.Errorf("look for traits to review: %w", err)
	}
	next := ""
	if len(users) == limit {
		next = users[limit-1]
	}
	if next == after {
		return users, nil
	}
	return users, WriteSetting(ctx, tx, sweepReviewKey, next)
}

// EraseForgotten erases memories that were forgotten before a moment, at most limit, each in a statement of its own, and
// returns how many.
func EraseForgotten(ctx context.Context, db DB, before time.Time, limit int) (int, error) {
	old, err := dbsqlc.New().SweepForgotten(ctx, db, &dbsqlc.SweepForgottenParams{Before: before, Max: int32(limit)})
	if err != nil {
		return 0, fmt.Errorf("look for what was forgotten: %w", err)
	}
	for i, m := range old {
		if err := dbsqlc.New().SweepErase(ctx, db, &dbsqlc.SweepEraseParams{UserID: m.UserID, ID: m.ID}); err != nil {
			return i, fmt.Errorf("erase what was forgotten: %w", err)
		}
	}
	return len(old), nil
}

// recountTime is after how long RecountTerms leaves the other users for the next time. It is a third of what a job has.
const recountTime = 10 * time.Second

// RecountTerms puts the term statistics of the next users right, at most limit; it goes on there the next time, and begins
// anew after the last. It returns how many statistics were wrong. Each user is a statement of its own. One whose memories
// cannot be counted in the time that there is does not keep the others from it: the next time begins after them.
func RecountTerms(ctx context.Context, db DB, limit int) (wrong int, err error) {
	begun := time.Now()
	var after string
	if err := ReadSetting(ctx, db, sweepStatsKey, &after); err != nil {
		return 0, err
	}
	users, err := dbsqlc.New().StatsUsers(ctx, db, &dbsqlc.StatsUsersParams{After: after, Max: int32(limit)})
	if err != nil {
		return 0, fmt.Errorf("count terms: %w", err)
	}
	next := ""
	for i, user := range users {
		n, failed := dbsqlc.New().StatsRecount(ctx, db, user)
		wrong += int(n)
		late := failed != nil || time.Since(begun) > recountTime
		if late || i == limit-1 {
			next = user
		}
		if failed != nil {
			err = fmt.Errorf("count terms: %w", failed)
		}
		if late {
			break
		}
	}
	if next == after {
		return wrong, err
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 5*time.Second) // the job's time may be over
	defer cancel()
	return wrong, errors.Join(err, WriteSetting(ctx, db, sweepStatsKey, next))
}

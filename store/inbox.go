package store

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/oxbow-memory/oxbow/internal/reasoner"
	"github.com/oxbow-memory/oxbow/store/internal/dbsqlc"
)

// Trigger is why a user's inbox is to be reflected on.
type Trigger struct {
	// Type is importance_accumulated, session_end, scheduled or manual; empty: not yet.
	Type string
	// Value is the importance on the scale of 1 to 10, the number of conversations, or the hours.
	Value float64
}

// Due tells whether there is a reason.
func (t Trigger) Due() bool { return t.Type != "" }

// Unreflected is a memory that waits in the inbox.
type Unreflected struct {
	Type       MemoryType
	ID         uuid.UUID
	Importance float64 // 0 to 1
	ValidAt    time.Time
	SessionID  string
}

// ReflectionTrigger tells whether and why a user's inbox is to be reflected on at a moment.
func ReflectionTrigger(ctx context.Context, db DB, userID string, now time.Time) (Trigger, error) {
	row, err := dbsqlc.New().ReflectionDue(ctx, db, &dbsqlc.ReflectionDueParams{UserID: userID, Now: &now})
	if err != nil {
		return Trigger{}, fmt.Errorf("ask whether reflection is due: %w", err)
	}
	return Trigger{row.TriggerType, row.TriggerValue}, nil
}

// UserTrigger is a user with something in the inbox.
type UserTrigger struct {
	UserID string
	Trigger
}

// InboxTriggers asks ReflectionTrigger for the next users after one, at most limit of them, who have something in their
// inbox. The users are in order; fewer than limit: there are no more.
func InboxTriggers(ctx context.Context, db DB, after string, limit int, now time.Time) ([]UserTrigger, error) {
	rows, err := dbsqlc.New().InboxUsersDue(ctx, db, &dbsqlc.InboxUsersDueParams{After: after, Max: int32(limit), Now: &now})
	if err != nil {
		return nil, fmt.Errorf("ask for whom reflection is due: %w", err)
	}
	users := make([]UserTrigger, len(rows))
	for i, r := range rows {
		users[i] = UserTrigger{r.UserID, Trigger{r.TriggerType, r.TriggerValue}}
	}
	return users, nil
}

// RemoveFromInbox takes a batch out and returns how many of it were still there.
func RemoveFromInbox(ctx context.Context, db DB, userID string, batch []Unreflected) (int64, error) {
	byType := map[MemoryType][]uuid.UUID{}
	for _, m := range batch {
		byType[m.Type] = append(byType[m.Type], m.ID)
	}
	var removed int64
	for _, memoryType := range MemoryTypes() { // in one order, as rows are locked
		ids := byType[memoryType]
		if len(ids) == 0 {
			continue
		}
		n, err := dbsqlc.New().InboxDelete(ctx, db,
			&dbsqlc.InboxDeleteParams{UserID: userID, MemoryType: string(memoryType), MemoryIds: ids})
		if err != nil {
			return 0, fmt.Errorf("take memories out of the inbox: %w", err)
		}
		removed += n
	}
	return removed, nil
}

// EmptyInbox takes everything of a user out.
func EmptyInbox(ctx context.Context, db DB, userID string) error {
	if _, err := dbsqlc.New().InboxDeleteUser(ctx, db, userID); err != nil {
		return fmt.Errorf("empty the inbox: %w", err)
	}
	return nil
}

// InboxHasMore tells whether a user's inbox holds anything.
func InboxHasMore(ctx context.Context, db DB, userID string) (bool, error) {
	more, err := dbsqlc.New().InboxHasMore(ctx, db, userID)
	if err != nil {
		return false, fmt.Errorf("look into the inbox: %w", err)
	}
	return more, nil
}

// RingReflect tells the workers, when the transaction commits, that there is a job in the queue reflect.
func RingReflect(ctx context.Context, tx DB) error {
	if err := dbsqlc.New().ReflectRing(ctx, tx); err != nil {
		return fmt.Errorf("wake the workers: %w", err)
	}
	return nil
}

// OptedOut tells whether a user does not want to be reflected on.
func OptedOut(ctx context.Context, db DB, userID string) (bool, error) {
	out, err := dbsqlc.New().UserOptedOut(ctx, db, userID)
	if err != nil {
		return false, fmt.Errorf("ask whether the user opted out: %w", err)
	}
	return out, nil
}

// Cycle is one finished reflection.
type Cycle struct {
	ID                          uuid.UUID
	UserID                      string
	Trigger                     Trigger
	Scanned                     int64 // memories
	StartedAt                   time.Time
	Now                         time.Time // the clock's moment
	Reasoner                    string
	Created, Updated, Dissolved int // traits
	Dropped                     []reasoner.Dropped
	Error                       string // why it failed; empty: it did not
}

// maxDropped is how many characters are kept of a proposal that was not followed.
const maxDropped = 20_000

// plain leaves out what PostgreSQL does not take in a text.
func plain(s string) string { return strings.ReplaceAll(strings.ToValidUTF8(s, ""), "\x00", "") }

// RecordCycle writes the row of a finished reflection, and marks the user's conversations up to its start as reflected on.
func RecordCycle(ctx context.Context, db DB, c Cycle) error {
	told := make([]reasoner.Dropped, len(c.Dropped))
	for i, d := range c.Dropped {
		told[i] = reasoner.Dropped{What: plain(Shorten(d.What, maxDropped)), Reason: plain(Shorten(d.Reason, maxDropped))}
	}
	dropped, err := json.Marshal(told)
	if err != nil {
		return fmt.Errorf("record the reflection: %w", err)
	}
	err = dbsqlc.New().ReflectionCycleInsert(ctx, db, &dbsqlc.ReflectionCycleInsertParams{
		UserID: c.UserID, ID: c.ID, TriggerType: c.Trigger.Type, TriggerValue: c.Trigger.Value, MemoriesScanned: int32(c.Scanned),
		TraitsCreated: int32(c.Created), TraitsUpdated: int32(c.Updated), TraitsDissolved: int32(c.Dissolved),
		StartedAt: c.StartedAt, Now: c.Now, Reasoner: c.Reasoner, Dropped: dropped, ErrorMessage: plain(c.Error),
	})
	if err != nil {
		return fmt.Errorf("record the reflection: %w", err)
	}
	if err := dbsqlc.New().SessionsReflected(ctx, db, &dbsqlc.SessionsReflectedParams{UserID: c.UserID, At: c.StartedAt}); err != nil {
		return fmt.Errorf("mark the conversations as reflected on: %w", err)
	}
	return nil
}

// TrendWindow returns when a trend's window ends: the zero time if the trait is not a trend or does not exist.
func TrendWindow(ctx context.Context, db DB, userID string, id uuid.UUID) (time.Time, error) {
	end, err := dbsqlc.New().TrendWindow(ctx, db, &dbsqlc.TrendWindowParams{UserID: userID, ID: id})
	switch {
	case errors.Is(err, pgx.ErrNoRows):
		return time.Time{}, nil
	case err != nil:
		return time.Time{}, fmt.Errorf("load the trend: %w", err)
	case end == nil:
		return time.Time{}, nil
	}
	return *end, nil
}

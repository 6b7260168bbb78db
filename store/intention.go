package store

import (
	"context"
	"encoding/json"
	"time"

	"github.com/google/uuid"
)

// NewIntention is an intention to store.
type NewIntention struct {
	Content    string    // at most 2,000 bytes
	Kind       string    // intention, goal, reminder; empty: intention
	DueAt      time.Time // zero: no time is known
	Precision  string    // minute, day, week, month, year; empty: minute
	Recurrence string    // an RRULE of iCalendar without its name, such as FREQ=WEEKLY;BYDAY=MO, which begins at DueAt
	Condition  string    // when it is due instead: "when I get home"
	ExternalID string    // makes a repeated call return the earlier one
}

// Intention is an intention that is open or due.
type Intention struct {
	ID          uuid.UUID `json:"id"`
	Kind        string    `json:"kind"`
	Content     string    `json:"content"`
	DueAt       time.Time `json:"due_at,omitzero"`
	Precision   string    `json:"precision"`
	RemindAt    time.Time `json:"remind_at,omitzero"` // when it becomes due
	Recurrence  string    `json:"recurrence,omitzero"`
	Condition   string    `json:"condition,omitzero"`
	State       string    `json:"state"` // open, due
	CreatedAt   time.Time `json:"created_at"`
	BecameDueAt time.Time `json:"became_due_at,omitzero"`
}

// Intend stores an intention and returns its id.
func Intend(ctx context.Context, db DB, userID string, n NewIntention) (uuid.UUID, error) {
	if err := moment("due_at", n.DueAt); err != nil {
		return uuid.Nil, err
	}
	return one[uuid.UUID](ctx, db, "store the intention",
		`select oxbow.intend($1, $2, $3, $4, coalesce($5, 'intention'), $6, $7, $8)`, userID, n.Content, pointer(n.DueAt),
		pointer(n.Precision), pointer(n.Kind), pointer(n.Recurrence), pointer(n.Condition), pointer(n.ExternalID))
}

// Upcoming returns at most limit intentions that are due or will be until a moment; zero: all that are open or due.
func Upcoming(ctx context.Context, db DB, userID string, until time.Time, limit int) ([]Intention, error) {
	if err := moment("until", until); err != nil {
		return nil, err
	}
	return list[Intention](ctx, db, "read the intentions", `select * from oxbow.upcoming($1, $2, $3)`, userID,
		pointer(until), limit)
}

// CloseIntention marks an intention as done or dropped, and reports whether it was open or due.
func CloseIntention(ctx context.Context, db DB, userID string, id uuid.UUID, done bool, reason string) (bool, error) {
	sql := `select oxbow.drop_intention($1, $2, $3)`
	if done {
		sql = `select oxbow.complete_intention($1, $2, $3)`
	}
	return one[bool](ctx, db, "close the intention", sql, userID, id, pointer(reason))
}

// SnoozeIntention makes an intention due again later, and reports whether it was open or due.
func SnoozeIntention(ctx context.Context, db DB, userID string, id uuid.UUID, until time.Time) (bool, error) {
	if err := moment("until", until); err != nil {
		return false, err
	}
	return one[bool](ctx, db, "snooze the intention", `select oxbow.snooze_intention($1, $2, $3)`, userID, id,
		pointer(until))
}

// DueIntention is an intention that has become due.
type DueIntention struct {
	UserID     string
	ID         uuid.UUID // the recurring one, if it is
	DueID      uuid.UUID // the one that became due; zero if it has before
	DueAt      time.Time
	Recurrence string
	StartsAt   time.Time // of a recurring one: its first time
	UserZone   string    // the name of the user's time zone
}

// DueIntentions makes at most limit intentions due whose time has come, and returns them.
func DueIntentions(ctx context.Context, db DB, now time.Time, limit int) ([]DueIntention, error) {
	return list[DueIntention](ctx, db, "make intentions due", `select * from oxbow.due_intentions($1, $2)`, now, limit)
}

// AdvanceIntention sets the next time of a recurring intention; the zero time ends it.
func AdvanceIntention(ctx context.Context, db DB, userID string, id uuid.UUID, next time.Time) error {
	_, err := run(ctx, db, "advance the intention", `select oxbow.advance_intention($1, $2, $3)`, userID, id,
		pointer(next))
	return err
}

// hearIntentions stores the intentions of an extraction.
func hearIntentions(ctx context.Context, db DB, e Extraction) error {
	if len(e.Intentions) == 0 {
		return nil
	}
	type row struct {
		Content    string     `json:"content"`
		Kind       string     `json:"kind"`
		DueAt      *time.Time `json:"due_at"`
		Precision  string     `json:"precision"`
		Recurrence string     `json:"recurrence"`
		Condition  string     `json:"condition"`
		Closes     string     `json:"closes"`
		Message    uuid.UUID  `json:"message"`
	}
	rows := make([]row, len(e.Intentions))
	for i, n := range e.Intentions {
		rows[i] = row{plain(n.Content), n.Kind, pointer(n.Due.UTC()), n.Precision, n.Recurrence, plain(n.Condition), n.Closes,
			n.Source}
		if n.Due.IsZero() {
			rows[i].DueAt = nil
		}
	}
	encoded, err := json.Marshal(rows)
	if err != nil {
		return err
	}
	_, err = run(ctx, db, "store the intentions", `select oxbow.hear_intentions($1, $2, $3)`, e.Session.UserID,
		e.Session.ID, string(encoded))
	return err
}

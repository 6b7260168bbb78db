package store

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/oxbow-memory/oxbow/internal/oneline"
	"github.com/oxbow-memory/oxbow/internal/reasoner"
	"github.com/oxbow-memory/oxbow/internal/secrets"
	"github.com/oxbow-memory/oxbow/internal/traits"
)

// Trigger is the reason to reflect on a user's inbox.
type Trigger struct {
	// Type is importance_accumulated, session_end, scheduled or manual, or empty if reflection is
	// not due.
	Type string
	// Value is the accumulated importance on a scale of 1 to 10, the number of conversations, or the
	// hours.
	Value float64
}

// Due reports whether reflection is due.
func (t Trigger) Due() bool { return t.Type != "" }

// ReflectionTriggers returns the given users for whom reflection is due at now, with the reason.
func ReflectionTriggers(ctx context.Context, db DB, userIDs []string, now time.Time) ([]UserTrigger, error) {
	return list[UserTrigger](ctx, db, "look for due reflections", `
		select u.user_id, d.trigger_type as type, d.trigger_value as value
		  from unnest($1::text[]) u(user_id), oxbow.reflection_due(u.user_id, $2) d
		 where d.trigger_type is not null order by u.user_id`, userIDs, now)
}

// NewToMerge returns the memories in the users' inboxes that it did not return before and that may be merged with
// others. The caller's transaction enqueues merge jobs for them.
func NewToMerge(ctx context.Context, tx DB, userIDs []string) ([]UserMemories, error) {
	return list[UserMemories](ctx, tx, "look for new memories to merge",
		`select user_id, ids from oxbow.new_to_merge($1)`, userIDs)
}

// UserMemories are memories of a user.
type UserMemories struct {
	UserID string
	IDs    []uuid.UUID
}

// UserTrigger is a user with a nonempty inbox and the trigger, if any.
type UserTrigger struct {
	UserID string
	Trigger
}

// InboxTriggers returns the next users after the given one who have a nonempty inbox, at most
// limit, ordered by id, with their triggers. Fewer than limit users means that no more exist.
func InboxTriggers(ctx context.Context, db DB, after string, limit int, now time.Time) ([]UserTrigger, error) {
	return list[UserTrigger](ctx, db, "look for due reflections", `
		select u.user_id, d.trigger_type as type, d.trigger_value as value
		  from oxbow.inbox_users($1, $2) as u(user_id), oxbow.reflection_due(u.user_id, $3) as d`, after, limit, now)
}

// RemoveFromInbox deletes a batch from the inbox. It returns the number of rows that still existed, and those of the
// memories that NewToMerge did not return.
func RemoveFromInbox(ctx context.Context, db DB, userID string, batch []traits.Unreflected) (
	removed int64, fresh []uuid.UUID, err error,
) {
	byType := map[MemoryType][]uuid.UUID{}
	for _, m := range batch {
		byType[MemoryType(m.Type)] = append(byType[MemoryType(m.Type)], m.ID)
	}
	for _, memoryType := range MemoryTypes() { // in a fixed order, because the statement locks rows
		ids := byType[memoryType]
		if len(ids) == 0 {
			continue
		}
		type row struct {
			MemoryID  uuid.UUID
			Nominated bool
		}
		rows, err := list[row](ctx, db, "remove memories from the inbox", `
			delete from oxbow.reflection_inbox
			 where user_id = $1::text and memory_type = $2::text and memory_id = any($3::uuid[])
			returning memory_id, nominated`, userID, memoryType, ids)
		if err != nil {
			return 0, nil, err
		}
		removed += int64(len(rows))
		for _, r := range rows {
			if !r.Nominated {
				fresh = append(fresh, r.MemoryID)
			}
		}
	}
	return removed, fresh, nil
}

// EmptyInbox deletes everything in a user's inbox.
func EmptyInbox(ctx context.Context, db DB, userID string) error {
	_, err := run(ctx, db, "empty the inbox", `delete from oxbow.reflection_inbox where user_id = $1::text`, userID)
	return err
}

// InboxHasMore reports whether a user's inbox is nonempty.
func InboxHasMore(ctx context.Context, db DB, userID string) (bool, error) {
	return one[bool](ctx, db, "look into the inbox",
		`select exists (select from oxbow.reflection_inbox where user_id = $1::text)`, userID)
}

// RingReflect notifies the workers, when the transaction commits, of a job in the queue reflect.
func RingReflect(ctx context.Context, tx DB) error {
	_, err := run(ctx, tx, "notify the workers", `select pg_notify('oxbow.river_insert', '{"queue":"reflect"}')`)
	return err
}

// OptedOut reports whether a user opted out of reflection.
func OptedOut(ctx context.Context, db DB, userID string) (bool, error) {
	return one[bool](ctx, db, "look whether the user opted out",
		`select exists (select from oxbow.users where user_id = $1::text and opted_out)`, userID)
}

// Cycle is one finished reflection.
type Cycle struct {
	ID                          uuid.UUID
	UserID                      string
	Trigger                     Trigger
	Scanned                     int64 // memories
	StartedAt                   time.Time
	Now                         time.Time // the reflection's notion of now
	Reasoner                    string
	Created, Updated, Dissolved int // traits
	Dropped                     []reasoner.Dropped
	Error                       string // why it failed; empty: it succeeded
}

// maxDropped is the number of characters kept of a dropped proposal.
const maxDropped = 20_000

// plain removes what PostgreSQL rejects in a text: invalid UTF-8 and NUL.
func plain(s string) string { return strings.ReplaceAll(strings.ToValidUTF8(s, ""), "\x00", "") }

// quoted is plain with secrets masked, for recorded texts that may quote a memory, such as errors.
func quoted(s string) string { return plain(secrets.Mask(s)) }

// RecordCycle writes the row of a finished reflection and marks the user's conversations up to its
// start as reflected on. It skips conversations with messages that still wait for extraction.
func RecordCycle(ctx context.Context, db DB, c Cycle) error {
	kept := make([]reasoner.Dropped, len(c.Dropped))
	for i, d := range c.Dropped {
		kept[i] = reasoner.Dropped{What: oneline.Shorten(quoted(d.What), maxDropped),
			Reason: oneline.Shorten(quoted(d.Reason), maxDropped)}
	}
	dropped, err := json.Marshal(kept)
	if err != nil {
		return fmt.Errorf("record the reflection: %w", err)
	}
	_, err = run(ctx, db, "record the reflection", `
		insert into oxbow.reflection_cycles (user_id, id, trigger_type, trigger_value, memories_scanned, traits_created,
		  traits_updated, traits_dissolved, started_at, now, reasoner, dropped, completed_at, status, error_message)
		values ($1::text, $2::uuid, $3::text, $4::double precision, $5::integer, $6::integer, $7::integer, $8::integer,
		  $9::timestamptz, $10::timestamptz, $11::text, $12::jsonb, clock_timestamp(),
		  case when $13::text = '' then 'completed' else 'failed' end, nullif($13::text, ''))`,
		c.UserID, c.ID, c.Trigger.Type, c.Trigger.Value, c.Scanned, c.Created, c.Updated, c.Dissolved,
		c.StartedAt, c.Now, c.Reasoner, string(dropped), quoted(c.Error))
	if err != nil {
		return err
	}
	_, err = run(ctx, db, "mark the conversations as reflected on", `
		update oxbow.sessions s set last_reflected_at = $2
		  from (select o.id from oxbow.sessions o
		         where o.user_id = $1 and o.last_activity_at <= $2
		           and greatest(o.last_activity_at, o.ended_at) > coalesce(o.last_reflected_at, '-infinity')
		           and oxbow.session_is_extracted(o.user_id, o.id)
		         order by o.id for no key update) o -- in the order in which everybody locks several
		 where s.user_id = $1 and s.id = o.id`, c.UserID, c.StartedAt)
	return err
}

// TrendWindow returns the end of a trend's window, or the zero time if the trait is not a trend or
// does not exist.
func TrendWindow(ctx context.Context, db DB, userID string, id uuid.UUID) (time.Time, error) {
	end, err := one[time.Time](ctx, db, "load the trend", `
		select trait_window_end from oxbow.memories_trait
		 where user_id = $1::text and id = $2::uuid and trait_stage = 'trend' and expired_at is null`, userID, id)
	if errors.Is(err, ErrNotFound) {
		err = nil
	}
	return end, err
}

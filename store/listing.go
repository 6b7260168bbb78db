package store

import (
	"context"
	"encoding/base64"
	"strings"
	"time"

	"github.com/google/uuid"
)

// Listing selects a page of a user's memories, the newest first. A zero value selects everything that is current.
type Listing struct {
	Types     []MemoryType
	SessionID string
	AgentID   string
	All       bool   // also superseded, expired and forgotten memories
	ForModel  bool   // without memories of sensitivity 2 and 3
	Cursor    string // from the previous page
	Limit     int
}

// ListMemories returns a page of memories and the cursor of the next page, "" on the last.
func ListMemories(ctx context.Context, db DB, userID string, l Listing) (_ []Memory, next string, err error) {
	at, id, err := parseCursor(l.Cursor)
	if err != nil {
		return nil, "", err
	}
	// The keys first: an index on created_at alone would lead the planner through the memories of all users.
	rows, err := Collect[memoryRow](ctx, db, `
		with own as materialized (
		  select m.memory_type, m.id, m.created_at from oxbow.memories m
		   where m.user_id = $1::text and ($2::text[] is null or m.memory_type = any($2::text[]))
		     and ($3::text is null or m.session_id = $3::text) and ($4::text is null or m.agent_id = $4::text)
		     and ($5 or m.expired_at is null and m.forgotten_at is null
		          and coalesce(m.expires_at > now(), true))
		     and ($6::timestamptz is null or (m.created_at, m.id) < ($6::timestamptz, $7::uuid))
		     and (not $9 or m.sensitivity < 2)
		), page as (select memory_type, id from own order by created_at desc, id desc limit $8)`+
		selectMemories+`
		 where user_id = $1::text and (memory_type, id) in (select memory_type, id from page)
		 order by created_at desc, id desc`,
		userID, texts(l.Types), pointer(l.SessionID), pointer(l.AgentID), l.All, pointer(at), id, l.Limit, l.ForModel)
	memories := make([]Memory, len(rows))
	for i, r := range rows {
		memories[i] = r.memory()
	}
	if n := len(memories); n > 0 && n == l.Limit {
		next = cursor(memories[n-1].CreatedAt, memories[n-1].ID)
	}
	return memories, next, err
}

// texts returns the types as text, or nil for none.
func texts(types []MemoryType) (names []string) {
	for _, t := range types {
		names = append(names, string(t))
	}
	return names
}

// cursor is a position in a list that is ordered by time and id.
func cursor(at time.Time, id uuid.UUID) string {
	return base64.RawURLEncoding.EncodeToString([]byte(at.UTC().Format(time.RFC3339Nano) + " " + id.String()))
}

func parseCursor(text string) (at time.Time, id uuid.UUID, err error) {
	if text == "" {
		return at, id, nil
	}
	decoded, err := base64.RawURLEncoding.DecodeString(text)
	if err == nil {
		moment, rest, _ := strings.Cut(string(decoded), " ")
		if at, err = time.Parse(time.RFC3339Nano, moment); err == nil {
			id, err = uuid.Parse(rest)
		}
	}
	if err != nil || moment("cursor", at) != nil {
		return at, id, Invalid("cursor", text, "must be the next_cursor of an earlier answer")
	}
	return at, id, nil
}

// Users returns the ids of at most limit users in order, after the given one.
func Users(ctx context.Context, db DB, after string, limit int) ([]string, error) {
	return Collect[string](ctx, db, `
		with recursive page as (
		  select next.user_id, 1 as n from oxbow.user_after($1::text) next(user_id) where next.user_id is not null
		  union all
		  select next.user_id, p.n + 1 from page p, oxbow.user_after(p.user_id) next(user_id)
		   where p.n < $2 and next.user_id is not null
		) select user_id from page order by n`, after, limit)
}

package store

import (
	"context"
	"time"

	"github.com/google/uuid"
)

// UserChange is a change of one of a user's memories, or an event of a trait.
type UserChange struct {
	At       time.Time
	Event    string // of Change or, if Type is trait, of RecordedEvent or Change
	Type     MemoryType
	MemoryID uuid.UUID
	Content  string // of the memory now
	New      string // the content of the version that replaced it, if one did
	Actor    string
	Reason   string
}

// UserChanges returns what happened to a user's memories and traits before a time, or until now if it is zero: at most
// limit changes, the latest first. It leaves out what is only counted (mentions, uses, and decay).
func UserChanges(ctx context.Context, db DB, userID string, before time.Time, limit int) ([]UserChange, error) {
	return Collect[UserChange](ctx, db, `
		select c.at, c.event, c.type, c.memory_id, m.content, c.new, c.actor, c.reason
		  from (select h.created_at as at, h.event, h.memory_type::text as type, h.memory_id,
		               case when h.new_content <> h.old_content then h.new_content end as new, h.actor, h.reason
		          from oxbow.memory_history h
		         where h.user_id = $1::text and h.event not in ('NOOP', 'BOOST', 'STAGE_CHANGE')
		        union all
		        select m.created_at, 'ADD', m.memory_type::text, m.id, null, coalesce(m.source, 'app'), null
		          from oxbow.memories m where m.user_id = $1::text and m.memory_type <> 'trait' and m.version = 1
		           and not exists (select from oxbow.memory_history h where h.user_id = m.user_id
		                             and h.memory_type = m.memory_type and h.memory_id = m.id and h.event = 'ADD')
		        union all
		        select e.at, e.event, 'trait', e.trait_id, null, e.actor, e.reason
		          from oxbow.trait_events e where e.user_id = $1::text and e.event not in ('used', 'decayed')) c
		  join oxbow.memories m on m.user_id = $1::text and m.memory_type::text = c.type and m.id = c.memory_id
		 where $2::timestamptz is null or c.at < $2::timestamptz
		 order by c.at desc, c.memory_id limit $3`, userID, pointer(before), limit)
}

// FirstFact returns since when the first of a user's facts is true or known, the zero time without facts.
func FirstFact(ctx context.Context, db DB, userID string) (time.Time, error) {
	first, err := CollectOne[*time.Time](ctx, db, `
		select min(least(m.valid_at, m.created_at)) from oxbow.memories_fact m
		 where m.user_id = $1::text and m.forgotten_at is null`, userID)
	if first == nil {
		return time.Time{}, err
	}
	return *first, err
}

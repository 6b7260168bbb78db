package consistency

import (
	"context"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/oxbow-memory/oxbow/store"
)

// page selects traits of the users from First to Last, after a key. If ID is set, it selects one
// trait.
type page struct {
	First, Last string
	AfterUser   string
	AfterID     uuid.UUID
	ID          *uuid.UUID
	Max         int
}

// traitRow is a trait and the state of its parent.
type traitRow struct {
	UserID                  string
	ID                      uuid.UUID
	TraitSubtype            *string
	TraitStage              *string
	TraitConfidence         *float64
	TraitConfidenceAt       *time.Time
	TraitReinforcementCount *int32
	TraitContradictionCount *int32
	TraitWindowStart        *time.Time
	TraitWindowEnd          *time.Time
	TraitNextTransitionAt   *time.Time
	TraitReviewDueAt        *time.Time
	TraitParentID           *uuid.UUID
	TraitEditedAt           *time.Time
	ExpiredAt               *time.Time
	SupersededBy            *uuid.UUID
	ParentID                *uuid.UUID
	ParentExpiredAt         *time.Time
	ParentSubtype           *string
}

// eventRow is an event of a trait.
type eventRow struct {
	UserID     string
	TraitID    uuid.UUID
	Seq        int32
	Event      string
	At         time.Time
	Factor     *float64
	Sets       *float64
	Memories   int32
	Subtype    *string
	WindowEnd  *time.Time
	Confidence *float64
	Stage      string
	Actor      string

	// After is the replayed state after the event.
	After     replayed
	AfterNext *time.Time // of the last event: when time alone changes the stage
}

// replayed is the state of a trait as the database computes it.
type replayed struct {
	Subtype        *string
	Stage          *string
	Confidence     *float64
	At             *time.Time
	Reinforcements *int32
	Contradictions *int32
	WindowEnd      *time.Time
}

// evidenceRow aggregates the evidence of an event in one direction: the number of memories, and
// the number of sessions by best quality A, B, C or D.
type evidenceRow struct {
	UserID     string
	TraitID    uuid.UUID
	EventSeq   int32
	Direction  string
	Memories   int64
	A, B, C, D int64
}

// twiceRow is a memory that counts more than once for a trait.
type twiceRow struct {
	UserID   string
	TraitID  uuid.UUID
	MemoryID uuid.UUID
	Times    int64
}

// readTraits reads the next traits in key order, with their events and evidence.
func readTraits(ctx context.Context, db store.DB, p page) ([]checkedTrait, error) {
	rows, err := store.Collect(ctx, db, pgx.RowToStructByName[traitRow], `
		select t.user_id, t.id, t.trait_subtype, t.trait_stage, t.trait_confidence, t.trait_confidence_at,
		       t.trait_reinforcement_count, t.trait_contradiction_count, t.trait_window_start, t.trait_window_end,
		       t.trait_next_transition_at, t.trait_review_due_at, t.trait_parent_id, t.trait_edited_at,
		       t.expired_at, t.superseded_by, p.id as parent_id, p.expired_at as parent_expired_at,
		       coalesce(c.subtype, p.trait_subtype) as parent_subtype
		  from oxbow.memories_trait t
		  left join oxbow.memories_trait p on p.user_id = t.user_id and p.id = t.trait_parent_id
		  left join oxbow.trait_events c on c.user_id = p.user_id and c.trait_id = p.id and c.seq = 1 and c.event = 'created'
		 where t.user_id between $1::text and $2::text and (t.user_id, t.id) > ($3::text, $4::uuid)
		   and ($5::uuid is null or t.id = $5)
		 order by t.user_id, t.id
		 limit $6::integer`, p.First, p.Last, p.AfterUser, p.AfterID, p.ID, p.Max)
	if err != nil || len(rows) == 0 {
		return nil, err
	}
	traits := make([]checkedTrait, len(rows))
	at := make(map[store.MemoryRef]*checkedTrait, len(rows))
	for i, r := range rows {
		traits[i].row = r
		at[store.MemoryRef{UserID: r.UserID, ID: r.ID}] = &traits[i]
	}
	from, upto := rows[0], rows[len(rows)-1]
	keys := []any{from.UserID, from.ID, upto.UserID, upto.ID}

	policies, err := store.TraitPolicyHistory(ctx, db)
	if err != nil {
		return nil, err
	}
	for i := range traits {
		traits[i].policies = policies
	}
	events, err := store.Collect(ctx, db, scanEvent, `
		select e.user_id, e.trait_id, e.seq, e.event, e.at, e.factor, e.sets, e.memories, e.subtype, e.window_end,
		       e.confidence, e.stage, e.actor, s.subtype, s.stage, s.confidence, s.confidence_at, s.reinforcements,
		       s.contradictions, s.window_end,
		       case when lead(e.seq) over (partition by e.user_id, e.trait_id order by e.seq) is null then
		         oxbow.trait_next_transition(s.stage, s.confidence, s.subtype, s.reinforcements, s.confidence_at,
		           s.window_end, r.rules) end
		  from (select distinct user_id, trait_id from oxbow.trait_events
		         where (user_id, trait_id) >= ($1::text, $2::uuid) and (user_id, trait_id) <= ($3::text, $4::uuid)) k
		 cross join (select oxbow.trait_rules() as rules offset 0) r
		 cross join lateral oxbow.replay_events(k.user_id, k.trait_id, r.rules) s
		  join oxbow.trait_events e on e.user_id = k.user_id and e.trait_id = k.trait_id and e.seq = s.seq
		 order by e.user_id, e.trait_id, e.seq`, keys...)
	if err != nil {
		return nil, err
	}
	for _, e := range events {
		if t := at[store.MemoryRef{UserID: e.UserID, ID: e.TraitID}]; t != nil {
			t.events = append(t.events, e)
		}
	}
	evidence, err := store.Collect(ctx, db, pgx.RowToStructByName[evidenceRow], `
		with session as (
		  select user_id, trait_id, event_seq, direction, session_key, min(quality) as best, count(*) as memories
		    from oxbow.trait_evidence
		   where (user_id, trait_id) >= ($1::text, $2::uuid) and (user_id, trait_id) <= ($3::text, $4::uuid)
		   group by user_id, trait_id, event_seq, direction, session_key
		)
		select user_id, trait_id, event_seq, direction, sum(memories)::bigint as memories,
		       count(*) filter (where best = 'A') as a, count(*) filter (where best = 'B') as b,
		       count(*) filter (where best = 'C') as c, count(*) filter (where best = 'D') as d
		  from session group by user_id, trait_id, event_seq, direction
		 order by user_id, trait_id, event_seq, direction`, keys...)
	if err != nil {
		return nil, err
	}
	for _, e := range evidence {
		if t := at[store.MemoryRef{UserID: e.UserID, ID: e.TraitID}]; t != nil {
			t.evidence = append(t.evidence, e)
		}
	}
	twice, err := store.Collect(ctx, db, pgx.RowToStructByName[twiceRow], `
		select user_id, trait_id, memory_id, count(*) as times
		  from oxbow.trait_evidence
		 where (user_id, trait_id) >= ($1::text, $2::uuid) and (user_id, trait_id) <= ($3::text, $4::uuid)
		 group by user_id, trait_id, direction, memory_type, memory_id
		having count(*) > 1`, keys...)
	if err != nil {
		return nil, err
	}
	for _, e := range twice {
		if t := at[store.MemoryRef{UserID: e.UserID, ID: e.TraitID}]; t != nil {
			t.twice = append(t.twice, e)
		}
	}
	return traits, nil
}

func scanEvent(row pgx.CollectableRow) (e eventRow, err error) {
	a := &e.After
	err = row.Scan(&e.UserID, &e.TraitID, &e.Seq, &e.Event, &e.At, &e.Factor, &e.Sets, &e.Memories, &e.Subtype, &e.WindowEnd,
		&e.Confidence, &e.Stage, &e.Actor, &a.Subtype, &a.Stage, &a.Confidence, &a.At, &a.Reinforcements, &a.Contradictions,
		&a.WindowEnd, &e.AfterNext)
	return e, err
}

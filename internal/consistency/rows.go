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

	// Counted is the number of memories that count in the event, and Weight the factor that follows
	// from them; nil: none.
	Counted int32
	Weight  *float64
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

// strayRow is evidence that names an event in which it does not count.
type strayRow struct {
	UserID    string
	TraitID   uuid.UUID
	EventSeq  int32
	Direction string
	Memories  int64
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

	pending, err := store.CollectOne(ctx, db, pgx.RowTo[bool], `select oxbow.policies_pending()`)
	if err != nil {
		return nil, err
	}
	for i := range traits {
		traits[i].pending = pending
	}
	events, err := store.Collect(ctx, db, scanEvent, `
		with session as (
		  select v.trait_id, v.user_id, v.event_seq, v.direction, min(v.quality) as best, count(*) as memories
		    from oxbow.trait_evidence v
		   where (v.user_id, v.trait_id) >= ($1::text, $2::uuid) and (v.user_id, v.trait_id) <= ($3::text, $4::uuid)
		   group by v.user_id, v.trait_id, v.event_seq, v.direction, v.session_key
		), evidence as (
		  select n.user_id, n.trait_id, n.event_seq, n.direction, sum(n.memories)::integer as memories,
		         array_agg(n.best) as qualities
		    from session n group by n.user_id, n.trait_id, n.event_seq, n.direction
		)
		select e.user_id, e.trait_id, e.seq, e.event, e.at, e.factor, e.sets, e.memories, e.subtype, e.window_end,
		       e.confidence, e.stage, e.actor, coalesce(v.memories, 0),
		       oxbow.trait_factor(e.event, v.qualities, v.memories, e.at),
		       s.subtype, s.stage, s.confidence, s.confidence_at, s.reinforcements, s.contradictions, s.window_end,
		       case when lead(e.seq) over (partition by e.user_id, e.trait_id order by e.seq) is null then
		         oxbow.trait_next_transition(s.stage, s.confidence, s.subtype, s.reinforcements, s.confidence_at,
		           s.window_end, r.rules) end
		  from (select distinct user_id, trait_id from oxbow.trait_events
		         where (user_id, trait_id) >= ($1::text, $2::uuid) and (user_id, trait_id) <= ($3::text, $4::uuid)) k
		 cross join (select oxbow.trait_rules() as rules offset 0) r
		 cross join lateral oxbow.replay_events(k.user_id, k.trait_id, r.rules) s
		  join oxbow.trait_events e on e.user_id = k.user_id and e.trait_id = k.trait_id and e.seq = s.seq
		  left join evidence v on v.user_id = e.user_id and v.trait_id = e.trait_id and v.event_seq = e.seq
		        and oxbow.counts_in(v.direction, e.event)
		 order by e.user_id, e.trait_id, e.seq`, keys...)
	if err != nil {
		return nil, err
	}
	for _, e := range events {
		if t := at[store.MemoryRef{UserID: e.UserID, ID: e.TraitID}]; t != nil {
			t.events = append(t.events, e)
		}
	}
	stray, err := store.Collect(ctx, db, pgx.RowToStructByName[strayRow], `
		select v.user_id, v.trait_id, v.event_seq, v.direction, count(*) as memories
		  from oxbow.trait_evidence v
		  left join oxbow.trait_events e on e.user_id = v.user_id and e.trait_id = v.trait_id and e.seq = v.event_seq
		 where (v.user_id, v.trait_id) >= ($1::text, $2::uuid) and (v.user_id, v.trait_id) <= ($3::text, $4::uuid)
		   and oxbow.counts_in(v.direction, e.event) is not true
		 group by v.user_id, v.trait_id, v.event_seq, v.direction
		 order by v.user_id, v.trait_id, v.event_seq, v.direction`, keys...)
	if err != nil {
		return nil, err
	}
	for _, e := range stray {
		if t := at[store.MemoryRef{UserID: e.UserID, ID: e.TraitID}]; t != nil {
			t.stray = append(t.stray, e)
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
		&e.Confidence, &e.Stage, &e.Actor, &e.Counted, &e.Weight, &a.Subtype, &a.Stage, &a.Confidence, &a.At,
		&a.Reinforcements, &a.Contradictions, &a.WindowEnd, &e.AfterNext)
	return e, err
}

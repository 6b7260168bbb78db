package consistency

import (
	"context"
	"time"

	"github.com/google/uuid"

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
	store.MemoryRef
	Subtype            string
	Stage              string
	Confidence         float64
	ConfidenceAt       time.Time
	ReinforcementCount int
	ContradictionCount int
	WindowStart        time.Time
	WindowEnd          time.Time
	NextTransitionAt   time.Time
	ReviewDueAt        time.Time
	TraitParentID      uuid.UUID
	EditedAt           time.Time
	ExpiredAt          time.Time
	SupersededBy       uuid.UUID
	ParentID           uuid.UUID // zero: there is no such trait
	ParentExpiredAt    time.Time
	ParentSubtype      string
}

// eventRow is an event of a trait.
type eventRow struct {
	store.MemoryRef
	Seq        int
	Event      string
	At         time.Time
	Factor     float64
	Memories   int
	Subtype    string
	Confidence float64
	Stage      string
	Actor      string
	// Counted is the number of memories that count in the event, and Weight the factor that follows
	// from them.
	Counted int
	Weight  float64

	// The state after the event, as the database replays it.
	AfterSubtype        string
	AfterStage          string
	AfterConfidence     float64
	AfterAt             time.Time
	AfterReinforcements int
	AfterContradictions int
	AfterWindowEnd      time.Time
	AfterNext           time.Time // of the last event: when time alone changes the stage
}

// strayRow is evidence that names an event in which it does not count.
type strayRow struct {
	store.MemoryRef
	EventSeq  int
	Direction string
	Memories  int
}

// twiceRow is a memory that counts more than once for a trait.
type twiceRow struct {
	store.MemoryRef
	MemoryID uuid.UUID
	Times    int
}

// readTraits reads the next traits in key order, with their events and evidence.
func readTraits(ctx context.Context, db store.DB, p page) ([]checkedTrait, error) {
	rows, err := store.Collect[traitRow](ctx, db, `
		select t.user_id, t.id, t.trait_subtype as subtype, t.trait_stage as stage, t.trait_confidence as confidence,
		       t.trait_confidence_at as confidence_at, t.trait_reinforcement_count as reinforcement_count,
		       t.trait_contradiction_count as contradiction_count, t.trait_window_start as window_start,
		       t.trait_window_end as window_end, t.trait_next_transition_at as next_transition_at,
		       t.trait_review_due_at as review_due_at, t.trait_parent_id, t.trait_edited_at as edited_at,
		       t.expired_at, t.superseded_by, p.id as parent_id, p.expired_at as parent_expired_at,
		       coalesce(c.subtype, p.trait_subtype) as parent_subtype
		  from oxbow.memories_trait t
		  left join oxbow.memories_trait p on p.user_id = t.user_id and p.id = t.trait_parent_id
		  left join oxbow.trait_events c on c.user_id = p.user_id and c.trait_id = p.id
		   and c.seq = 1 and c.event = 'created'
		 where t.user_id between $1::text and $2::text and (t.user_id, t.id) > ($3::text, $4::uuid)
		   and ($5::uuid is null or t.id = $5)
		 order by t.user_id, t.id
		 limit $6::integer`, p.First, p.Last, p.AfterUser, p.AfterID, p.ID, p.Max)
	if err != nil || len(rows) == 0 {
		return nil, err
	}
	pending, err := store.CollectOne[bool](ctx, db, `select oxbow.policies_pending()`)
	if err != nil {
		return nil, err
	}
	traits := make([]checkedTrait, len(rows))
	at := make(map[store.MemoryRef]*checkedTrait, len(rows))
	for i, r := range rows {
		traits[i].row, traits[i].pending = r, pending
		at[r.MemoryRef] = &traits[i]
	}
	from, upto := rows[0], rows[len(rows)-1]
	keys := []any{from.UserID, from.ID, upto.UserID, upto.ID}

	events, err := store.Collect[eventRow](ctx, db, `
		with session as (
		  select user_id, trait_id, event_seq, direction, min(quality) as best, count(*) as memories
		    from oxbow.trait_evidence where `+within+`
		   group by user_id, trait_id, event_seq, direction, session_key
		), evidence as (
		  select user_id, trait_id, event_seq, direction, sum(memories)::integer as memories,
		         array_agg(best) as qualities
		    from session group by user_id, trait_id, event_seq, direction
		)
		select e.user_id, e.trait_id as id, e.seq, e.event, e.at, e.factor, e.memories, e.subtype, e.confidence,
		       e.stage, e.actor, v.memories as counted,
		       oxbow.trait_factor(e.event, v.qualities, v.memories, e.at) as weight,
		       s.subtype as after_subtype, s.stage as after_stage, s.confidence as after_confidence,
		       s.confidence_at as after_at, s.reinforcements as after_reinforcements,
		       s.contradictions as after_contradictions, s.window_end as after_window_end,
		       case when lead(e.seq) over (partition by e.user_id, e.trait_id order by e.seq) is null then
		         oxbow.trait_next_transition(s.stage, s.confidence, s.subtype, s.reinforcements, s.confidence_at,
		           s.window_end, r.rules) end as after_next
		  from (select distinct user_id, trait_id from oxbow.trait_events where `+within+`) k
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
		if t := at[e.MemoryRef]; t != nil {
			t.events = append(t.events, e)
		}
	}
	stray, err := store.Collect[strayRow](ctx, db, `
		select v.user_id, v.trait_id as id, v.event_seq, v.direction, count(*) as memories
		  from (select * from oxbow.trait_evidence where `+within+`) v
		  left join oxbow.trait_events e on e.user_id = v.user_id and e.trait_id = v.trait_id and e.seq = v.event_seq
		 where oxbow.counts_in(v.direction, e.event) is not true
		 group by v.user_id, v.trait_id, v.event_seq, v.direction
		 order by v.user_id, v.trait_id, v.event_seq, v.direction`, keys...)
	if err != nil {
		return nil, err
	}
	for _, e := range stray {
		if t := at[e.MemoryRef]; t != nil {
			t.stray = append(t.stray, e)
		}
	}
	twice, err := store.Collect[twiceRow](ctx, db, `
		select user_id, trait_id as id, memory_id, count(*) as times from oxbow.trait_evidence where `+within+`
		 group by user_id, trait_id, direction, memory_type, memory_id
		having count(*) > 1`, keys...)
	for _, e := range twice {
		if t := at[e.MemoryRef]; t != nil {
			t.twice = append(t.twice, e)
		}
	}
	return traits, err
}

// within selects the rows of the traits between two keys.
const within = `(user_id, trait_id) >= ($1::text, $2::uuid) and (user_id, trait_id) <= ($3::text, $4::uuid)`

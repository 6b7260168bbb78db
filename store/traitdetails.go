package store

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/google/uuid"
)

// TraitDetails is a trait with its events, evidence, relatives and earlier wordings.
type TraitDetails struct {
	TraitSummary
	Parent   *TraitSummary      `json:"parent,omitempty"`
	Children []TraitSummary     `json:"children"` // the traits that reflection derived it from
	Events   []RecordedEvent    `json:"events"`   // in chronological order
	Evidence []RecordedEvidence `json:"evidence"` // in the order in which it counted
	Wordings []TraitWording     `json:"wordings"` // earlier wordings, the latest first
}

// RecordedEvent is an event in the history of a trait.
type RecordedEvent struct {
	Seq int `json:"seq"` // 1, 2, … within the trait
	// Event is created, reinforced, contradicted, promoted, revised, split, edited, decayed,
	// dissolved, revived or used.
	Event string    `json:"event"`
	At    time.Time `json:"at"`
	// Before and Confidence are the confidence just before and after the event; 0 if the trait had
	// none.
	Before     float64 `json:"before,omitzero"`
	Confidence float64 `json:"confidence,omitzero"`
	Stage      string  `json:"stage"` // after the event
	// Factor is the share of the remaining doubt that the event removed or, for contradicted, the
	// share of the confidence. Sets is the confidence that the event set.
	Factor   float64        `json:"factor,omitzero"`
	Sets     float64        `json:"sets,omitzero"`
	Memories int            `json:"memories"` // the number of memories that counted in the event
	CycleID  uuid.UUID      `json:"cycle_id,omitzero"`
	Actor    string         `json:"actor"` // reflection, settle, user, import, app
	Reason   string         `json:"reason,omitzero"`
	Details  map[string]any `json:"details,omitempty"`
}

// RecordedEvidence is a memory that supports or contradicts a trait.
type RecordedEvidence struct {
	EventSeq   int        `json:"event_seq"` // the event in which it counted
	Direction  string     `json:"direction"` // supporting, contradicting
	Quality    string     `json:"quality"`   // A to D
	Factor     float64    `json:"-"`         // the share of the doubt that the quality removed then
	MemoryType MemoryType `json:"memory_type"`
	MemoryID   uuid.UUID  `json:"memory_id"`
	// Content is the memory's content, or empty while the memory is forgotten.
	Content     string    `json:"content,omitzero"`
	ForgottenAt time.Time `json:"forgotten_at,omitzero"`
	At          time.Time `json:"at"`      // the memory's time
	Session     string    `json:"session"` // the conversation, or the day if there is none
	Context     string    `json:"context,omitzero"`
	Stated      bool      `json:"stated"` // stated explicitly
	CycleID     uuid.UUID `json:"cycle_id,omitzero"`
}

// TraitWording is an earlier wording of a trait.
type TraitWording struct {
	ID      uuid.UUID `json:"id"`
	Content string    `json:"content"`
	From    time.Time `json:"from"`
	Until   time.Time `json:"until"`
}

// GetTrait returns a trait with its details, decayed to now; the zero time means the current time.
// It returns ErrNotFound, ErrNotTrait, ErrForgotten, or ErrSuperseded if the trait has a newer
// wording, which the error names.
func GetTrait(ctx context.Context, db DB, userID string, id uuid.UUID, now time.Time) (TraitDetails, error) {
	if err := moment("now", now); err != nil {
		return TraitDetails{}, err
	}
	if err := checkTrait(ctx, db, userID, id); err != nil {
		return TraitDetails{}, err
	}
	t := TraitDetails{Children: []TraitSummary{}}
	family, err := heldTraits(ctx, db, userID, now, id)
	if err != nil {
		return t, err
	}
	for _, member := range family {
		switch {
		case member.ID == id:
			t.TraitSummary = member
		case member.ParentID == id:
			t.Children = append(t.Children, member)
		default:
			t.Parent = &member
		}
	}
	if t.ID != id { // erased concurrently
		return t, notFound(userID, id)
	}
	if t.Events, err = traitEvents(ctx, db, userID, id); err != nil {
		return t, err
	}
	if t.Evidence, err = traitEvidence(ctx, db, userID, id); err != nil {
		return t, err
	}
	t.Wordings, err = Collect[TraitWording](ctx, db, `
		with recursive wording as (
		  select m.id from oxbow.memories_trait m where m.user_id = $1::text and m.superseded_by = $2::uuid
		  union
		  select m.id from wording w join oxbow.memories_trait m on m.user_id = $1::text and m.superseded_by = w.id
		)
		select m.id, m.content, m.created_at as "from", coalesce(m.expired_at, m.created_at) as until
		  from wording w join oxbow.memories_trait m on m.user_id = $1::text and m.id = w.id
		 order by m.created_at desc, m.id`, userID, id)
	return t, err
}

// checkTrait returns an error unless id is a live trait of the user.
func checkTrait(ctx context.Context, db DB, userID string, id uuid.UUID) error {
	type state struct {
		MemoryType             MemoryType
		ExpiredAt, ForgottenAt *time.Time
		Newest                 *uuid.UUID
	}
	s, err := CollectOne[state](ctx, db, `
		select memory_type, expired_at, forgotten_at,
		       case when expired_at is not null then oxbow.newest_wording(user_id, superseded_by) end as newest
		  from oxbow.memories
		 where user_id = $1::text and id = $2::uuid
		 order by memory_type = 'trait' desc
		 limit 1`, userID, id)
	switch {
	case errors.Is(err, ErrNotFound):
		return notFound(userID, id)
	case err != nil:
		return err
	case s.MemoryType != Trait:
		return fmt.Errorf("%w: %s of user %q is of type %s", ErrNotTrait, id, userID, s.MemoryType)
	case s.ExpiredAt != nil && s.Newest == nil:
		return fmt.Errorf("%w: the newer wording of trait %s was erased", ErrSuperseded, id)
	case s.ExpiredAt != nil:
		return fmt.Errorf("%w: the newer wording of trait %s is %s", ErrSuperseded, id, s.Newest)
	case s.ForgottenAt != nil:
		return fmt.Errorf("%w: trait %s of user %q: restore it first", ErrForgotten, id, userID)
	}
	return nil
}

// traitEvents returns the events of a trait with the confidence before each.
func traitEvents(ctx context.Context, db DB, userID string, id uuid.UUID) ([]RecordedEvent, error) {
	return Collect[RecordedEvent](ctx, db, `
		select e.seq, e.event, e.at, e.factor, e.sets, e.memories, e.confidence, e.stage, e.cycle_id, e.actor, e.reason,
		       e.details,
		       case when e.event <> 'created' and e.last_stage <> 'trend'
		            then oxbow.trait_confidence_at(e.last_confidence, e.made, e.reinforcements, e.last_at, e.at,
		                   r.rules) end as before
		  from (select t.*, lag(t.stage) over w as last_stage, lag(t.confidence) over w as last_confidence,
		               first_value(t.subtype) over w as made, max(t.at) over earlier as last_at,
		               (count(*) filter (where t.event = 'reinforced') over earlier)::integer as reinforcements
		          from oxbow.trait_events t
		         where t.user_id = $1::text and t.trait_id = $2::uuid
		        window w as (order by t.seq), earlier as (w rows between unbounded preceding and 1 preceding)) e,
		       (select oxbow.trait_rules() as rules offset 0) r
		 order by e.seq`, userID, id)
}

// traitEvidence returns the evidence of a trait. It omits the content of forgotten memories.
func traitEvidence(ctx context.Context, db DB, userID string, id uuid.UUID) ([]RecordedEvidence, error) {
	return Collect[RecordedEvidence](ctx, db, `
		select e.event_seq, e.direction, e.quality, e.memory_type, e.memory_id,
		       case when m.forgotten_at is null then m.content end as content, m.forgotten_at, e.observed_at as at,
		       e.session_key as session, e.context, e.stated, e.cycle_id,
		       coalesce((select c.value from oxbow.policy_changes c
		                  where c.name = p.name and (v.at is null or c.valid_from <= v.at)
		                  order by c.valid_from desc limit 1), p."default") as factor
		  from oxbow.trait_evidence e
		  join oxbow.policy_definitions p on p.name = 'trait_factor_' || lower(e.quality)
		  left join oxbow.trait_events v on v.user_id = e.user_id and v.trait_id = e.trait_id and v.seq = e.event_seq
		  join oxbow.memories m on m.user_id = e.user_id and m.memory_type = e.memory_type and m.id = e.memory_id
		 where e.user_id = $1::text and e.trait_id = $2::uuid
		 order by e.event_seq, e.direction desc, e.observed_at, e.memory_id`, userID, id)
}

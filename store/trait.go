package store

import (
	"cmp"
	"context"
	"encoding/json"
	"slices"
	"time"

	"github.com/google/uuid"

	"github.com/oxbow-memory/oxbow/internal/lifecycle"
)

// TraitSummary is a trait as of a given time. A zero time, an empty string or uuid.Nil means that
// the value is absent.
type TraitSummary struct {
	ID      uuid.UUID `json:"id"`
	Content string    `json:"content"`
	Subtype string    `json:"subtype"` // level of abstraction: behavior, preference, core
	Stage   string    `json:"stage"`   // degree of certainty: trend, candidate, emerging, established, core, dissolved
	// Confidence is between 0 and 1 exclusive, decayed to the requested time. A trend has none: 0.
	Confidence float64 `json:"confidence,omitzero"`
	// The stored stage and confidence, and the time the confidence was set. Absent in as-of results.
	StoredStage      string    `json:"stored_stage,omitzero"`
	StoredConfidence float64   `json:"stored_confidence,omitzero"`
	ConfidenceAt     time.Time `json:"confidence_at,omitzero"`
	// NextTransition is the time at which the stage changes by decay alone, and NextStage is the
	// stage after it. Absent for a dissolved trait and in as-of results.
	NextTransition time.Time `json:"next_transition,omitzero"`
	NextStage      string    `json:"next_stage,omitzero"`
	WindowEnd      time.Time `json:"window_end,omitzero"` // end of the observation window of a trend

	Context string `json:"context,omitzero"` // work, personal, social, learning, general, contextual
	// Tendencies holds, for a context-dependent trait, what it says in each context.
	Tendencies map[string]Tendency `json:"tendencies,omitempty"`
	// ParentID is the more abstract trait that reflection derived from this one and others.
	ParentID uuid.UUID `json:"parent_id,omitzero"`

	Supporting         int       `json:"supporting"`          // memories that support it
	Contradicting      int       `json:"contradicting"`       // memories that contradict it
	ReinforcementCount int       `json:"reinforcement_count"` // reflections that reinforced it
	ContradictionCount int       `json:"contradiction_count"` // memories that counted against it
	FirstObserved      time.Time `json:"first_observed,omitzero"`
	LastReinforced     time.Time `json:"last_reinforced,omitzero"`
	EditedAt           time.Time `json:"edited_at,omitzero"` // when a person last corrected it
	DerivedFrom        string    `json:"derived_from,omitzero"`
	CreatedAt          time.Time `json:"created_at"` // when it got its current wording
}

// Tendency is what a trait says in one context.
type Tendency struct {
	Tendency   string  `json:"tendency"`
	Confidence float64 `json:"confidence"`
}

// HeldTraits returns a user's traits with their confidence decayed to now; the zero time means the
// current time. The most abstract traits come first, then the most confident.
func HeldTraits(ctx context.Context, db DB, userID string, now time.Time) ([]TraitSummary, error) {
	if err := moment("now", now); err != nil {
		return nil, err
	}
	if err := checkAccess(ctx, db, userID); err != nil {
		return nil, err
	}
	return heldTraits(ctx, db, userID, now, uuid.Nil)
}

// checkAccess returns an error if the login may not see the user. Without it, row security would
// just hide the rows.
func checkAccess(ctx context.Context, db DB, userID string) error {
	_, err := Exec(ctx, db, `select oxbow.check_access($1::text)`, userID)
	return err
}

// summaryRow adds the tendencies as stored to a trait.
type summaryRow struct {
	TraitSummary
	Contexts json.RawMessage
}

// heldTraits returns a user's traits or, if id is not uuid.Nil, that trait with its parent and
// children.
func heldTraits(ctx context.Context, db DB, userID string, now time.Time, id uuid.UUID) ([]TraitSummary, error) {
	rows, err := Collect[summaryRow](ctx, db, `
		with held as (
		  select t.*, n.now, r.rules, c.confidence_now,
		         oxbow.trait_stage_with(t.stored_stage, c.confidence_now, t.window_end, n.now, r.rules) as stage_now
		    from oxbow.traits t, (select coalesce($1::timestamptz, now()) as now) n,
		         (select oxbow.trait_rules() as rules offset 0) r,
		         lateral (select oxbow.trait_confidence_at(t.stored_confidence, t.subtype, t.reinforcement_count,
		           t.confidence_at, n.now, r.rules) as confidence_now offset 0) c
		   where t.user_id = $2::text
		     and ($3::uuid is null or t.id = $3::uuid or t.parent_id = $3::uuid
		          or t.id = (select p.parent_id from oxbow.traits p where p.user_id = $2::text and p.id = $3::uuid))
		)
		select h.id, h.content, h.subtype, h.stored_stage, h.stored_confidence, h.confidence_at, h.context, h.contexts,
		       h.parent_id, h.reinforcement_count, h.contradiction_count, h.supporting, h.contradicting,
		       h.first_observed, h.last_reinforced, h.window_end, h.edited_at, h.derived_from, h.created_at,
		       h.stage_now as stage, h.confidence_now as confidence, x.next as next_transition,
		       case when h.stage_now <> 'dissolved' then coalesce(
		         oxbow.trait_stage_at(h.stored_stage, h.stored_confidence, h.subtype, h.reinforcement_count,
		           h.confidence_at, h.window_end, x.next, h.rules),
		         h.stage_now) end as next_stage
		  from held h, lateral (
		    -- what is due may not have been settled yet: then the next one after now
		    select case when h.stage_now = 'dissolved' or s.next > h.now then s.next
		                else oxbow.trait_next_transition(h.stage_now, h.confidence_now, h.subtype,
		                       h.reinforcement_count, h.now, h.window_end, h.rules) end as next
		      from (select case when h.stage_now <> 'dissolved' then oxbow.trait_next_transition(
		              h.stored_stage, h.stored_confidence, h.subtype, h.reinforcement_count, h.confidence_at,
		              h.window_end, h.rules) end as next) s
		    offset 0) x`,
		pointer(now), userID, pointer(id))
	traits := make([]TraitSummary, len(rows))
	for i, r := range rows {
		_ = json.Unmarshal(r.Contexts, &r.Tendencies) // an import may have stored any JSON
		traits[i] = r.TraitSummary
	}
	slices.SortFunc(traits, compareTraits)
	return traits, err
}

func compareTraits(a, b TraitSummary) int {
	return cmp.Or(cmp.Compare(Abstractness(a.Subtype), Abstractness(b.Subtype)),
		cmp.Compare(b.Confidence, a.Confidence),
		cmp.Compare(a.ID.String(), b.ID.String()))
}

// Abstractness ranks a subtype, the most abstract first: 0 for core, 1 for preference, 2 for
// behavior, -1 for any other.
func Abstractness(subtype string) int {
	return slices.Index([]string{string(lifecycle.CoreTrait), string(lifecycle.Preference), string(lifecycle.Behavior)},
		subtype)
}

// TraitsAsOf returns a user's traits as of a given time. It replays the events up to then and
// returns the wordings of that time.
func TraitsAsOf(ctx context.Context, db DB, userID string, at time.Time) ([]TraitSummary, error) {
	if err := moment("as_of", at); err != nil {
		return nil, err
	}
	if err := checkAccess(ctx, db, userID); err != nil {
		return nil, err
	}
	// The parent is the current one, not the parent at that time.
	traits, err := Collect[TraitSummary](ctx, db, `
		select a.trait_id as id, a.content, a.subtype, a.stage, a.confidence, a.context, a.reinforcement_count,
		       a.contradiction_count, m.trait_parent_id as parent_id, m.trait_derived_from as derived_from,
		       m.trait_first_observed as first_observed, m.created_at, c.supporting, c.contradicting, c.last_reinforced,
		       case when a.stage = 'trend' then (select e.window_end from oxbow.trait_events e
		         where e.user_id = $1::text and e.trait_id = a.trait_id and e.event = 'created'
		         order by e.seq desc limit 1)
		       end as window_end
		  from oxbow.traits_as_of($1::text, $2::timestamptz) as a(id, trait_id, content, subtype, stage, confidence,
		         context, reinforcement_count, contradiction_count)
		  join oxbow.memories_trait m on m.user_id = $1::text and m.id = a.trait_id
		 cross join lateral (
		   select count(*) filter (where v.direction = 'supporting') as supporting,
		          count(*) filter (where v.direction = 'contradicting') as contradicting,
		          max(v.observed_at) filter (where v.direction = 'supporting') as last_reinforced
		     from oxbow.trait_evidence v
		     join oxbow.trait_events e on e.user_id = v.user_id and e.trait_id = v.trait_id and e.seq = v.event_seq
		    where v.user_id = $1::text and v.trait_id = a.trait_id and e.at <= $2::timestamptz) c`, userID, at)
	slices.SortFunc(traits, compareTraits)
	return traits, err
}

// TraitsBeginning returns at most ten ids, between first and last, of a user's traits and their
// earlier wordings. It resolves an id prefix, which matches a range of ids.
func TraitsBeginning(ctx context.Context, db DB, userID string, first, last uuid.UUID) ([]uuid.UUID, error) {
	return Collect[uuid.UUID](ctx, db, `
		select id from oxbow.memories_trait
		 where user_id = $1::text and id between $2::uuid and $3::uuid
		 order by id
		 limit 10`, userID, first, last)
}

// TraitsPresence explains why a user may have no traits.
type TraitsPresence struct {
	AnyMemory   bool
	OptedOut    bool
	InInbox     int64     // memories that await reflection, at most 10,000
	ReflectedAt time.Time // when the last reflection completed; zero if none has
}

// UserTraitsPresence returns the figures that explain why a user has no traits.
func UserTraitsPresence(ctx context.Context, db DB, userID string) (TraitsPresence, error) {
	return CollectOne[TraitsPresence](ctx, db, `
		select exists (select from oxbow.memories m where m.user_id = $1::text) as any_memory,
		       exists (select from oxbow.users u where u.user_id = $1::text and u.opted_out) as opted_out,
		       (select count(*) from (
		          select from oxbow.reflection_inbox i where i.user_id = $1::text limit 10000) n) as in_inbox,
		       (select max(c.completed_at) from oxbow.reflection_cycles c
		         where c.user_id = $1::text and c.status = 'completed') as reflected_at`, userID)
}

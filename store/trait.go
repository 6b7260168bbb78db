package store

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/oxbow-memory/oxbow/internal/lifecycle"
)

// TraitSummary is a trait as it stands at a moment. A zero time, an empty string, uuid.Nil mean that there is none.
type TraitSummary struct {
	ID      uuid.UUID `json:"id"`
	Content string    `json:"content"`
	Subtype string    `json:"subtype"` // how abstract: behavior, preference, core
	Stage   string    `json:"stage"`   // how sure: trend, candidate, emerging, established, core, dissolved
	// Confidence is in (0,1), decayed to the moment that was asked for; 0 of a trend, which has none.
	Confidence float64 `json:"confidence,omitzero"`
	// What the trait's row says: the confidence when it was last set, and when that was. Empty as of another time.
	StoredStage      string    `json:"stored_stage,omitzero"`
	StoredConfidence float64   `json:"stored_confidence,omitzero"`
	ConfidenceAt     time.Time `json:"confidence_at,omitzero"`
	// NextTransition is when time alone changes the stage, and NextStage to what. Zero of a dissolved trait, and as of
	// another time.
	NextTransition time.Time `json:"next_transition,omitzero"`
	NextStage      string    `json:"next_stage,omitzero"`
	WindowEnd      time.Time `json:"window_end,omitzero"` // until when a trend is watched

	Context string `json:"context,omitzero"` // work, personal, social, learning, general, contextual
	// Tendencies are what a trait that depends on the context says in each.
	Tendencies map[string]Tendency `json:"tendencies,omitempty"`
	// ParentID is the more abstract trait that was made from this one and others.
	ParentID uuid.UUID `json:"parent_id,omitzero"`

	Supporting         int       `json:"supporting"`          // memories that speak for it
	Contradicting      int       `json:"contradicting"`       // memories that speak against it
	ReinforcementCount int       `json:"reinforcement_count"` // reflections that reinforced it
	ContradictionCount int       `json:"contradiction_count"` // memories that counted against it
	FirstObserved      time.Time `json:"first_observed,omitzero"`
	LastReinforced     time.Time `json:"last_reinforced,omitzero"`
	EditedAt           time.Time `json:"edited_at,omitzero"` // when a person corrected it last
	DerivedFrom        string    `json:"derived_from,omitzero"`
	CreatedAt          time.Time `json:"created_at"` // when it got this wording
}

// Tendency is what a trait says in one context.
type Tendency struct {
	Tendency   string  `json:"tendency"`
	Confidence float64 `json:"confidence"`
}

// TraitDetails is a trait with all that led to it.
type TraitDetails struct {
	TraitSummary
	Parent   *TraitSummary      `json:"parent,omitempty"`
	Children []TraitSummary     `json:"children"` // it was made from these
	Events   []RecordedEvent    `json:"events"`   // in the order in which they happened
	Evidence []RecordedEvidence `json:"evidence"` // in the order in which it counted
	Wordings []TraitWording     `json:"wordings"` // what it said before, the latest first
}

// RecordedEvent is something that happened to a trait.
type RecordedEvent struct {
	Seq int `json:"seq"` // 1, 2, … of the trait
	// Event is created, reinforced, contradicted, promoted, revised, split, edited, decayed, dissolved, revived or used.
	Event string    `json:"event"`
	At    time.Time `json:"at"`
	// Before is the confidence just before it, decayed to its moment, Confidence that after it; 0: it had none.
	Before     float64 `json:"before,omitzero"`
	Confidence float64 `json:"confidence,omitzero"`
	Stage      string  `json:"stage"` // after it
	// Factor is the share of the remaining doubt that was removed, or, of contradicted, the share of confidence that was
	// taken. Sets is the confidence that was set outright.
	Factor   float64        `json:"factor,omitzero"`
	Sets     float64        `json:"sets,omitzero"`
	Memories int            `json:"memories"` // how many counted
	CycleID  uuid.UUID      `json:"cycle_id,omitzero"`
	Actor    string         `json:"actor"` // reflection, settle, user, import, app
	Reason   string         `json:"reason,omitzero"`
	Details  map[string]any `json:"details,omitempty"`
}

// RecordedEvidence is a memory that speaks for or against a trait.
type RecordedEvidence struct {
	EventSeq   int        `json:"event_seq"` // the event in which it counted
	Direction  string     `json:"direction"` // supporting, contradicting
	Quality    string     `json:"quality"`   // A to D
	MemoryType MemoryType `json:"memory_type"`
	MemoryID   uuid.UUID  `json:"memory_id"`
	// Content is the memory's; "" while it is forgotten.
	Content     string    `json:"content,omitzero"`
	ForgottenAt time.Time `json:"forgotten_at,omitzero"`
	At          time.Time `json:"at"`      // the memory's time
	Session     string    `json:"session"` // the conversation, or the day where there is none
	Context     string    `json:"context,omitzero"`
	Stated      bool      `json:"stated"` // said outright
	CycleID     uuid.UUID `json:"cycle_id,omitzero"`
}

// TraitWording is what a trait said for a time.
type TraitWording struct {
	ID      uuid.UUID `json:"id"`
	Content string    `json:"content"`
	From    time.Time `json:"from"`
	Until   time.Time `json:"until"`
}

// HeldTraits returns what is held of a user at a moment, with what time did until then; a zero moment is the database's
// now. Order: from core to behavior, the surest first.
func HeldTraits(ctx context.Context, db DB, userID string, now time.Time) ([]TraitSummary, error) {
	if err := moment("now", now); err != nil {
		return nil, err
	}
	if err := checkAccess(ctx, db, userID); err != nil {
		return nil, err
	}
	return heldTraits(ctx, db, userID, now, uuid.Nil)
}

// checkAccess refuses a login that may not see the user: a join over rows that are hidden from it would be empty.
func checkAccess(ctx context.Context, db DB, userID string) error {
	_, err := Exec(ctx, db, `select oxbow.check_access($1::text)`, userID)
	return err
}

// heldRow is a row of the view oxbow.traits.
type heldRow struct {
	ID                 uuid.UUID
	Content            string
	Subtype            *string
	StoredStage        *string
	StoredConfidence   *float64
	ConfidenceAt       *time.Time
	Context            *string
	Contexts           json.RawMessage
	ParentID           *uuid.UUID
	ReinforcementCount int
	ContradictionCount int
	Supporting         int
	Contradicting      int
	FirstObserved      *time.Time
	LastReinforced     *time.Time
	WindowEnd          *time.Time
	EditedAt           *time.Time
	DerivedFrom        *string
	CreatedAt          time.Time
	Now                time.Time
}

// heldTraits returns the traits of a user, or, of a trait, itself, its parent and its children.
func heldTraits(ctx context.Context, db DB, userID string, now time.Time, id uuid.UUID) ([]TraitSummary, error) {
	traits, err := Collect(ctx, db, scanHeld, `
		select t.id, t.content, t.subtype, t.stored_stage, t.stored_confidence, t.confidence_at, t.context, t.contexts,
		       t.parent_id, t.reinforcement_count, t.contradiction_count, t.supporting, t.contradicting, t.first_observed,
		       t.last_reinforced, t.window_end, t.edited_at, t.derived_from, t.created_at,
		       coalesce($1::timestamptz, now())::timestamptz as now
		  from oxbow.traits t
		 where t.user_id = $2::text
		   and ($3::uuid is null or t.id = $3::uuid or t.parent_id = $3::uuid
		        or t.id = (select p.parent_id from oxbow.traits p where p.user_id = $2::text and p.id = $3::uuid))`,
		pointer(now), userID, pointer(id))
	slices.SortFunc(traits, compareTraits)
	return traits, err
}

// scanHeld computes what time did to a trait since its row was written.
func scanHeld(row pgx.CollectableRow) (TraitSummary, error) {
	r, err := pgx.RowToStructByName[heldRow](row)
	stored := lifecycle.State{
		Subtype: lifecycle.Subtype(or(r.Subtype)), Stage: lifecycle.Stage(or(r.StoredStage)), Confidence: or(r.StoredConfidence),
		At: or(r.ConfidenceAt), Reinforcements: r.ReinforcementCount, Contradictions: r.ContradictionCount, WindowEnd: or(r.WindowEnd),
	}
	t := TraitSummary{
		ID: r.ID, Content: r.Content, Subtype: or(r.Subtype), Stage: string(stored.StageAt(r.Now)),
		Confidence: stored.ConfidenceAt(r.Now), StoredStage: or(r.StoredStage), StoredConfidence: or(r.StoredConfidence),
		ConfidenceAt: or(r.ConfidenceAt), WindowEnd: or(r.WindowEnd), Context: or(r.Context), ParentID: or(r.ParentID),
		Supporting: r.Supporting, Contradicting: r.Contradicting, ReinforcementCount: r.ReinforcementCount,
		ContradictionCount: r.ContradictionCount, FirstObserved: or(r.FirstObserved), LastReinforced: or(r.LastReinforced),
		EditedAt: or(r.EditedAt), DerivedFrom: or(r.DerivedFrom), CreatedAt: r.CreatedAt,
	}
	t.NextTransition, t.NextStage = nextTransition(stored, r.Now)
	if len(r.Contexts) > 0 {
		_ = json.Unmarshal(r.Contexts, &t.Tendencies) // what an import put there may be anything
	}
	return t, err
}

// nextTransition is when time alone changes a trait's stage next, after now, and to what. Nobody may have settled yet
// what is due.
func nextTransition(s lifecycle.State, now time.Time) (time.Time, string) {
	stage := s.StageAt(now)
	if stage == lifecycle.Dissolved {
		return time.Time{}, ""
	}
	next := s.NextTransition()
	if !next.After(now) {
		decayed := s
		decayed.Stage, decayed.Confidence, decayed.At = stage, s.ConfidenceAt(now), now
		next = decayed.NextTransition()
	}
	return next, string(s.StageAt(next))
}

func compareTraits(a, b TraitSummary) int {
	return cmp.Or(cmp.Compare(Abstractness(a.Subtype), Abstractness(b.Subtype)), cmp.Compare(b.Confidence, a.Confidence),
		cmp.Compare(a.ID.String(), b.ID.String()))
}

// Abstractness orders subtypes, the most abstract first: 0 for core, 1 for preference, 2 for behavior, -1 for any other.
func Abstractness(subtype string) int {
	return slices.Index([]string{string(lifecycle.CoreTrait), string(lifecycle.Preference), string(lifecycle.Behavior)}, subtype)
}

// TraitsAsOf returns what was held of a user at a moment: the events until then, replayed, and the wordings of then.
func TraitsAsOf(ctx context.Context, db DB, userID string, at time.Time) ([]TraitSummary, error) {
	if err := moment("as_of", at); err != nil {
		return nil, err
	}
	if err := checkAccess(ctx, db, userID); err != nil {
		return nil, err
	}
	type heldThen struct {
		ID, ParentID                           uuid.UUID
		Content, Subtype, Stage                string
		Confidence                             float64
		Context, DerivedFrom                   string
		ReinforcementCount, ContradictionCount int
		Supporting, Contradicting              int
		FirstObserved                          *time.Time
		LastReinforced, WindowEnd              *time.Time
		CreatedAt                              time.Time
	}
	// the parent is that of today
	traits, err := Collect(ctx, db, func(row pgx.CollectableRow) (TraitSummary, error) {
		r, err := pgx.RowToStructByName[heldThen](row)
		return TraitSummary{
			ID: r.ID, Content: r.Content, Subtype: r.Subtype, Stage: r.Stage, Confidence: r.Confidence, WindowEnd: or(r.WindowEnd),
			Context: r.Context, ParentID: r.ParentID, Supporting: r.Supporting, Contradicting: r.Contradicting,
			ReinforcementCount: r.ReinforcementCount, ContradictionCount: r.ContradictionCount, FirstObserved: or(r.FirstObserved),
			LastReinforced: or(r.LastReinforced), DerivedFrom: r.DerivedFrom, CreatedAt: r.CreatedAt,
		}, err
	}, `
		select a.trait_id as id, a.content, coalesce(a.subtype, '') as subtype, coalesce(a.stage, '') as stage,
		       coalesce(a.confidence, 0) as confidence, coalesce(a.context, '') as context, a.reinforcement_count,
		       a.contradiction_count, coalesce(m.trait_parent_id, '00000000-0000-0000-0000-000000000000') as parent_id,
		       coalesce(m.trait_derived_from, '') as derived_from, m.trait_first_observed as first_observed, m.created_at,
		       c.supporting, c.contradicting, c.last_reinforced,
		       case when a.stage = 'trend' then (select e.window_end from oxbow.trait_events e
		         where e.user_id = $1::text and e.trait_id = a.trait_id and e.event = 'created' order by e.seq desc limit 1)
		       end as window_end
		  from oxbow.traits_as_of($1::text, $2::timestamptz) as a(id, trait_id, content, subtype, stage, confidence, context,
		         reinforcement_count, contradiction_count)
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

// GetTrait returns a trait with all that led to it. A zero moment is the database's now. ErrNotFound, ErrNotTrait,
// ErrSuperseded (it has a newer wording, which the error names) and ErrForgotten say why there is none.
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
	if t.ID != id { // it was erased just now
		return t, fmt.Errorf("%w: trait %s of user %q", ErrNotFound, id, userID)
	}
	if t.Events, err = traitEvents(ctx, db, userID, id); err != nil {
		return t, err
	}
	if t.Evidence, err = traitEvidence(ctx, db, userID, id); err != nil {
		return t, err
	}
	t.Wordings, err = Collect(ctx, db, pgx.RowToStructByName[TraitWording], `
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

// checkTrait returns why an id is not that of a live trait.
func checkTrait(ctx context.Context, db DB, userID string, id uuid.UUID) error {
	type state struct {
		MemoryType             MemoryType
		ExpiredAt, ForgottenAt *time.Time
		Newest                 *uuid.UUID
	}
	s, err := CollectOne(ctx, db, pgx.RowToStructByName[state], `
		select memory_type, expired_at, forgotten_at,
		       case when expired_at is not null then oxbow.newest_wording(user_id, superseded_by) end as newest
		  from oxbow.memories
		 where user_id = $1::text and id = $2::uuid
		 order by memory_type = 'trait' desc
		 limit 1`, userID, id)
	switch {
	case errors.Is(err, ErrNotFound):
		return fmt.Errorf("%w: %s of user %q", ErrNotFound, id, userID)
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

// traitEvents returns the events of a trait, and replays them to find the confidence before each.
func traitEvents(ctx context.Context, db DB, userID string, id uuid.UUID) ([]RecordedEvent, error) {
	var s lifecycle.State
	return Collect(ctx, db, func(row pgx.CollectableRow) (e RecordedEvent, err error) {
		var factor, sets, confidence *float64
		var subtype, reason *string
		var window *time.Time
		var cycle *uuid.UUID
		err = row.Scan(&e.Seq, &e.Event, &e.At, &factor, &sets, &e.Memories, &subtype, &window, &confidence, &e.Stage, &cycle,
			&e.Actor, &reason, &e.Details)
		e.Factor, e.Sets, e.Confidence, e.CycleID, e.Reason = or(factor), or(sets), or(confidence), or(cycle), or(reason)
		if s.Stage != lifecycle.Trend && s.Stage != "" && e.Event != string(lifecycle.Created) {
			e.Before = s.ConfidenceAt(e.At)
		}
		s = s.Apply(lifecycle.Event{Kind: lifecycle.Kind(e.Event), At: e.At, Factor: e.Factor, Sets: e.Sets, Count: e.Memories,
			Subtype: lifecycle.Subtype(or(subtype)), WindowEnd: or(window)})
		return e, err
	}, `
		select seq, event, at, factor, sets, memories, subtype, window_end, confidence, stage, cycle_id, actor, reason, details
		  from oxbow.trait_events
		 where user_id = $1::text and trait_id = $2::uuid
		 order by seq`, userID, id)
}

// traitEvidence returns the evidence of a trait, without the content of memories that are forgotten.
func traitEvidence(ctx context.Context, db DB, userID string, id uuid.UUID) ([]RecordedEvidence, error) {
	return Collect(ctx, db, func(row pgx.CollectableRow) (e RecordedEvidence, err error) {
		var forgotten *time.Time
		var cycle *uuid.UUID
		err = row.Scan(&e.EventSeq, &e.Direction, &e.Quality, &e.MemoryType, &e.MemoryID, &e.Content, &forgotten, &e.At, &e.Session,
			&e.Context, &e.Stated, &cycle)
		e.ForgottenAt, e.CycleID = or(forgotten), or(cycle)
		return e, err
	}, `
		select e.event_seq, e.direction, e.quality, e.memory_type, e.memory_id,
		       case when m.forgotten_at is null then m.content else '' end, m.forgotten_at, e.observed_at, e.session_key,
		       coalesce(e.context, ''), e.stated, e.cycle_id
		  from oxbow.trait_evidence e
		  join oxbow.memories m on m.user_id = e.user_id and m.memory_type = e.memory_type and m.id = e.memory_id
		 where e.user_id = $1::text and e.trait_id = $2::uuid
		 order by e.event_seq, e.direction desc, e.observed_at, e.memory_id`, userID, id)
}

// TraitsBeginning returns the ids of a user's traits between two, earlier wordings included, ten at most: ids that begin
// alike are between two.
func TraitsBeginning(ctx context.Context, db DB, userID string, first, last uuid.UUID) ([]uuid.UUID, error) {
	return Collect(ctx, db, pgx.RowTo[uuid.UUID], `
		select id from oxbow.memories_trait
		 where user_id = $1::text and id between $2::uuid and $3::uuid
		 order by id
		 limit 10`, userID, first, last)
}

// TraitsPresence says why a user may have no traits.
type TraitsPresence struct {
	AnyMemory   bool
	OptedOut    bool
	InInbox     int64     // memories that are to be reflected on, 10,000 at most
	ReflectedAt time.Time // when the last reflection ended; zero: there was none
}

// UserTraitsPresence looks at what reflection has, and had, to do for a user.
func UserTraitsPresence(ctx context.Context, db DB, userID string) (TraitsPresence, error) {
	var reflected *time.Time
	p, err := CollectOne(ctx, db, func(row pgx.CollectableRow) (p TraitsPresence, err error) {
		err = row.Scan(&p.AnyMemory, &p.OptedOut, &p.InInbox, &reflected)
		return p, err
	}, `
		select exists (select from oxbow.memories m where m.user_id = $1::text),
		       exists (select from oxbow.users u where u.user_id = $1::text and u.opted_out),
		       (select count(*) from (select from oxbow.reflection_inbox i where i.user_id = $1::text limit 10000) n),
		       (select max(c.completed_at) from oxbow.reflection_cycles c where c.user_id = $1::text and c.status = 'completed')`,
		userID)
	p.ReflectedAt = or(reflected)
	return p, err
}

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
	"github.com/oxbow-memory/oxbow/store/internal/dbsqlc"
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
	if err := queries.TraitAccess(ctx, db, userID); err != nil {
		return nil, Explain(err)
	}
	return heldTraits(ctx, db, &dbsqlc.TraitsHeldParams{UserID: userID, Now: pointer(now)})
}

func heldTraits(ctx context.Context, db DB, params *dbsqlc.TraitsHeldParams) ([]TraitSummary, error) {
	rows, err := queries.TraitsHeld(ctx, db, params)
	if err != nil {
		return nil, Explain(err)
	}
	traits := make([]TraitSummary, len(rows))
	for i := range rows {
		traits[i] = heldTrait(&rows[i])
	}
	slices.SortFunc(traits, compareTraits)
	return traits, nil
}

// heldTrait computes what time did to a trait since its row was written.
func heldTrait(r *dbsqlc.TraitsHeldRow) TraitSummary {
	stored := lifecycle.State{
		Subtype: lifecycle.Subtype(or(r.Subtype)), Stage: lifecycle.Stage(or(r.StoredStage)), Confidence: or(r.StoredConfidence),
		At: or(r.ConfidenceAt), Reinforcements: int(r.ReinforcementCount), Contradictions: int(r.ContradictionCount), WindowEnd: or(r.WindowEnd),
	}
	t := TraitSummary{
		ID: r.ID, Content: r.Content, Subtype: or(r.Subtype), Stage: string(stored.StageAt(r.Now)), Confidence: stored.ConfidenceAt(r.Now),
		StoredStage: or(r.StoredStage), StoredConfidence: or(r.StoredConfidence), ConfidenceAt: or(r.ConfidenceAt), WindowEnd: or(r.WindowEnd),
		Context: or(r.Context), ParentID: or(r.ParentID), Supporting: int(r.Supporting), Contradicting: int(r.Contradicting),
		ReinforcementCount: int(r.ReinforcementCount), ContradictionCount: int(r.ContradictionCount), FirstObserved: or(r.FirstObserved),
		LastReinforced: or(r.LastReinforced), EditedAt: or(r.EditedAt), DerivedFrom: or(r.DerivedFrom), CreatedAt: r.CreatedAt,
	}
	t.NextTransition, t.NextStage = nextTransition(stored, r.Now)
	if len(r.Contexts) > 0 {
		_ = json.Unmarshal(r.Contexts, &t.Tendencies) // what an import put there may be anything
	}
	return t
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
	if err := queries.TraitAccess(ctx, db, userID); err != nil { // a join with rows that may not be seen does not ask
		return nil, Explain(err)
	}
	rows, err := queries.TraitsAsOf(ctx, db, &dbsqlc.TraitsAsOfParams{UserID: userID, At: at})
	if err != nil {
		return nil, Explain(err)
	}
	traits := make([]TraitSummary, len(rows))
	for i, r := range rows {
		traits[i] = TraitSummary{
			ID: r.TraitID, Content: r.Content, Subtype: r.Subtype, Stage: r.Stage, Confidence: r.Confidence, WindowEnd: r.WindowEnd,
			Context: r.Context, ParentID: or(r.TraitParentID), Supporting: int(r.Supporting), Contradicting: int(r.Contradicting),
			ReinforcementCount: int(r.ReinforcementCount), ContradictionCount: int(r.ContradictionCount), FirstObserved: or(r.TraitFirstObserved),
			LastReinforced: r.LastReinforced, DerivedFrom: or(r.TraitDerivedFrom), CreatedAt: r.CreatedAt,
		}
	}
	slices.SortFunc(traits, compareTraits)
	return traits, nil
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
	family, err := heldTraits(ctx, db, &dbsqlc.TraitsHeldParams{UserID: userID, Now: pointer(now), ID: &id})
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
	wordings, err := queries.TraitWordings(ctx, db, &dbsqlc.TraitWordingsParams{UserID: userID, ID: id})
	t.Wordings = make([]TraitWording, len(wordings))
	for i, w := range wordings {
		t.Wordings[i] = TraitWording{ID: w.ID, Content: w.Content, From: w.CreatedAt, Until: w.ExpiredAt}
	}
	return t, Explain(err)
}

// checkTrait says why an id is none of a trait that can be looked at.
func checkTrait(ctx context.Context, db DB, userID string, id uuid.UUID) error {
	s, err := queries.TraitState(ctx, db, &dbsqlc.TraitStateParams{UserID: userID, ID: id})
	switch {
	case errors.Is(err, pgx.ErrNoRows):
		return fmt.Errorf("%w: %s of user %q", ErrNotFound, id, userID)
	case err != nil:
		return Explain(err)
	case s.MemoryType != string(Trait):
		return fmt.Errorf("%w: %s of user %q is of type %s", ErrNotTrait, id, userID, s.MemoryType)
	case s.ExpiredAt != nil && s.Newest == uuid.Nil:
		return fmt.Errorf("%w: the newer wording of trait %s was erased", ErrSuperseded, id)
	case s.ExpiredAt != nil:
		return fmt.Errorf("%w: the newer wording of trait %s is %s", ErrSuperseded, id, s.Newest)
	case s.ForgottenAt != nil:
		return fmt.Errorf("%w: trait %s of user %q: restore it first", ErrForgotten, id, userID)
	}
	return nil
}

// traitEvents replays a trait's events, for what each found.
func traitEvents(ctx context.Context, db DB, userID string, id uuid.UUID) ([]RecordedEvent, error) {
	rows, err := queries.TraitEvents(ctx, db, &dbsqlc.TraitEventsParams{UserID: userID, TraitID: id})
	if err != nil {
		return nil, Explain(err)
	}
	events := make([]RecordedEvent, len(rows))
	var s lifecycle.State
	for i, r := range rows {
		events[i] = RecordedEvent{
			Seq: int(r.Seq), Event: r.Event, At: r.At, Confidence: or(r.Confidence), Stage: r.Stage, Factor: or(r.Factor), Sets: or(r.Sets),
			Memories: int(r.Memories), CycleID: or(r.CycleID), Actor: r.Actor, Reason: or(r.Reason),
		}
		e := &events[i]
		if err := json.Unmarshal(r.Details, &e.Details); err != nil {
			return nil, fmt.Errorf("event %d of trait %s: %w", r.Seq, id, err)
		}
		if s.Stage != lifecycle.Trend && s.Stage != "" && r.Event != string(lifecycle.Created) {
			e.Before = s.ConfidenceAt(r.At)
		}
		s = s.Apply(lifecycle.Event{Kind: lifecycle.Kind(r.Event), At: r.At, Factor: e.Factor, Sets: e.Sets, Count: e.Memories,
			Subtype: lifecycle.Subtype(or(r.Subtype)), WindowEnd: or(r.WindowEnd)})
	}
	return events, nil
}

func traitEvidence(ctx context.Context, db DB, userID string, id uuid.UUID) ([]RecordedEvidence, error) {
	rows, err := queries.TraitEvidence(ctx, db, &dbsqlc.TraitEvidenceParams{UserID: userID, TraitID: id})
	if err != nil {
		return nil, Explain(err)
	}
	evidence := make([]RecordedEvidence, len(rows))
	for i, r := range rows {
		evidence[i] = RecordedEvidence{
			EventSeq: int(r.EventSeq), Direction: r.Direction, Quality: r.Quality, MemoryType: MemoryType(r.MemoryType), MemoryID: r.MemoryID,
			Content: r.Content, ForgottenAt: or(r.ForgottenAt), At: r.ObservedAt, Session: r.SessionKey, Context: or(r.Context),
			Stated: r.Stated, CycleID: or(r.CycleID),
		}
	}
	return evidence, nil
}

// TraitsBeginning returns the ids of a user's traits between two, ten at most.
func TraitsBeginning(ctx context.Context, db DB, userID string, first, last uuid.UUID) ([]uuid.UUID, error) {
	ids, err := queries.TraitIDs(ctx, db, &dbsqlc.TraitIDsParams{UserID: userID, First: first, Last: last})
	return ids, Explain(err)
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
	r, err := queries.TraitsPresence(ctx, db, userID)
	return TraitsPresence(r), Explain(err)
}

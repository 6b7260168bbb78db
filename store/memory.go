package store

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/oxbow-memory/oxbow/store/internal/dbsqlc"
)

var queries = dbsqlc.New()

// MemoryType is one of the four kinds of memory.
type MemoryType string

const (
	Fact     MemoryType = "fact"     // discrete and objective; a newer fact supersedes it
	Episodic MemoryType = "episodic" // an event
	Trait    MemoryType = "trait"    // a lasting quality of the person, made by reflection only
	Document MemoryType = "document" // a piece of a file
)

// MemoryTypes lists them all.
func MemoryTypes() []MemoryType { return []MemoryType{Fact, Episodic, Trait, Document} }

// NewMemory is a memory to be remembered. Only UserID and Content are required; a zero value means "not given".
type NewMemory struct {
	// UserID is whose memory it is, 1 to 255 bytes.
	UserID string
	// Content is the text, not blank, at most 1 MiB, valid UTF-8 without NUL.
	Content string
	// Type is Fact (default), Episodic or Document. Traits are made by reflection only.
	Type MemoryType
	// ID is made when it is not given.
	ID uuid.UUID
	// ExternalID is the application's own name for the memory, at most 1024 bytes, unique per user and type: what is
	// remembered twice under one name is there once.
	ExternalID string
	// ValidAt and InvalidAt say when it was true in the world. Without ValidAt, its creation counts.
	ValidAt, InvalidAt time.Time
	// SessionID is the conversation (at most 1024 bytes), Seq its place among the user's memories; by default the
	// place is after everything that was stored before, and RememberMany keeps the order of its memories.
	SessionID string
	Seq       *int64
	// Speaker is who said it; it is searched with the content.
	Speaker string
	// AgentID is which of the application's agents it belongs to; recall can filter by it.
	AgentID string
	// Source and Category are free: where it came from, what it is about.
	Source, Category string
	// Importance is 0 to 1, by default 0.5.
	Importance *float64
	// Metadata is anything that encodes to a JSON object: a map, a struct, a json.RawMessage.
	Metadata any
	// Sensitivity is 0 (default) to 3. The text of a memory of 3 is sealed with the client's keys: it is not searched, reflected on or
	// logged, and Get alone returns it. Such a memory has neither Speaker nor Metadata, which would not be sealed.
	Sensitivity int
}

// Memory is a memory as it is stored. A zero time, an empty string, uuid.Nil mean that there is none.
type Memory struct {
	UserID  string     `json:"user_id"`
	Type    MemoryType `json:"memory_type"`
	ID      uuid.UUID  `json:"id"`
	Content string     `json:"content"`

	// When it was true in the world, and when the system believed it.
	ValidAt      time.Time `json:"valid_at,omitzero"`
	InvalidAt    time.Time `json:"invalid_at,omitzero"`
	CreatedAt    time.Time `json:"created_at"`
	ExpiredAt    time.Time `json:"expired_at,omitzero"`
	UpdatedAt    time.Time `json:"updated_at,omitzero"`
	ExpiresAt    time.Time `json:"expires_at,omitzero"` // when it is to expire, as summaries do
	ForgottenAt  time.Time `json:"forgotten_at,omitzero"`
	SupersededBy uuid.UUID `json:"superseded_by,omitzero"`
	Version      int       `json:"version"` // 1, and one more with each Supersede

	SessionID  string `json:"session_id,omitzero"`
	Seq        int64  `json:"seq"`
	Speaker    string `json:"speaker,omitzero"`
	AgentID    string `json:"agent_id,omitzero"`
	ExternalID string `json:"external_id,omitzero"`
	Source     string `json:"source,omitzero"`
	Category   string `json:"category,omitzero"`

	Importance     float64        `json:"importance"` // 0 to 1
	Strength       float64        `json:"strength"`   // 1 at first; grows and fades with use
	MentionCount   int            `json:"mention_count"`
	AccessCount    int            `json:"access_count"`
	LastAccessedAt time.Time      `json:"last_accessed_at,omitzero"`
	Metadata       map[string]any `json:"metadata"`

	Sensitivity int    `json:"sensitivity,omitzero"` // 0 to 3; the Content of 3 is "[sealed]" until it is opened
	SealedKey   string `json:"sealed_key,omitzero"`  // the id of the key that opens it
	sealed      []byte

	// Trait is set for traits.
	Trait *TraitState `json:"trait,omitempty"`
}

// TraitState is what a trait has beyond other memories.
type TraitState struct {
	Subtype string `json:"subtype,omitzero"` // behavior, preference, core
	Stage   string `json:"stage,omitzero"`   // trend, candidate, emerging, established, core, dissolved
	// Confidence is what it was at ConfidenceAt, in (0,1); it decays from there.
	Confidence         float64   `json:"confidence"`
	ConfidenceAt       time.Time `json:"confidence_at,omitzero"`
	Context            string    `json:"context,omitzero"` // work, personal, social, learning, general, contextual
	ParentID           uuid.UUID `json:"parent_id,omitzero"`
	ReinforcementCount int       `json:"reinforcement_count"`
	ContradictionCount int       `json:"contradiction_count"`
	LastReinforced     time.Time `json:"last_reinforced,omitzero"`
	FirstObserved      time.Time `json:"first_observed,omitzero"`
	WindowStart        time.Time `json:"window_start,omitzero"`
	WindowEnd          time.Time `json:"window_end,omitzero"`
	DerivedFrom        string    `json:"derived_from,omitzero"`
}

// GetMemory returns a memory of the user, forgotten and superseded ones too, or ErrNotFound.
func GetMemory(ctx context.Context, db DB, userID string, id uuid.UUID) (Memory, error) {
	row, err := queries.MemoryGet(ctx, db, &dbsqlc.MemoryGetParams{UserID: userID, ID: id})
	if errors.Is(err, pgx.ErrNoRows) {
		return Memory{}, fmt.Errorf("%w: %s of user %q", ErrNotFound, id, userID)
	}
	if err != nil {
		return Memory{}, Explain(err)
	}
	return memoryFromRow(row)
}

func memoryFromRow(r dbsqlc.OxbowMemory) (Memory, error) {
	m := Memory{
		UserID: r.UserID, Type: MemoryType(r.MemoryType), ID: r.ID, Content: r.Content,
		ValidAt: or(r.ValidAt), InvalidAt: or(r.InvalidAt), CreatedAt: r.CreatedAt, ExpiredAt: or(r.ExpiredAt),
		UpdatedAt: or(r.UpdatedAt), ExpiresAt: or(r.ExpiresAt), ForgottenAt: or(r.ForgottenAt), SupersededBy: or(r.SupersededBy), Version: int(r.Version),
		SessionID: or(r.SessionID), Seq: r.Seq, Speaker: or(r.Speaker), AgentID: or(r.AgentID), ExternalID: or(r.ExternalID),
		Source: or(r.Source), Category: or(r.Category),
		Importance: r.Importance, Strength: r.Strength, MentionCount: int(r.MentionCount), AccessCount: int(r.AccessCount),
		LastAccessedAt: or(r.LastAccessedAt),
		Sensitivity:    int(r.Sensitivity), SealedKey: or(r.SealedKey), sealed: r.Sealed,
	}
	if m.Type == Trait {
		m.Trait = &TraitState{
			Subtype: or(r.TraitSubtype), Stage: or(r.TraitStage), Confidence: or(r.TraitConfidence),
			ConfidenceAt: or(r.TraitConfidenceAt), Context: or(r.TraitContext), ParentID: or(r.TraitParentID),
			ReinforcementCount: int(or(r.TraitReinforcementCount)), ContradictionCount: int(or(r.TraitContradictionCount)),
			LastReinforced: or(r.TraitLastReinforced), FirstObserved: or(r.TraitFirstObserved),
			WindowStart: or(r.TraitWindowStart), WindowEnd: or(r.TraitWindowEnd), DerivedFrom: or(r.TraitDerivedFrom),
		}
	}
	return m, json.Unmarshal(r.Metadata, &m.Metadata)
}

// or returns what p points to, or the zero value.
func or[T any](p *T) (v T) {
	if p != nil {
		v = *p
	}
	return v
}

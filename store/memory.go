package store

import (
	"context"
	"errors"
	"time"

	"github.com/google/uuid"

	"github.com/oxbow-memory/oxbow/internal/reasoner"
)

// MemoryType is one of the four kinds of memory.
type MemoryType string

const (
	Fact     MemoryType = "fact"     // discrete and objective; a newer fact supersedes it
	Episodic MemoryType = "episodic" // an event
	Trait    MemoryType = "trait"    // a lasting quality of the person; only reflection creates traits
	Document MemoryType = "document" // a chunk of a file
)

// MemoryTypes returns every memory type.
func MemoryTypes() []MemoryType { return []MemoryType{Fact, Episodic, Trait, Document} }

// Modality is the medium that a memory describes. The content of a memory that is not text is its caption, by which it
// is found.
type Modality string

// The modalities.
const (
	ModalityText  Modality = "text"
	ModalityImage Modality = "image"
	ModalityAudio Modality = "audio"
	ModalityVideo Modality = "video"
	ModalityCode  Modality = "code"
	ModalityFile  Modality = "file"
)

// Modalities returns every modality.
func Modalities() []Modality {
	return []Modality{ModalityText, ModalityImage, ModalityAudio, ModalityVideo, ModalityCode, ModalityFile}
}

// Category is the subject of a memory. It decides how much the memory matters, how fast its weight fades, and what
// happens to it in a conflict.
type Category = reasoner.Category

// Categories returns the categories that a program may store. A stored memory may have any other text, which
// oxbow.category_names maps to one of them.
func Categories() []Category {
	return []Category{reasoner.Identity, reasoner.StablePreference, reasoner.ShortPreference, reasoner.Objective,
		reasoner.Skill, reasoner.Temporary}
}

// NewMemory is a memory to store. Only UserID and Content are required. A zero value means the
// default.
type NewMemory struct {
	// UserID is the user the memory belongs to, 1 to 255 bytes.
	UserID string
	// Content is the text: at most 1 MiB of valid UTF-8, not blank and without NUL.
	Content string
	// Type is fact (default), episodic or document. Only reflection creates traits.
	Type MemoryType
	// ID is the id of the memory. Default: a generated one.
	ID uuid.UUID
	// ExternalID is the application's own id for the memory, at most 1024 bytes. It is unique per
	// user and type: storing a memory twice under one ExternalID stores it once.
	ExternalID string
	// ValidAt is the time the content became true in the world. Default: the time the memory is
	// stored.
	ValidAt time.Time
	// InvalidAt is the time the content ceased to be true. Default: never.
	InvalidAt time.Time
	// ExpiresAt is when the memory expires, in the future. From then on it is not recalled, except as of
	// an earlier time, unless it is promoted. Default: never.
	ExpiresAt time.Time
	// SessionID identifies the conversation, at most 1024 bytes.
	SessionID string
	// Seq is the position among the user's memories, negative or not. Default: after all stored
	// memories, in the order of RememberMany.
	Seq *int64
	// Speaker is the name of the person who said it. Searches match it along with the content.
	Speaker string
	// AgentID is the application's agent that the memory belongs to. Recall can filter by it.
	AgentID string
	// Source says where the memory came from. The application chooses the value.
	Source string
	// Category is the subject. Default: none; the worker gives one to a fact.
	Category Category
	// Topic is preference, personal, memory, promise, or any other text of at most 255 bytes.
	Topic string
	// Verified means that a person confirmed the memory. Oxbow never forgets it by itself.
	Verified bool
	// Importance is between 0 and 1. Default: 0.5.
	Importance *float64
	// Metadata is any value that encodes to a JSON object: a map, a struct or a json.RawMessage.
	Metadata any
	// Modality is text (default), image, audio, video, code or file. Content is then its caption or transcript, or the
	// code.
	Modality Modality
	// Reference is where your application keeps the image, audio, video or file, or what the text or code is from: a
	// URI or a path of at most 2048 bytes. Oxbow never reads it.
	Reference string
	// Sensitivity is between 0 (default) and 3. A memory of sensitivity 2 or 3 is never recalled. The client's Sealer
	// seals the text of a memory of sensitivity 3. A sealed memory is never searched, reflected on or logged, and only
	// Get returns its text. It cannot have a Speaker, Metadata or Reference, because those are not sealed.
	Sensitivity int
}

// Memory is a stored memory. A zero time, an empty string or uuid.Nil means that the value is
// absent.
type Memory struct {
	UserID  string     `json:"user_id"`
	Type    MemoryType `json:"memory_type"`
	ID      uuid.UUID  `json:"id"`
	Content string     `json:"content"`

	// ValidAt and InvalidAt bound the time the content was true in the world. CreatedAt and
	// ExpiredAt bound the time the system believed it.
	ValidAt      time.Time `json:"valid_at,omitzero"`
	InvalidAt    time.Time `json:"invalid_at,omitzero"`
	CreatedAt    time.Time `json:"created_at"`
	ExpiredAt    time.Time `json:"expired_at,omitzero"`
	UpdatedAt    time.Time `json:"updated_at,omitzero"`
	ExpiresAt    time.Time `json:"expires_at,omitzero"` // when the memory expires or expired
	ForgottenAt  time.Time `json:"forgotten_at,omitzero"`
	ForgottenBy  string    `json:"forgotten_by,omitzero"` // user, auto (Oxbow), merge
	SupersededBy uuid.UUID `json:"superseded_by,omitzero"`
	Version      int       `json:"version"` // 1, plus 1 for each Supersede

	SessionID  string   `json:"session_id,omitzero"`
	Seq        int64    `json:"seq"`
	Speaker    string   `json:"speaker,omitzero"`
	AgentID    string   `json:"agent_id,omitzero"`
	ExternalID string   `json:"external_id,omitzero"`
	Source     string   `json:"source,omitzero"`
	Category   Category `json:"category,omitzero"` // any text, if an INSERT or an import set it
	Topic      string   `json:"topic,omitzero"`
	Verified   bool     `json:"verified,omitzero"` // a person confirmed it

	// Level is how much is kept: full, summary, tag, trace or archive. Content is then shorter than what was stored.
	Level          string         `json:"level"`
	Tier           string         `json:"tier"`       // normal, core or system; the strength of the others never falls
	Importance     float64        `json:"importance"` // 0 to 1
	Strength       float64        `json:"strength"`   // starts at 1, grows with use and fades without it
	MentionCount   int            `json:"mention_count"`
	AccessCount    int            `json:"access_count"`
	LastAccessedAt time.Time      `json:"last_accessed_at,omitzero"`
	Metadata       map[string]any `json:"metadata"`

	Modality  Modality `json:"modality"`
	Reference string   `json:"reference,omitzero"` // where the application keeps the image, …
	// Attachments are images, recordings and files that belong to it, the latest 10, oldest first.
	Attachments []Attachment `json:"attachments,omitempty"`

	Sensitivity int    `json:"sensitivity,omitzero"` // 0 to 3; Content is "[sealed]" at 3 until a Sealer opens it
	SealedKey   string `json:"sealed_key,omitzero"`  // the id of the key that opens it
	sealed      []byte

	// Trait is set for traits.
	Trait *TraitState `json:"trait,omitempty"`
}

// TraitState holds the fields that only traits have.
type TraitState struct {
	Subtype string `json:"subtype,omitzero"` // behavior, preference, core
	Stage   string `json:"stage,omitzero"`   // trend, candidate, emerging, established, core, dissolved
	// Confidence is the confidence at ConfidenceAt, between 0 and 1 exclusive. It decays from then
	// on.
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

// GetMemory returns a memory of the user, even if it is forgotten or superseded, or ErrNotFound.
func GetMemory(ctx context.Context, db DB, userID string, id uuid.UUID) (Memory, error) {
	r, err := CollectOne[memoryRow](ctx, db, selectMemories+`
		 where user_id = $1::text and id = $2::uuid
		 order by memory_type
		 limit 1`, userID, id)
	if errors.Is(err, ErrNotFound) {
		err = notFound(userID, id)
	}
	return r.memory(), err
}

// selectMemories is the start of a query for memoryRows.
const selectMemories = `
	select user_id, memory_type as type, id, content, valid_at, invalid_at, created_at, expired_at, updated_at,
	       expires_at, forgotten_at, forgotten_by, superseded_by, version, session_id, seq, speaker, agent_id, external_id,
	       source, category, topic, verified, level, tier, importance, strength, mention_count, access_count,
	       last_accessed_at, metadata, modality, reference, sensitivity, sealed, sealed_key,
	       case when mention_count > 1 then oxbow.attachments(user_id, id) end as attachments, trait_subtype as subtype,
	       trait_stage as stage, trait_confidence as confidence, t.confidence_at,
	       trait_context as context, trait_parent_id as parent_id, trait_reinforcement_count as reinforcement_count,
	       trait_contradiction_count as contradiction_count, t.last_reinforced, t.first_observed, t.window_start,
	       t.window_end, trait_derived_from as derived_from
	  from oxbow.memories
	  left join lateral (select trait_confidence_at as confidence_at, trait_last_reinforced as last_reinforced,
	         trait_first_observed as first_observed, trait_window_start as window_start, trait_window_end as window_end)
	         t on memory_type = 'trait' -- applications may write these columns of other memories`

// memoryRow is a row of oxbow.memories.
type memoryRow struct {
	Memory
	TraitState
	Sealed []byte
}

func (r memoryRow) memory() Memory {
	m := r.Memory
	if m.sealed = r.Sealed; m.Type == Trait {
		m.Trait = &r.TraitState
	}
	return m
}

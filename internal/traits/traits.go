// Package traits defines the data about a user's traits that reflection reads and writes.
package traits

import (
	"encoding/json"
	"time"

	"github.com/google/uuid"

	"github.com/oxbow-memory/oxbow/internal/lifecycle"
)

// The directions of evidence.
const (
	Supporting    = "supporting"
	Contradicting = "contradicting"
)

// Unreflected is a memory in the inbox.
type Unreflected struct {
	Type       string
	ID         uuid.UUID
	Importance float64 // 0 to 1
	ValidAt    time.Time
	SessionID  string
}

// Trait is a trait as reflection uses it.
type Trait struct {
	ID             uuid.UUID
	Key            string
	Content        string
	State          lifecycle.State
	Context        string
	Contexts       []string // contexts of its evidence
	Parent         uuid.UUID
	Version        int
	FirstObserved  time.Time
	LastReinforced time.Time
	EditedAt       time.Time // when a person edited it; zero: never
	Rejected       bool      // dissolved by a person
	ReviewDueAt    time.Time // zero: no review is due
}

// Counts is the number of a user's traits by stage.
type Counts struct {
	Visible    int // emerging, established, core
	Trends     int
	Candidates int
}

// NotedClue is a memory recorded for or against a pattern that is not a trait yet.
type NotedClue struct {
	Key        string
	Content    string // latest wording of the pattern; if Against, the reason
	Against    bool
	Type       string
	Memory     uuid.UUID
	Session    string
	Context    string
	Stated     bool
	ObservedAt time.Time
	Skipped    int // number of later memories that were noted but not kept
}

// Claim is a memory that may become evidence for or against a trait.
type Claim struct {
	Trait     uuid.UUID
	Direction string // Supporting or Contradicting
	Memory    uuid.UUID
	Type      string // of the memory; a trait may support a more abstract one
	Session   string
}

// EvidenceSeen describes a trait's existing evidence, for grading further evidence.
type EvidenceSeen struct {
	Sessions   []string // the claimed sessions that already supported it
	Supporting int      // number of supporting memories, at most as many as requested
	Counted    map[EvidenceKey]bool
}

// EvidenceKey identifies evidence of a trait by its memory and direction.
type EvidenceKey struct {
	Memory    uuid.UUID
	Direction string // Supporting or Contradicting
}

// Event is a row of trait_events. Confidence and Stage are those after the event.
type Event struct {
	Trait      uuid.UUID       `json:"trait_id"`
	Event      lifecycle.Kind  `json:"event"`
	At         time.Time       `json:"at"`
	Factor     *float64        `json:"factor"`
	Sets       *float64        `json:"sets"`
	Memories   int             `json:"memories"`
	Subtype    *string         `json:"subtype"`
	WindowEnd  *time.Time      `json:"window_end"`
	Confidence *float64        `json:"confidence"`
	Stage      lifecycle.Stage `json:"stage"`
	Actor      string          `json:"actor"`
	Reason     *string         `json:"reason"`
	Details    json.RawMessage `json:"details"`
	Nth        int             `json:"nth"` // number among this trait's events in this change, from 1
}

// Evidence is a row of trait_evidence.
type Evidence struct {
	Trait      uuid.UUID         `json:"trait_id"`
	Direction  string            `json:"direction"`
	Type       string            `json:"memory_type"`
	Memory     uuid.UUID         `json:"memory_id"`
	Quality    lifecycle.Quality `json:"quality"`
	Session    string            `json:"session_key"`
	Context    *string           `json:"context"`
	Stated     bool              `json:"stated"`
	ObservedAt time.Time         `json:"observed_at"`
	Nth        int               `json:"nth"` // Nth of the event in which it counts
}

// Change is what a reflection writes about a trait.
type Change struct {
	Trait
	New         bool
	Derived     string // reflection, promotion, trend_promotion or contradiction_split; empty: unchanged
	Tendencies  json.RawMessage
	WindowStart time.Time
	Reworded    string // new wording; empty: unchanged
	Reason      string // of the rewording
	Events      []Event
	Evidence    []Evidence
}

// Changes is everything that one cycle writes.
type Changes struct {
	UserID   string
	Timezone string
	Cycle    uuid.UUID
	Now      time.Time
	Memories []uuid.UUID // facts and episodes that the decision is based on; erasing them is blocked meanwhile
	Traits   []Change
	Clues    []NotedClue
	Closed   []string // keys of clues that became traits
}

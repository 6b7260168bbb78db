// Package traits has what reflection reads of a user's traits, and what it writes.
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

// Unreflected is a memory that waits in the inbox.
type Unreflected struct {
	Type       string
	ID         uuid.UUID
	Importance float64 // 0 to 1
	ValidAt    time.Time
	SessionID  string
}

// Trait is a trait as reflection works on it.
type Trait struct {
	ID             uuid.UUID
	Key            string
	Content        string
	State          lifecycle.State
	Context        string
	Contexts       []string // those in which its evidence showed
	Parent         uuid.UUID
	Version        int
	FirstObserved  time.Time
	LastReinforced time.Time
	EditedAt       time.Time // when a person corrected it; zero: nobody did
	Rejected       bool      // a person dissolved it, and not time or a reflection
	ReviewDueAt    time.Time // zero: no review is due
}

// Counts is how many traits of a user are in which stages.
type Counts struct {
	Visible    int // emerging, established, core
	Trends     int
	Candidates int
}

// NotedClue is a memory that was noted for a pattern, or against it.
type NotedClue struct {
	Key        string
	Content    string // the latest wording of the pattern; with Against, why
	Against    bool
	Type       string
	Memory     uuid.UUID
	Session    string
	Context    string
	Stated     bool
	ObservedAt time.Time
	Skipped    int // later memories that were noted too, and are not kept
}

// Claim is a memory that may come to speak for or against a trait.
type Claim struct {
	Trait     uuid.UUID
	Direction string // Supporting, Contradicting
	Memory    uuid.UUID
	Type      string // of the memory; a trait may speak for a more abstract one
	Session   string
}

// EvidenceSeen is what a trait's evidence tells about further evidence.
type EvidenceSeen struct {
	Sessions   []string // of those asked about, which have spoken for it
	Supporting int      // how many memories speak for it, at most what was asked for
	Counted    map[EvidenceKey]bool
}

// EvidenceKey is a memory and a direction.
type EvidenceKey struct {
	Memory    uuid.UUID
	Direction string // supporting, contradicting
}

// Event is a row of trait_events. Its confidence and stage are those after it.
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
	Nth        int             `json:"nth"` // of the events of this trait in this change, from 1
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
	Nth        int               `json:"nth"` // of the event in which it counts
}

// Change is what a reflection makes of a trait.
type Change struct {
	Trait
	New         bool
	Derived     string // reflection, promotion, trend_promotion, contradiction_split; empty: as before
	Tendencies  json.RawMessage
	WindowStart time.Time
	Reworded    string // the new wording; empty: none
	Reason      string // of the rewording
	Events      []Event
	Evidence    []Evidence
}

// Changes is all that one cycle writes.
type Changes struct {
	UserID   string
	Timezone string
	Cycle    uuid.UUID
	Now      time.Time
	Memories []uuid.UUID // facts and episodes that it was decided on: nobody erases them meanwhile
	Traits   []Change
	Clues    []NotedClue
	Closed   []string // keys of clues that became traits
}

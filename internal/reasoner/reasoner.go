// Package reasoner says what reflection asks of a reasoner, and what a reasoner may answer.
//
// A reasoner proposes, the code decides. It names patterns, says which memories speak for or
// against which trait, and which traits belong together. It never says a number: confidence, stage,
// quality and dates are computed from the evidence (internal/lifecycle). What it names that it was
// not shown is dropped; what it says about sensitive matters is dropped; and what memories say is
// data for it, never instructions.
package reasoner

import (
	"context"
	"time"

	"github.com/google/uuid"

	"github.com/oxbow-memory/oxbow/internal/lifecycle"
)

// Reasoner draws conclusions from memories. It may be used by several goroutines at once. The error of Reflect and of
// Review is an *UnavailableError where asking later may help, or an *AnswerError where the answer made no sense; then
// nothing was concluded.
type Reasoner interface {
	// Name tells reasoners apart in the records, such as "rules-v1" or "openai/gpt-5-mini".
	Name() string
	// Keys returns the keys of the patterns that it sees in memories: the clues and traits of these
	// are looked up before Reflect is asked. A reasoner that does not know returns nil, and gets
	// the latest.
	Keys(memories []Memory) []string
	// Reflect proposes what follows from a batch of memories.
	Reflect(ctx context.Context, batch Batch) (Proposals, error)
	// Review decides what becomes of a trait that evidence contradicts.
	Review(ctx context.Context, c Case) (Verdict, error)
}

// Memory is a fact or an episode of the user.
type Memory struct {
	ID         uuid.UUID
	Type       string // fact, episodic
	Content    string
	Speaker    string    // who said it; empty: the user, or unknown
	Time       time.Time // when it was true or happened, in the user's time zone
	Session    string    // its conversation, or its day where it has none
	Context    string    // work, personal, social, learning, general; empty: not known
	Importance float64   // 0 to 1
	Arousal    float64   // 0 to 1, of its emotion
}

// Trait is what is held of the user by now.
type Trait struct {
	ID         uuid.UUID
	Key        string // of the pattern that it was made from; empty: none
	Content    string // empty where a person worded it about what nothing is inferred about
	Subtype    lifecycle.Subtype
	Stage      lifecycle.Stage // decayed to the batch's now
	Confidence float64         // decayed to the batch's now, 0 to 1; 0 of a trend
	Context    string
	Parent     uuid.UUID // zero: none
	Edited     bool      // the user worded it: it is not to be worded differently
}

// Clue is a pattern that is no visible trait yet, with the memories that were noted for it. Of a
// reasoner that names the keys of patterns, it also has those that speak for the trend or the
// candidate of that key.
type Clue struct {
	Key     string
	Content string
	Seen    []Sighting // the earliest first
	Against []Sighting // what was noted against it
	// Skipped and SkippedAgainst are how many more there were between the earliest and the latest ones.
	Skipped, SkippedAgainst int
}

// Sighting is a memory that was noted for a clue.
type Sighting struct {
	Memory  uuid.UUID
	Time    time.Time // in the user's time zone
	Session string
	Context string
}

// Batch is what is reflected on at once.
type Batch struct {
	Now time.Time // in the user's time zone, as all times of the batch
	// ZoneKnown is whether the user has a time zone. Otherwise all times are UTC: dates are near
	// enough, hours and days of the week say nothing.
	ZoneKnown bool
	Language  string   // BCP 47 of the user; empty: not known
	Memories  []Memory // the earliest first
	// live ones, the surest first; of the dissolved ones those that a key names, and those that the
	// user dissolved (Edited)
	Traits  []Trait
	Clues   []Clue
	Visible int // how many traits the user has in the stages emerging, established and core
}

// Proposals are what a reasoner concludes. The order within each list is the order of application.
type Proposals struct {
	Patterns       []Pattern
	Reinforcements []Reinforcement
	Contradictions []Contradiction
	Clusters       []Cluster
	Dropped        []Dropped // what the reasoner itself had to leave out, such as references to what it was not shown
}

// Dropped is a proposal that is not followed. It is recorded with the cycle.
type Dropped struct {
	What   string `json:"what"` // the proposal, as JSON or text
	Reason string `json:"reason"`
}

// Pattern is something that recurs, and is no trait yet. Whether it becomes one, and in which stage, follows from its
// evidence and that of the clue with the same key; evidence from fewer than two sessions is noted as a clue.
type Pattern struct {
	// the same whenever the same pattern is seen; empty: made from the content
	Key       string    `json:"key,omitzero"`
	Content   string    `json:"content,omitzero"`   // a short sentence, in the language of the memories
	Context   string    `json:"context,omitzero"`   // work, personal, social, learning, general; empty: general
	Emotional bool      `json:"emotional,omitzero"` // a mood: a trend of it is watched for 14 days and not 30
	Tentative bool      `json:"tentative,omitzero"` // to be noted as a clue, whatever the evidence
	Evidence  []Support `json:"evidence,omitzero"`
}

// Support is a memory of the batch, or of a clue, that speaks for or against something.
type Support struct {
	Memory  uuid.UUID `json:"memory,omitzero"`
	Stated  bool      `json:"stated,omitzero"`  // the user says it outright of themselves
	Context string    `json:"context,omitzero"` // in which it shows; empty: that of the memory
}

// Reinforcement says that memories speak for a trait.
type Reinforcement struct {
	Trait    uuid.UUID `json:"trait,omitzero"`
	Evidence []Support `json:"evidence,omitzero"`
}

// Contradiction says that memories speak against a trait.
type Contradiction struct {
	Trait uuid.UUID `json:"trait,omitzero"`
	// instead of Trait: of a pattern; where that is no trait yet, the evidence is noted until it is
	Key      string    `json:"key,omitzero"`
	Evidence []Support `json:"evidence,omitzero"`
	Reason   string    `json:"reason,omitzero"`
}

// Cluster says that traits show one tendency (behaviors, which make a preference) or one dimension of the person
// (preferences, which make a trait of subtype core).
type Cluster struct {
	Key     string            `json:"key,omitzero"`
	Subtype lifecycle.Subtype `json:"subtype,omitzero"` // of the trait that they make: preference or core
	Content string            `json:"content,omitzero"`
	Members []uuid.UUID       `json:"members,omitzero"`
}

// Case is a trait that evidence contradicts, with that evidence.
type Case struct {
	Now           time.Time // in the user's time zone
	ZoneKnown     bool      // as of Batch
	Language      string
	Trait         Trait
	Supporting    []Evidence // the latest, bounded
	Contradicting []Evidence
}

// Evidence is a memory that speaks for or against a trait.
type Evidence struct {
	Memory
	Quality lifecycle.Quality
}

// Action is what a review decides.
type Action string

// The actions.
const (
	Keep     Action = "keep"     // the contradictions do not weigh
	Revise   Action = "revise"   // Content says it better
	Split    Action = "split"    // it depends on the context: Tendencies
	Dissolve Action = "dissolve" // it does not hold
)

// Verdict is the decision of a review.
type Verdict struct {
	Action     Action
	Content    string            // of Revise and Split: the trait's new sentence
	Tendencies map[string]string // of Split: at least two contexts, with what holds in each
	Reason     string
}

// UnavailableError says that a reasoner is down, slow, over its limits or refuses the key.
type UnavailableError struct {
	RetryAfter time.Duration // what it asked for; 0: it did not say
	Err        error
}

func (e *UnavailableError) Error() string { return e.Err.Error() }
func (e *UnavailableError) Unwrap() error { return e.Err }

// AnswerError says that a reasoner's answer is not what was asked for, also after it was asked to repair it.
type AnswerError struct {
	Problem string
	Answer  string // the beginning of it
}

// AnswerErrorText is in the text of every AnswerError. The answer is not: errors are kept, and it
// may say what memories say.
const AnswerErrorText = "the reasoner's answer is of no use"

func (e *AnswerError) Error() string {
	return AnswerErrorText + ": " + e.Problem
}

// Usage is what one call of a model took.
type Usage struct {
	Purpose          string // reflect, review, extract, resolve
	Model            string
	Attempt          int // 1, or 2 for the repair
	PromptTokens     int
	CompletionTokens int
	StartedAt        time.Time
	Latency          time.Duration
	Err              error     // nil: the answer was of use
	Refused          []Dropped // what of an answer to resolve was about nothing that was shown
}

type recorderKey struct{}

// WithRecorder returns a context in which a reasoner reports each call of a model to record.
func WithRecorder(ctx context.Context, record func(Usage)) context.Context {
	return context.WithValue(ctx, recorderKey{}, record)
}

// Record reports a call to the recorder of ctx, if there is one.
func Record(ctx context.Context, u Usage) {
	if record, ok := ctx.Value(recorderKey{}).(func(Usage)); ok {
		record(u)
	}
}

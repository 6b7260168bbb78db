// Package reasoner defines the questions of reflection to a reasoner, and the answers.
//
// A reasoner proposes, and the code decides. It names patterns, the memories that support or
// contradict each trait, and the traits that belong together. It never supplies a number:
// confidence, stage, quality and dates are computed from the evidence (internal/lifecycle).
// References to anything that it was not shown, and proposals about sensitive matters, are dropped.
// Memories are data for it, never instructions.
package reasoner

import (
	"context"
	"slices"
	"time"

	"github.com/google/uuid"

	"github.com/oxbow-memory/oxbow/internal/lifecycle"
)

// Reasoner draws conclusions from memories. It is safe for concurrent use. The error of Reflect and Review is an
// *UnavailableError if asking later may help, or an *AnswerError if the answer is unusable. Nothing is concluded then.
type Reasoner interface {
	// Name identifies the reasoner in the records, such as "rules-v1" or "openai/gpt-5-mini".
	Name() string
	// Keys returns the keys of the patterns in memories, whose clues and traits the caller looks up
	// before it calls Reflect, and its findings, which the batch passes to Reflect. A reasoner that cannot know the keys
	// returns nil and gets the latest.
	Keys(memories []Memory) (keys []string, found any)
	// Reflect proposes what follows from a batch of memories.
	Reflect(ctx context.Context, batch Batch) (Proposals, error)
	// Review decides about a trait that evidence contradicts.
	Review(ctx context.Context, c Case) (Verdict, error)
}

// Memory is a fact or an episode of the user.
type Memory struct {
	ID         uuid.UUID
	Type       string // fact, episodic
	Content    string
	Speaker    string    // speaker; empty: the user, or unknown
	Time       time.Time // when it was true or happened, in the user's time zone
	Session    string    // its conversation, or its day without one
	Context    string    // work, personal, social, learning, general; empty: not known
	Importance float64   // 0 to 1
	Arousal    float64   // 0 to 1, of its emotion
}

// Trait is a current trait of the user.
type Trait struct {
	ID         uuid.UUID
	Key        string // of the pattern that created it; empty: none
	Content    string // empty where a person worded it about what nothing is inferred about
	Subtype    lifecycle.Subtype
	Stage      lifecycle.Stage // decayed to the batch's now
	Confidence float64         // decayed to the batch's now, 0 to 1; 0 of a trend
	Context    string
	Parent     uuid.UUID // zero: none
	Edited     bool      // the user worded it, and it must not be reworded
}

// Contexts are the contexts of memories and traits.
var Contexts = []string{"work", "personal", "social", "learning", "general"}

// KnownContext returns the context if it is one of Contexts, otherwise "".
func KnownContext(context string) string {
	if slices.Contains(Contexts, context) {
		return context
	}
	return ""
}

// MaxWording is the maximum length of the wording of a trait, in characters.
const MaxWording = 300

// Clue is a pattern that is not a visible trait yet, with the memories recorded for it. If the
// reasoner names the keys of patterns, they include the support of the trend or candidate with that
// key.
type Clue struct {
	Key     string
	Content string
	Seen    []Sighting // the earliest first
	Against []Sighting // memories recorded against it
	// Skipped and SkippedAgainst are the numbers of memories between the earliest and the latest ones that were not
	// kept.
	Skipped, SkippedAgainst int
}

// Sighting is a memory recorded for a clue.
type Sighting struct {
	Memory  uuid.UUID
	Time    time.Time // in the user's time zone
	Session string
	Context string
}

// Batch is the input of one reflection.
type Batch struct {
	Now time.Time // in the user's time zone, like all times of the batch
	// ZoneKnown reports whether the user has a time zone. Otherwise all times are UTC: dates are
	// accurate enough, hours and days of the week mean nothing.
	ZoneKnown bool
	Language  string   // BCP 47 of the user; empty: unknown
	Memories  []Memory // the earliest first
	Found     any      // the findings of Keys in Memories; nil: Reflect reads Memories
	// live ones, the surest first; of the dissolved ones those that a key names, and those that the
	// user dissolved (Edited)
	Traits  []Trait
	Clues   []Clue
	Visible int // number of the user's traits in the stages emerging, established and core

	Policies *lifecycle.Policies // in force at Now
}

// Proposals are the conclusions of a reasoner. Each list is applied in order.
type Proposals struct {
	Patterns       []Pattern
	Reinforcements []Reinforcement
	Contradictions []Contradiction
	Clusters       []Cluster
	Dropped        []Dropped // dropped by the reasoner itself, such as references to unknown memories
}

// Dropped is a rejected proposal. It is recorded with the cycle.
type Dropped struct {
	What   string `json:"what"` // the proposal, as JSON or text
	Reason string `json:"reason"`
}

// Pattern is something recurring that is not a trait yet. Its evidence and that of the clue with the same key determine
// whether it becomes one, and in which stage. Evidence from fewer than two sessions is recorded as a clue.
type Pattern struct {
	// the same whenever the same pattern is seen; empty: made from the content
	Key       string    `json:"key,omitzero"`
	Content   string    `json:"content,omitzero"`   // a short sentence, in the language of the memories
	Context   string    `json:"context,omitzero"`   // work, personal, social, learning, general; empty: general
	Emotional bool      `json:"emotional,omitzero"` // a mood: its trend is watched for 14 days instead of 30
	Tentative bool      `json:"tentative,omitzero"` // recorded as a clue, whatever the evidence
	Evidence  []Support `json:"evidence,omitzero"`
}

// Support is a memory of the batch or of a clue that supports or contradicts something.
type Support struct {
	Memory  uuid.UUID `json:"memory,omitzero"`
	Stated  bool      `json:"stated,omitzero"`  // the user states it explicitly
	Context string    `json:"context,omitzero"` // the context of the evidence; empty: that of the memory
}

// Reinforcement proposes memories that support a trait.
type Reinforcement struct {
	Trait    uuid.UUID `json:"trait,omitzero"`
	Evidence []Support `json:"evidence,omitzero"`
}

// Contradiction proposes memories that contradict a trait.
type Contradiction struct {
	Trait uuid.UUID `json:"trait,omitzero"`
	// instead of Trait: of a pattern; the evidence is recorded until the pattern is a trait
	Key      string    `json:"key,omitzero"`
	Evidence []Support `json:"evidence,omitzero"`
	Reason   string    `json:"reason,omitzero"`
}

// Cluster proposes that traits show one tendency (behaviors, which make a preference) or one dimension of the person
// (preferences, which make a trait of subtype core).
type Cluster struct {
	Key     string            `json:"key,omitzero"`
	Subtype lifecycle.Subtype `json:"subtype,omitzero"` // of the trait that they make: preference or core
	Content string            `json:"content,omitzero"`
	Members []uuid.UUID       `json:"members,omitzero"`
	// of a trait that depends on the context: what holds in each, of two or more
	Contexts map[string]string `json:"contexts,omitzero"`
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

// Evidence is a memory that supports or contradicts a trait.
type Evidence struct {
	Memory
	Quality lifecycle.Quality
}

// Action is the decision of a review.
type Action string

// The actions.
const (
	Keep     Action = "keep"     // the contradictions are not significant
	Revise   Action = "revise"   // Content describes it better
	Split    Action = "split"    // it depends on the context: Tendencies
	Dissolve Action = "dissolve" // it is not true
)

// Verdict is the decision of a review.
type Verdict struct {
	Action     Action
	Content    string            // of Revise and Split: the trait's new sentence
	Tendencies map[string]string // of Split: at least two contexts, with the tendency in each
	Reason     string
}

// UnavailableError reports that a reasoner is down, slow, over its limits, or refuses the key.
type UnavailableError struct {
	RetryAfter time.Duration // as requested by the provider; 0: unknown
	Err        error
}

func (e *UnavailableError) Error() string { return e.Err.Error() }
func (e *UnavailableError) Unwrap() error { return e.Err }

// AnswerError reports that a reasoner's answer is unusable, even after a request to repair it.
type AnswerError struct {
	Problem string
	Answer  string // the beginning of it
}

// AnswerErrorText is part of the text of every AnswerError. The answer is not, because errors are
// stored and it may quote memories.
const AnswerErrorText = "the reasoner's answer is unusable"

func (e *AnswerError) Error() string {
	return AnswerErrorText + ": " + e.Problem
}

// Usage describes one call of a model.
type Usage struct {
	Purpose          string // reflect, review, extract, resolve
	Model            string
	Attempt          int // 1, or 2 for the repair
	PromptTokens     int
	CompletionTokens int
	StartedAt        time.Time
	Latency          time.Duration
	Err              error     // nil: the answer was usable
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

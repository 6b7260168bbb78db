package reasoner

import (
	"context"
	"time"

	"github.com/google/uuid"
)

// Judge says what a person thinks of the answers in a conversation (U §4). It takes no part in the conversation and
// changes nothing. It is safe for concurrent use. Its errors are those of a Reasoner.
type Judge interface {
	// Name identifies the judge in the records.
	Name() string
	// Signals returns a signal for each turn in which the person says something of the answer before it.
	Signals(ctx context.Context, t Turns) ([]Signal, error)
}

// Turns are messages of a person to be judged, the earliest first.
type Turns struct {
	Now      time.Time // in the user's time zone
	Language string    // of the user, such as zh-CN; empty: unknown
	Turns    []Turn
}

// Turn is a message of a person, with the answer that it may be about.
type Turn struct {
	Message       uuid.UUID
	UserInput     string
	AgentResponse string   // the answer before it; empty: none
	ContextWindow []string // what the person and the agent said before that answer, in turns, the earliest first
}

// Signal is what a person thinks of an answer. Its fields are those of U §4.
type Signal struct {
	Message    uuid.UUID
	Kind       string            // correction, complaint, repeated_question, rephrasing, thanks
	Type       string            // negative, positive, neutral, mixed
	Confidence float64           // 0 to 1
	Targets    []string          // of reasoning, final_answer, style, tool_choice
	ActionHint []string          // of penalty, invalidate, prefer
	Parts      map[string]string // mixed: the type for each target
}

// The kinds, types, targets and hints of signals.
var (
	SignalKinds   = []string{"correction", "complaint", "repeated_question", "rephrasing", "thanks"}
	SignalTypes   = []string{"negative", "positive", "neutral", "mixed"}
	SignalTargets = []string{"reasoning", "final_answer", "style", "tool_choice"}
	SignalHints   = []string{"penalty", "invalidate", "prefer"}
)

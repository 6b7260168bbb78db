package reasoner

import (
	"context"
	"time"

	"github.com/google/uuid"
)

// TopicReader finds out what memories are about. It makes no network calls.
type TopicReader interface {
	// Topics returns the topics of facts and episodes. The same pattern has the same topic in every language.
	Topics(memories []Memory) []Topic
	// IsPattern reports whether a topic is a pattern: its memories say the same. Others only share a person, a thing or a
	// subject.
	IsPattern(topic string) bool
	// IsUser reports whether a speaker is the user.
	IsUser(speaker string) bool
	// Hints returns what a memory says of its conditions.
	Hints(m Memory) Conditions
}

// Abstracter draws a conclusion from the fragments of a topic (U §3). It is safe for concurrent use. Its errors are
// those of a Reasoner.
type Abstracter interface {
	// Name identifies the abstracter in the records.
	Name() string
	// Abstract returns the conclusion from fragments of one topic, with an empty Content if there is none.
	Abstract(ctx context.Context, d Dense) (Conclusion, error)
}

// Topic says that a memory is a fragment of a topic.
type Topic struct {
	Memory uuid.UUID
	Key    string
	Denies bool // it says that it is so no longer
}

// Dense is a set of fragments of one topic that say the same. The caller computes everything else, such as confidence
// and conditions.
type Dense struct {
	Now        time.Time // in the user's time zone
	Language   string    // of the user; empty: unknown
	Topic      string    // its key
	Denies     bool      // the fragments say that something is so no longer
	According  []string  // who says so, if others say the opposite; "" is the user
	Conditions Conditions
	Before     string // the current conclusion; empty: none
	Fragments  []Memory
}

// Conclusion is drawn from fragments of one topic.
type Conclusion struct {
	Content string      // one sentence with its conditions, in the language of the fragments
	Sources []uuid.UUID // the fragments on which it rests
}

// MaxConclusion is the maximum number of characters of a conclusion.
const MaxConclusion = 400

// Conditions say when, where and with whom a conclusion holds (U §2). Empty fields: always, anywhere, with anybody.
type Conditions struct {
	PartOfDay string   `json:"part_of_day,omitzero"` // morning, afternoon, evening, night
	Weekday   string   `json:"weekday,omitzero"`     // monday … sunday, weekend, workday
	Season    string   `json:"season,omitzero"`      // spring, summer, autumn, winter
	Where     []string `json:"where,omitzero"`
	With      []string `json:"with,omitzero"`
	Context   string   `json:"context,omitzero"` // work, personal, social, learning
}

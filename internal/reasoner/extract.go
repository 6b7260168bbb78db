package reasoner

import (
	"context"
	"time"

	"github.com/google/uuid"
)

// Extractor draws memories from conversations. It may be used by several goroutines at once. Its errors are those of a
// Reasoner.
type Extractor interface {
	// Name tells extractors apart in the records.
	Name() string
	// Extract proposes what is worth remembering of the new messages of a conversation. What an
	// assistant said is nothing about the user, and what was recalled into the conversation is not
	// proposed again.
	Extract(ctx context.Context, c Conversation) (Extraction, error)
	// Resolve says, for each conflict in order, what becomes of a candidate beside the memories that are like it.
	Resolve(ctx context.Context, now time.Time, conflicts []Conflict) ([]Resolution, error)
}

// Message is one message of a conversation.
type Message struct {
	ID      uuid.UUID
	Role    string // user, assistant, system, tool
	Speaker string // the name of who said it; empty: the one whom the role names
	Content string
	Time    time.Time // in the user's time zone
	New     bool      // to be extracted from; the others are there to be understood
}

// Conversation is a part of one session, in the order of its messages.
type Conversation struct {
	Now      time.Time // in the user's time zone
	Language string    // of the user, such as zh-CN; empty: not known
	Messages []Message
	Recalled []Held // what was recalled into it
}

// Held is a memory that there is.
type Held struct {
	ID         uuid.UUID
	Type       string // fact, episodic
	Content    string
	Speaker    string
	Category   Category
	Time       time.Time // when it was true or happened
	Similarity float64   // to a candidate, -1 to 1
	About      []string  // as a candidate's
}

// Category is what a memory is about (W): it decides how fast it loses weight, and what becomes of it in a conflict.
type Category string

// The categories.
const (
	Identity         Category = "identity"          // name, birthday, family, home, work
	StablePreference Category = "stable_preference" // tastes and values that last
	ShortPreference  Category = "short_preference"  // what somebody is into at the moment
	Objective        Category = "fact"              // anything else that is so, or happened
	Skill            Category = "skill"             // what somebody can do
	Temporary        Category = "temporary"         // moods, plans, what is so for a while
)

// Emotion is what a message expresses.
type Emotion struct {
	Valence float64 `json:"valence"` // -1 (unpleasant) to 1
	Arousal float64 `json:"arousal"` // 0 (calm) to 1
	Label   string  `json:"label"`   // joy, sadness, anger, fear, surprise, love, …
}

// Entity is somebody or something that is named.
type Entity struct {
	Name string `json:"name"`
	Kind string `json:"kind"` // person, place, organization, animal, work, other
}

// Relation is how two entities belong together: To is From's sister, or From works at To. An empty end is who speaks.
type Relation struct {
	From     string `json:"from,omitzero"` // the name of an entity of the candidate
	Relation string `json:"relation"`      // sister, friend, works_at, lives_in, …
	To       string `json:"to,omitzero"`
}

// Candidate is a memory that is proposed.
type Candidate struct {
	Type       string // fact, episodic
	Content    string // one statement, in the language of its messages
	Speaker    string // who said it, where that is a name; empty: the user
	Category   Category
	Importance float64    // 0 to 1
	Context    string     // work, personal, social, learning, general; empty: not known
	Emotion    *Emotion   // nil: none
	Entities   []Entity   // who and what it names
	Relations  []Relation // and how these belong together
	Time       time.Time  // when it was true or happened; zero: when its first message was said
	Negates    bool       // it says that something is so no longer, or was wrong
	// what it tells of that people have one of at a time (home, job, employer, name), or what a
	// taste is about: memories about the same are its conflicts, however unlike
	About   []string
	Sources []uuid.UUID
}

// Extraction is what Extract proposes.
type Extraction struct {
	Candidates []Candidate
	Used       []uuid.UUID // recalled memories that a reply really used
	Dropped    []Dropped   // what the extractor itself had to leave out
}

// Conflict is a candidate with the memories that are like it, the most similar first, and those about the same.
type Conflict struct {
	Candidate Candidate
	Similar   []Held
}

// Operation is what becomes of a candidate.
type Operation string

// The operations (S §5.4).
const (
	Add    Operation = "ADD"    // a memory of its own
	Update Operation = "UPDATE" // it takes the place of Target
	Delete Operation = "DELETE" // Target holds no longer, and nothing takes its place
	Noop   Operation = "NOOP"   // Target says it already
)

// Resolution is what Resolve decides.
type Resolution struct {
	Operation Operation
	Target    uuid.UUID   // of Similar; zero for Add
	Also      []uuid.UUID // of Similar: what else an Update takes the place of
	Reason    string
}

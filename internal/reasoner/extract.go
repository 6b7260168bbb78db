package reasoner

import (
	"context"
	"time"

	"github.com/google/uuid"
)

// Extractor extracts memories from conversations. It is safe for concurrent use. Its errors are those of a Reasoner.
type Extractor interface {
	// Name identifies the extractor in the records.
	Name() string
	// Extract proposes memories from the new messages of a conversation. Statements of an assistant
	// are not about the user, and memories recalled into the conversation are not proposed again.
	Extract(ctx context.Context, c Conversation) (Extraction, error)
	// Resolve decides, for each conflict in order, how a candidate relates to the similar memories.
	Resolve(ctx context.Context, now time.Time, conflicts []Conflict) ([]Resolution, error)
}

// FactReader reads facts that an application stored, so that they can be compared. It is safe for concurrent use.
type FactReader interface {
	// Fact returns what a fact is about. It may be in the first person, in the third or without a subject: "Lives in
	// Porto", "The user works at a bakery", "Ada has two cats". All these are about the user, if speaker is empty or
	// "Ada". Fact sets Type, Content, Speaker, Category, Negates and About; the keys of another subject than the user
	// begin with it: "tom:home".
	Fact(content, speaker string) Candidate
	// Gist returns a key for the statement of a fact or an episode of that time. It is equal for memories that the
	// rules merge, and empty for those that they never merge.
	Gist(content string, at time.Time) string
}

// Message is one message of a conversation.
type Message struct {
	ID      uuid.UUID
	Role    string // user, assistant, system, tool
	Speaker string // name of the speaker; empty: implied by the role
	Content string
	Time    time.Time // in the user's time zone
	New     bool      // to extract from; the others are context
}

// Conversation is a part of one session, in the order of its messages.
type Conversation struct {
	Now      time.Time // in the user's time zone
	Language string    // of the user, such as zh-CN; empty: unknown
	Messages []Message
	Recalled []Held // memories recalled into it
}

// Held is an existing memory.
type Held struct {
	ID         uuid.UUID
	Type       string // fact, episodic
	Content    string
	Speaker    string
	Category   Category
	Time       time.Time // when it was true or happened
	Similarity float64   // to a candidate, -1 to 1
	About      []string  // like a candidate's
}

// Category is the subject of a memory (W). It determines how fast the memory loses weight, and what happens to it in a
// conflict.
type Category string

// The categories.
const (
	Identity         Category = "identity"          // name, birthday, family, home, work
	StablePreference Category = "stable_preference" // lasting tastes and values
	ShortPreference  Category = "short_preference"  // current interests
	Objective        Category = "fact"              // any other fact or event
	Skill            Category = "skill"             // skills
	Temporary        Category = "temporary"         // moods, plans and temporary states
)

// Emotion is an emotion that a message expresses.
type Emotion struct {
	Valence float64 `json:"valence"` // -1 (unpleasant) to 1
	Arousal float64 `json:"arousal"` // 0 (calm) to 1
	Label   string  `json:"label"`   // joy, sadness, anger, fear, surprise, love, …
}

// Entity is a named person or thing.
type Entity struct {
	Name string `json:"name"`
	Kind string `json:"kind"` // person, place, organization, animal, work, other
}

// Relation is a relation between two entities: To is From's sister, or From works at To. An empty end is the speaker.
type Relation struct {
	From     string `json:"from,omitzero"` // the name of an entity of the candidate
	Relation string `json:"relation"`      // sister, friend, works_at, lives_in, …
	To       string `json:"to,omitzero"`
}

// Candidate is a proposed memory.
type Candidate struct {
	Type       string // fact, episodic
	Content    string // one statement, in the language of its messages
	Speaker    string // name of the speaker; empty: the user
	Category   Category
	Topic      string     // promise; empty: by the category
	Importance float64    // 0 to 1
	Context    string     // work, personal, social, learning, general; empty: unknown
	Emotion    *Emotion   // nil: none
	Entities   []Entity   // the people and things that it names
	Relations  []Relation // the relations between them
	Time       time.Time  // when it was true or happened; zero: when its first message was said
	Negates    bool       // it states that something has ended or was wrong
	// attributes with one value at a time (home, job, employer, name), or the subject of a taste:
	// memories about the same are its conflicts, however different
	About   []string
	Sources []uuid.UUID // its messages; none: an application stored it
}

// Extraction is the result of Extract.
type Extraction struct {
	Candidates   []Candidate
	Instructions []Instruction // to the assistant, in the order of the messages
	Procedures   []Procedure   // that the assistant is to follow
	Intentions   []Intention   // of the user, in the order of the messages
	Used         []uuid.UUID   // recalled memories that a reply used
	Dropped      []Dropped     // proposals that the extractor dropped itself
}

// Conflict is a candidate with similar memories, the most similar first, and memories about the same subject.
type Conflict struct {
	Candidate Candidate
	Name      string // the user's, which stored facts may contain; empty: unknown
	Similar   []Held
}

// Operation is the effect of a candidate.
type Operation string

// The operations (S §5.4).
const (
	Add    Operation = "ADD"    // it becomes a new memory
	Update Operation = "UPDATE" // it replaces Target
	Delete Operation = "DELETE" // Target has ended, without a replacement
	Noop   Operation = "NOOP"   // Target already states it
)

// Resolution is a decision of Resolve.
type Resolution struct {
	Operation Operation
	Target    uuid.UUID   // of Similar; zero for Add
	Also      []uuid.UUID // of Similar: other memories that an Update replaces
	Reason    string
}

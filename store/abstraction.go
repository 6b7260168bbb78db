package store

import (
	"context"
	"encoding/json"
	"time"

	"github.com/google/uuid"

	"github.com/oxbow-memory/oxbow/internal/abstraction"
	"github.com/oxbow-memory/oxbow/internal/reasoner"
)

// NoteFragments records the topics of memories of a user, and those of the entities and subjects that they name. It
// reports whether a topic is due for abstraction.
func NoteFragments(ctx context.Context, tx DB, userID string, topics []reasoner.Topic, ids []uuid.UUID) (bool, error) {
	type row struct {
		ID     uuid.UUID `json:"id"`
		Topic  string    `json:"topic"`
		Denies bool      `json:"denies"`
	}
	rows := make([]row, len(topics))
	for i, t := range topics {
		rows[i] = row{t.Memory, plain(t.Key), t.Denies}
	}
	encoded, err := json.Marshal(rows)
	if err != nil {
		return false, err
	}
	return one[bool](ctx, tx, "note the topics of memories", `select oxbow.note_fragments($1, $2, $3)`, userID,
		string(encoded), ids)
}

// TopicsDue reports whether a user has topics to look at.
func TopicsDue(ctx context.Context, db DB, userID string) (bool, error) {
	return one[bool](ctx, db, "look for due topics", `select oxbow.topics_due($1)`, userID)
}

// UsersWithTopicsDue returns users with topics to look at, at most limit.
func UsersWithTopicsDue(ctx context.Context, db DB, limit int) ([]string, error) {
	return list[string](ctx, db, "look for due topics", `select u from oxbow.users_with_topics_due($1) u`, limit)
}

// DueTopics returns the topics that the next run looks at, at most limit.
func DueTopics(ctx context.Context, db DB, userID string, limit int) ([]string, error) {
	return list[string](ctx, db, "load due topics", `select t.topic from oxbow.due_topics($1, $2) t`, userID, limit)
}

// ClearTopics makes no topic of a user due.
func ClearTopics(ctx context.Context, tx DB, userID string) error {
	_, err := run(ctx, tx, "clear due topics", `
		update oxbow.topics set due = false, pending = 0 where user_id = $1 and due`, userID)
	return err
}

// TopicFragment is a fact or an episode of a topic.
type TopicFragment struct {
	ID                         uuid.UUID
	Type, Content              string
	At                         time.Time
	Speaker, Agent             string
	Session, Context, Location string
	People, Places             []string
	Denies                     bool
	Near                       []uuid.UUID
}

// FragmentsOf returns the latest fragments of a topic that count, at most limit, the earliest first.
func FragmentsOf(ctx context.Context, db DB, userID, topic string, limit int) ([]TopicFragment, error) {
	return list[TopicFragment](ctx, db, "load the fragments of a topic", `select * from oxbow.fragments_of($1, $2, $3)`,
		userID, topic, limit)
}

// CurrentConclusions returns the current conclusions of a topic.
func CurrentConclusions(ctx context.Context, db DB, userID, topic string) ([]abstraction.Held, error) {
	return list[abstraction.Held](ctx, db, "load conclusions", `
		select id, content, version, denies, voices, confidence, sources from oxbow.current_conclusions($1, $2)`,
		userID, topic)
}

// AbstractPolicies returns the policies of abstraction in force.
func AbstractPolicies(ctx context.Context, db DB) (*abstraction.Policies, error) {
	return one[*abstraction.Policies](ctx, db, "read policies", `
		select jsonb_object_agg(substr(d.name, 10), oxbow.policy(d.name))
		  from oxbow.policy_definitions d where d.name like 'abstract\_%'`)
}

// WriteConclusions writes what became of the conclusions about a topic. dense reports whether enough fragments were near
// each other for one. It returns ErrStale if one of their sources or one of the conclusions has ended since it was read.
func WriteConclusions(ctx context.Context, tx DB, userID, topic, actor string, dense bool,
	changes []abstraction.Change) error {
	type row struct {
		Old        *uuid.UUID          `json:"old"`
		ID         *uuid.UUID          `json:"id"`
		Content    string              `json:"content"`
		Denies     bool                `json:"denies"`
		Voices     []string            `json:"voices"`
		Conditions reasoner.Conditions `json:"conditions"`
		Confidence float64             `json:"confidence"`
		Sources    []uuid.UUID         `json:"sources"`
		Sessions   int                 `json:"sessions"`
		Reason     string              `json:"reason"`
		Speaker    *string             `json:"speaker"`
		Agent      *string             `json:"agent"`
		First      *time.Time          `json:"first"`
		Ends       bool                `json:"ends"`
	}
	rows := make([]row, len(changes))
	sources := []uuid.UUID{}
	seen := map[uuid.UUID]bool{}
	for i, c := range changes {
		r := row{Old: pointer(c.Old), ID: pointer(c.New), Content: plain(c.Content), Denies: c.Group.Denies,
			Voices: c.Group.Voices, Conditions: c.Conditions, Confidence: c.Confidence, Sources: []uuid.UUID{},
			Sessions: abstraction.Sessions(c.Group.Fragments), Reason: c.Reason, Ends: c.Ends}
		for j, f := range c.Group.Fragments {
			if r.Sources = append(r.Sources, f.ID); !seen[f.ID] {
				seen[f.ID], sources = true, append(sources, f.ID)
			}
			first := c.Group.Fragments[0]
			if j == 0 {
				r.First, r.Speaker, r.Agent = pointer(f.Time.UTC()), pointer(f.Speaker), pointer(f.Agent)
			}
			if f.Speaker != first.Speaker {
				r.Speaker = nil
			}
			if f.Agent != first.Agent {
				r.Agent = nil
			}
		}
		rows[i] = r
	}
	encoded, err := json.Marshal(rows)
	if err != nil {
		return err
	}
	_, err = run(ctx, tx, "write conclusions", `select oxbow.write_conclusions($1, $2, $3, $4, $5, $6)`, userID, topic,
		actor, dense, sources, string(encoded))
	return stale(staleTarget(err))
}

// Conclusion is what facts and episodes of one topic come to.
type Conclusion struct {
	ID         uuid.UUID           `json:"id"` // of the memory
	Content    string              `json:"content"`
	Topic      string              `json:"topic"`
	Denies     bool                `json:"denies,omitzero"` // it says that something is so no longer
	Voices     []string            `json:"voices"`          // who says so: speakers and agents; "" is the user
	Conditions reasoner.Conditions `json:"conditions"`
	Confidence float64             `json:"confidence"` // 0 to 1
	Sources    []uuid.UUID         `json:"sources"`    // the memories that it rests on
	Sessions   int                 `json:"sessions"`   // number of conversations, or days, that these are from
	Version    int                 `json:"version"`
	Reason     string              `json:"reason,omitzero"` // why it was drawn, replaced its predecessor, or ended
	MadeBy     string              `json:"made_by"`
	CreatedAt  time.Time           `json:"created_at"`
	UpdatedAt  time.Time           `json:"updated_at"`
	EndedAt    time.Time           `json:"ended_at,omitzero"`      // zero: it is current
	Superseded uuid.UUID           `json:"superseded_by,omitzero"` // the next version
	Conflicts  []uuid.UUID         `json:"conflicts,omitempty"`    // conclusions of other sources that say the opposite
}

// Conclusions returns the conclusions about a user, the surest first, of one topic or of all if topic is empty.
func Conclusions(ctx context.Context, db DB, userID, topic string, versions bool, limit int) ([]Conclusion, error) {
	return list[Conclusion](ctx, db, "read conclusions", `
		select id, content, topic_key as topic, denies, voices, conditions, confidence, sources, sessions, version,
		       coalesce(reason, '') as reason, made_by, created_at, updated_at, ended_at, superseded_by as superseded, conflicts
		  from oxbow.conclusions_of($1, $2, $3, $4)`, userID, pointer(topic), versions, limit)
}

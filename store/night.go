package store

import (
	"context"
	"time"

	"github.com/google/uuid"

	"github.com/oxbow-memory/oxbow/internal/reasoner"
)

// Night is what the deep reflection of a user may still use.
type Night struct {
	Over    bool // the quiet hours have ended
	Awake   bool // a conversation goes on
	Spent   bool // the budget is used up
	Recalls int  // the number of memories that it may recall for the next question
	Fresh   bool // it has not asked anything yet
}

// Question is an open pattern.
type Question struct{ Key, Content string }

// PlanNight makes a deep reflection due at the next quiet hours of a user.
func PlanNight(ctx context.Context, tx DB, userID string, now time.Time) error {
	_, err := run(ctx, tx, "plan the night", `select oxbow.plan_night($1, $2)`, userID, now)
	return err
}

// DueNights returns at most limit users whose deep reflection is due.
func DueNights(ctx context.Context, db DB, now time.Time, limit int) ([]string, error) {
	return list[string](ctx, db, "look for due nights", `
		select user_id from oxbow.nights where due_at <= $1 and due_at < 'infinity' order by due_at limit $2`, now, limit)
}

// ReadNight returns what the night of a user may still use.
func ReadNight(ctx context.Context, db DB, userID string, now time.Time) (Night, error) {
	return one[Night](ctx, db, "read the night", `select * from oxbow.night($1, $2)`, userID, now)
}

// NextQuestion returns the question to ask next, or nil.
func NextQuestion(ctx context.Context, db DB, userID string) (*Question, error) {
	found, err := list[Question](ctx, db, "look for a question", `select * from oxbow.next_question($1)`, userID)
	if err != nil || len(found) == 0 {
		return nil, err
	}
	return &found[0], nil
}

// NoteQuestion records that a question was asked.
func NoteQuestion(ctx context.Context, tx DB, userID, key string, memories int, now time.Time) error {
	_, err := run(ctx, tx, "note the question", `select oxbow.note_question($1, $2, $3, $4)`, userID, key, memories, now)
	return err
}

// DelayNight lets a night go on at a later moment.
func DelayNight(ctx context.Context, tx DB, userID string, until time.Time) error {
	_, err := run(ctx, tx, "delay the night", `update oxbow.nights set due_at = $2 where user_id = $1`, userID, until)
	return err
}

// EndNight ends a night. again plans the next one.
func EndNight(ctx context.Context, tx DB, userID string, now time.Time, again bool) error {
	_, err := run(ctx, tx, "end the night", `select oxbow.end_night($1, $2, $3)`, userID, now, again)
	return err
}

// MemoriesAbout recalls at most limit facts and episodes for a question, in the order of InboxMemories. What reflection
// does not read, it leaves out.
func MemoriesAbout(ctx context.Context, db DB, userID string, p reasoner.Person, now time.Time, question string,
	limit int) ([]reasoner.Memory, error) {
	return readable(ctx, db, `oxbow.recall($1, $2, null, array['fact', 'episodic'], $3)`, p, now, userID, question, limit)
}

// RecentMemories returns at most limit of the latest facts and episodes that have a topic, like MemoriesAbout. It reads
// at most four topics for each.
func RecentMemories(ctx context.Context, db DB, userID string, p reasoner.Person, now time.Time,
	limit int) ([]reasoner.Memory, error) {
	return readable(ctx, db, `(
		select f.memory_type, f.memory_id as id
		  from (select * from oxbow.topic_fragments where user_id = $1 and at <= $2 order by at desc limit 4 * $3) f
		 group by f.memory_type, f.memory_id order by max(f.at) desc limit $3)`, p, now, userID, now, limit)
}

// readable returns the memories of a source, a part of a query with columns memory_type and id, that a reasoner may
// read. The first argument is the user.
func readable(ctx context.Context, db DB, source string, p reasoner.Person, now time.Time,
	args ...any) ([]reasoner.Memory, error) {
	type row struct {
		ID                                         uuid.UUID
		Type, Content, Speaker, Context, SessionID string
		ValidAt                                    time.Time
		Importance, Arousal                        float64
	}
	rows, err := list[row](ctx, db, "recall memories", `
		select m.id, m.memory_type::text as type, left(m.content, 6000) as content, m.speaker, m.session_id,
		       coalesce(m.valid_at, m.created_at) as valid_at, m.importance, m.metadata ->> 'context' as context,
		       oxbow.json_number(m.metadata #> '{emotion,arousal}') as arousal
		  from `+source+` r
		 cross join lateral (
		       select m.* from oxbow.memories m
		        where m.user_id = $1 and m.memory_type = r.memory_type and m.id = r.id limit 1) m
		 where m.sensitivity < 2 and m.forgotten_at is null
		   and coalesce(m.source, '') not in ('summary', 'merge', 'abstract')
		 order by valid_at, m.id`, args...)
	memories := make([]reasoner.Memory, len(rows))
	for i, r := range rows {
		m := reasoner.Memory{ID: r.ID, Type: r.Type, Content: r.Content, Speaker: r.Speaker,
			Time: earlier(r.ValidAt, now).In(p.Zone), Context: r.Context, Importance: r.Importance, Arousal: r.Arousal}
		m.Session = p.Session(r.SessionID, m.Time)
		memories[i] = m
	}
	return memories, err
}

package store

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/google/uuid"

	"github.com/oxbow-memory/oxbow/internal/reasoner"
)

// RecalledInto returns at most limit memories that were recalled into the conversation, as listed
// in the metadata of the messages: {"recalled": [ids]}.
func RecalledInto(ctx context.Context, db DB, userID string, messages []uuid.UUID, limit int) ([]reasoner.Held, error) {
	return list[reasoner.Held](ctx, db, "load the recalled memories", `
		select m.id, m.memory_type::text as type, left(m.content, 6000) as content, m.speaker, m.category,
		       coalesce(m.valid_at, m.created_at) as time, '{}'::text[] as about
		  from (select distinct case when e ~* '^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$' then e::uuid end as id
		          from oxbow.messages g
		         cross join lateral jsonb_array_elements_text(
		               case when jsonb_typeof(g.metadata -> 'recalled') = 'array' then g.metadata -> 'recalled'
		                    else '[]' end) e
		         where g.user_id = $1 and g.id = any($2)) r
		 cross join lateral ( -- each separately, instead of all of the user's
		       select * from oxbow.memories m where m.user_id = $1 and m.id = r.id limit 1) m
		 where m.expired_at is null and m.forgotten_at is null and m.sensitivity < 2
		 order by m.seq, m.id limit $3`, userID, messages, limit)
}

// SimilarFacts returns, for each vector, at most limit current facts of the user with a similarity
// of at least least (-1 to 1), the most similar first.
func SimilarFacts(ctx context.Context, db DB, userID string, vectors [][]float32, limit int, least float64) (
	[][]reasoner.Held, error,
) {
	all := make([][]reasoner.Held, len(vectors))
	var given [][]float32
	var of []int
	for i, v := range vectors {
		if v != nil {
			given, of = append(given, v), append(of, i)
		}
	}
	if len(given) == 0 {
		return all, nil
	}
	found, err := list[struct {
		Nth int
		reasoner.Held
	}](ctx, db, "look for similar facts", `
		select nth, id, 'fact' as type, left(content, 6000) as content, speaker, category, at as time, similarity
		  from oxbow.similar_facts($1, $2, $3, $4)`, userID, halfVectors(given), limit, least)
	for _, f := range found {
		all[of[f.Nth-1]] = append(all[of[f.Nth-1]], f.Held)
	}
	return all, err
}

// FactsAbout returns the current facts of the user about any of the given attributes, at most limit of each, the
// newest first. An attribute has one value at a time, such as a home.
func FactsAbout(ctx context.Context, db DB, userID string, about []string, limit int) ([]reasoner.Held, error) {
	if len(about) == 0 {
		return nil, nil
	}
	return list[reasoner.Held](ctx, db, "look for facts about the same attributes", `
		select id, 'fact' as type, left(content, 6000) as content, speaker, category, at as time, about
		  from oxbow.facts_about($1, $2, $3)`, userID, about, limit)
}

// Extracted is a candidate and its resolution.
type Extracted struct {
	ID uuid.UUID // of the resulting memory; later candidates may target it
	reasoner.Candidate
	reasoner.Resolution
	Vector []float32 // nil: could not be computed
}

// Extraction is the result of one batch of messages.
type Extraction struct {
	Session  Session
	Actor    string // the extractor
	Model    EmbeddingModel
	Messages []uuid.UUID // the messages extracted from
	Memories []Extracted
	Used     []uuid.UUID // recalled memories that a reply used

	Instructions []reasoner.Instruction // to the assistant, in their order
	Procedures   []reasoner.Procedure   // that the assistant is to follow
	Intentions   []reasoner.Intention   // of the user, in their order
}

// ExtractionCounts counts the changes of an extraction.
type ExtractionCounts struct {
	Added, Updated, Deleted, Mentioned, Boosted int
	Indexed                                     bool // new memories were indexed, so reflection may be due
}

// LockExtraction blocks other extractions of the user until the transaction ends, so that no
// message is extracted twice. It reports whether another extraction wrote something since the
// session was read. It returns ErrStale if any of the messages was extracted or erased in the
// meantime.
func LockExtraction(ctx context.Context, db DB, e Extraction) (others bool, err error) {
	if err := lockWrites(ctx, db, e.Session.UserID); err != nil {
		return false, err
	}
	const what = "lock the messages"
	locked, err := one[struct {
		Others   bool
		Messages int
	}](ctx, db, what, `
		select coalesce((select x.number from oxbow.extractions x where x.user_id = $1), 0) <> $3 as others,
		       count(*) as messages
		  from (select from oxbow.messages where user_id = $1 and id = any($2) and extracted_at is null
		         order by id for update) m`, e.Session.UserID, e.Messages, e.Session.Number)
	if err == nil && locked.Messages != len(e.Messages) {
		err = failed(what, ErrStale)
	}
	return locked.Others, err
}

// lockWrites makes extractions and reconciliations of a user wait for each other.
func lockWrites(ctx context.Context, db DB, userID string) error {
	_, err := run(ctx, db, "wait for the user's other extractions",
		`select pg_advisory_xact_lock(hashtextextended('oxbow.extract ' || $1, 0))`, userID)
	return err
}

// newMemory is a row that oxbow.write_extraction reads.
type newMemory struct {
	ID         uuid.UUID       `json:"id"`
	Type       string          `json:"type"`
	Content    string          `json:"content"`
	At         time.Time       `json:"at"`
	Speaker    *string         `json:"speaker"`
	Category   *string         `json:"category"`
	Topic      *string         `json:"topic"`
	Importance float64         `json:"importance"`
	Metadata   json.RawMessage `json:"metadata"`
	Sources    []uuid.UUID     `json:"sources"`
	Reason     *string         `json:"reason"`
	Operation  string          `json:"operation"`
	Target     *uuid.UUID      `json:"target"`
	Also       []uuid.UUID     `json:"also"`
	Policy     string          `json:"policy"`
}

// topicOf returns the topic (L) that follows from a category, or "".
func topicOf(c reasoner.Category) string {
	switch c {
	case reasoner.Identity:
		return "personal"
	case reasoner.StablePreference, reasoner.ShortPreference:
		return "preference"
	}
	return ""
}

// extractedMetadata is the metadata stored with an extracted memory.
type extractedMetadata struct {
	Context   string              `json:"context,omitempty"`
	Emotion   *reasoner.Emotion   `json:"emotion,omitempty"`
	Entities  []reasoner.Entity   `json:"entities,omitempty"`
	Relations []reasoner.Relation `json:"relations,omitempty"`
	About     []string            `json:"about,omitempty"`
}

// WriteExtraction writes an extraction in the caller's transaction, which must hold LockExtraction.
// It writes new memories and their vectors, supersedes old ones, counts mentions, and records the
// sources and the history of each operation. It marks the messages as extracted. If every new
// memory has its vector, it indexes them; otherwise it leaves that to the embed job.
func WriteExtraction(ctx context.Context, db DB, e Extraction) (counts ExtractionCounts, err error) {
	same, said, err := sameFacts(ctx, db, e)
	if err != nil {
		return counts, err
	}
	rows := []newMemory{}
	var ids []uuid.UUID
	var vectors [][]float32
	embed := false
	as := map[uuid.UUID]uuid.UUID{} // maps a candidate to the existing memory with the same words
	for _, m := range e.Memories {
		m.Target = cmp.Or(as[m.Target], m.Target)
		also := []uuid.UUID{}
		for _, id := range m.Also {
			if id = cmp.Or(as[id], id); id != m.Target && !slices.Contains(also, id) {
				also = append(also, id)
			}
		}
		m.Also = also
		written := m.Operation == reasoner.Add || m.Operation == reasoner.Update
		if there := same[said[m.Content]]; m.Type == string(Fact) && there != uuid.Nil && written {
			m.Resolution = reasoner.Resolution{Operation: reasoner.Noop, Target: there, Reason: "the same words"}
			as[m.ID] = there
		}
		if m.Operation == reasoner.Update || m.Operation == reasoner.Delete {
			maps.DeleteFunc(same, func(_, id uuid.UUID) bool { return id == m.Target || slices.Contains(m.Also, id) })
		}
		metadata, err := json.Marshal(extractedMetadata{m.Context, m.Emotion, m.Entities, m.Relations, aboutOf(m)})
		if err != nil {
			return counts, err
		}
		row := newMemory{ID: m.ID, Type: m.Type, Content: m.Content, At: m.Time.UTC(), Speaker: pointer(m.Speaker),
			Category: pointer(string(m.Category)), Topic: pointer(cmp.Or(m.Topic, topicOf(m.Category))),
			Importance: m.Importance, Metadata: metadata, Sources: m.Sources,
			Reason: pointer(m.Reason), Operation: string(m.Operation), Target: pointer(m.Target), Also: also,
			Policy: policyOf(m.Category)}
		if m.Type == string(Fact) && (m.Operation == reasoner.Add || m.Operation == reasoner.Update) {
			same[said[m.Content]] = row.ID
		}
		switch {
		case m.Operation != reasoner.Add && m.Operation != reasoner.Update:
		case m.Vector == nil:
			embed = true
		default:
			ids, vectors = append(ids, row.ID), append(vectors, m.Vector)
		}
		rows = append(rows, row)
	}
	given, err := json.Marshal(rows)
	if err != nil {
		return counts, err
	}
	counts, err = one[ExtractionCounts](ctx, db, "write the extraction", `
		select added, updated, deleted, mentioned, boosted
		  from oxbow.write_extraction($1, $2, $3, $4, $5, $6, $7)`,
		e.Session.UserID, e.Session.ID, e.Actor, e.Messages, string(given), e.Used, embed)
	if err != nil {
		return counts, staleTarget(err)
	}
	if err := hearIntentions(ctx, db, e); err != nil {
		return counts, err
	}
	if err := hearInstructions(ctx, db, e); err != nil {
		return counts, err
	}
	if _, err := WriteVectors(ctx, db, e.Model, Refs(e.Session.UserID, ids), vectors); err != nil {
		return counts, err
	}
	if embed || len(ids) == 0 {
		return counts, nil
	}
	_, err = IndexMemories(ctx, db, Refs(e.Session.UserID, ids))
	counts.Indexed = err == nil
	return counts, err
}

// aboutOf returns the attributes of a fact. It returns nil for other types, because only facts
// supersede each other.
func aboutOf(m Extracted) []string {
	if m.Type != string(Fact) {
		return nil
	}
	return m.About
}

// sameFacts returns the hash (oxbow.content_hash) of each candidate's text, and for each hash the
// current fact of the user with the same text.
func sameFacts(ctx context.Context, db DB, e Extraction) (
	same map[uuid.UUID]uuid.UUID, said map[string]uuid.UUID, err error,
) {
	contents := []string{}
	for _, m := range e.Memories {
		contents = append(contents, m.Content)
	}
	same, said = map[uuid.UUID]uuid.UUID{}, map[string]uuid.UUID{}
	found, err := list[struct {
		Content  string
		Hash, ID uuid.UUID
	}](ctx, db, "look for facts with the same words", `
		select c.content, c.hash, m.id
		  from (select content, oxbow.content_hash(content) as hash from unnest($2::text[]) content) c
		  left join lateral (
		       select m.id from oxbow.memories_fact m
		        where m.user_id = $1 and m.content_hash = c.hash
		          and m.expired_at is null and m.forgotten_at is null and m.sensitivity < 2
		          and (m.invalid_at is null or m.invalid_at > now())
		        order by m.created_at, m.id limit 1) m on true`, e.Session.UserID, contents)
	for _, f := range found {
		if said[f.Content] = f.Hash; f.ID != uuid.Nil {
			same[f.Hash] = f.ID
		}
	}
	return same, said, err
}

// policyOf returns the default conflict policy of a category: what happens to the old memory unless
// the settings override it.
func policyOf(c reasoner.Category) string {
	switch c {
	case reasoner.StablePreference:
		return "version_keep"
	case reasoner.ShortPreference:
		return "weight_balance"
	}
	return "latest_wins"
}

// staleTarget wraps error OX105 of oxbow.write_extraction, which reports a target that has ended,
// in ErrStale.
func staleTarget(err error) error {
	if code(err) == "OX105" {
		return fmt.Errorf("%w: %w", ErrStale, err)
	}
	return stale(err)
}

// ExtractionDone deletes the waiting jobs of a session whose messages have been extracted. It runs
// last in the transaction and keeps the jobs that a worker has taken.
func ExtractionDone(ctx context.Context, db DB, s Session) error {
	_, err := run(ctx, db, "delete jobs without work", `
		delete from oxbow.river_job where id in (
		  select id from oxbow.river_job
		   where id = any($1) and state in ('available', 'scheduled') for update skip locked)`, s.Jobs)
	return err
}

// PassOverMessages marks all messages of a session as extracted without storing anything. It is for
// users who opted out.
func PassOverMessages(ctx context.Context, db DB, s Session) error {
	_, err := run(ctx, db, "skip messages", `
		update oxbow.messages set extracted_at = now()
		 where user_id = $1 and session_id = $2 and extracted_at is null`, s.UserID, s.ID)
	if err != nil {
		return err
	}
	return PassOverSummary(ctx, db, s.UserID, s.ID)
}

// ExtractionFailed records why extraction from the messages failed. It returns the highest failure
// count among them, or 0 if none of them waits for extraction any more.
func ExtractionFailed(ctx context.Context, db DB, userID string, messages []uuid.UUID, why string) (int, error) {
	return one[int](ctx, db, "record why the extraction failed", `
		with failed as (
		  update oxbow.messages set extract_failures = extract_failures + 1, extract_error = left($3, 1000)
		   where user_id = $1 and id = any($2) and extracted_at is null returning extract_failures)
		select max(extract_failures) from failed`, userID, messages, quoted(why))
}

package store

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/pgvector/pgvector-go"

	"github.com/oxbow-memory/oxbow/internal/reasoner"
	"github.com/oxbow-memory/oxbow/internal/traits"
)

// ReadPerson returns a user's settings. A user without a time zone gets UTC dates.
func ReadPerson(ctx context.Context, db DB, userID string) (reasoner.Person, error) {
	p := reasoner.Person{Zone: time.UTC, Timezone: "UTC"}
	found, err := Collect(ctx, db, pgx.RowToStructByPos[struct {
		Timezone  string
		ZoneKnown bool
		Language  string
		OptedOut  bool
	}], `
		select coalesce(timezone, 'UTC'), timezone is not null, coalesce(language, ''), opted_out from oxbow.users where user_id = $1`, userID)
	if err != nil {
		return p, fmt.Errorf("load the user's settings: %w", err)
	}
	for _, f := range found {
		p.Timezone, p.ZoneKnown, p.Language, p.OptedOut = f.Timezone, f.ZoneKnown, f.Language, f.OptedOut
		if zone, err := time.LoadLocation(f.Timezone); err == nil { // PostgreSQL knows zones that Go does not
			p.Zone = zone
		}
	}
	return p, nil
}

// InboxMemories returns the oldest memories of a user's inbox in the form that a reasoner reads,
// and all inbox rows it looked at, in the same order. Only the rows include forgotten memories. A
// memory's time is never after now, and its text is cut at 6,000 characters, the most a reasoner
// reads. The query looks up each memory on its own: right after a bulk load PostgreSQL has no
// statistics, and a join would read all of the user's memories in every batch.
func InboxMemories(ctx context.Context, db DB, userID string, p reasoner.Person, now time.Time, limit int) ([]reasoner.Memory, []traits.Unreflected, error) {
	var memories []reasoner.Memory
	var there bool
	batch, err := Collect(ctx, db, func(row pgx.CollectableRow) (u traits.Unreflected, err error) {
		var m reasoner.Memory
		var vector *pgvector.HalfVector
		err = row.Scan(&m.Type, &m.ID, &u.ValidAt, &m.Importance, &u.SessionID, &there, &m.Content, &m.Speaker, &m.Context,
			&m.Arousal, &vector)
		u.Type, u.ID, u.Importance = m.Type, m.ID, m.Importance
		if err != nil || !there {
			return u, err
		}
		m.Time = earlier(u.ValidAt, now).In(p.Zone)
		m.Session = p.Session(u.SessionID, m.Time)
		if vector != nil {
			m.Vector = vector.Slice()
		}
		memories = append(memories, m)
		return u, nil
	}, `
		with batch as materialized (
		  select i.memory_type, i.memory_id, i.valid_at, i.importance, i.session_id
		    from oxbow.reflection_inbox i where i.user_id = $1
		   order by i.valid_at, i.memory_id limit $2
		)
		select b.memory_type::text, b.memory_id, b.valid_at, b.importance, coalesce(b.session_id, ''), m.forgotten_at is null,
		       left(m.content, 6000), coalesce(m.speaker, ''), coalesce(m.metadata ->> 'context', ''),
		       case when jsonb_typeof(m.metadata #> '{emotion,arousal}') = 'number' then (m.metadata #>> '{emotion,arousal}')::double precision else 0 end,
		       v.embedding
		  from batch b
		 cross join lateral (
		       select m.* from oxbow.memories m where m.user_id = $1 and m.memory_type = b.memory_type and m.id = b.memory_id limit 1) m
		  left join lateral (
		       select v.embedding from oxbow.memory_vectors v
		        where v.user_id = $1 and v.memory_type = b.memory_type and v.memory_id = b.memory_id limit 1) v on true
		 order by b.valid_at, b.memory_id`, userID, limit)
	if err != nil {
		return nil, nil, fmt.Errorf("load the inbox: %w", err)
	}
	return memories, batch, nil
}

func earlier(a, b time.Time) time.Time {
	if a.After(b) {
		return b
	}
	return a
}

const reflectedTrait = `
	select m.id, coalesce(m.trait_key, ''), m.content, coalesce(m.trait_subtype, 'behavior'), coalesce(m.trait_stage, 'candidate'),
	       coalesce(m.trait_confidence, 0), coalesce(m.trait_confidence_at, m.created_at), coalesce(m.trait_reinforcement_count, 0), coalesce(m.trait_contradiction_count, 0),
	       m.trait_window_end, coalesce(m.trait_context, 'general'), m.metadata, m.trait_parent_id, m.version, m.trait_first_observed,
	       m.trait_last_reinforced, m.trait_edited_at, m.trait_review_due_at,
	       m.trait_stage = 'dissolved' and m.trait_edited_at is not null and coalesce((
	         select e.event = 'dissolved' and e.actor not in ('settle', 'reflection') from oxbow.trait_events e
	          where e.user_id = m.user_id and e.trait_id = m.id order by e.seq desc limit 1), false) as rejected
	  from oxbow.memories_trait m
	 where m.user_id = $1 and m.expired_at is null and m.forgotten_at is null `

func collectTraits(ctx context.Context, db DB, what string, sql string, args ...any) ([]traits.Trait, error) {
	found, err := Collect(ctx, db, scanTrait, reflectedTrait+sql, args...)
	if err != nil {
		return nil, fmt.Errorf("load %s: %w", what, err)
	}
	return found, nil
}

func scanTrait(row pgx.CollectableRow) (t traits.Trait, err error) {
	var confidenceAt, windowEnd, first, last, edited, review *time.Time
	var parent *uuid.UUID
	var metadata struct {
		Contexts []string `json:"evidence_contexts"`
	}
	var raw []byte
	err = row.Scan(&t.ID, &t.Key, &t.Content, &t.State.Subtype, &t.State.Stage, &t.State.Confidence, &confidenceAt, &t.State.Reinforcements,
		&t.State.Contradictions, &windowEnd, &t.Context, &raw, &parent, &t.Version, &first, &last, &edited, &review, &t.Rejected)
	if err != nil {
		return t, err
	}
	_ = json.Unmarshal(raw, &metadata) // an import may have stored any JSON
	t.Contexts = metadata.Contexts
	t.State.At, t.State.WindowEnd = or(confidenceAt), or(windowEnd)
	t.FirstObserved, t.LastReinforced, t.EditedAt, t.ReviewDueAt = or(first), or(last), or(edited), or(review)
	t.Parent = or(parent)
	return t, nil
}

// LiveTraits returns at most limit of a user's traits that are not dissolved, the most confident
// first.
func LiveTraits(ctx context.Context, db DB, userID string, limit int) ([]traits.Trait, error) {
	return collectTraits(ctx, db, "the traits", `and m.trait_stage in ('trend', 'candidate', 'emerging', 'established', 'core')
		 order by m.trait_confidence desc nulls last, m.trait_first_observed, m.trait_key, m.id limit $2`, userID, limit)
}

// TraitsByKey returns a user's traits with any of the keys, including dissolved ones.
func TraitsByKey(ctx context.Context, db DB, userID string, keys []string) ([]traits.Trait, error) {
	return collectTraits(ctx, db, "the traits of patterns", `and m.trait_key = any($2)
		 order by m.trait_stage = 'dissolved', m.trait_confidence desc nulls last, m.trait_first_observed, m.trait_key, m.id`, userID, keys)
}

// TraitsSaying returns a user's traits with any of the keys or wordings, including dissolved ones.
func TraitsSaying(ctx context.Context, db DB, userID string, keys, contents []string) ([]traits.Trait, error) {
	return collectTraits(ctx, db, "the traits of patterns", `and (m.trait_key = any($2) or m.content = any($3))
		 order by m.trait_stage = 'dissolved', m.trait_confidence desc nulls last, m.trait_first_observed, m.trait_key, m.id`, userID, keys, contents)
}

// RejectedTraits returns at most limit traits that the person dissolved, the latest first.
func RejectedTraits(ctx context.Context, db DB, userID string, limit int) ([]traits.Trait, error) {
	found, err := collectTraits(ctx, db, "the traits that the person dissolved", `and m.trait_stage = 'dissolved' and m.trait_edited_at is not null
		 order by m.trait_edited_at desc, m.id limit $2`, userID, limit)
	return slices.DeleteFunc(found, func(t traits.Trait) bool { return !t.Rejected }), err
}

// TraitsToReview returns a user's traits with a contradiction review due, the longest overdue
// first.
func TraitsToReview(ctx context.Context, db DB, userID string) ([]traits.Trait, error) {
	return collectTraits(ctx, db, "the traits to review", `and m.trait_review_due_at is not null
		 order by m.trait_review_due_at, m.trait_first_observed, m.trait_key, m.id`, userID)
}

// CountTraits counts a user's visible traits, trends and candidates.
func CountTraits(ctx context.Context, db DB, userID string) (n traits.Counts, err error) {
	err = db.QueryRow(ctx, `
		select count(*) filter (where trait_stage in ('emerging', 'established', 'core')), count(*) filter (where trait_stage = 'trend'),
		       count(*) filter (where trait_stage = 'candidate')
		  from oxbow.memories_trait
		 where user_id = $1 and expired_at is null and forgotten_at is null
		   and trait_stage in ('trend', 'candidate', 'emerging', 'established', 'core')`, userID).Scan(&n.Visible, &n.Trends, &n.Candidates)
	if err != nil {
		return n, fmt.Errorf("count the traits: %w", err)
	}
	return n, nil
}

// TraitSightings returns the latest memories that support each of the traits, the oldest first.
func TraitSightings(ctx context.Context, db DB, userID string, traits []uuid.UUID, p reasoner.Person) (map[uuid.UUID][]reasoner.Sighting, error) {
	seen := map[uuid.UUID][]reasoner.Sighting{}
	if len(traits) == 0 {
		return seen, nil
	}
	var trait uuid.UUID
	var s reasoner.Sighting
	return seen, each(ctx, db, "load the evidence of traits", []any{&trait, &s.Memory, &s.Session, &s.Context, &s.Time}, func() {
		s.Time = s.Time.In(p.Zone)
		seen[trait] = append(seen[trait], s)
	}, `
		select t.id, e.memory_id, e.session_key, coalesce(e.context, ''), e.observed_at
		  from unnest($2::uuid[]) t(id)
		 cross join lateral (
		       select * from oxbow.trait_evidence e
		        where e.user_id = $1 and e.trait_id = t.id and e.direction = 'supporting' order by e.observed_at desc, e.memory_id limit $3) e
		 order by t.id, e.observed_at, e.memory_id`, userID, traits, firstSightings+latestSightings)
}

// CountInboxAfter returns the number of memories in a user's inbox that are dated after at.
func CountInboxAfter(ctx context.Context, db DB, userID string, at time.Time) (n int64, err error) {
	err = db.QueryRow(ctx, `select count(*) from oxbow.reflection_inbox where user_id = $1 and valid_at > $2`, userID, at).Scan(&n)
	if err != nil {
		return 0, fmt.Errorf("count the inbox: %w", err)
	}
	return n, nil
}

// A clue keeps its first and its latest sightings.
const (
	firstSightings  = 8
	latestSightings = 16
)

// CluesByKey returns the clues of the given patterns, by key and then the oldest first.
func CluesByKey(ctx context.Context, db DB, userID string, keys []string) ([]traits.NotedClue, error) {
	return collectClues(ctx, db, `where c.user_id = $1 and c.key = any($2)`, userID, keys)
}

// LatestClues returns all clues of the patterns that the latest limit clues belong to.
func LatestClues(ctx context.Context, db DB, userID string, limit int) ([]traits.NotedClue, error) {
	return collectClues(ctx, db, `where c.user_id = $1 and c.key in (
		select l.key from (select key, created_at from oxbow.trait_clues where user_id = $1 and not against order by created_at desc limit $2) l)`, userID, limit)
}

func collectClues(ctx context.Context, db DB, where string, args ...any) ([]traits.NotedClue, error) {
	clues, err := Collect(ctx, db, pgx.RowToStructByPos[traits.NotedClue], `
		select c.key, c.content, c.against, c.memory_type::text, c.memory_id, c.session_key, coalesce(c.context, ''), c.stated, c.observed_at, c.skipped
		  from oxbow.trait_clues c `+where+` order by c.key, c.observed_at, c.memory_id`, args...)
	if err != nil {
		return nil, fmt.Errorf("load the clues: %w", err)
	}
	return clues, nil
}

// Refused reports which of the texts belong to a trait that the user deleted or forgot. A text is
// the key of a pattern or the wording of a trait.
func Refused(ctx context.Context, db DB, userID string, texts []string) (map[string]bool, error) {
	found, err := Collect(ctx, db, pgx.RowTo[string], `
		select t.said from unnest($2::text[]) t(said)
		 where exists (select from oxbow.trait_refusals r where r.user_id = $1 and r.hash = oxbow.trait_hash(t.said))
		    or exists (select from oxbow.memories_trait m where m.user_id = $1 and m.forgotten_at is not null and t.said in (m.trait_key, m.content))`, userID, texts)
	if err != nil {
		return nil, fmt.Errorf("look for deleted traits: %w", err)
	}
	refused := make(map[string]bool, len(found))
	for _, t := range found {
		refused[t] = true
	}
	return refused, nil
}

// SeenEvidence reports, for each claim, whether its memory already counted and whether its session
// already supports the trait. For each trait in weighed it counts the supporting evidence, up to
// the given number. Each question takes one index lookup, however much evidence exists: the query
// asks for the first row at or after the key, in an order that only the right index provides. With
// "=", and without statistics, PostgreSQL may choose another index and read all evidence of the
// trait.
func SeenEvidence(ctx context.Context, db DB, userID string, claims []traits.Claim, weighed map[uuid.UUID]int) (map[uuid.UUID]*traits.EvidenceSeen, error) {
	seen := map[uuid.UUID]*traits.EvidenceSeen{}
	of := func(id uuid.UUID) *traits.EvidenceSeen {
		if seen[id] == nil {
			seen[id] = &traits.EvidenceSeen{Counted: map[traits.EvidenceKey]bool{}}
		}
		return seen[id]
	}
	n := len(claims)
	ids, memories := make([]uuid.UUID, n), make([]uuid.UUID, n)
	directions, types, sessions := make([]string, n), make([]string, n), make([]string, n)
	for i, c := range claims {
		ids[i], directions[i], memories[i], types[i], sessions[i] = c.Trait, c.Direction, c.Memory, c.Type, c.Session
	}
	var trait, memory uuid.UUID
	var text string
	err := each(ctx, db, "look for evidence that counted", []any{&trait, &memory, &text}, func() {
		of(trait).Counted[traits.EvidenceKey{Memory: memory, Direction: text}] = true
	}, `
		select c.trait, c.memory, c.direction
		  from unnest($2::uuid[], $3::text[], $4::text[], $5::uuid[]) c(trait, direction, type, memory)
		 cross join lateral (
		       select e.trait_id, e.direction, e.memory_type, e.memory_id from oxbow.trait_evidence e
		        where e.user_id = $1 and (e.trait_id, e.direction, e.memory_type, e.memory_id) >= (c.trait, c.direction, c.type, c.memory)
		        order by e.trait_id, e.direction, e.memory_type, e.memory_id limit 1) e
		 where (e.trait_id, e.direction, e.memory_type, e.memory_id) = (c.trait, c.direction, c.type, c.memory)`, userID, ids, directions, types, memories)
	if err != nil {
		return nil, err
	}
	err = each(ctx, db, "look for the sessions of evidence", []any{&trait, &text}, func() {
		of(trait).Sessions = append(of(trait).Sessions, text)
	}, `
		select c.trait, c.session from (select distinct * from unnest($2::uuid[], $3::text[])) c(trait, session)
		 cross join lateral (
		       select e.trait_id, e.session_key, e.direction from oxbow.trait_evidence e
		        where e.user_id = $1 and (e.session_key, e.trait_id, e.direction) >= (c.session, c.trait, 'supporting')
		        order by e.session_key, e.trait_id, e.direction limit 1) e
		 where (e.session_key, e.trait_id, e.direction) = (c.session, c.trait, 'supporting')`, userID, ids, sessions)
	if err != nil || len(weighed) == 0 {
		return seen, err
	}
	var count int
	weighedIDs, limits := make([]uuid.UUID, 0, len(weighed)), make([]int, 0, len(weighed))
	for id, limit := range weighed {
		weighedIDs, limits = append(weighedIDs, id), append(limits, limit)
	}
	return seen, each(ctx, db, "count the evidence", []any{&trait, &count}, func() {
		of(trait).Supporting = count
	}, `
		select t.id, (select count(*) from (select from oxbow.trait_evidence e
		         where e.user_id = $1 and e.trait_id = t.id and e.direction = 'supporting' limit t.most) n)
		  from unnest($2::uuid[], $3::integer[]) t(id, most)`, userID, weighedIDs, limits)
}

// each runs a query and calls do after it scans each row into dest.
func each(ctx context.Context, db DB, what string, dest []any, do func(), sql string, args ...any) error {
	if err := ForEach(ctx, db, dest, func() error { do(); return nil }, sql, args...); err != nil {
		return fmt.Errorf("%s: %w", what, err)
	}
	return nil
}

// ReviewEvidence returns at most limit of the latest memories that support or contradict a trait.
func ReviewEvidence(ctx context.Context, db DB, userID string, trait uuid.UUID, direction string, p reasoner.Person, limit int) ([]reasoner.Evidence, error) {
	evidence, err := Collect(ctx, db, func(row pgx.CollectableRow) (e reasoner.Evidence, err error) {
		err = row.Scan(&e.Type, &e.ID, &e.Content, &e.Speaker, &e.Time, &e.Session, &e.Context, &e.Importance, &e.Quality)
		e.Time = e.Time.In(p.Zone)
		return e, err
	}, `
		select e.memory_type::text, e.memory_id, left(m.content, 6000), coalesce(m.speaker, ''), e.observed_at, e.session_key, coalesce(e.context, ''),
		       m.importance, e.quality
		  from (select * from oxbow.trait_evidence e where e.user_id = $1 and e.trait_id = $2 and e.direction = $3
		         order by e.observed_at desc, e.memory_id limit $4) e
		  join oxbow.memories m on m.user_id = e.user_id and m.memory_type = e.memory_type and m.id = e.memory_id
		 where m.forgotten_at is null
		 order by e.observed_at desc, e.memory_id`, userID, trait, direction, limit)
	if err != nil {
		return nil, fmt.Errorf("load the evidence: %w", err)
	}
	return evidence, nil
}

package store

import (
	"context"
	"encoding/json"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/oxbow-memory/oxbow/internal/lifecycle"
	"github.com/oxbow-memory/oxbow/internal/reasoner"
	"github.com/oxbow-memory/oxbow/internal/traits"
)

// ReadPerson returns a user's settings. A user without a time zone, or with one that Go does not know, gets UTC dates.
func ReadPerson(ctx context.Context, db DB, userID string) (reasoner.Person, error) {
	p, err := one[reasoner.Person](ctx, db, "load the user's settings", `
		select coalesce(u.timezone, 'UTC') as timezone, u.timezone is not null as zone_known, u.language, u.opted_out
		  from (values ($1::text)) i(user_id) left join oxbow.users u using (user_id)`, userID)
	zone, unknown := time.LoadLocation(p.Timezone)
	if fixed, _, ok := strings.Cut(p.Timezone, ">"); ok { // a zoneName
		var at time.Time
		at, unknown = time.Parse("<-07:00", fixed)
		zone = at.Location()
	}
	if p.Zone = zone; unknown != nil {
		p.Zone, p.ZoneKnown = time.UTC, false
	}
	return p, err
}

// InboxMemories returns the oldest memories of a user's inbox in the form that a reasoner reads,
// and all inbox rows it looked at, in the same order. Only the rows include forgotten memories. A
// memory's time is never after now, and its text is cut at 6,000 characters, the most a reasoner
// reads. The query looks up each memory on its own: right after a bulk load PostgreSQL has no
// statistics, and a join would read all of the user's memories in every batch.
func InboxMemories(ctx context.Context, db DB, userID string, p reasoner.Person, now time.Time, limit int) (
	[]reasoner.Memory, []traits.Unreflected, error,
) {
	type row struct {
		traits.Unreflected
		Present                   bool
		Content, Speaker, Context string
		Arousal                   float64
	}
	rows, err := list[row](ctx, db, "load the inbox", `
		with batch as materialized (
		  select i.memory_type, i.memory_id, i.valid_at, i.importance, i.session_id
		    from oxbow.reflection_inbox i where i.user_id = $1
		   order by i.valid_at, i.memory_id limit $2
		)
		select b.memory_type::text as type, b.memory_id as id, b.valid_at, b.importance, b.session_id,
		       m.forgotten_at is null and m.sensitivity < 2 as present, left(m.content, 6000) as content, m.speaker,
		       m.metadata ->> 'context' as context,
		       oxbow.json_number(m.metadata #> '{emotion,arousal}') as arousal
		  from batch b
		 cross join lateral (
		       select m.* from oxbow.memories m
		        where m.user_id = $1 and m.memory_type = b.memory_type and m.id = b.memory_id limit 1) m
		 order by b.valid_at, b.memory_id`, userID, limit)
	var memories []reasoner.Memory
	batch := make([]traits.Unreflected, len(rows))
	for i, r := range rows {
		if batch[i] = r.Unreflected; !r.Present {
			continue
		}
		m := reasoner.Memory{ID: r.ID, Type: r.Type, Content: r.Content, Speaker: r.Speaker,
			Time: earlier(r.ValidAt, now).In(p.Zone), Context: r.Context, Importance: r.Importance, Arousal: r.Arousal}
		m.Session = p.Session(r.SessionID, m.Time)
		memories = append(memories, m)
	}
	return memories, batch, err
}

func earlier(a, b time.Time) time.Time {
	if a.After(b) {
		return b
	}
	return a
}

const reflectedTrait = `
	select m.id, m.trait_key as key, m.content, coalesce(m.trait_subtype, 'behavior') as subtype,
	       coalesce(m.trait_stage, 'candidate') as stage, m.trait_confidence as confidence,
	       coalesce(m.trait_confidence_at, m.created_at) as at, m.trait_reinforcement_count as reinforcements,
	       m.trait_contradiction_count as contradictions, m.trait_window_end as window_end,
	       coalesce(m.trait_context, 'general') as context, m.metadata, m.trait_parent_id as parent, m.version,
	       m.trait_first_observed as first_observed, m.trait_last_reinforced as last_reinforced,
	       m.trait_edited_at as edited_at, m.trait_review_due_at as review_due_at,
	       m.trait_stage = 'dissolved' and m.trait_edited_at is not null and coalesce((
	         select e.event = 'dissolved' and e.actor not in ('settle', 'reflection') from oxbow.trait_events e
	          where e.user_id = m.user_id and e.trait_id = m.id order by e.seq desc limit 1), false) as rejected
	  from oxbow.memories_trait m
	 where m.user_id = $1 and m.expired_at is null and m.forgotten_at is null `

func listTraits(ctx context.Context, db DB, what, sql string, args ...any) ([]traits.Trait, error) {
	type row struct {
		traits.Trait
		lifecycle.State
		Metadata json.RawMessage
	}
	rows, err := list[row](ctx, db, what, reflectedTrait+sql, args...)
	found := make([]traits.Trait, len(rows))
	for i, r := range rows {
		found[i] = r.Trait
		found[i].State = r.State
		var metadata struct {
			Contexts []string `json:"evidence_contexts"`
		}
		_ = json.Unmarshal(r.Metadata, &metadata) // an import may have stored any JSON
		found[i].Contexts = metadata.Contexts
	}
	return found, err
}

// LiveTraits returns at most limit of a user's traits that are not dissolved, the most confident
// first.
func LiveTraits(ctx context.Context, db DB, userID string, limit int) ([]traits.Trait, error) {
	return listTraits(ctx, db, "load the traits", `
		   and m.trait_stage in ('trend', 'candidate', 'emerging', 'established', 'core')
		 order by m.trait_confidence desc nulls last, m.trait_first_observed, m.trait_key, m.id limit $2`,
		userID, limit)
}

// TraitsByKey returns a user's traits with any of the keys, including dissolved ones.
func TraitsByKey(ctx context.Context, db DB, userID string, keys []string) ([]traits.Trait, error) {
	return listTraits(ctx, db, "load the traits of patterns", `
		   and m.trait_key = any($2) `+liveFirst, userID, keys)
}

// TraitsByWording returns a user's traits with any of the keys or wordings, including dissolved ones.
func TraitsByWording(ctx context.Context, db DB, userID string, keys, contents []string) ([]traits.Trait, error) {
	return listTraits(ctx, db, "load the traits of patterns", `
		   and (m.trait_key = any($2) or m.content = any($3)) `+liveFirst, userID, keys, contents)
}

const liveFirst = `
		 order by m.trait_stage = 'dissolved', m.trait_confidence desc nulls last, m.trait_first_observed,
		          m.trait_key, m.id`

// RejectedTraits returns at most limit traits that the person dissolved, the latest first.
func RejectedTraits(ctx context.Context, db DB, userID string, limit int) ([]traits.Trait, error) {
	found, err := listTraits(ctx, db, "load the traits that the person dissolved", `
		   and m.trait_stage = 'dissolved' and m.trait_edited_at is not null
		 order by m.trait_edited_at desc, m.id limit $2`, userID, limit)
	return slices.DeleteFunc(found, func(t traits.Trait) bool { return !t.Rejected }), err
}

// TraitsToReview returns a user's traits with a contradiction review due, the longest overdue
// first.
func TraitsToReview(ctx context.Context, db DB, userID string) ([]traits.Trait, error) {
	return listTraits(ctx, db, "load the traits to review", `
		   and m.trait_review_due_at is not null
		 order by m.trait_review_due_at, m.trait_first_observed, m.trait_key, m.id`, userID)
}

// ReviewDue reports whether a trait of a user who has not opted out is due for review.
func ReviewDue(ctx context.Context, db DB, userID string) (bool, error) {
	return one[bool](ctx, db, "look for a trait to review", `
		select exists (select from oxbow.memories_trait m
		                where m.user_id = $1::text and m.trait_review_due_at is not null and m.expired_at is null
		                  and m.forgotten_at is null)
		   and not exists (select from oxbow.users u where u.user_id = $1::text and u.opted_out)`, userID)
}

// CountTraits counts a user's visible traits, trends and candidates.
func CountTraits(ctx context.Context, db DB, userID string) (traits.Counts, error) {
	return one[traits.Counts](ctx, db, "count the traits", `
		select count(*) filter (where trait_stage in ('emerging', 'established', 'core')) as visible,
		       count(*) filter (where trait_stage = 'trend') as trends,
		       count(*) filter (where trait_stage = 'candidate') as candidates
		  from oxbow.memories_trait
		 where user_id = $1 and expired_at is null and forgotten_at is null
		   and trait_stage in ('trend', 'candidate', 'emerging', 'established', 'core')`, userID)
}

// TraitSightings returns the latest memories that support each of the traits, the oldest first.
func TraitSightings(ctx context.Context, db DB, userID string, traits []uuid.UUID, p reasoner.Person) (
	map[uuid.UUID][]reasoner.Sighting, error,
) {
	seen := map[uuid.UUID][]reasoner.Sighting{}
	if len(traits) == 0 {
		return seen, nil
	}
	rows, err := list[struct {
		Trait uuid.UUID
		reasoner.Sighting
	}](ctx, db, "load the evidence of traits", `
		select t.id as trait, e.memory_id as memory, e.session_key as session, e.context, e.observed_at as time
		  from unnest($2::uuid[]) t(id)
		 cross join lateral (
		       select * from oxbow.trait_evidence e
		        where e.user_id = $1 and e.trait_id = t.id and e.direction = 'supporting'
		        order by e.observed_at desc, e.memory_id limit $3) e
		 order by t.id, e.observed_at, e.memory_id`, userID, traits, firstSightings+latestSightings)
	for _, r := range rows {
		r.Time = r.Time.In(p.Zone)
		seen[r.Trait] = append(seen[r.Trait], r.Sighting)
	}
	return seen, err
}

// CountInboxAfter returns the number of memories in a user's inbox that are dated after at.
func CountInboxAfter(ctx context.Context, db DB, userID string, at time.Time) (int64, error) {
	return one[int64](ctx, db, "count the inbox",
		`select count(*) from oxbow.reflection_inbox where user_id = $1 and valid_at > $2`, userID, at)
}

// A clue keeps its first and its latest sightings.
const (
	firstSightings  = 8
	latestSightings = 16
)

// CluesByKey returns the clues of the given patterns, by key and then the oldest first.
func CluesByKey(ctx context.Context, db DB, userID string, keys []string) ([]traits.NotedClue, error) {
	return listClues(ctx, db, `c.key = any($2)`, userID, keys)
}

// LatestClues returns all clues of the patterns that the latest limit clues belong to.
func LatestClues(ctx context.Context, db DB, userID string, limit int) ([]traits.NotedClue, error) {
	return listClues(ctx, db, `c.key in (
		select l.key from (select key, created_at from oxbow.trait_clues
		                    where user_id = $1 and not against order by created_at desc limit $2) l)`, userID, limit)
}

func listClues(ctx context.Context, db DB, where string, args ...any) ([]traits.NotedClue, error) {
	return list[traits.NotedClue](ctx, db, "load the clues", `
		select c.key, c.content, c.against, c.memory_type::text as type, c.memory_id as memory,
		       c.session_key as session, c.context, c.stated, c.observed_at, c.skipped
		  from oxbow.trait_clues c
		 where c.user_id = $1 and `+where+`
		 order by c.key, c.observed_at, c.memory_id`, args...)
}

// Refused reports which of the texts belong to a trait that the user deleted or forgot. A text is
// the key of a pattern or the wording of a trait.
func Refused(ctx context.Context, db DB, userID string, texts []string) (map[string]bool, error) {
	found, err := list[string](ctx, db, "look for deleted traits", `
		select t.said from unnest($2::text[]) t(said)
		 where exists (select from oxbow.trait_refusals r where r.user_id = $1 and r.hash = oxbow.trait_hash(t.said))
		    or exists (select from oxbow.memories_trait m
		                where m.user_id = $1 and m.forgotten_at is not null and t.said in (m.trait_key, m.content))`,
		userID, texts)
	refused := make(map[string]bool, len(found))
	for _, t := range found {
		refused[t] = true
	}
	return refused, err
}

// SeenEvidence reports, for each claim, whether its memory already counted and whether its session
// already supports the trait. For each trait in weighed it counts the supporting evidence, up to
// the given number. Each question takes one index lookup, however much evidence exists: the query
// asks for the first row at or after the key, in an order that only the right index provides. With
// "=", and without statistics, PostgreSQL may choose another index and read all evidence of the
// trait.
func SeenEvidence(ctx context.Context, db DB, userID string, claims []traits.Claim, weighed map[uuid.UUID]int) (
	map[uuid.UUID]*traits.EvidenceSeen, error,
) {
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
	counted, err := list[struct {
		Trait, Memory uuid.UUID
		Direction     string
	}](ctx, db, "look for evidence that counted", `
		select c.trait, c.memory, c.direction
		  from unnest($2::uuid[], $3::text[], $4::text[], $5::uuid[]) c(trait, direction, type, memory)
		 cross join lateral (
		       select e.trait_id, e.direction, e.memory_type, e.memory_id from oxbow.trait_evidence e
		        where e.user_id = $1
		          and (e.trait_id, e.direction, e.memory_type, e.memory_id) >= (c.trait, c.direction, c.type, c.memory)
		        order by e.trait_id, e.direction, e.memory_type, e.memory_id limit 1) e
		 where (e.trait_id, e.direction, e.memory_type, e.memory_id) = (c.trait, c.direction, c.type, c.memory)`,
		userID, ids, directions, types, memories)
	if err != nil {
		return nil, err
	}
	for _, c := range counted {
		of(c.Trait).Counted[traits.EvidenceKey{Memory: c.Memory, Direction: c.Direction}] = true
	}
	supported, err := list[struct {
		Trait   uuid.UUID
		Session string
	}](ctx, db, "look for the sessions of evidence", `
		select c.trait, c.session from (select distinct * from unnest($2::uuid[], $3::text[])) c(trait, session)
		 cross join lateral (
		       select e.trait_id, e.session_key, e.direction from oxbow.trait_evidence e
		        where e.user_id = $1 and (e.session_key, e.trait_id, e.direction) >= (c.session, c.trait, 'supporting')
		        order by e.session_key, e.trait_id, e.direction limit 1) e
		 where (e.session_key, e.trait_id, e.direction) = (c.session, c.trait, 'supporting')`, userID, ids, sessions)
	for _, s := range supported {
		of(s.Trait).Sessions = append(of(s.Trait).Sessions, s.Session)
	}
	if err != nil || len(weighed) == 0 {
		return seen, err
	}
	weighedIDs, limits := make([]uuid.UUID, 0, len(weighed)), make([]int, 0, len(weighed))
	for id, limit := range weighed {
		weighedIDs, limits = append(weighedIDs, id), append(limits, limit)
	}
	numbers, err := list[struct {
		Trait      uuid.UUID
		Supporting int
	}](ctx, db, "count the evidence", `
		select t.id as trait,
		       (select count(*) from (
		         select from oxbow.trait_evidence e
		          where e.user_id = $1 and e.trait_id = t.id and e.direction = 'supporting'
		          limit t.most) n) as supporting
		  from unnest($2::uuid[], $3::integer[]) t(id, most)`, userID, weighedIDs, limits)
	for _, n := range numbers {
		of(n.Trait).Supporting = n.Supporting
	}
	return seen, err
}

// ReviewEvidence returns at most limit of the latest memories that support or contradict a trait.
func ReviewEvidence(ctx context.Context, db DB, userID string, trait uuid.UUID, direction string, p reasoner.Person,
	limit int) ([]reasoner.Evidence, error) {
	evidence, err := list[reasoner.Evidence](ctx, db, "load the evidence", `
		select e.memory_type::text as type, e.memory_id as id, left(m.content, 6000) as content, m.speaker,
		       e.observed_at as time, e.session_key as session, e.context, m.importance, e.quality
		  from (select * from oxbow.trait_evidence e where e.user_id = $1 and e.trait_id = $2 and e.direction = $3
		         order by e.observed_at desc, e.memory_id limit $4) e
		  join oxbow.memories m on m.user_id = e.user_id and m.memory_type = e.memory_type and m.id = e.memory_id
		 where m.forgotten_at is null and m.sensitivity < 2
		 order by e.observed_at desc, e.memory_id`, userID, trait, direction, limit)
	for i := range evidence {
		evidence[i].Time = evidence[i].Time.In(p.Zone)
	}
	return evidence, err
}

package store

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/google/uuid"

	"github.com/oxbow-memory/oxbow/internal/oneline"
	"github.com/oxbow-memory/oxbow/internal/reasoner"
	"github.com/oxbow-memory/oxbow/internal/traits"
)

// ErrStale reports that a trait or its evidence changed concurrently. The caller must read and
// decide again.
var ErrStale = errors.New("a trait or its evidence was changed meanwhile")

// traitRow holds the columns of a trait that WriteChanges writes.
type traitRow struct {
	ID             uuid.UUID       `json:"id"`
	Version        int             `json:"version"`
	Content        string          `json:"content"`
	Key            *string         `json:"key"`
	Subtype        string          `json:"subtype"`
	Stage          string          `json:"stage"`
	Confidence     *float64        `json:"confidence"`
	ConfidenceAt   time.Time       `json:"confidence_at"`
	Reinforcements int             `json:"reinforcements"`
	Contradictions int             `json:"contradictions"`
	WindowStart    *time.Time      `json:"window_start"`
	WindowEnd      *time.Time      `json:"window_end"`
	Context        string          `json:"context"`
	Tendencies     json.RawMessage `json:"tendencies"`
	EvidenceIn     []string        `json:"evidence_in"`
	Parent         *uuid.UUID      `json:"parent"`
	First          *time.Time      `json:"first"`
	Last           *time.Time      `json:"last"`
	Review         *time.Time      `json:"review"`
	Derived        string          `json:"derived"`
}

func rowOf(c *traits.Change) traitRow {
	r := traitRow{
		ID: c.ID, Version: c.Version, Content: c.Content, Key: pointer(c.Key), Subtype: string(c.State.Subtype),
		Stage: string(c.State.Stage), Confidence: pointer(c.State.Confidence), ConfidenceAt: c.State.At,
		Reinforcements: c.State.Reinforcements, Contradictions: c.State.Contradictions,
		WindowStart: pointer(c.WindowStart), WindowEnd: pointer(c.State.WindowEnd), Context: c.Context,
		Tendencies: c.Tendencies, EvidenceIn: c.Contexts, Parent: pointer(c.Parent),
		First: pointer(c.FirstObserved.UTC()), Last: pointer(c.LastReinforced.UTC()), Review: pointer(c.ReviewDueAt),
		Derived: c.Derived,
	}
	if r.EvidenceIn == nil {
		r.EvidenceIn = []string{}
	}
	return r
}

const traitColumns = `id uuid, version integer, content text, key text, subtype text, stage text,
	confidence double precision, confidence_at timestamptz, reinforcements integer, contradictions integer,
	window_start timestamptz, window_end timestamptz, context text, tendencies jsonb, evidence_in jsonb, parent uuid,
	first timestamptz, last timestamptz, review timestamptz, derived text`

// WriteChanges writes the results of a cycle in the caller's transaction, which must have locked
// them with LockChanges. It returns ErrStale if a trait's version changed since it was read, or if
// evidence was erased or counted concurrently. The transaction must then be rolled back.
func WriteChanges(ctx context.Context, db DB, c traits.Changes) error {
	// Without a generic plan, PostgreSQL plans the foreign key checks on the partitioned table
	// memories anew for every row, which takes longer than everything else.
	const what = "write traits"
	_, err := run(ctx, db, what, `
		select set_config('oxbow.origin', 'reflection', true),
		       set_config('plan_cache_mode', 'force_generic_plan', true)`)
	if err == nil {
		err = writeTraits(ctx, db, &c)
	}
	if err == nil {
		_, err = run(ctx, db, what, `set local plan_cache_mode to default`)
	}
	if err != nil {
		return err
	}
	return rewordTraits(ctx, db, &c)
}

func writeTraits(ctx context.Context, db DB, c *traits.Changes) error {
	var fresh, old []traitRow
	var events []traits.Event
	var evidence []traits.Evidence
	for i := range c.Traits {
		t := &c.Traits[i]
		if t.New {
			fresh = append(fresh, rowOf(t))
		} else {
			old = append(old, rowOf(t))
		}
		events, evidence = append(events, t.Events...), append(evidence, t.Evidence...)
		// Use UTC: at the start of year 1, a zone west of UTC gives year 0, which JSON and PostgreSQL
		// write differently.
		for j := range t.Evidence {
			evidence[len(evidence)-len(t.Evidence)+j].ObservedAt = t.Evidence[j].ObservedAt.UTC()
		}
	}
	for _, s := range []struct {
		what, sql string
		rows      any
		n         int64
		args      []any // after the user and the rows
	}{
		{"traits", insertTraits, fresh, int64(len(fresh)), nil},
		{"traits", updateTraits, old, int64(len(old)), nil},
		{"evidence", insertEvidence, evidence, int64(len(evidence)), []any{c.Timezone, c.Cycle}},
		{"events", insertEvents, events, int64(len(events)), []any{c.Cycle}},
	} {
		if s.n == 0 {
			continue
		}
		rows, err := json.Marshal(s.rows)
		if err != nil {
			return fmt.Errorf("write %s: %w", s.what, err)
		}
		n, err := Exec(ctx, db, s.sql, append([]any{c.UserID, string(rows)}, s.args...)...)
		if err == nil && n != s.n {
			err = ErrStale
		}
		if err != nil {
			return failed("write "+s.what, stale(err))
		}
	}
	return writeClues(ctx, db, c)
}

// LockChanges locks the memories first and then the traits, including the due ones that will be
// settled, each in the order of their ids, like all code that locks several. It must be the first
// statement of the transaction: erasing a user waits for the user's memories first and for their
// jobs last.
func LockChanges(ctx context.Context, db DB, c traits.Changes) error {
	_, err := run(ctx, db, "lock the memories", `
		select from oxbow.memories
		 where user_id = $1 and memory_type in ('fact', 'episodic') and id = any($2) order by id for key share`,
		c.UserID, c.Memories)
	if err != nil {
		return err
	}
	var ids []uuid.UUID
	for _, t := range c.Traits {
		if !t.New {
			ids = append(ids, t.ID)
		}
	}
	_, err = run(ctx, db, "lock the traits", `
		select from oxbow.memories_trait
		 where user_id = $1
		   and id = any($2::uuid[] || array(
		         select id from oxbow.memories_trait
		          where user_id = $1 and trait_next_transition_at <= $3 and expired_at is null))
		 order by id for no key update`, c.UserID, ids, c.Now)
	return err
}

// stale wraps err in ErrStale if another transaction erased or counted the evidence.
func stale(err error) error {
	if c := code(err); c == "23503" || c == "23505" { // foreign_key_violation, unique_violation
		return fmt.Errorf("%w: %w", ErrStale, err)
	}
	return err
}

const insertTraits = `
	insert into oxbow.memories (user_id, memory_type, id, content, valid_at, source, metadata, trait_key, trait_subtype,
	  trait_stage, trait_confidence, trait_confidence_at, trait_context, trait_contexts, trait_parent_id,
	  trait_reinforcement_count, trait_contradiction_count, trait_first_observed, trait_last_reinforced,
	  trait_window_start, trait_window_end, trait_review_due_at, trait_derived_from)
	select $1, 'trait', r.id, r.content, r.first, 'reflection', jsonb_build_object('evidence_contexts', r.evidence_in),
	       r.key, r.subtype, r.stage, r.confidence, r.confidence_at, r.context, r.tendencies, r.parent,
	       r.reinforcements, r.contradictions, r.first, r.last, r.window_start, r.window_end, r.review, r.derived
	  from json_to_recordset($2::json) r (` + traitColumns + `)`

const updateTraits = `
	update oxbow.memories_trait m
	   set trait_stage = r.stage, trait_confidence = r.confidence, trait_confidence_at = r.confidence_at,
	       trait_context = r.context, trait_contexts = coalesce(r.tendencies, m.trait_contexts),
	       trait_parent_id = r.parent, trait_reinforcement_count = r.reinforcements,
	       trait_contradiction_count = r.contradictions, trait_first_observed = r.first, trait_last_reinforced = r.last,
	       trait_window_start = case when r.window_end is not null then m.trait_window_start end,
	       trait_window_end = r.window_end, trait_review_due_at = r.review,
	       trait_derived_from = coalesce(nullif(r.derived, ''), m.trait_derived_from),
	       metadata = m.metadata || jsonb_build_object('evidence_contexts', r.evidence_in),
	       trait_next_transition_at = oxbow.trait_next_transition(r.stage, r.confidence, m.trait_subtype,
	         r.reinforcements, r.confidence_at, r.window_end),
	       version = m.version + 1, updated_at = clock_timestamp()
	  from json_to_recordset($2::json) r (` + traitColumns + `)
	 where m.user_id = $1 and m.id = r.id and m.version = r.version and m.expired_at is null
	   and m.forgotten_at is null`

// A trait's new events are numbered from its last event. Evidence refers to the number of its event
// in this change.
const lastEvent = `coalesce((
	select max(e.seq) from oxbow.trait_events e where e.user_id = $1 and e.trait_id = r.trait_id), 0)`

const insertEvidence = `
	insert into oxbow.trait_evidence (user_id, trait_id, direction, memory_type, memory_id, quality, session_key,
	  context, stated, observed_at, timezone, event_seq, cycle_id)
	select $1, r.trait_id, r.direction, r.memory_type, r.memory_id, r.quality, r.session_key, r.context, r.stated,
	       r.observed_at, $3, ` + lastEvent + ` + r.nth, $4
	  from json_to_recordset($2::json) r (trait_id uuid, direction text, memory_type text, memory_id uuid, quality text,
	       session_key text, context text, stated boolean, observed_at timestamptz, nth integer)`

const insertEvents = `
	insert into oxbow.trait_events (user_id, trait_id, seq, event, at, factor, sets, memories, subtype, window_end,
	  confidence, stage, cycle_id, actor, reason, details)
	select $1, r.trait_id, ` + lastEvent + ` + r.nth, r.event, r.at, r.factor, r.sets, r.memories, r.subtype,
	       r.window_end, r.confidence, r.stage, $3, r.actor, r.reason, coalesce(r.details, '{}')
	  from json_to_recordset($2::json) r (trait_id uuid, event text, at timestamptz, factor double precision,
	       sets double precision, memories integer, subtype text, window_end timestamptz, confidence double precision,
	       stage text, actor text, reason text, details jsonb, nth integer)`

// rewordTraits gives traits the wordings from a review and records the id of the new row in the
// event.
func rewordTraits(ctx context.Context, db DB, c *traits.Changes) error {
	for _, t := range c.Traits {
		if t.Reworded == "" || t.Reworded == t.Content {
			continue
		}
		const what = "reword a trait"
		id, err := one[uuid.UUID](ctx, db, what,
			`select oxbow.reword_trait($1, $2, $3, 'reflection', $4)`, c.UserID, t.ID, t.Reworded, t.Reason)
		if err == nil {
			_, err = run(ctx, db, what, `
				update oxbow.trait_events set details = details || jsonb_build_object('version', $3::text)
				 where user_id = $1 and trait_id = $2 and cycle_id = $4 and event in ('revised', 'split')`,
				c.UserID, id, id.String(), c.Cycle)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// writeClues writes clues and deletes those of patterns that became traits. For each pattern it
// keeps the first and the latest memories and counts the rest, separately for and against the
// pattern.
func writeClues(ctx context.Context, db DB, c *traits.Changes) error {
	if len(c.Closed) > 0 {
		_, err := run(ctx, db, "delete clues",
			`delete from oxbow.trait_clues where user_id = $1 and key = any($2)`, c.UserID, c.Closed)
		if err != nil {
			return err
		}
	}
	if len(c.Clues) == 0 {
		return nil
	}
	n := len(c.Clues)
	touched := map[string]bool{}
	keys, contents, types, memories := make([]string, n), make([]string, n), make([]string, n), make([]uuid.UUID, n)
	sessions, contexts, stated, at := make([]string, n), make([]*string, n), make([]bool, n), make([]time.Time, n)
	against := make([]bool, n)
	for i, clue := range c.Clues {
		touched[clue.Key] = true
		keys[i], contents[i], types[i], memories[i] = clue.Key, clue.Content, clue.Type, clue.Memory
		sessions[i], contexts[i], stated[i], at[i] = clue.Session, pointer(clue.Context), clue.Stated, clue.ObservedAt
		against[i] = clue.Against
	}
	_, err := run(ctx, db, "write clues", `
		insert into oxbow.trait_clues (user_id, key, content, memory_type, memory_id, session_key, context, stated,
		  observed_at, against)
		select $1, * from unnest($2::text[], $3::text[], $4::text[], $5::uuid[], $6::text[], $7::text[], $8::boolean[],
		  $9::timestamptz[], $10::boolean[])
		on conflict do nothing`, c.UserID, keys, contents, types, memories, sessions, contexts, stated, at, against)
	if err != nil {
		return stale(err)
	}
	_, err = run(ctx, db, "write clues", `
		with noted as ( -- by place: a join is planned by what is known of a new table
		  select ctid as place, key, against, skipped, row_number() over w as nth,
		         count(*) over (partition by key, against) as n
		    from oxbow.trait_clues where user_id = $1 and key = any($2)
		  window w as (partition by key, against order by observed_at, memory_id)
		), surplus as (
		  select place, key, against, 1 + skipped as memories from noted where nth > $3 and nth <= n - $4
		), gone as (
		  delete from oxbow.trait_clues c where c.ctid = any(array(select place from surplus))
		)
		update oxbow.trait_clues c set skipped = c.skipped + s.memories
		  from (select n.place, sum(s.memories) as memories
		          from noted n join surplus s using (key, against) where n.nth = 1 group by n.place) s
		 where c.ctid = s.place`, c.UserID, slices.Sorted(maps.Keys(touched)), firstSightings, latestSightings)
	return err
}

// SettleUser applies decay to a user's traits that are due and returns how many dissolved. The zero cycle means none.
func SettleUser(ctx context.Context, db DB, userID string, now time.Time,
	cycle uuid.UUID) (dissolved int64, err error) {
	return one[int64](ctx, db, "settle the user's traits",
		`select dissolved from oxbow.settle_traits($1, 0, $2, $3)`, now, userID, pointer(cycle))
}

// RecordCalls records the tokens, latency and error of calls to a language model.
func RecordCalls(ctx context.Context, db DB, userID string, job int64, cycle uuid.UUID, calls []reasoner.Usage) error {
	for _, u := range calls {
		var failure *string
		if u.Err != nil {
			failure = pointer(oneline.Shorten(quoted(u.Err.Error()), 1000))
		}
		_, err := run(ctx, db, "record the calls of the model", `
			insert into oxbow.llm_calls (user_id, purpose, job_id, cycle_id, model, attempt, prompt_tokens,
			  completion_tokens, started_at, latency, error)
			select $1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11
			 where case when $3::bigint is null -- not of a user who was erased meanwhile
			       then exists (select from oxbow.memories m where m.user_id = $1)
			         or exists (select from oxbow.messages m where m.user_id = $1)
			       else exists (select from oxbow.river_job where id = $3 and not `+outlived+`) end`,
			userID, u.Purpose, pointer(job), pointer(cycle), u.Model, u.Attempt, u.PromptTokens, u.CompletionTokens, u.StartedAt,
			u.Latency, failure)
		if err != nil {
			return err
		}
	}
	return nil
}

// IsDeadlock reports whether PostgreSQL aborted the transaction because of a deadlock.
func IsDeadlock(err error) bool {
	return code(err) == "40P01"
}

// pointer returns a pointer to v, or nil for the zero value.
func pointer[T comparable](v T) *T {
	var zero T
	if v == zero {
		return nil
	}
	return &v
}

// TokensSince returns the number of tokens used by a user's reflections since a given time.
func TokensSince(ctx context.Context, db DB, userID string, since time.Time) (int64, error) {
	return one[int64](ctx, db, "count the tokens", `
		select sum(prompt_tokens + completion_tokens) from oxbow.llm_calls where user_id = $1 and started_at >= $2`,
		userID, since)
}

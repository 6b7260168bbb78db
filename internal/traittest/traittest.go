// Package traittest inserts traits for tests, as a reflection would: the row, the events that lead
// to its state, and the memories that count as evidence.
package traittest

import (
	"context"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/oxbow-memory/oxbow/internal/lifecycle"
)

// Trait is a trait to insert. Zero fields get the defaults.
type Trait struct {
	ID         uuid.UUID         // random
	UserID     string            // ann
	Content    string            // "Ann gets up early."
	Key        string            // none
	Subtype    lifecycle.Subtype // behavior
	Context    string            // general
	Tendencies string            // JSON; none
	Parent     uuid.UUID         // none
	Events     []Event           // Created(Day(1, 10), 0.4)
}

// Event is an event of the trait.
type Event struct {
	lifecycle.Event
	Actor, Reason string // reflection, none
	Cycle         uuid.UUID
	Evidence      []Evidence
}

// Evidence is a memory of type episodic, which is inserted too.
type Evidence struct {
	Content string
	At      time.Time
	Session string // none: the day counts as one
	Context string
	Quality lifecycle.Quality // C
	Against bool
}

// Day is noon of a day in 2025, UTC.
func Day(month time.Month, day int) time.Time {
	return time.Date(2025, month, day, 12, 0, 0, 0, time.UTC)
}

// Created returns the event that creates a trait with a confidence.
func Created(at time.Time, confidence float64, evidence ...Evidence) Event {
	return Event{Event: lifecycle.Event{Kind: lifecycle.Created, At: at, Sets: confidence}, Evidence: evidence}
}

// Watched returns the event that creates a trend with a window.
func Watched(at, until time.Time, evidence ...Evidence) Event {
	return Event{Event: lifecycle.Event{Kind: lifecycle.Created, At: at, WindowEnd: until}, Evidence: evidence}
}

// Reinforced returns an event that removes a share of the doubt.
func Reinforced(at time.Time, factor float64, evidence ...Evidence) Event {
	return Event{Event: lifecycle.Event{Kind: lifecycle.Reinforced, At: at, Factor: factor}, Evidence: evidence}
}

// Contradicted returns an event that removes a share of the confidence.
func Contradicted(at time.Time, factor float64, evidence ...Evidence) Event {
	return Event{Event: lifecycle.Event{Kind: lifecycle.Contradicted, At: at, Factor: factor, Count: len(evidence)},
		Evidence: evidence}
}

// DB is a pool, a connection or a transaction of the owner.
type DB interface {
	Begin(ctx context.Context) (pgx.Tx, error)
}

// Insert inserts the trait and returns its id.
func (w Trait) Insert(t testing.TB, db DB) uuid.UUID {
	t.Helper()
	id, err := w.Make(t.Context(), db)
	if err != nil {
		t.Fatalf("traittest: %v", err)
	}
	return id
}

// Make is Insert outside a test.
func (w Trait) Make(ctx context.Context, db DB) (uuid.UUID, error) {
	w.complete()
	id := w.ID
	return id, pgx.BeginFunc(ctx, db, func(tx pgx.Tx) error {
		if err := w.insertRow(ctx, tx, id); err != nil {
			return err
		}
		var s lifecycle.State
		for i, e := range w.Events {
			s = Policies.Apply(s, e.Event)
			if err := w.insertEvent(ctx, tx, id, i+1, e, s); err != nil {
				return err
			}
		}
		return nil
	})
}

func (w *Trait) complete() {
	for _, d := range []struct {
		field *string
		value string
	}{{&w.UserID, "ann"}, {&w.Content, "Ann gets up early."}, {(*string)(&w.Subtype), "behavior"},
		{&w.Context, "general"}} {
		if *d.field == "" {
			*d.field = d.value
		}
	}
	if w.ID == uuid.Nil {
		w.ID = uuid.New()
	}
	if w.Events == nil {
		w.Events = []Event{Created(Day(1, 10), 0.4)}
	}
	w.Events[0].Subtype = w.Subtype
}

// insertRow writes the state that the events lead to.
func (w *Trait) insertRow(ctx context.Context, tx pgx.Tx, id uuid.UUID) error {
	var s lifecycle.State
	var first, last *time.Time
	for _, e := range w.Events {
		s = Policies.Apply(s, e.Event)
		for _, v := range e.Evidence {
			if first == nil || v.At.Before(*first) {
				first = &v.At
			}
			if !v.Against && (last == nil || v.At.After(*last)) {
				last = &v.At
			}
		}
	}
	if _, err := tx.Exec(ctx, `select set_config('oxbow.origin', 'reflection', true)`); err != nil {
		return err
	}
	_, err := tx.Exec(ctx, `
		insert into oxbow.memories (user_id, memory_type, id, content, source, trait_key, trait_subtype, trait_stage,
		trait_confidence,
		  trait_confidence_at, trait_context, trait_contexts, trait_parent_id, trait_reinforcement_count,
		  trait_contradiction_count,
		  trait_first_observed, trait_last_reinforced, trait_window_end, trait_derived_from)
		values ($1, 'trait', $2, $3, 'reflection', nullif($4, ''), $5, $6, nullif($7::double precision, 0), $8, $9,
		nullif($10, '')::jsonb, $11,
		  $12, $13, $14, $15, $16, 'reflection')`,
		w.UserID, id, w.Content, w.Key, w.Subtype, s.Stage, s.Confidence, s.At, w.Context, w.Tendencies, null(w.Parent),
		s.Reinforcements, s.Contradictions, first, last, null(s.WindowEnd))
	if err != nil {
		return err
	}
	_, err = tx.Exec(ctx, `select set_config('oxbow.origin', '', true)`)
	return err
}

func (w *Trait) insertEvent(ctx context.Context, tx pgx.Tx, id uuid.UUID, seq int, e Event,
	after lifecycle.State) error {
	actor, subtype := e.Actor, ""
	if actor == "" {
		actor = "reflection"
	}
	if e.Kind == lifecycle.Created {
		subtype = string(w.Subtype)
	}
	_, err := tx.Exec(ctx, `
		insert into oxbow.trait_events (user_id, trait_id, seq, event, at, factor, sets, memories, subtype, window_end,
		confidence, stage, cycle_id,
		  actor, reason)
		values ($1, $2, $3, $4, $5, nullif($6::double precision, 0), nullif($7::double precision, 0), $8,
		nullif($9, ''), $10,
		  nullif($11::double precision, 0), $12, $13, $14, nullif($15, ''))`,
		w.UserID, id, seq, e.Kind, e.At, e.Factor, e.Sets, len(e.Evidence), subtype, null(e.WindowEnd),
		after.Confidence, after.Stage, null(e.Cycle), actor, e.Reason)
	if err != nil {
		return err
	}
	for _, v := range e.Evidence {
		if err := w.insertEvidence(ctx, tx, id, seq, v); err != nil {
			return err
		}
	}
	return nil
}

func (w *Trait) insertEvidence(ctx context.Context, tx pgx.Tx, id uuid.UUID, seq int, v Evidence) error {
	direction, quality, session := "supporting", v.Quality, v.Session
	if v.Against {
		direction = "contradicting"
	}
	if quality == "" {
		quality = lifecycle.QualityC
	}
	if session == "" {
		session = "day " + v.At.Format(time.DateOnly)
	}
	_, err := tx.Exec(ctx, `
		with memory as (
		  insert into oxbow.memories (user_id, memory_type, content, valid_at, session_id)
		  values ($1, 'episodic', $4, $5, nullif($6, '')) returning id)
		insert into oxbow.trait_evidence (user_id, trait_id, direction, memory_type, memory_id, quality, session_key,
		context, observed_at, timezone,
		  event_seq)
		select $1, $2, $7, 'episodic', id, $8, $9, nullif($10, ''), $5, 'UTC', $3 from memory`,
		w.UserID, id, seq, v.Content, v.At, v.Session, direction, quality, session, v.Context)
	return err
}

// null returns v, or nil for the zero value.
func null[T comparable](v T) any {
	var zero T
	if v == zero {
		return nil
	}
	return v
}

package store

import (
	"context"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/oxbow-memory/oxbow/internal/lifecycle"
	"github.com/oxbow-memory/oxbow/internal/traits"
)

// TraitPolicies returns the policies of traits in force at a moment.
func TraitPolicies(ctx context.Context, db DB, at time.Time) (*lifecycle.Policies, error) {
	return CollectOne(ctx, db, pgx.RowTo[*lifecycle.Policies], `
		select jsonb_object_agg(substr(d.name, 7), oxbow.policy(d.name, $1::timestamptz))
		  from oxbow.policy_definitions d where d.name like 'trait\_%'`, at)
}

// PolicyHistory has the policies of traits by the time since when they are in force, the latest first.
type PolicyHistory struct {
	since    []time.Time
	policies []*lifecycle.Policies
	// Pending: the job settle has not computed by the latest ones yet when traits change their stage.
	Pending bool
}

// At returns the policies in force at a moment.
func (h PolicyHistory) At(at time.Time) *lifecycle.Policies {
	for i, since := range h.since {
		if !since.After(at) {
			return h.policies[i]
		}
	}
	return h.policies[len(h.policies)-1] // those that nothing preceded
}

// TraitPolicyHistory returns all policies of traits that have been in force.
func TraitPolicyHistory(ctx context.Context, db DB) (h PolicyHistory, err error) {
	_, err = Collect(ctx, db, func(row pgx.CollectableRow) (struct{}, error) {
		var since time.Time
		var policies *lifecycle.Policies
		err := row.Scan(&since, &policies)
		h.since, h.policies = append(h.since, since), append(h.policies, policies)
		return struct{}{}, err
	}, `
		select m.since, jsonb_object_agg(substr(d.name, 7), oxbow.policy(d.name, m.since))
		  from (select '0001-01-01'::timestamptz as since union select valid_from from oxbow.policy_changes) m,
		       oxbow.policy_definitions d
		 where d.name like 'trait\_%'
		 group by m.since order by m.since desc`)
	if err != nil {
		return h, err
	}
	h.Pending, err = CollectOne(ctx, db, pgx.RowTo[bool], `select oxbow.policies_pending()`)
	return h, err
}

// DecayTraits decays the confidence of traits to a moment, as the formula in the database does.
// Trends, which have none, and what was set later stay as they are.
func DecayTraits(ctx context.Context, db DB, now time.Time, lists ...[]traits.Trait) error {
	var held []*lifecycle.State
	var subtypes []string
	var confidences []float64
	var counts []int
	var moments []time.Time
	for _, list := range lists {
		for i := range list {
			if s := &list[i].State; s.Stage != lifecycle.Trend && s.Confidence > 0 && s.At.Before(now) {
				held, subtypes, confidences = append(held, s), append(subtypes, string(s.Subtype)), append(confidences, s.Confidence)
				counts, moments = append(counts, s.Reinforcements), append(moments, s.At)
			}
		}
	}
	if len(held) == 0 {
		return nil
	}
	decayed, err := Collect(ctx, db, pgx.RowTo[float64], `
		select oxbow.trait_confidence_at(t.confidence, t.subtype, t.reinforcements, t.at, $5::timestamptz, r.rules)
		  from unnest($1::text[], $2::float8[], $3::integer[], $4::timestamptz[]) with ordinality
		         t(subtype, confidence, reinforcements, at, nth),
		       (select oxbow.trait_rules() as rules offset 0) r
		 order by t.nth`, subtypes, confidences, counts, moments, now)
	for i, confidence := range decayed {
		held[i].Confidence, held[i].At = confidence, now
	}
	return err
}

package store

import (
	"context"
	"time"

	"github.com/oxbow-memory/oxbow/internal/lifecycle"
	"github.com/oxbow-memory/oxbow/internal/traits"
)

// TraitPolicies returns the policies of traits in force at a given time.
func TraitPolicies(ctx context.Context, db DB, at time.Time) (*lifecycle.Policies, error) {
	return CollectOne[*lifecycle.Policies](ctx, db, `
		select jsonb_object_agg(substr(d.name, 7), oxbow.policy(d.name, $1::timestamptz))
		  from oxbow.policy_definitions d where d.name like 'trait\_%'`, at)
}

// DecayTraits decays the confidence of traits to now with the formula in the database. It skips
// trends, which have no confidence, and values set at or after now.
func DecayTraits(ctx context.Context, db DB, now time.Time, lists ...[]traits.Trait) error {
	var held []*lifecycle.State
	var subtypes []string
	var confidences []float64
	var counts []int
	var moments []time.Time
	for _, list := range lists {
		for i := range list {
			if s := &list[i].State; s.Stage != lifecycle.Trend && s.Confidence > 0 && s.At.Before(now) {
				held = append(held, s)
				subtypes, confidences = append(subtypes, string(s.Subtype)), append(confidences, s.Confidence)
				counts, moments = append(counts, s.Reinforcements), append(moments, s.At)
			}
		}
	}
	if len(held) == 0 {
		return nil
	}
	decayed, err := Collect[float64](ctx, db, `
		select oxbow.clamp_confidence(oxbow.trait_confidence_at(t.confidence, t.subtype, t.reinforcements, t.at,
		         $5::timestamptz, r.rules))
		  from unnest($1::text[], $2::float8[], $3::integer[], $4::timestamptz[]) with ordinality
		         t(subtype, confidence, reinforcements, at, nth),
		       (select oxbow.trait_rules() as rules offset 0) r
		 order by t.nth`, subtypes, confidences, counts, moments, now)
	for i, confidence := range decayed {
		held[i].Confidence, held[i].At = confidence, now
	}
	return err
}

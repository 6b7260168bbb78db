package store

import (
	"context"
	"time"

	"github.com/google/uuid"
)

// TraitCurve is the confidence of a trait over time.
type TraitCurve struct {
	// Past has a part for each time between two events in which the trait had a confidence, up to now.
	Past [][]CurvePoint
	// Ahead is how the confidence fades from now on without new evidence: until the trait dissolves, or for as long as
	// the past, at least half a year.
	Ahead []CurvePoint
	// Told is the confidence above which the trait is recalled.
	Told float64
	// Stages are the changes of stage by time alone from now on, until the trait dissolves.
	Stages []CurveStage
}

// CurvePoint is a point of a TraitCurve.
type CurvePoint struct {
	At         time.Time
	Confidence float64
}

// CurveStage is a change of stage.
type CurveStage struct {
	At    time.Time
	Stage string
}

// TraitCurves returns the curves of a user's live traits or, if id is not uuid.Nil, of that trait. Points lie between
// the events too, as the decay of the database has them.
func TraitCurves(ctx context.Context, db DB, userID string, id uuid.UUID) (map[uuid.UUID]TraitCurve, error) {
	type row struct {
		TraitID    uuid.UUID
		Part       int // 0 for a stage
		Ahead      bool
		At         time.Time
		Confidence float64
		Stage      string
		Told       float64
	}
	rows, err := Collect[row](ctx, db, `
		with recursive rules as (select oxbow.trait_rules() as rules offset 0),
		trait as (
		  select t.*, r.rules from oxbow.traits t, rules r
		   where t.user_id = $1::text and ($2::uuid is null or t.id = $2::uuid)
		), stage as (
		  select t.id, 0 as n, now() as at, t.stage, t.confidence from trait t
		  union all
		  select s.id, s.n + 1, x.at,
		         oxbow.trait_stage_at(s.stage, s.confidence, t.subtype, t.reinforcement_count, s.at, t.window_end, x.at, t.rules),
		         oxbow.trait_confidence_at(s.confidence, t.subtype, t.reinforcement_count, s.at, x.at, t.rules)
		    from stage s join trait t on t.id = s.id,
		         lateral (select oxbow.trait_next_transition(s.stage, s.confidence, t.subtype, t.reinforcement_count, s.at,
		                    t.window_end, t.rules) as at offset 0) x
		   where s.n < 10 and x.at is not null
		), event as (
		  select e.trait_id, e.seq, e.stage, e.confidence, t.rules, first_value(e.subtype) over w as subtype,
		         count(*) filter (where e.event = 'reinforced') over (w rows unbounded preceding) as reinforcements,
		         max(e.at) over (w rows unbounded preceding) as at, lead(e.at) over w as next,
		         min(e.at) over (partition by e.trait_id) as first
		    from oxbow.trait_events e join trait t on t.id = e.trait_id
		   where e.user_id = $1::text
		  window w as (partition by e.trait_id order by e.seq)
		), part as (
		  select e.*, false as ahead, e.at as "from", greatest(coalesce(e.next, now()), e.at) as "to" from event e
		  union all
		  select e.*, true, now(), least(s.at, now() + greatest(now() - e.first, interval '180 days'))
		    from event e, lateral (select max(s.at) as at from stage s where s.id = e.trait_id) s where e.next is null
		)
		select p.trait_id, p.seq as part, p.ahead, x.at, null as stage, (p.rules[1]).candidate_max as told,
		       oxbow.trait_confidence_at(p.confidence, p.subtype, p.reinforcements::integer, p.at, x.at, p.rules) as confidence
		  from part p,
		       lateral (select least(24, ceil(extract(epoch from p."to" - p."from") / 604800))::integer as n offset 0) steps,
		       generate_series(0, steps.n) i,
		       lateral (select p."from" + (p."to" - p."from") * (i::double precision / greatest(steps.n, 1)) as at offset 0) x
		 where p.confidence is not null and p.stage not in ('trend', 'dissolved') and p."to" >= p."from"
		union all
		select s.id, 0, true, s.at, s.stage, 0, coalesce(s.confidence, 0) from stage s where s.n > 0
		 order by trait_id, ahead, part, at`, userID, pointer(id))
	curves := map[uuid.UUID]TraitCurve{}
	part := 0
	for _, r := range rows {
		c, point := curves[r.TraitID], CurvePoint{r.At, r.Confidence}
		switch n := len(c.Past); {
		case r.Part == 0:
			c.Stages = append(c.Stages, CurveStage{r.At, r.Stage})
		case r.Ahead:
			c.Ahead = append(c.Ahead, point)
		case n > 0 && part == r.Part:
			c.Past[n-1] = append(c.Past[n-1], point)
		default:
			c.Past = append(c.Past, []CurvePoint{point})
		}
		c.Told = max(c.Told, r.Told)
		curves[r.TraitID], part = c, r.Part
	}
	return curves, err
}

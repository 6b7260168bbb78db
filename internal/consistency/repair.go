package consistency

import (
	"context"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/oxbow-memory/oxbow/store"
)

// repairTrait repairs a trait as far as its events and evidence allow, in one transaction, and
// returns the remaining problems.
func repairTrait(ctx context.Context, db store.DB, userID string, id uuid.UUID) (left []Problem, err error) {
	err = withoutWeighing(ctx, db, func(tx pgx.Tx) error {
		if _, err := tx.Exec(ctx, `select oxbow.lock_traits($1, array[$2::uuid])`, userID, id); err != nil {
			return err
		}
		for _, step := range []string{repairTwice, repairSeq, repairWording, repairParent, repairDue, repairState,
			repairCorrected} {
			if _, err := tx.Exec(ctx, step, userID, id); err != nil {
				return err
			}
		}
		traits, err := readTraits(ctx, tx, page{First: userID, Last: userID, ID: &id, Max: 1})
		for i := range traits {
			left = append(left, traits[i].problems()...)
		}
		return err
	})
	return left, err
}

// withoutWeighing runs f in a transaction in which deleting evidence does not erase traits,
// because a repair must not erase any.
func withoutWeighing(ctx context.Context, db store.DB, f func(pgx.Tx) error) error {
	return pgx.BeginFunc(ctx, db, func(tx pgx.Tx) error {
		if _, err := tx.Exec(ctx, `select oxbow.mark_erasing(true)`); err != nil {
			return err
		}
		if err := f(tx); err != nil {
			return err
		}
		_, err := tx.Exec(ctx, `select oxbow.mark_erasing(false)`)
		return err
	})
}

// repairTwice deletes duplicate evidence.
const repairTwice = `
	delete from oxbow.trait_evidence v where v.user_id = $1::text and v.trait_id = $2::uuid
	   and v.ctid > (select min(w.ctid) from oxbow.trait_evidence w
	                    where w.user_id = v.user_id and w.trait_id = v.trait_id
	                    and w.direction = v.direction and w.memory_type = v.memory_type and w.memory_id = v.memory_id)`

// repairSeq moves evidence that refers to no event in which it can count to the event of its
// cycle.
const repairSeq = `
	update oxbow.trait_evidence v set event_seq = e.seq
	  from oxbow.trait_events e
	 where v.user_id = $1::text and v.trait_id = $2::uuid and e.user_id = v.user_id and e.trait_id = v.trait_id
	   and e.cycle_id = v.cycle_id
	   and oxbow.counts_in(v.direction, e.event)
	   and not exists (select from oxbow.trait_events o
	                    where o.user_id = v.user_id and o.trait_id = v.trait_id and o.seq = v.event_seq
	                      and oxbow.counts_in(v.direction, o.event))`

// repairWording makes a trait with events the current wording. A trait without events becomes an
// older wording if a newer one exists.
const repairWording = `
	with state as (
	  select exists (select from oxbow.trait_events e where e.user_id = $1 and e.trait_id = $2) as has_events,
	         (select n.created_at from oxbow.memories_trait t join oxbow.memories_trait n on n.user_id = t.user_id
	           and n.id = t.superseded_by
	           where t.user_id = $1 and t.id = $2) as newer
	)
	update oxbow.memories_trait t
	   set expired_at = case when s.newer is not null and not s.has_events then coalesce(t.expired_at, s.newer)
	                         when s.has_events and (s.newer is null or t.expired_at is null) then null
	                           else t.expired_at end,
	       superseded_by = case when s.newer is null or t.expired_at is null and s.has_events then null
	         else t.superseded_by end
	  from state s
	 where t.user_id = $1 and t.id = $2
	   and ((t.expired_at is null) <> (t.superseded_by is null) or t.expired_at is not null and s.has_events)`

// repairParent links a trait to the newest wording of its parent if that is more abstract, and
// otherwise to nothing.
const repairParent = `
	with level as (
	  select t.id, array_position('{behavior,preference,core}', coalesce(e.subtype, t.trait_subtype)) as level
	    from oxbow.memories_trait t
	    left join oxbow.trait_events e on e.user_id = t.user_id and e.trait_id = t.id
	     and e.seq = 1 and e.event = 'created'
	   where t.user_id = $1 and t.id in ($2, (select oxbow.newest_wording($1, c.trait_parent_id)
	     from oxbow.memories_trait c where c.user_id = $1 and c.id = $2))
	), parent as (
	  select (select p.id from level p join level c on c.id = $2 and p.id <> $2 and p.level > c.level) as id
	)
	update oxbow.memories_trait t set trait_parent_id = parent.id from parent
	 where t.user_id = $1 and t.id = $2 and t.expired_at is null and t.trait_parent_id is distinct from parent.id`

const repairDue = `
	update oxbow.memories_trait t set trait_next_transition_at = null, trait_review_due_at = null
	 where t.user_id = $1 and t.id = $2 and t.expired_at is not null
	   and (t.trait_next_transition_at is not null or t.trait_review_due_at is not null)`

// repairCorrected marks a trait as corrected by a person if an event says so. The events of an
// imported trait may not.
const repairCorrected = `
	with person as (
	  select max(e.at) filter (where e.event in ('edited', 'dissolved')
	    and e.actor not in ('reflection', 'settle', 'import', 'check')) as at,
	         bool_or(e.seq = 1 and e.actor in ('import', 'check')) as imported
	    from oxbow.trait_events e where e.user_id = $1 and e.trait_id = $2
	)
	update oxbow.memories_trait t set trait_edited_at = p.at
	  from person p
	 where t.user_id = $1 and t.id = $2 and t.expired_at is null and (t.trait_edited_at is null) <> (p.at is null)
	   and (p.at is not null or not p.imported)`

// repairState recomputes the events from the evidence and the row from the events.
const repairState = `
	select oxbow.adopt_trait($1, $2, 'check'),
	       case when (select e.event from oxbow.trait_events e where e.user_id = $1 and e.trait_id = $2 order by e.seq
	         limit 1) = 'created'
	            then oxbow.reweigh_trait($1, $2, false) end
	  from oxbow.memories_trait t where t.user_id = $1 and t.id = $2 and t.expired_at is null`

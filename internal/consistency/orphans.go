package consistency

import (
	"context"
	"fmt"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/oxbow-memory/oxbow/store"
)

// orphan is a row that refers to a trait or memory that does not exist.
type orphan struct {
	FoundIn string
	UserID  string
	ID      uuid.UUID
	Lacks   string
}

// orphans reports orphans of the users from first to last, and deletes them if the options ask for
// repair.
func (c *checker) orphans(ctx context.Context, first, last string) error {
	rows, err := store.Collect[orphan](ctx, c.db, orphansSQL, first, last)
	if err != nil {
		return fmt.Errorf("look for rows that refer to nothing: %w", err)
	}
	for i, r := range rows {
		if c.options.Repair && (i == 0 || rows[i-1].UserID != r.UserID) {
			if err := dropOrphans(ctx, c.db, r.UserID); err != nil {
				return fmt.Errorf("erase rows of user %q that refer to nothing: %w", r.UserID, store.Explain(err))
			}
		}
		p := Problem{UserID: r.UserID, TraitID: r.ID, Kind: "orphan", Found: "a row of " + r.FoundIn,
			Expected: r.Lacks + ", so no row", Repaired: c.options.Repair}
		if err := c.found(p); err != nil {
			return err
		}
	}
	return nil
}

const orphansSQL = `
	select 'trait_evidence' as found_in, v.user_id, v.trait_id as id, 'no such trait' as lacks
	  from oxbow.trait_evidence v
	 where v.user_id between $1::text and $2::text
	   and not exists (select from oxbow.memories_trait t where t.user_id = v.user_id and t.id = v.trait_id)
	union all
	select 'trait_evidence', v.user_id, v.trait_id, format('no %s %s', v.memory_type, v.memory_id)
	  from oxbow.trait_evidence v
	 where v.user_id between $1::text and $2::text
	   and not exists (select from oxbow.memories m
	                    where m.user_id = v.user_id and m.memory_type = v.memory_type and m.id = v.memory_id)
	union all
	select 'trait_events', e.user_id, e.trait_id, 'no such trait' from oxbow.trait_events e
	 where e.user_id between $1::text and $2::text
	   and not exists (select from oxbow.memories_trait t where t.user_id = e.user_id and t.id = e.trait_id)
	union all
	select 'trait_clues', c.user_id, '00000000-0000-0000-0000-000000000000',
	       format('no %s %s', c.memory_type, c.memory_id)
	  from oxbow.trait_clues c
	 where c.user_id between $1::text and $2::text
	   and not exists (select from oxbow.memories m
	                    where m.user_id = c.user_id and m.memory_type = c.memory_type and m.id = c.memory_id)
	union all
	select 'reflection_inbox', i.user_id, '00000000-0000-0000-0000-000000000000',
	       format('no %s %s', i.memory_type, i.memory_id)
	  from oxbow.reflection_inbox i
	 where i.user_id between $1::text and $2::text
	   and not exists (select from oxbow.memories m
	                    where m.user_id = i.user_id and m.memory_type = i.memory_type and m.id = i.memory_id)
	union all
	select 'memory_links', l.user_id, '00000000-0000-0000-0000-000000000000', format('no %s %s', e.memory_type, e.id)
	  from oxbow.memory_links l,
	       lateral (values (l.from_type::text, l.from_id), (l.to_type::text, l.to_id)) e(memory_type, id)
	 where l.user_id between $1::text and $2::text
	   and not exists (select from oxbow.memories m
	                    where m.user_id = l.user_id and m.memory_type = e.memory_type and m.id = e.id)
	 order by 2, 1, 3, 4`

// dropOrphans deletes a user's orphans.
func dropOrphans(ctx context.Context, db store.DB, userID string) error {
	return withoutWeighing(ctx, db, func(tx pgx.Tx) error {
		for _, sql := range []string{
			`delete from oxbow.trait_evidence v where v.user_id = $1::text
			    and (not exists (select from oxbow.memories_trait t where t.user_id = v.user_id and t.id = v.trait_id)
			      or not exists (select from oxbow.memories m
			                      where m.user_id = v.user_id and m.memory_type = v.memory_type
			                        and m.id = v.memory_id))`,
			`delete from oxbow.trait_events e where e.user_id = $1::text
			    and not exists (select from oxbow.memories_trait t where t.user_id = e.user_id and t.id = e.trait_id)`,
			`delete from oxbow.trait_clues c where c.user_id = $1::text
			    and not exists (select from oxbow.memories m
			                     where m.user_id = c.user_id and m.memory_type = c.memory_type and m.id = c.memory_id)`,
			`delete from oxbow.reflection_inbox i where i.user_id = $1::text
			    and not exists (select from oxbow.memories m
			                     where m.user_id = i.user_id and m.memory_type = i.memory_type and m.id = i.memory_id)`,
			`delete from oxbow.memory_links l where l.user_id = $1::text
			    and (not exists (select from oxbow.memories m
			                      where m.user_id = l.user_id and m.memory_type = l.from_type and m.id = l.from_id)
			      or not exists (select from oxbow.memories m
			                      where m.user_id = l.user_id and m.memory_type = l.to_type and m.id = l.to_id))`,
		} {
			if _, err := tx.Exec(ctx, sql, userID); err != nil {
				return err
			}
		}
		return nil
	})
}

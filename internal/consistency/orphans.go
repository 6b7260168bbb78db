package consistency

import (
	"context"
	"fmt"
	"strings"

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

// references lists the references to memories: the table, the type and the id of the memory, and the trait that a
// problem names.
var references = []struct{ table, memoryType, id, trait string }{
	{"trait_evidence", "'trait'", "r.trait_id", "r.trait_id"},
	{"trait_evidence", "r.memory_type", "r.memory_id", "r.trait_id"},
	{"trait_events", "'trait'", "r.trait_id", "r.trait_id"},
	{"trait_clues", "r.memory_type", "r.memory_id", "null"},
	{"reflection_inbox", "r.memory_type", "r.memory_id", "null"},
	{"memory_links", "r.from_type", "r.from_id", "null"},
	{"memory_links", "r.to_type", "r.to_id", "null"},
}

// orphanRows selects the rows r of a table that refer to no memory.
const orphanRows = ` from oxbow.%s r where r.user_id between $1::text and $2::text and not exists (
	select from oxbow.memories m where m.user_id = r.user_id and m.memory_type = %s and m.id = %s)`

// orphans reports orphans of the users from first to last, and deletes them if the options ask for
// repair.
func (c *checker) orphans(ctx context.Context, first, last string) error {
	var found []string
	for _, r := range references {
		found = append(found, fmt.Sprintf(`
			select '%s' as found_in, r.user_id, %s::uuid as id, format('no %%s %%s', %s, %s) as lacks`,
			r.table, r.trait, r.memoryType, r.id)+fmt.Sprintf(orphanRows, r.table, r.memoryType, r.id))
	}
	rows, err := store.Collect[orphan](ctx, c.db, strings.Join(found, " union all ")+" order by 2, 1, 3, 4", first, last)
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

// dropOrphans deletes a user's orphans.
func dropOrphans(ctx context.Context, db store.DB, userID string) error {
	return withoutWeighing(ctx, db, func(tx pgx.Tx) error {
		for _, r := range references {
			sql := "delete" + fmt.Sprintf(orphanRows, r.table, r.memoryType, r.id)
			if _, err := tx.Exec(ctx, sql, userID, userID); err != nil {
				return err
			}
		}
		return nil
	})
}

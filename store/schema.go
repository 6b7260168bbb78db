package store

import (
	"context"
	"fmt"
)

// SchemaVersion is the migration version that this program requires.
const SchemaVersion = 14

// CheckSchema returns nil if the database has the schema that this program needs. Otherwise the
// error wraps ErrNotMigrated, ErrBehind, ErrAhead or ErrNoExtension. It never aborts the
// transaction that it runs in.
func CheckSchema(ctx context.Context, db DB) error {
	var name string
	var migrated, vector bool
	err := db.QueryRow(ctx, `
		select current_database(), to_regclass('oxbow.schema_version') is not null,
		       exists (select from pg_extension where extname = 'vector')`).Scan(&name, &migrated, &vector)
	switch {
	case err != nil:
		return Explain(err)
	case !migrated:
		return fmt.Errorf("%w: %q: run oxbow migrate up", ErrNotMigrated, name)
	case !vector:
		return fmt.Errorf("%w in %q: run create extension vector as a superuser", ErrNoExtension, name)
	}
	var version int
	var unreleased bool
	if err := db.QueryRow(ctx, `
		select version, to_regclass('oxbow.policy_definitions') is null
		from oxbow.schema_version`).Scan(&version, &unreleased); err != nil {
		return Explain(err)
	}
	switch {
	case unreleased:
		return fmt.Errorf("%w: %q is at version %d of the unreleased schema: oxbow migrate up says how to move its data",
			ErrBehind, name, version)
	case version < SchemaVersion:
		return fmt.Errorf("%w: %q is at version %d, %d is needed: run oxbow migrate up", ErrBehind, name, version,
			SchemaVersion)
	case version > SchemaVersion:
		return fmt.Errorf("%w: %q is at version %d, this program knows %d: build it with the newer Oxbow", ErrAhead, name,
			version, SchemaVersion)
	}
	return nil
}

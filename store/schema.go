package store

import (
	"context"
	"fmt"
)

// SchemaVersion is the migration version that this program requires.
const SchemaVersion = 27

// CheckSchema returns nil if the database has the schema that this program needs. Otherwise the
// error wraps ErrNotMigrated, ErrBehind, ErrAhead or ErrNoExtension. It never aborts the
// transaction that it runs in.
func CheckSchema(ctx context.Context, db DB) error {
	is, err := CollectOne[struct {
		Name             string
		Migrated, Vector bool
	}](ctx, db, `
		select current_database() as name, to_regclass('oxbow.schema_version') is not null as migrated,
		       exists (select from pg_extension where extname = 'vector') as vector`)
	switch {
	case err != nil:
		return err
	case !is.Migrated:
		return fmt.Errorf("%w: %q: run oxbow migrate up", ErrNotMigrated, is.Name)
	case !is.Vector:
		return fmt.Errorf("%w in %q: run create extension vector as a superuser", ErrNoExtension, is.Name)
	}
	schema, err := CollectOne[struct {
		Version    int
		Unreleased bool
	}](ctx, db,
		`select version, to_regclass('oxbow.policy_definitions') is null as unreleased from oxbow.schema_version`)
	switch {
	case err != nil:
		return err
	case schema.Unreleased:
		return fmt.Errorf("%w: %q is at version %d of the unreleased schema: oxbow migrate up says how to move "+
			"its data", ErrBehind, is.Name, schema.Version)
	case schema.Version < SchemaVersion:
		return fmt.Errorf("%w: %q is at version %d, %d is needed: run oxbow migrate up", ErrBehind, is.Name,
			schema.Version, SchemaVersion)
	case schema.Version > SchemaVersion:
		return fmt.Errorf("%w: %q is at version %d, this program knows %d: use a newer Oxbow", ErrAhead, is.Name,
			schema.Version, SchemaVersion)
	}
	return nil
}

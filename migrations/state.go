package migrations

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/tern/v2/migrate"
)

// DB is implemented by *pgx.Conn, pgx.Tx and *pgxpool.Pool.
type DB interface {
	QueryRow(ctx context.Context, sql string, args ...any) pgx.Row
}

// Version is the position in a line of migrations; 0 is before the first.
type Version struct {
	Current int32 `json:"current"`
	Latest  int32 `json:"latest"` // known to this binary
}

// state is what a database has installed. Any role may read it.
type state struct {
	database     string
	started      bool // the schema is ours: Up created it together with installed_code
	unreleased   bool // the schema predates the initial migration and had versions 1 to 17
	ours, river  Version
	code         map[string]string // checksum by file
	extensions   map[string]string // version by name, of the required extensions
	vectorSchema string            // "" without the extension
	roles        []string          // the group roles that exist
	bare         []string          // the group roles that may not read the version, as after a restore without them
}

func (s *session) state(ctx context.Context) (state, error) {
	return readState(ctx, s.conn, s.opts.source)
}

// readState reads the catalog first, which needs no rights, and then only the tables that exist.
func readState(ctx context.Context, db DB, src source) (state, error) {
	var st state
	files, err := migrate.FindMigrations(src.migrations)
	if err != nil {
		return st, err
	}
	st.ours.Latest, st.river.Latest = int32(len(files)), riverVersion

	var extensions, tables []string
	for _, n := range needs {
		extensions = append(extensions, n.name)
	}
	var found []byte
	err = db.QueryRow(ctx, `
		select current_database(),
		       array(select c.relname::text from pg_class c join pg_namespace n on n.oid = c.relnamespace
		             where n.nspname = 'oxbow'
		               and c.relname in ('schema_version', 'river_migration', 'installed_code', 'policy_definitions')),
		       coalesce((select jsonb_object_agg(extname, extversion) from pg_extension
		       where extname = any($2)), '{}')::text,
		       coalesce((select n.nspname::text from pg_extension e join pg_namespace n on n.oid = e.extnamespace
		                 where extname = 'vector'), ''),
		       array(select rolname::text from pg_roles where rolname = any($1) order by 1),
		       array(select r.rolname::text from pg_roles r, pg_class c join pg_namespace n on n.oid = c.relnamespace
		             where r.rolname = any($1) and n.nspname = 'oxbow' and c.relname = 'installed_code'
		               and not (has_schema_privilege(r.oid, n.oid, 'usage')
		                        and has_table_privilege(r.oid, c.oid, 'select')) order by 1)`,
		src.roles, extensions,
	).Scan(&st.database, &tables, &found, &st.vectorSchema, &st.roles, &st.bare)
	if err != nil {
		return st, err
	}
	if err := json.Unmarshal(found, &st.extensions); err != nil {
		return st, err
	}
	st.started = slices.Contains(tables, "installed_code")

	ours, river, code := "0", "0", "'{}'::jsonb"
	if slices.Contains(tables, "schema_version") {
		ours = "(select version from oxbow.schema_version)"
	}
	if slices.Contains(tables, "river_migration") {
		// Version 5 of that table adds the column line, so it is read through jsonb.
		river = "coalesce((select max(version) from oxbow.river_migration m " +
			"where coalesce(to_jsonb(m) ->> 'line', 'main') = 'main'), 0)"
	}
	if st.started {
		code = "coalesce((select jsonb_object_agg(name, checksum) from oxbow.installed_code), '{}')"
	}
	var checksums []byte
	err = db.QueryRow(ctx, fmt.Sprintf("select %s::int, %s::int, %s::text", ours, river, code)).
		Scan(&st.ours.Current, &st.river.Current, &checksums)
	if hasCode(err, "42501") {
		return st, fmt.Errorf("this role may not read the version of schema oxbow in database %q: make it a member of "+
			"oxbow_app or oxbow_worker, or connect as the schema's owner; after a restore, run oxbow migrate up as the owner "+
			"(%w)", st.database, err)
	}
	if err != nil {
		return st, err
	}
	st.unreleased = st.ours.Current > 0 && !slices.Contains(tables, "policy_definitions")
	return st, json.Unmarshal(checksums, &st.code)
}

// installed reports whether the database has any part of our schema, even an unfinished one.
func (st state) installed() bool {
	return st.started || st.ours.Current > 0 || st.river.Current > 0
}

func (st state) notMigrated() error {
	return fmt.Errorf("%w: database %q; run oxbow migrate up", ErrNotMigrated, st.database)
}

// moveOut says what to do with a database that cannot be upgraded.
const moveOut = "export each user with the oxbow that made it (oxbow export USER --output FILE), run oxbow migrate up " +
	"on another database, and import there (oxbow import --traits FILE)"

// usable returns an error for a schema that this binary can neither use nor upgrade.
func (st state) usable() error {
	if st.unreleased {
		return fmt.Errorf("%w: database %q is at version %d of the unreleased schema: %s", ErrUnreleased, st.database,
			st.ours.Current, moveOut)
	}
	if st.ours.Current <= st.ours.Latest && st.river.Current <= st.river.Latest {
		return nil
	}
	return fmt.Errorf("%w: database %q is at %s, this version of oxbow knows %s; use the newer one that migrated it",
		ErrAhead, st.database, versions(st.ours.Current, st.river.Current), versions(st.ours.Latest, st.river.Latest))
}

// check returns nil if the database is exactly what this binary installs.
func (st state) check(files []codeFile) error {
	if !st.installed() {
		return st.notMigrated()
	}
	if err := st.usable(); err != nil {
		return err
	}
	if err := st.checkExtensions(); err != nil {
		return err
	}
	if st.ours.Current < st.ours.Latest || st.river.Current < st.river.Latest {
		return fmt.Errorf("%w: database %q is at %s, this version of oxbow requires %s; run oxbow migrate up",
			ErrBehind, st.database, versions(st.ours.Current, st.river.Current),
			versions(st.ours.Latest, st.river.Latest))
	}
	if len(st.bare) > 0 {
		return fmt.Errorf(
			"%w: privileges of %s in schema oxbow of database %q are missing, as after a restore before the "+
				"role existed; run oxbow migrate up as the owner", ErrBehind, strings.Join(st.bare, " and "), st.database)
	}
	if changed, gone := st.changedCode(files); len(changed)+len(gone) > 0 {
		return fmt.Errorf("%w: %w: database %q, files %s; run oxbow migrate up with the newest oxbow in use",
			ErrBehind, ErrCodeDiffers, st.database, strings.Join(append(changed, gone...), ", "))
	}
	return nil
}

func versions(ours, river int32) string {
	return fmt.Sprintf("version %d (River %d)", ours, river)
}

// Package migrations brings a database to the schema that this binary needs, and takes it away again.
//
// What is installed, in this order: the extensions (where they are missing and may be made), the schema oxbow, the
// group roles, River's tables, the numbered migrations of this directory, and the functions, triggers and views of
// sql/code. The order matters: our triggers insert into oxbow.river_job, and the code refers to tables and roles.
//
// Everything happens on one connection that holds a session advisory lock, so any number of processes may migrate one
// database at once, and a connection that dies takes its lock and its unfinished transaction with it. Each step is a
// transaction of its own: an interrupted migration leaves a database at an earlier step, and the next one goes on
// from there.
package migrations

import (
	"context"
	"fmt"
	"io/fs"
	"log/slog"
	"time"

	"github.com/jackc/pgx/v5"

	sqlcode "github.com/oxbow-memory/oxbow/sql"
)

const (
	// schema holds everything that Oxbow makes. It stands in the SQL files too, and cannot be configured.
	schema = "oxbow"
	// versionTable is tern's: one row with the version of our own migrations.
	versionTable = schema + ".schema_version"
	// riverVersion is the newest migration in the River release of go.mod. It is pinned so that a new River version
	// in go.mod changes a database only together with a new release of Oxbow.
	riverVersion = 8
)

// Options of Up and Down. The zero value is ready to use.
type Options struct {
	// Logger gets what was done, what is waited for, and what an administrator still has to do. Default: nothing is
	// logged.
	Logger *slog.Logger
	// LockTimeout is how long one attempt waits for a lock on a table before it gives way to the statements queueing
	// behind it. Default 500 ms.
	LockTimeout time.Duration
	// GiveUpAfter is how long a step is repeated whose locks are held by others. Default 1 minute.
	GiveUpAfter time.Duration

	source source
}

// source is what is installed; tests replace it.
type source struct {
	migrations fs.FS // NNN_name.sql
	code       fs.FS // name.sql
	roles      []string
}

func embedded() source {
	code, err := fs.Sub(sqlcode.FS, "code")
	if err != nil {
		panic(err) // only an invalid path fails
	}
	return source{migrations: FS, code: code, roles: groupRoles}
}

func (o Options) withDefaults() Options {
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	if o.LockTimeout <= 0 {
		o.LockTimeout = 500 * time.Millisecond
	}
	if o.GiveUpAfter <= 0 {
		o.GiveUpAfter = time.Minute
	}
	if o.source.migrations == nil {
		o.source = embedded()
	}
	return o
}

// Up brings the database that dsn names to the version of this binary. It does nothing when it is there already, and
// may run while applications and workers use the database.
//
// Errors: ErrAhead and ErrUnreleased (nothing was changed), ErrNoExtension (one is missing or too
// old and could not be made), a *pgconn.ConnectError, and PostgreSQL's error with the file and line
// of the statement.
func Up(ctx context.Context, dsn string, opts Options) error {
	s, err := begin(ctx, dsn, opts.withDefaults())
	if err != nil {
		return err
	}
	defer s.close()

	st, err := s.state(ctx)
	if err != nil {
		return err
	}
	if err := st.usable(); err != nil {
		return err
	}
	// Extensions first: where one cannot be had, nothing is left behind.
	steps := []func(context.Context) error{s.ensureExtensions, s.ensureSchema, s.ensureRoles, s.riverUp, s.oursUp, s.installCode}
	for _, step := range steps {
		if err := step(ctx); err != nil {
			return err
		}
	}
	return nil
}

// Down undoes our migrations above target, newest first. Target 0 drops the schema oxbow with everything in it, River's
// tables and all data included, in one transaction; it is refused while something outside the schema depends on it.
// Other targets leave River alone. The extensions and the roles stay: other schemas and databases may use them.
//
// Errors: ErrNotMigrated, ErrAhead, and as Up.
func Down(ctx context.Context, dsn string, target int32, opts Options) error {
	s, err := begin(ctx, dsn, opts.withDefaults())
	if err != nil {
		return err
	}
	defer s.close()

	st, err := s.state(ctx)
	if err != nil {
		return err
	}
	if !st.installed() {
		return st.notMigrated()
	}
	if err := st.usable(); err != nil {
		return err
	}
	switch {
	case target < 0 || target > st.ours.Current:
		return fmt.Errorf("cannot go down to version %d: the database is at version %d, so 0 to %d are possible",
			target, st.ours.Current, st.ours.Current)
	case target == 0:
		return s.dropSchema(ctx)
	case target == st.ours.Current:
		return nil
	}
	return s.oursDown(ctx, target)
}

// ensureSchema makes the schema together with the table by which later runs recognise it as ours.
func (s *session) ensureSchema(ctx context.Context) error {
	return s.step(ctx, "create schema oxbow", func(ctx context.Context, tx pgx.Tx) error {
		var exists bool
		if err := tx.QueryRow(ctx, `select exists (select from pg_namespace where nspname = $1)`, schema).Scan(&exists); err != nil {
			return err
		}
		if !exists { // "if not exists" would ask for the right to create schemas although there is nothing to create
			if _, err := tx.Exec(ctx, `create schema oxbow`); err != nil {
				return s.explainDenied(err, "create a schema in it", "grant create on database %s to %s")
			}
		}
		_, err := tx.Exec(ctx, `
			create table if not exists oxbow.installed_code (
				name         text primary key,
				checksum     text not null,
				installed_at timestamptz not null default now()
			)`)
		return err
	})
}

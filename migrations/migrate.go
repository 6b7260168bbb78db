// Package migrations creates, upgrades and removes the database schema that this binary needs.
//
// Up installs in this order: the extensions (if they are missing and the role may create them), the
// schema oxbow, the group roles, River's tables, the numbered migrations of this directory, and the
// functions, triggers and views of sql/code. The order matters: our triggers insert into
// oxbow.river_job, and the code refers to tables and roles.
//
// Everything runs on one connection that holds a session advisory lock. Any number of processes may migrate one
// database at once, and a connection that dies releases its lock and rolls back its transaction. The numbered
// migrations and the code are one transaction: a database is upgraded, or stays as it was and still works with the
// program that migrated it. The steps before that transaction change nothing where they were done already; an
// interrupted installation continues from there.
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
	// schema holds everything that Oxbow creates. The SQL files use the same name; it is not
	// configurable.
	schema = "oxbow"
	// versionTable is tern's: one row with the version of our own migrations.
	versionTable = schema + ".schema_version"
	// riverVersion is the newest migration in the River release of go.mod. It is pinned so that a new River version
	// in go.mod changes a database only together with a new release of Oxbow.
	riverVersion = 8
)

// Options configures Up and Down. The zero value is ready to use.
type Options struct {
	// Logger receives the steps taken, the locks waited for, and the statements that an
	// administrator must run. Default: no logging.
	Logger *slog.Logger
	// LockTimeout is how long one attempt waits for a table lock before it makes way for the
	// statements queued behind it. Default: 500 ms.
	LockTimeout time.Duration
	// GiveUpAfter is how long a step is retried while other sessions hold the locks it needs.
	// Default: 1 minute.
	GiveUpAfter time.Duration

	source source
}

// source holds the files to install; tests replace it.
type source struct {
	migrations fs.FS  // NNN_name.sql
	code       fs.FS  // name.sql
	tables     string // the text of sql/schema.sql
	roles      []string
}

func embedded() source {
	code, err := fs.Sub(sqlcode.FS, "code")
	if err != nil {
		panic(err) // only an invalid path fails
	}
	return source{migrations: FS, code: code, tables: sqlcode.Schema, roles: groupRoles}
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

// Up upgrades the database that dsn names to the version of this binary. It does nothing if the
// database is up to date, and may run while applications and workers use the database.
//
// A database that cannot be upgraded stays as it was. Up returns ErrAhead, ErrUnreleased, ErrNoExtension (an extension
// is missing or too old and could not be created), a *pgconn.ConnectError, or PostgreSQL's error with the file and
// line of the statement.
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
	// Extensions come first: if one is unavailable, Up leaves nothing behind.
	for _, step := range []func(context.Context) error{
		s.ensureExtensions, s.ensureSchema, s.ensureRoles, s.useExtension, s.becomeOwner, s.riverUp, s.install,
	} {
		if err := step(ctx); err != nil {
			return err
		}
	}
	return nil
}

// Down undoes our migrations above target, newest first. Target 0 drops the schema oxbow, including
// River's tables and all data, in one transaction; Down refuses while objects outside the schema
// depend on it. Other targets leave River alone. The extensions and roles stay: other schemas and
// databases may use them.
//
// It returns ErrNotMigrated, ErrAhead, or the errors of Up.
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
		return fmt.Errorf("invalid target version %d: expected 0 to %d, the version of the database",
			target, st.ours.Current)
	case target == 0:
		return s.dropSchema(ctx)
	case target == st.ours.Current:
		return nil
	}
	return s.oursDown(ctx, target)
}

// ensureSchema creates the schema and the table by which later runs recognise it as ours.
func (s *session) ensureSchema(ctx context.Context) error {
	return s.step(ctx, "create schema oxbow", func(ctx context.Context, tx pgx.Tx) error {
		var exists bool
		err := tx.QueryRow(ctx, `select exists (select from pg_namespace where nspname = $1)`, schema).Scan(&exists)
		if err != nil {
			return err
		}
		if !exists { // "if not exists" would require the right to create schemas even if the schema exists
			if _, err := tx.Exec(ctx, `create schema oxbow`); err != nil {
				return s.explainDenied(err, "create a schema", "grant create on database %s to %s")
			}
		}
		_, err = tx.Exec(ctx, `
			create table if not exists oxbow.installed_code (
				name         text primary key,
				checksum     text not null,
				installed_at timestamptz not null default now()
			)`)
		return err
	})
}

package migrations

import (
	"context"
	"fmt"
	"log/slog"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/tern/v2/migrate"
	"github.com/riverqueue/river/riverdriver/riverpgxv5"
	"github.com/riverqueue/river/rivermigrate"
)

// newRiver returns River's migrator without a pool: it only gets transactions of the connection
// that holds the lock.
func newRiver() (*rivermigrate.Migrator[pgx.Tx], error) {
	return rivermigrate.New(riverpgxv5.New(nil),
		&rivermigrate.Config{Schema: schema, Logger: slog.New(slog.DiscardHandler)})
}

// riverUp migrates River's tables to the pinned version, one transaction for each version: later
// versions use enum values that earlier ones add, which PostgreSQL refuses within one transaction.
func (s *session) riverUp(ctx context.Context) error {
	river, err := newRiver()
	if err != nil {
		return err
	}
	st, err := s.state(ctx)
	if err != nil {
		return err
	}
	for version := st.river.Current + 1; version <= riverVersion; version++ {
		err := s.step(ctx, fmt.Sprintf("River migration %d", version), func(ctx context.Context, tx pgx.Tx) error {
			//nolint:staticcheck // deprecated for several versions in one transaction; this is one version
			_, err := river.MigrateTx(ctx, tx, rivermigrate.DirectionUp, &rivermigrate.MigrateOpts{MaxSteps: 1})
			return err
		})
		if err != nil {
			return err
		}
		s.log.InfoContext(ctx, "applied a River migration", "version", version)
	}
	return nil
}

// keyVersions gives tern's table a primary key. Without one, a publication of all tables refuses each migration.
func keyVersions(ctx context.Context, tx pgx.Tx) error {
	_, err := tx.Exec(ctx, `
		do $$
		begin
		  if not exists (select from pg_index i where i.indrelid = 'oxbow.schema_version'::regclass and i.indisprimary) then
		    alter table oxbow.schema_version add primary key (version);
		  end if;
		end $$`)
	return err
}

// oursDown undoes our migrations down to target, which is above 0. The code of sql/code may not fit
// the older tables, and an older binary cannot know that. oursDown therefore empties
// installed_code, so that the next Up of any binary installs its own.
func (s *session) oursDown(ctx context.Context, target int32) error {
	tern, err := s.newTern(ctx)
	if err != nil {
		return err
	}
	err = s.step(ctx, "forget the installed code", func(ctx context.Context, tx pgx.Tx) error {
		_, err := tx.Exec(ctx, `delete from oxbow.installed_code`)
		return err
	})
	if err != nil {
		return err
	}
	current, err := tern.GetCurrentVersion(ctx)
	if err != nil {
		return err
	}
	for version := current - 1; version >= target; version-- {
		if err := s.ternTo(ctx, tern, version, tern.Migrations[version]); err != nil {
			return err
		}
	}
	return nil
}

func (s *session) newTern(ctx context.Context) (*migrate.Migrator, error) {
	tern, err := migrate.NewMigrator(ctx, s.conn, versionTable)
	if err != nil {
		return nil, err
	}
	return tern, tern.LoadMigrations(s.opts.source.migrations)
}

// ternTo lets tern run one step, m, that leads to version. tern resets all settings after each
// step, so they are set when a step begins.
func (s *session) ternTo(ctx context.Context, tern *migrate.Migrator, version int32, m *migrate.Migration) error {
	return s.retry(ctx, "migration "+m.Name, func(ctx context.Context) error {
		var text string
		var prepareErr error
		tern.OnStart = func(_ int32, _, _, sql string) {
			text = sql
			inTransaction := s.conn.PgConn().TxStatus() == 'T'
			if prepareErr = s.prepare(ctx, inTransaction); prepareErr != nil {
				s.close() // tern offers no other way to stop it here
			}
		}
		err := tern.MigrateTo(ctx, version)
		switch {
		case prepareErr != nil:
			return prepareErr
		case err != nil:
			return inFile(err, "migrations/"+m.Name, text)
		}
		s.log.InfoContext(ctx, "migrated", "to", version, "by", m.Name)
		return nil
	})
}

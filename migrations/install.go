package migrations

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"strings"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/tern/v2/migrate"
)

// notInTransaction is how tern marks a migration that runs without a transaction, such as CREATE INDEX CONCURRENTLY.
var notInTransaction = regexp.MustCompile(`(?m)^---- tern: disable-tx ----$`)

// errRehearsed ends the transaction of a rehearsal.
var errRehearsed = errors.New("rehearsed")

// install applies the pending migrations and installs the code in one transaction. It either upgrades the database or
// leaves it as it was, so that the program that migrated it still works.
//
// Migrations that run without a transaction come first, with those before them. An upgrade then rehearses the others in
// a transaction that it rolls back.
func (s *session) install(ctx context.Context) error {
	files, err := s.opts.source.codeFiles()
	if err != nil {
		return err
	}
	st, err := s.state(ctx)
	if err != nil {
		return err
	}
	tern, err := s.newTern(ctx)
	if err != nil {
		return err
	}
	var alone int32 // the last migration without a transaction
	for _, m := range tern.Migrations[st.ours.Current:] {
		if notInTransaction.MatchString(m.UpSQL) {
			alone = m.Sequence
		}
	}
	if alone > 0 && st.ours.Current > 0 {
		err := s.step(ctx, "rehearse the upgrade", func(ctx context.Context, tx pgx.Tx) error {
			if err := s.apply(ctx, tx, st, tern.Migrations, files); err != nil {
				return err
			}
			return errRehearsed
		})
		if !errors.Is(err, errRehearsed) {
			return st.unfit(err)
		}
	}
	for version := st.ours.Current + 1; version <= alone; version++ {
		if err := s.ternTo(ctx, tern, version, tern.Migrations[version-1]); err != nil {
			return err
		}
	}
	if st, err = s.state(ctx); err != nil {
		return err
	}
	changed, gone := st.changedCode(files)
	if st.ours.Current == st.ours.Latest && len(changed)+len(gone) == 0 {
		return s.step(ctx, "restore missing rights", func(ctx context.Context, tx pgx.Tx) error {
			return grantRights(ctx, tx, st.roles, files)
		})
	}
	err = s.step(ctx, "install", func(ctx context.Context, tx pgx.Tx) error {
		return s.apply(ctx, tx, st, tern.Migrations, files)
	})
	if err != nil {
		return st.unfit(err)
	}
	for _, m := range tern.Migrations[st.ours.Current:] {
		s.log.InfoContext(ctx, "migrated", "to", m.Sequence, "by", m.Name)
	}
	s.log.InfoContext(ctx, "installed functions, triggers and views", "files", strings.Join(changed, ", "))
	return nil
}

// apply applies the pending migrations that can run in a transaction, and installs the code.
func (s *session) apply(ctx context.Context, tx pgx.Tx, st state, all []*migrate.Migration, files []codeFile) error {
	if err := keyVersions(ctx, tx); err != nil {
		return err
	}
	for _, m := range all[st.ours.Current:] {
		if notInTransaction.MatchString(m.UpSQL) {
			continue
		}
		if _, err := tx.Exec(ctx, m.UpSQL); err != nil {
			return inFile(err, "migrations/"+m.Name, m.UpSQL)
		}
	}
	if _, err := tx.Exec(ctx, `update `+versionTable+` set version = $1`, len(all)); err != nil {
		return err
	}
	if st.ours.Current > 0 {
		if err := checkTables(ctx, tx, s.opts.source.tables); err != nil {
			return err
		}
	}
	return s.installCode(ctx, tx, st, files)
}

// unfit explains an error of an upgrade that is caused by definitions in the database.
func (st state) unfit(err error) error {
	if st.ours.Current > 0 && isOfDefinition(err) {
		return fmt.Errorf("%w: tables or functions of database %q are those of a version between releases. Nothing was "+
			"changed: %s (%w)", ErrUnreleased, st.database, moveOut, err)
	}
	return err
}

package migrations

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"regexp"
	"slices"
	"strings"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
)

// codeFile is one file of sql/code.
type codeFile struct {
	name string
	text string
}

// checksum identifies what a file installs: its text and the environment in which it ran. Functions
// keep the search path in force at their creation, and the grants depend on the existing roles and
// on River's functions. The same text is therefore installed again after the extension moves, a
// role is added, or River is upgraded.
func (f codeFile) checksum(env string) string {
	sum := sha256.Sum256([]byte(env + "\n" + f.text))
	return hex.EncodeToString(sum[:])
}

// codeFiles reads the files in installation order.
func (src source) codeFiles() ([]codeFile, error) { return sqlFiles(src.code) }

func sqlFiles(from fs.FS) ([]codeFile, error) {
	names, err := fs.Glob(from, "*.sql") // sorted
	if err != nil {
		return nil, err
	}
	files := make([]codeFile, len(names))
	for i, name := range names {
		text, err := fs.ReadFile(from, name)
		if err != nil {
			return nil, err
		}
		files[i] = codeFile{name: name, text: string(text)}
	}
	return files, nil
}

// codeEnv is the part of a checksum that depends on the database.
func (st state) codeEnv() string {
	return fmt.Sprintf("vector in %s; roles %s; River %d", st.vectorSchema, strings.Join(st.roles, ", "),
		st.river.Current)
}

// changedCode returns the files whose current text is not installed, and the installed files that
// no longer exist. If a group role lacks its rights, all files count as changed: they grant the
// rights, and they revoke from PUBLIC what a restore without the role or without privileges granted
// by default.
func (st state) changedCode(files []codeFile) (changed, gone []string) {
	known := map[string]bool{}
	for _, f := range files {
		known[f.name] = true
		if len(st.bare) > 0 || st.code[f.name] != f.checksum(st.codeEnv()) {
			changed = append(changed, f.name)
		}
	}
	for name := range st.code {
		if !known[name] {
			gone = append(gone, name)
		}
	}
	slices.Sort(gone)
	return changed, gone
}

// installCode runs all files of sql/code in name order. The group roles then have the rights that these grant and no
// others, and routines, triggers and views that no file defines any more are dropped. It runs in the transaction of the
// migrations, so that no session sees a mixture of versions.
func (s *session) installCode(ctx context.Context, tx pgx.Tx, st state, files []codeFile) error {
	if err := revoke(ctx, tx, st.roles...); err != nil {
		return err
	}
	old, err := routines(ctx, tx) // their versions change with their rights, too
	if err != nil {
		return err
	}
	var names, checksums []string
	for _, f := range files {
		if err := runFile(ctx, tx, f); err != nil {
			return err
		}
		names, checksums = append(names, f.name), append(checksums, f.checksum(st.codeEnv()))
	}
	if err := s.dropLeft(ctx, tx, old, files); err != nil {
		return err
	}
	_, err = tx.Exec(ctx, `
		with gone as (delete from oxbow.installed_code where name <> all($1))
		insert into oxbow.installed_code (name, checksum) select * from unnest($1::text[], $2::text[])
		on conflict (name) do update set checksum = excluded.checksum, installed_at = now()`, names, checksums)
	if err != nil {
		return err
	}
	if err := revoke(ctx, tx, "public"); err != nil {
		return err
	}
	return grantRights(ctx, tx, st.roles, files)
}

// dropFirst finds, in the hint of an error, the function that must be dropped before one with a different result type
// can be created.
var dropFirst = regexp.MustCompile(`DROP (?:FUNCTION|PROCEDURE) (.+\))`)

// runFile runs a file of sql/code. It first drops a function whose result type or parameter names have changed.
func runFile(ctx context.Context, tx pgx.Tx, f codeFile) error {
	for {
		err := pgx.BeginFunc(ctx, tx, func(tx pgx.Tx) error { // a savepoint
			_, err := tx.Exec(ctx, f.text)
			return err
		})
		if err == nil {
			return nil
		}
		var pg *pgconn.PgError
		if !errors.As(err, &pg) || pg.Code != "42P13" || !dropFirst.MatchString(pg.Hint) {
			return inFile(err, "sql/code/"+f.name, f.text)
		}
		what := "routine " + dropFirst.FindStringSubmatch(pg.Hint)[1]
		if _, err := tx.Exec(ctx, "drop "+what); err != nil {
			return stillNeeded(what, err)
		}
	}
}

// routine is a function or procedure. Its version changes when it is replaced.
type routine struct {
	OID               uint32
	Version           string
	Name, Declaration string
}

// routines returns the routines of the schema, except River's.
func routines(ctx context.Context, tx pgx.Tx) ([]routine, error) {
	rows, err := tx.Query(ctx, `
		select oid, xmin::text as version, proname::text as name,
		       format('oxbow.%I(%s)', proname, pg_get_function_identity_arguments(oid)) as declaration from pg_proc
		where pronamespace = 'oxbow'::regnamespace and proname !~ '^river_' order by 4`)
	if err != nil {
		return nil, err
	}
	return pgx.CollectRows(rows, pgx.RowToStructByName[routine])
}

var definition = regexp.MustCompile(
	`(?i)create (?:or replace )?(?:constraint )?(function|procedure|view|trigger) (?:oxbow\.)?(\w+)`)

// definitions returns the names of a kind that the files define, such as those of all triggers.
func definitions(kind string, files []codeFile) []string {
	names := []string{}
	for _, f := range files {
		for _, m := range definition.FindAllStringSubmatch(f.text, -1) {
			if strings.EqualFold(m[1], kind) {
				names = append(names, m[2])
			}
		}
	}
	return names
}

// dropLeft drops what only an earlier version of the files defined: triggers and views that no text names, and those of
// the old routines that were not replaced, except those of migrations. It fails if other objects depend on them.
func (s *session) dropLeft(ctx context.Context, tx pgx.Tx, old []routine, files []codeFile) error {
	migrated, err := sqlFiles(s.opts.source.migrations)
	if err != nil {
		return err
	}
	now, err := routines(ctx, tx)
	if err != nil {
		return err
	}
	kept := append(definitions("function", migrated), definitions("procedure", migrated)...)
	var left []string
	for _, r := range now {
		if slices.Contains(old, r) && !slices.Contains(kept, r.Name) {
			left = append(left, r.Declaration)
		}
	}
	all := slices.Concat(migrated, files)
	rows, err := tx.Query(ctx, `
		select format('trigger %I on oxbow.%I', t.tgname, c.relname) from pg_trigger t
		join pg_class c on c.oid = t.tgrelid join pg_proc p on p.oid = t.tgfoid
		where c.relnamespace = 'oxbow'::regnamespace and p.pronamespace = c.relnamespace and not t.tgisinternal
		  and t.tgparentid = 0 and t.tgname !~ '^river_' and t.tgname <> all($1)
		union all
		select 'view ' || string_agg(format('oxbow.%I', c.relname), ', ') from pg_class c
		where c.relnamespace = 'oxbow'::regnamespace and c.relkind = 'v' and c.relname <> all($2) having count(*) > 0
		order by 1`, definitions("trigger", all), definitions("view", all))
	if err != nil {
		return err
	}
	drops, err := pgx.CollectRows(rows, pgx.RowTo[string])
	if err != nil {
		return err
	}
	if len(left) > 0 {
		drops = append(drops, "routine "+strings.Join(left, ", "))
	}
	for _, what := range drops {
		if _, err := tx.Exec(ctx, "drop "+what); err != nil {
			return stillNeeded(what, err)
		}
		s.log.InfoContext(ctx, "dropped what this version no longer has", "what", what)
	}
	return nil
}

// stillNeeded explains that other objects depend on one that has to be dropped.
func stillNeeded(what string, err error) error {
	var pg *pgconn.PgError
	if !errors.As(err, &pg) || pg.Code != "2BP01" {
		return fmt.Errorf("drop %s: %w", what, err)
	}
	return fmt.Errorf("this version of oxbow drops the %s, on which other objects depend (%s). Nothing was changed: drop "+
		"those objects and migrate again: %w", what, strings.ReplaceAll(pg.Detail, "\n", "; "), err)
}

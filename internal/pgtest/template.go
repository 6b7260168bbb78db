package pgtest

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/oxbow-memory/oxbow/deploy"
	"github.com/oxbow-memory/oxbow/migrations"
	sqlcode "github.com/oxbow-memory/oxbow/sql"
)

const (
	templatePrefix = "oxbow_test_template_"
	// advisoryLock is held while templates are created and old databases dropped, by one program at
	// a time.
	advisoryLock = 0x6f78626f77 // "oxbow"
	// templateLife is how long an unused template is kept, because another branch may need it
	// again.
	templateLife = 24 * time.Hour
)

// ensureTemplate returns the name of the migrated template, and creates it if it does not exist.
// The caller holds the advisory lock on conn.
func ensureTemplate(ctx context.Context, conn *pgx.Conn, admin string) (string, error) {
	hash, err := schemaHash()
	if err != nil {
		return "", err
	}
	name := templatePrefix + hash
	if _, ok, err := lastUse(ctx, conn, name); err != nil {
		return "", err
	} else if !ok {
		if err := makeTemplate(ctx, conn, admin, name); err != nil {
			return "", fmt.Errorf("create the template database: %w", err)
		}
	}
	// The comment, written last, marks a finished template.
	_, err = conn.Exec(ctx, fmt.Sprintf("comment on database %s is '%s'", name, time.Now().UTC().Format(time.RFC3339)))
	return name, err
}

func makeTemplate(ctx context.Context, conn *pgx.Conn, admin, name string) error {
	// A template without a comment is unfinished: the program creating it was killed.
	if err := dropDatabase(ctx, conn, name); err != nil {
		return err
	}
	if _, err := conn.Exec(ctx, "create database "+name); err != nil {
		return err
	}
	dsn, err := withDatabase(admin, name)
	if err != nil {
		return err
	}
	if err := Deploy(ctx, dsn); err != nil {
		return errors.Join(err, dropDatabase(ctx, conn, name))
	}
	// A connection to the template would make every copy fail.
	_, err = conn.Exec(ctx, "alter database "+name+" with allow_connections false")
	return err
}

// Deploy creates the logins of deploy/logins.sql and the schema in an empty database, as a deployment does.
func Deploy(ctx context.Context, dsn string) error {
	conn, err := pgx.Connect(ctx, dsn)
	if err != nil {
		return err
	}
	if err := errors.Join(createLogins(ctx, conn), conn.Close(ctx)); err != nil {
		return err
	}
	owner, err := withLogin(dsn, "oxbow")
	if err != nil {
		return err
	}
	return migrations.Up(ctx, owner, migrations.Options{})
}

// lastUse reads a template's comment. ok is false if no finished template has that name.
func lastUse(ctx context.Context, conn *pgx.Conn, name string) (at time.Time, ok bool, err error) {
	var comment *string
	err = conn.QueryRow(ctx, `select shobj_description(oid, 'pg_database') from pg_database where datname = $1`,
		name).Scan(&comment)
	if errors.Is(err, pgx.ErrNoRows) || (err == nil && comment == nil) {
		return time.Time{}, false, nil
	}
	if err != nil {
		return time.Time{}, false, err
	}
	at, err = time.Parse(time.RFC3339, *comment)
	return at, err == nil, nil
}

// dropOld drops templates unused for a day, and the databases of runs that ended without dropping
// them. The caller holds the advisory lock.
func dropOld(ctx context.Context, conn *pgx.Conn) error {
	rows, err := conn.Query(ctx, `
		select datname from pg_database d
		where datname like 'oxbow\_test\_run\_%' and not exists (
			select from pg_stat_activity where application_name = substring(d.datname
			from 'oxbow_test_run_[0-9a-f]+'))`)
	if err != nil {
		return err
	}
	old, err := pgx.CollectRows(rows, pgx.RowTo[string])
	if err != nil {
		return err
	}
	rows, err = conn.Query(ctx, `select datname from pg_database where starts_with(datname, $1)`, templatePrefix)
	if err != nil {
		return err
	}
	templates, err := pgx.CollectRows(rows, pgx.RowTo[string])
	if err != nil {
		return err
	}
	for _, name := range templates {
		at, ok, err := lastUse(ctx, conn, name)
		if err != nil {
			return err
		}
		if !ok || time.Since(at) > templateLife {
			old = append(old, name)
		}
	}
	var errs []error
	for _, name := range old {
		errs = append(errs, dropDatabase(ctx, conn, name))
	}
	return errors.Join(errs...)
}

func dropDatabase(ctx context.Context, conn *pgx.Conn, name string) error {
	_, err := conn.Exec(ctx, "drop database if exists "+pgx.Identifier{name}.Sanitize()+" with (force)")
	return err
}

// schemaHash returns a hash of everything that determines what migrations.Up does to an empty
// database.
func schemaHash() (string, error) {
	h := sha256.New()
	add := func(files fs.FS) error {
		return fs.WalkDir(files, ".", func(path string, d fs.DirEntry, err error) error {
			if err != nil || d.IsDir() || strings.HasSuffix(path, "_test.go") {
				return err
			}
			text, err := fs.ReadFile(files, path)
			fmt.Fprintf(h, "%s %d\n%s", path, len(text), text)
			return err
		})
	}
	h.Write([]byte(deploy.Logins))
	err := errors.Join(add(migrations.FS), add(sqlcode.FS))
	// The migration code and the versions of its libraries (River brings tables too) are not
	// embedded, so the source is read. With -trimpath changes to them go unnoticed.
	if _, file, _, ok := runtime.Caller(0); ok && filepath.IsAbs(file) {
		root := filepath.Join(filepath.Dir(file), "..", "..")
		if text, readErr := os.ReadFile(filepath.Join(root, "go.mod")); readErr == nil {
			h.Write(text)
			err = errors.Join(err, add(os.DirFS(filepath.Join(root, "migrations"))))
		}
	}
	return hex.EncodeToString(h.Sum(nil)[:6]), err
}

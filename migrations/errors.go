package migrations

import (
	"errors"
	"fmt"
	"strings"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/tern/v2/migrate"
)

// What Check finds, and why Up and Down refuse. Test with errors.Is; the text says what to do.
var (
	// ErrNotMigrated: there is no schema oxbow, or it was never finished.
	ErrNotMigrated = errors.New("the database has no Oxbow schema")
	// ErrBehind: the database is older than this binary.
	ErrBehind = errors.New("the database is older than this oxbow")
	// ErrCodeDiffers comes with ErrBehind when all versions agree and only the text of functions, triggers or views
	// is not this binary's. Which of the two is newer cannot be told.
	ErrCodeDiffers = errors.New("functions in the database are not those of this oxbow")
	// ErrAhead: the database is newer than this binary.
	ErrAhead = errors.New("the database is newer than this oxbow")
	// ErrUnreleased: the database has the schema of before the first release, which has no upgrade.
	ErrUnreleased = errors.New("this oxbow cannot upgrade the database")
	// ErrNoExtension: an extension that the schema needs is missing or too old.
	ErrNoExtension = errors.New("a PostgreSQL extension is missing")
)

// explainDenied turns "permission denied" into the statement that an administrator has to run. grant is a statement
// with two verbs, for the database and for the role. Other errors pass.
func (s *session) explainDenied(err error, doing, grant string) error {
	if !hasCode(err, "42501") {
		return err
	}
	grant = fmt.Sprintf(grant, pgx.Identifier{s.name}.Sanitize(), pgx.Identifier{s.role}.Sanitize())
	return fmt.Errorf("role %q may not use database %q to %s: as the database's owner or a superuser run: %s; (%w)",
		s.role, s.name, doing, grant, err)
}

func hasCode(err error, code string) bool {
	var pg *pgconn.PgError
	return errors.As(err, &pg) && pg.Code == code
}

// inFile says where in which file PostgreSQL stopped, with its detail and hint.
func inFile(err error, file, text string) error {
	var pg *pgconn.PgError
	if !errors.As(err, &pg) {
		return fmt.Errorf("%s: %w", file, err)
	}
	where := file
	if pg.Position > 0 {
		// Position counts characters, ExtractErrorLine bytes.
		if at := byteOffset(text, int(pg.Position)); at > 0 {
			if line, lineErr := migrate.ExtractErrorLine(text, at); lineErr == nil {
				where = fmt.Sprintf("%s line %d (%s)", file, line.LineNum, strings.TrimSpace(line.Text))
			}
		}
	}
	var more []string
	for _, part := range []string{pg.Detail, pg.Hint, pg.Where} {
		if part != "" {
			more = append(more, part)
		}
	}
	if len(more) > 0 {
		return fmt.Errorf("%s: %w: %s", where, err, strings.Join(more, "; "))
	}
	return fmt.Errorf("%s: %w", where, err)
}

// byteOffset turns a position in characters (from 1) into one in bytes (from 1), 0 if text is shorter.
func byteOffset(text string, char int) int {
	for at := range text {
		if char--; char == 0 {
			return at + 1
		}
	}
	return 0
}

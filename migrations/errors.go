package migrations

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/tern/v2/migrate"
)

// Errors returned by Check, Up and Down. Test for them with errors.Is; the text says what to do.
var (
	// ErrNotMigrated: the schema oxbow does not exist or was never completed.
	ErrNotMigrated = errors.New("the database has no Oxbow schema")
	// ErrBehind: the database is older than this binary.
	ErrBehind = errors.New("the database is older than this version of oxbow")
	// ErrCodeDiffers accompanies ErrBehind when all versions agree and only the text of functions,
	// triggers or views differs. Which of the two texts is newer is unknown.
	ErrCodeDiffers = errors.New("functions in the database differ from this version of oxbow")
	// ErrAhead: the database is newer than this binary.
	ErrAhead = errors.New("the database is newer than this version of oxbow")
	// ErrUnreleased: the database has the schema from before the first release, or of a version
	// between releases, which cannot be upgraded.
	ErrUnreleased = errors.New("this version of oxbow cannot upgrade the database")
	// ErrNoExtension: an extension that the schema needs is missing or too old.
	ErrNoExtension = errors.New("a PostgreSQL extension is missing")
)

// explainDenied turns "permission denied" into the statement that an administrator has to run.
// grant is a format string with two verbs, for the database and the role. It returns other errors
// unchanged.
func (s *session) explainDenied(err error, doing, grant string) error {
	if !hasCode(err, "42501") {
		return err
	}
	grant = fmt.Sprintf(grant, pgx.Identifier{s.name}.Sanitize(), pgx.Identifier{s.role}.Sanitize())
	return fmt.Errorf("role %q may not %s in database %q: as the database's owner or a superuser, run: %s (%w)",
		s.role, doing, s.name, grant, err)
}

// isOfDefinition reports whether a definition does not fit those that it refers to or replaces.
func isOfDefinition(err error) bool {
	var table errTable
	return errors.As(err, &table) || slices.ContainsFunc([]string{
		"42P13",                            // another return type
		"42703", "42704", "42883", "42P01", // a missing column, type, function or table
		"42804", "42P10", "42P16", // another type, no such constraint, another view
		"42701", "42710", "42P07", // a column, a type or constraint, or a table exists
	}, func(code string) bool { return hasCode(err, code) })
}

func hasCode(err error, code string) bool {
	var pg *pgconn.PgError
	return errors.As(err, &pg) && pg.Code == code
}

// inFile adds the file and line where PostgreSQL stopped, with the error's detail and hint.
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

// byteOffset converts a 1-based position in characters to a 1-based position in bytes, or returns 0
// if text is shorter.
func byteOffset(text string, char int) int {
	for at := range text {
		if char--; char == 0 {
			return at + 1
		}
	}
	return 0
}

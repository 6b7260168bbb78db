package pgtest

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/oxbow-memory/oxbow/deploy"
)

// loginPassword is the password of the logins, for a server that asks for one.
const loginPassword = "oxbow"

// As returns the connection string for a login of deploy/logins.sql: "worker" for a worker, "server" for a server, and
// "oxbow", who owns the schema of the databases.
func As(t testing.TB, dsn, login string) string {
	t.Helper()
	as, err := withLogin(dsn, login)
	if err != nil {
		t.Fatalf("pgtest: %v", err)
	}
	return as
}

var (
	noSQL    = regexp.MustCompile(`(?m)^(--|\\).*$`) // comments, and commands of psql
	variable = regexp.MustCompile(`:'\w+'`)
)

// createLogins runs deploy/logins.sql in a new database. Roles belong to the whole server, so they exist already if
// another database has created them.
func createLogins(ctx context.Context, conn *pgx.Conn) error {
	text := noSQL.ReplaceAllString(deploy.Logins, "")
	text = variable.ReplaceAllString(text, "'"+loginPassword+"'")
	text = strings.ReplaceAll(text, `:"DBNAME"`, pgx.Identifier{conn.Config().Database}.Sanitize())
	for statement := range strings.SplitSeq(text, ";") {
		_, err := conn.Exec(ctx, statement)
		var pg *pgconn.PgError
		if errors.As(err, &pg) && (pg.Code == "42710" || pg.Code == "23505") { // duplicate_object, or at the same time
			continue
		}
		if err != nil {
			return fmt.Errorf("deploy/logins.sql: %w", err)
		}
	}
	return nil
}

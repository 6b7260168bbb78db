package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strings"
	"syscall"

	"github.com/jackc/pgx/v5/pgconn"

	"github.com/oxbow-memory/oxbow"
	"github.com/oxbow-memory/oxbow/store"
)

// sentence returns an error as one line for a person.
func sentence(err error) string {
	var connect *pgconn.ConnectError
	if errors.As(err, &connect) {
		return connectSentence(connect)
	}
	var parse *pgconn.ParseConfigError
	if errors.As(err, &parse) {
		return "invalid database URL: " + printable(parse.Error()) +
			": expected postgres://user@host/database or host=… dbname=…"
	}
	var mismatch *oxbow.ModelMismatchError
	if errors.As(err, &mismatch) {
		return fmt.Sprintf(
			"the embedding flags and OXBOW_EMBEDDING_… choose %s, but the database's vectors are from %s: "+
				"choose that model, or run %s", mismatch.Given, mismatch.Database, reembedCommandLine(mismatch.Given))
	}
	var pg *pgconn.PgError
	if errors.As(err, &pg) && pg.Code == "25006" {
		return "the database is a read-only replica, or read-only by default: connect to the primary (" +
			printable(err.Error()) + ")"
	}
	if pg != nil && (pg.Code == "26000" || pg.Code == "42P05") { // a statement does not exist, or exists already
		return "a pooler in front of PostgreSQL does not track prepared statements: add default_query_exec_mode=exec to the " +
			"database URL (" + printable(err.Error()) + ")"
	}
	return printable(err.Error())
}

// reembedCommandLine returns the command line that changes a database to a model.
func reembedCommandLine(to store.EmbeddingModel) string {
	provider := "local"
	if name, model, ok := strings.Cut(to.Model, ":"); ok {
		provider = name + " --embedding-model " + model
	}
	return fmt.Sprintf("oxbow reembed --embedding-provider %s --embedding-dimension %d", provider, to.Dimension)
}

// connectSentence says why the connection failed, which value to check, and what to do.
func connectSentence(err *pgconn.ConnectError) string {
	cfg := err.Config
	where := net.JoinHostPort(cfg.Host, fmt.Sprint(cfg.Port))
	if strings.HasPrefix(cfg.Host, "/") {
		where = fmt.Sprintf("socket %s/.s.PGSQL.%d", cfg.Host, cfg.Port)
	}
	var pg *pgconn.PgError
	if errors.As(err, &pg) {
		switch pg.Code {
		case "3D000":
			return fmt.Sprintf("database %q does not exist on %s: create it (createdb), or check the database URL",
				cfg.Database, where)
		case "28P01":
			return fmt.Sprintf("%s rejected the password of user %q: check the database URL", where, cfg.User)
		case "28000":
			return fmt.Sprintf("user %q may not connect to database %q on %s: %s", cfg.User, cfg.Database, where,
				pg.Message)
		case "53300":
			return fmt.Sprintf("PostgreSQL on %s has too many connections (%s): close some, or raise max_connections",
				where, pg.Message)
		case "57P03":
			return fmt.Sprintf("PostgreSQL on %s is not ready (%s): try again later", where, pg.Message)
		}
		return fmt.Sprintf("PostgreSQL on %s refused the connection: %s", where, pg.Message)
	}
	var dns *net.DNSError
	var cause syscall.Errno
	switch {
	case errors.As(err, &dns):
		return fmt.Sprintf("cannot resolve the host %q in the database URL: check its spelling", dns.Name)
	case errors.Is(err, context.DeadlineExceeded), pgconn.Timeout(err):
		return fmt.Sprintf("PostgreSQL on %s did not answer in time: check the host, the port and firewalls", where)
	case errors.As(err, &cause):
		return fmt.Sprintf("cannot connect to PostgreSQL on %s (%s): check that it is running, and the database URL",
			where, cause)
	}
	return printable(err.Error())
}

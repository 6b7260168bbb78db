package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
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
		return "the database URL cannot be read: " + oneLine(parse.Error())
	}
	var mismatch *oxbow.ModelMismatchError
	if errors.As(err, &mismatch) {
		return fmt.Sprintf("the database's vectors are of %s, and %s is what the embedding flags and OXBOW_EMBEDDING_… choose: "+
			"choose the database's model, or change the database's with %s", mismatch.Database, mismatch.Given, reembedCommand(mismatch.Given))
	}
	var pg *pgconn.PgError
	if errors.As(err, &pg) && pg.Code == "25006" {
		return "the database is a read-only replica, or read-only by default: connect to the primary; (" + oneLine(err.Error()) + ")"
	}
	return oneLine(err.Error())
}

// reembedCommand returns the command that changes a database to a model.
func reembedCommand(to store.EmbeddingModel) string {
	command := "oxbow reembed --embedding-provider "
	if provider, model, ok := strings.Cut(to.Model, ":"); ok {
		command += provider + " --embedding-model " + model
	} else {
		command += "local"
	}
	return fmt.Sprintf("%s --embedding-dimension %d", command, to.Dimension)
}

func oneLine(text string) string {
	return strings.Join(strings.Fields(text), " ")
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
			return fmt.Sprintf("database %q does not exist on %s: create it, for example with createdb, or check the database URL", cfg.Database, where)
		case "28P01":
			return fmt.Sprintf("the password for user %q was refused by %s: check the database URL", cfg.User, where)
		case "28000":
			return fmt.Sprintf("user %q may not connect to database %q on %s: %s", cfg.User, cfg.Database, where, pg.Message)
		case "53300":
			return fmt.Sprintf("PostgreSQL on %s has no connection left (%s): close some, or raise max_connections", where, pg.Message)
		case "57P03":
			return fmt.Sprintf("PostgreSQL on %s is not ready (%s): try again in a moment", where, pg.Message)
		}
		return fmt.Sprintf("PostgreSQL on %s refused the connection: %s", where, pg.Message)
	}
	var dns *net.DNSError
	switch {
	case errors.As(err, &dns):
		return fmt.Sprintf("the host %q of the database URL is not known: check its spelling", dns.Name)
	case errors.Is(err, syscall.ECONNREFUSED), errors.Is(err, os.ErrNotExist):
		return fmt.Sprintf("no PostgreSQL answers on %s: is it running, and is the database URL right?", where)
	case errors.Is(err, context.DeadlineExceeded), pgconn.Timeout(err):
		return fmt.Sprintf("PostgreSQL on %s did not answer in time: check the host, the port and firewalls", where)
	}
	return oneLine(err.Error())
}

package main

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"net/url"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/oxbow-memory/oxbow/internal/pgtest"
	"github.com/oxbow-memory/oxbow/migrations"
)

// settleTimeout is the longest that "a moment later" may take.
const settleTimeout = 2 * time.Minute

// A database is created for each document, and belongs to a role without superuser rights, like an application's.
type database struct {
	admin string // connection URLs
	owner string
	app   string    // of a login in oxbow_app
	conn  *pgx.Conn // as admin
	roles []string
}

// newDatabase creates a migrated database and two logins. close drops them.
func newDatabase(ctx context.Context) (*database, error) {
	admin, err := pgtest.Create(ctx)
	if err != nil {
		return nil, err
	}
	db := &database{admin: admin}
	if err := db.prepare(ctx); err != nil {
		return nil, errors.Join(err, db.close(ctx))
	}
	return db, nil
}

func (db *database) prepare(ctx context.Context) error {
	var err error
	if db.conn, err = pgx.Connect(ctx, db.admin); err != nil {
		return err
	}
	id := randomHex()
	if db.owner, err = db.login(ctx, "oxbow_docs_owner_"+id); err != nil {
		return err
	}
	_, err = db.conn.Exec(ctx,
		fmt.Sprintf(`create extension vector; create extension btree_gin; alter database %s owner to %s`,
			pgx.Identifier{db.conn.Config().Database}.Sanitize(), db.roles[0]))
	if err != nil {
		return err
	}
	// The group roles belong to the cluster and outlive this database, so the admin creates them.
	for _, role := range []string{"oxbow_app", "oxbow_worker", "oxbow_operator"} {
		_, err := db.conn.Exec(ctx, "create role "+role+" nologin")
		var pgErr *pgconn.PgError
		if err != nil && (!errors.As(err, &pgErr) || pgErr.Code != "42710") { // duplicate object
			return err
		}
	}
	if err := migrations.Up(ctx, db.owner, migrations.Options{}); err != nil {
		return err
	}
	if db.app, err = db.login(ctx, "oxbow_docs_app_"+id); err != nil {
		return err
	}
	_, err = db.conn.Exec(ctx, "grant oxbow_app to "+db.roles[1]+"; grant oxbow_app, oxbow_operator to "+db.roles[0])
	return err
}

// login creates a role that may connect, and returns its connection URL.
func (db *database) login(ctx context.Context, role string) (string, error) {
	password := randomHex()
	if _, err := db.conn.Exec(ctx, fmt.Sprintf("create role %s login password '%s'", role, password)); err != nil {
		return "", err
	}
	db.roles = append(db.roles, role)
	return asUser(db.admin, role, password)
}

// asUser returns a connection string with another user in it.
func asUser(dsn, user, password string) (string, error) {
	if !strings.HasPrefix(dsn, "postgres://") && !strings.HasPrefix(dsn, "postgresql://") {
		return fmt.Sprintf("%s user=%s password=%s", dsn, user, password), nil // the last of several counts
	}
	u, err := url.Parse(dsn)
	if err != nil {
		return "", fmt.Errorf("connection string: %w", err)
	}
	u.User = url.UserPassword(user, password)
	return u.String(), nil
}

// settle waits until the worker has embedded every committed memory and completed all due reflections.
func (db *database) settle(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, settleTimeout)
	defer cancel()
	poll := time.NewTicker(10 * time.Millisecond)
	defer poll.Stop()
	for {
		var waiting int
		err := db.conn.QueryRow(ctx, `select count(*) from oxbow.river_job
			where kind in ('extract', 'embed', 'check_trigger', 'reflect') and finalized_at is null
			and scheduled_at <= now()`).Scan(&waiting)
		if err != nil {
			return err
		}
		if waiting == 0 {
			return nil
		}
		select {
		case <-poll.C:
		case <-ctx.Done():
			return fmt.Errorf("after %s, %d jobs are not done", settleTimeout, waiting)
		}
	}
}

// close drops the logins, while their database can still be connected to, and the database.
func (db *database) close(ctx context.Context) error {
	var err error
	if db.conn != nil {
		for _, role := range db.roles {
			_, dropErr := db.conn.Exec(ctx,
				fmt.Sprintf("reassign owned by %s to current_user; drop owned by %s; drop role %s", role, role, role))
			err = errors.Join(err, dropErr)
		}
		_ = db.conn.Close(ctx)
	}
	return errors.Join(err, pgtest.Drop(ctx, db.admin))
}

func randomHex() string {
	b := make([]byte, 6)
	_, _ = rand.Read(b) // never fails
	return hex.EncodeToString(b)
}

package main

import (
	"context"
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
)

// checkIsolation checks what the documents say about the two ways to connect: the owner sees every user; a login
// in oxbow_app sees the user that it has named, no rows without a name, and gets an error from recall for another user.
func (db *database) checkIsolation(ctx context.Context) error {
	owner, err := pgx.Connect(ctx, db.owner)
	if err != nil {
		return err
	}
	defer owner.Close(context.WithoutCancel(ctx))
	if _, err := owner.Exec(ctx, `insert into oxbow.memories (user_id, content)
		values ('grace', 'Grace rides a blue bicycle')`); err != nil {
		return err
	}
	if err := db.settle(ctx); err != nil {
		return err
	}
	app, err := pgx.Connect(ctx, db.app)
	if err != nil {
		return err
	}
	defer app.Close(context.WithoutCancel(ctx))
	return errors.Join(
		sees(ctx, owner, "the owner", "{ada,grace}"),
		sees(ctx, app, "a login in oxbow_app without the setting", "{}"),
		refused(ctx, app, "ada"),
		inTransaction(ctx, app, func(tx pgx.Tx) error {
			return errors.Join(sees(ctx, tx, "a login in oxbow_app with ada", "{ada}"), refused(ctx, tx, "grace"))
		}))
}

type querier interface {
	QueryRow(ctx context.Context, sql string, args ...any) pgx.Row
}

func sees(ctx context.Context, db querier, who, want string) error {
	var users string
	err := db.QueryRow(ctx, `select coalesce(array_agg(distinct user_id order by user_id), '{}')::text
		from oxbow.memories`).Scan(&users)
	if err == nil && users != want {
		err = fmt.Errorf("%s sees the memories of %s, not of %s", who, users, want)
	}
	return err
}

func refused(ctx context.Context, db querier, user string) error {
	var n int
	err := db.QueryRow(ctx, `select count(*) from oxbow.recall($1, 'bicycle')`, user).Scan(&n)
	var pgErr *pgconn.PgError
	switch {
	case err == nil:
		return fmt.Errorf("a login in oxbow_app that has not named %s recalled %d memories of %s instead of an error",
			user, n, user)
	case errors.As(err, &pgErr) && pgErr.Code == "42501": // insufficient privilege
		return nil
	}
	return err
}

func inTransaction(ctx context.Context, conn *pgx.Conn, check func(pgx.Tx) error) error {
	tx, err := conn.Begin(ctx)
	if err != nil {
		return err
	}
	//nolint:errcheck // nothing was written
	defer tx.Rollback(context.WithoutCancel(ctx))
	if _, err := tx.Exec(ctx, `set local oxbow.user_id = 'ada'`); err != nil {
		return err
	}
	return check(tx)
}

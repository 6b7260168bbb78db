package main

import (
	"context"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/oxbow-memory/oxbow"
	"github.com/oxbow-memory/oxbow/migrations"
	"github.com/oxbow-memory/oxbow/store"
)

// database is the database that a command reads or changes memories in.
type database struct {
	pool   *pgxpool.Pool
	client *oxbow.Client
}

// connect opens the database, which must be at this oxbow's version. The caller closes it. Recalls
// through its client are not reported as use, because inspecting memories is not using them.
func (a *app) connect(ctx context.Context, options ...oxbow.Option) (*database, error) {
	dsn, err := a.dsn()
	if err != nil {
		return nil, err
	}
	cfg, err := pgxpool.ParseConfig(dsn)
	if err != nil {
		return nil, err
	}
	if cfg.ConnConfig.RuntimeParams["application_name"] == "" {
		cfg.ConnConfig.RuntimeParams["application_name"] = "oxbow"
	}
	if err := checkDatabase(ctx, cfg.ConnConfig); err != nil {
		return nil, err
	}
	cfg.AfterConnect = store.RegisterTypes
	pool, err := pgxpool.NewWithConfig(ctx, cfg)
	if err != nil {
		return nil, err
	}
	client, err := oxbow.New(pool, append(options, oxbow.WithoutUseReports(), oxbow.WithLogger(a.logger()))...)
	if err != nil {
		pool.Close()
		return nil, err
	}
	return &database{pool, client}, nil
}

func (d *database) close() { d.pool.Close() }

// checkDatabase checks extensions and versions on a separate connection, before the pool's
// connections look up types.
func checkDatabase(ctx context.Context, cfg *pgx.ConnConfig) error {
	conn, err := pgx.ConnectConfig(ctx, cfg.Copy())
	if err != nil {
		return err
	}
	defer conn.Close(context.WithoutCancel(ctx))
	return migrations.Check(ctx, conn)
}

// as runs f in a transaction that may see the user, even if the login is a member of oxbow_app.
func (d *database) as(ctx context.Context, userID string, f func(store.DB) error) error {
	return pgx.BeginFunc(ctx, d.pool, func(tx pgx.Tx) error {
		if _, err := tx.Exec(ctx, `select set_config('oxbow.user_id', $1, true)`, userID); err != nil {
			return store.Explain(err)
		}
		return f(tx)
	})
}

// seeAll returns an error unless the login may see every user, as command requires.
func seeAll(ctx context.Context, pool *pgxpool.Pool, command string) error {
	yes, err := store.SeesEveryone(ctx, pool)
	if err == nil && !yes {
		err = fmt.Errorf("%s is for the owner of the schema and members of oxbow_worker, and this login, %q, is neither: check the user of the database URL",
			command, pool.Config().ConnConfig.User)
	}
	return err
}

// location returns the user's time zone, in which times are read and written.
func (d *database) location(ctx context.Context, userID string) (*time.Location, error) {
	var zone store.Zone
	err := d.as(ctx, userID, func(db store.DB) (err error) {
		zone, err = store.UserZone(ctx, db, userID)
		return err
	})
	if err != nil {
		return nil, err
	}
	if location, err := time.LoadLocation(zone.Name); err == nil {
		return location, nil
	}
	return time.FixedZone(zone.Name, zone.Offset), nil // a zone that only PostgreSQL knows
}

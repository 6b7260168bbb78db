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

// database is what a command that reads or changes memories works on.
type database struct {
	pool   *pgxpool.Pool
	client *oxbow.Client
}

// connect opens the database, which must be at this oxbow's version. The caller closes it. What is recalled with its
// client is not reported as used: a person looking on is no use.
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

// checkDatabase looks at extension and versions on a connection of its own, before the pool's look up types.
func checkDatabase(ctx context.Context, cfg *pgx.ConnConfig) error {
	conn, err := pgx.ConnectConfig(ctx, cfg.Copy())
	if err != nil {
		return err
	}
	defer conn.Close(context.WithoutCancel(ctx))
	return migrations.Check(ctx, conn)
}

// as runs f in a transaction that may see the user, also where the login is one of oxbow_app.
func (d *database) as(ctx context.Context, userID string, f func(store.DB) error) error {
	return pgx.BeginFunc(ctx, d.pool, func(tx pgx.Tx) error {
		if _, err := tx.Exec(ctx, `select set_config('oxbow.user_id', $1, true)`, userID); err != nil {
			return store.Explain(err)
		}
		return f(tx)
	})
}

// seeAll fails unless the login may see every user, which a command needs for what it does.
func seeAll(ctx context.Context, pool *pgxpool.Pool, command string) error {
	yes, err := store.SeesEveryone(ctx, pool)
	if err == nil && !yes {
		err = fmt.Errorf("%s is for the owner of the schema and members of oxbow_worker, and this login, %q, is neither: check the user of the database URL",
			command, pool.Config().ConnConfig.User)
	}
	return err
}

// location is the user's time zone, in which times are read and written.
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
	return time.FixedZone(zone.Name, zone.Offset), nil // a name that only PostgreSQL knows
}

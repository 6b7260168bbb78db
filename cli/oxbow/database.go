package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/spf13/cobra"

	"github.com/oxbow-memory/oxbow"
	"github.com/oxbow-memory/oxbow/internal/connect"
	"github.com/oxbow-memory/oxbow/migrations"
	"github.com/oxbow-memory/oxbow/store"
)

type (
	runE      = func(*cobra.Command, []string) error
	runOnData = func(ctx context.Context, d *database, args []string) error
	runOnUser = func(ctx context.Context, u *user, args []string) error
)

// database is the database that a command works on.
type database struct {
	*app
	pool   *pgxpool.Pool
	client *oxbow.Client
}

// user is a user that a command works on. Times are read and printed in the user's time zone.
type user struct {
	*database
	id   string
	zone *time.Location
}

// clientOption returns an option of the client, or nil for none.
type clientOption func(context.Context) (oxbow.Option, error)

// onDatabase returns a command's function that connects to the database, calls run, and disconnects.
func (a *app) onDatabase(run runOnData, options ...clientOption) runE {
	return a.needsDatabase(func(cmd *cobra.Command, args []string) error {
		d, err := a.connect(cmd.Context(), options...)
		if err != nil {
			return err
		}
		defer d.pool.Close()
		return run(cmd.Context(), d, args)
	})
}

// asOperator is onDatabase for commands that read the data of all users.
func (a *app) asOperator(run runOnData, options ...clientOption) runE {
	return func(cmd *cobra.Command, args []string) error {
		return a.onDatabase(func(ctx context.Context, d *database, args []string) error {
			if err := seeAll(ctx, d.pool, cmd.CommandPath()); err != nil {
				return err
			}
			return run(ctx, d, args)
		}, options...)(cmd, args)
	}
}

// onUser is onDatabase for commands whose first argument is a user.
func (a *app) onUser(run runOnUser, options ...clientOption) runE {
	return func(cmd *cobra.Command, args []string) error {
		if err := store.ValidateUserID(args[0]); err != nil {
			return usageError{err}
		}
		return a.onDatabase(func(ctx context.Context, d *database, args []string) error {
			u, err := d.user(ctx, args[0])
			if err != nil {
				return err
			}
			return run(ctx, u, args[1:])
		}, options...)(cmd, args)
	}
}

// onMemory is onDatabase for commands whose argument is the id of a memory. Without the user it searches all users.
func (a *app) onMemory(userID *string, run func(ctx context.Context, u *user, id uuid.UUID) error) runE {
	return func(cmd *cobra.Command, args []string) error {
		id, err := idArgument(args[0])
		if err != nil {
			return err
		}
		return a.onDatabase(func(ctx context.Context, d *database, _ []string) error {
			u, err := d.owner(ctx, *userID, id)
			if err != nil {
				return err
			}
			return run(ctx, u, id)
		})(cmd, args)
	}
}

// connect opens the database, which must have this program's version. Recalls through its client are not reported as
// use, because inspecting memories is not using them.
func (a *app) connect(ctx context.Context, options ...clientOption) (*database, error) {
	all := []oxbow.Option{oxbow.WithoutUseReports(), oxbow.WithLogger(a.logger())}
	for _, option := range options {
		if o, err := option(ctx); err != nil {
			return nil, err
		} else if o != nil {
			all = append(all, o)
		}
	}
	cfg, err := connect.Pool(a.databaseURL, "oxbow", store.RegisterTypes)
	if err != nil {
		return nil, err
	}
	if err := checkDatabase(ctx, cfg.ConnConfig); err != nil {
		return nil, err
	}
	pool, err := pgxpool.NewWithConfig(ctx, cfg)
	if err != nil {
		return nil, err
	}
	client, err := oxbow.New(pool, all...)
	if err != nil {
		pool.Close()
		return nil, err
	}
	return &database{a, pool, client}, nil
}

// checkDatabase checks extensions and versions on a separate connection, before the pool's connections look up types.
func checkDatabase(ctx context.Context, cfg *pgx.ConnConfig) error {
	conn, err := pgx.ConnectConfig(ctx, cfg.Copy())
	if err != nil {
		return err
	}
	defer conn.Close(context.WithoutCancel(ctx))
	return migrations.Check(ctx, conn)
}

// as runs f in a transaction that may see the user, even if the login is a member of oxbow_app.
func as[T any](ctx context.Context, d *database, userID string, f func(store.DB) (T, error)) (result T, err error) {
	err = pgx.BeginFunc(ctx, d.pool, func(tx pgx.Tx) (err error) {
		if _, err := tx.Exec(ctx, `select set_config('oxbow.user_id', $1, true)`, userID); err != nil {
			return store.Explain(err)
		}
		result, err = f(tx)
		return err
	})
	return result, err
}

// user returns a user with the time zone, UTC unless it is set.
func (d *database) user(ctx context.Context, id string) (*user, error) {
	zone, err := as(ctx, d, id, func(db store.DB) (store.Zone, error) { return store.UserZone(ctx, db, id) })
	if err != nil {
		return nil, err
	}
	location, err := time.LoadLocation(zone.Name)
	if err != nil {
		location = time.FixedZone(zone.Name, zone.Offset) // only PostgreSQL knows it
	}
	return &user{d, id, location}, nil
}

// owner returns the user with the given id, or, if that is "", the user of a memory.
func (d *database) owner(ctx context.Context, userID string, memory uuid.UUID) (*user, error) {
	if userID == "" {
		var err error
		userID, err = store.OwnerOf(ctx, d.pool, memory)
		if errors.Is(err, store.ErrNotFound) {
			return nil, fmt.Errorf("%w: add --user if this login may see only one user at a time", err)
		} else if err != nil {
			return nil, err
		}
	}
	return d.user(ctx, userID)
}

// seeAll returns an error unless the login may see every user, as command requires.
func seeAll(ctx context.Context, pool *pgxpool.Pool, command string) error {
	yes, err := store.SeesEveryone(ctx, pool)
	if err == nil && !yes {
		err = fmt.Errorf("%q requires the owner of the schema or a member of oxbow_worker, but this login is %q: "+
			"check the user in the database URL", command, pool.Config().ConnConfig.User)
	}
	return err
}

package main

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/oxbow-memory/oxbow/migrations"
)

func migrateCommand(a *app) *cobra.Command {
	return group("migrate", "Install, upgrade or remove the schema oxbow",
		`Install, upgrade or remove the schema oxbow, which also contains River's tables.

Any number of migrations may be started at once; they take turns. The next one finishes an interrupted one.`,
		migrateUpCommand(a), migrateDownCommand(a), migrateStatusCommand(a))
}

func migrateUpCommand(a *app) *cobra.Command {
	return &cobra.Command{
		Use:   "up",
		Short: "Upgrade the database to this version of oxbow",
		Long: `Upgrade the database to this version of oxbow: extensions, schema, roles, River's tables, Oxbow's tables,
functions, triggers and views. It changes only what differs. Applications may run meanwhile: a step that
cannot get its locks immediately gives up and retries.`,
		RunE: a.needsDatabase(func(cmd *cobra.Command, _ []string) error {
			if err := migrations.Up(cmd.Context(), a.databaseURL, migrations.Options{Logger: a.logger()}); err != nil {
				return err
			}
			return a.printVersion(cmd.Context())
		}),
	}
}

func migrateDownCommand(a *app) *cobra.Command {
	var to int32
	var yes bool
	cmd := &cobra.Command{
		Use:   "down",
		Short: "Revert migrations, which deletes data",
		Long: `Revert the migrations above version --to. Version 0, the default, drops the schema oxbow with all memories and
jobs. The extensions and the roles oxbow_app, oxbow_worker and oxbow_operator remain, because others may use them.`,
		RunE: a.needsDatabase(func(cmd *cobra.Command, _ []string) error {
			if err := a.confirmable(cmd.CommandPath(), yes); err != nil {
				return err
			}
			st, err := migrations.Read(cmd.Context(), a.databaseURL)
			if err != nil {
				return err
			}
			if to < 0 || to > st.Ours.Current {
				return usagef("invalid --to %d: expected 0 to %d, the version of the database", to, st.Ours.Current)
			}
			if !yes {
				if err := a.confirmDown(cmd.Context(), st, to); err != nil {
					return err
				}
			}
			if err := migrations.Down(cmd.Context(), a.databaseURL, to,
				migrations.Options{Logger: a.logger()}); err != nil && !errors.Is(err, migrations.ErrNotMigrated) {
				return err
			}
			return a.printVersion(cmd.Context())
		}),
	}
	cmd.Flags().Int32Var(&to, "to", 0, "target `version`")
	cmd.Flags().BoolVar(&yes, "yes", false, "do not ask for confirmation")
	return cmd
}

// confirmDown asks for the database's name.
func (a *app) confirmDown(ctx context.Context, st migrations.Status, to int32) error {
	return a.confirm(ctx,
		fmt.Sprintf("This reverts schema oxbow of database %q from version %d to %d and deletes data.\n"+
			"Type the name of the database to continue: ", st.Database, st.Ours.Current, to), st.Database)
}

func migrateStatusCommand(a *app) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "status",
		Short: "List applied and pending migrations",
		RunE: a.needsDatabase(func(cmd *cobra.Command, _ []string) error {
			st, err := migrations.Read(cmd.Context(), a.databaseURL)
			if err != nil {
				return err
			}
			return a.output(st, func() { a.printMigrations(st) })
		}),
	}
	a.jsonFlag(cmd.Flags())
	return cmd
}

func (a *app) printVersion(ctx context.Context) error {
	st, err := migrations.Read(ctx, a.databaseURL)
	if err != nil {
		return err
	}
	if st.Ours.Current == 0 && st.River.Current == 0 {
		a.printf("Database %q has no schema oxbow.\n", st.Database)
		return nil
	}
	a.printf("Database %q: schema oxbow is at version %d of %d, River at %d of %d.\n",
		st.Database, st.Ours.Current, st.Ours.Latest, st.River.Current, st.River.Latest)
	return nil
}

func (a *app) printMigrations(st migrations.Status) {
	if len(st.Migrations) == 0 {
		a.printf("Not ready: %s.\n", st.Problem)
		return
	}
	t := a.table("line", "#version", "name", "state")
	for _, m := range st.Migrations {
		t.add(m.Line, fmt.Sprint(m.Version), m.Name, map[bool]string{true: "applied", false: "pending"}[m.Applied])
	}
	code := "up to date"
	if !st.CodeCurrent {
		code = "pending: " + count(len(st.ChangedCode), "file") // --json names them
	}
	t.add("code", "", "functions, triggers, views", code)
	t.print()
	if len(st.MissingRoles) > 0 {
		a.printf("Missing roles: %s. Without them only the schema's owner can use it.\n",
			strings.Join(st.MissingRoles, ", "))
	}
	if st.Problem != "" {
		a.printf("Not ready: %s.\n", st.Problem)
		return
	}
	a.printf("Database %q is ready for this version of oxbow.\n", st.Database)
}

package main

import (
	"context"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/oxbow-memory/oxbow/migrations"
)

func newMigrateCommand(a *app) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "migrate",
		Short: "Install, update or remove the schema oxbow",
		Long: `Install, update or remove the schema oxbow, with River's tables in it.

Any number of migrations may be started at once; they take turns. One that is interrupted is finished by the next.`,
		RunE: func(*cobra.Command, []string) error {
			return usagef("say what to do: oxbow migrate up, down or status")
		},
	}
	cmd.AddCommand(newMigrateUpCommand(a), newMigrateDownCommand(a), newMigrateStatusCommand(a))
	return cmd
}

func newMigrateUpCommand(a *app) *cobra.Command {
	return &cobra.Command{
		Use:   "up",
		Short: "Bring the database to the version of this oxbow",
		Long: `Bring the database to the version of this oxbow: extensions, schema, roles, River's tables, our tables,
functions, triggers and views. Does nothing where everything is there. Applications may go on meanwhile: a step
that cannot get its locks at once gives way and tries again.`,
		RunE: func(cmd *cobra.Command, _ []string) error {
			dsn, err := a.dsn()
			if err != nil {
				return err
			}
			if err := migrations.Up(cmd.Context(), dsn, migrations.Options{Logger: a.logger()}); err != nil {
				return err
			}
			return a.printVersion(cmd.Context(), dsn)
		},
	}
}

func newMigrateDownCommand(a *app) *cobra.Command {
	var to int32
	var yes bool
	cmd := &cobra.Command{
		Use:   "down",
		Short: "Undo migrations, which deletes data",
		Long: `Undo the migrations above version --to. Version 0, the default, drops the schema oxbow with all memories and all
jobs. The extensions and the roles oxbow_app and oxbow_worker stay, because others may use them.`,
		RunE: func(cmd *cobra.Command, _ []string) error {
			dsn, err := a.dsn()
			if err != nil {
				return err
			}
			if !yes {
				if err := a.confirmDown(cmd.Context(), dsn, to); err != nil {
					return err
				}
			}
			if err := migrations.Down(cmd.Context(), dsn, to, migrations.Options{Logger: a.logger()}); err != nil {
				return err
			}
			return a.printVersion(cmd.Context(), dsn)
		},
	}
	cmd.Flags().Int32Var(&to, "to", 0, "the version to go down to")
	cmd.Flags().BoolVar(&yes, "yes", false, "do not ask")
	return cmd
}

// confirmDown asks for the database's name on a terminal, and returns an error without one.
func (a *app) confirmDown(ctx context.Context, dsn string, to int32) error {
	if !a.canAsk() {
		return usagef("migrate down deletes data: give --yes to confirm it")
	}
	st, err := migrations.Read(ctx, dsn)
	if err != nil {
		return err
	}
	question := fmt.Sprintf("This takes schema oxbow of database %q from version %d down to %d and deletes data.\n"+
		"Type the name of the database to go on: ", st.Database, st.Ours.Current, to)
	return a.confirm(ctx, question, st.Database)
}

func newMigrateStatusCommand(a *app) *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "status",
		Short: "Show which migrations are applied and which are pending",
		RunE: func(cmd *cobra.Command, _ []string) error {
			dsn, err := a.dsn()
			if err != nil {
				return err
			}
			st, err := migrations.Read(cmd.Context(), dsn)
			if err != nil {
				return err
			}
			if asJSON {
				return a.printJSON(st)
			}
			return a.printStatus(st)
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	return cmd
}

func (a *app) printVersion(ctx context.Context, dsn string) error {
	st, err := migrations.Read(ctx, dsn)
	if err != nil {
		return err
	}
	if st.Ours.Current == 0 && st.River.Current == 0 {
		a.printf("Database %q has no schema oxbow.\n", st.Database)
		return nil
	}
	a.printf("Schema oxbow of database %q is at version %d of %d, River at %d of %d.\n",
		st.Database, st.Ours.Current, st.Ours.Latest, st.River.Current, st.River.Latest)
	return nil
}

func (a *app) printStatus(st migrations.Status) error {
	table := newTable("line", "#version", "name", "state")
	for _, m := range st.Migrations {
		state := "pending"
		if m.Applied {
			state = "applied"
		}
		table.add(m.Line, fmt.Sprint(m.Version), m.Name, state)
	}
	code := "as in this oxbow"
	if !st.CodeCurrent {
		code = "pending: " + strings.Join(st.ChangedCode, ", ")
	}
	table.add("code", "", "functions, triggers, views", code)
	if err := table.print(a.out); err != nil {
		return err
	}
	if len(st.MissingRoles) > 0 {
		a.printf("The roles %s do not exist; only the schema's owner can use it.\n", strings.Join(st.MissingRoles, ", "))
	}
	if st.Problem != "" {
		a.printf("Not ready: %s.\n", st.Problem)
		return nil
	}
	a.printf("Database %q is ready for this oxbow.\n", st.Database)
	return nil
}

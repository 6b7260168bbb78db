package main

import (
	"context"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/oxbow-memory/oxbow/internal/localpg"
	"github.com/oxbow-memory/oxbow/migrations"
	"github.com/oxbow-memory/oxbow/worker"
)

func newDevCommand(a *app) *cobra.Command {
	var flags workFlags
	var dir string
	cmd := &cobra.Command{
		Use:   "dev",
		Short: "Run everything for development: a database, the schema, a worker",
		Long: `Run everything for development until interrupted: bring the database to this oxbow's version and work jobs.

Without DATABASE_URL a private PostgreSQL is started, on a Unix socket, with its data in a directory of its own; it is
there again the next time.`,
		RunE: func(cmd *cobra.Command, _ []string) (err error) {
			ctx := cmd.Context()
			dsn := a.databaseURL
			if dsn != "" {
				a.printf("The database is the one that DATABASE_URL names; unset it for a private one.\n")
			} else {
				server, err := localpg.Start(ctx, localpg.Config{DataDir: dir, Logger: a.logger()})
				if err != nil {
					return err
				}
				defer func() { err = firstError(err, server.Stop(context.WithoutCancel(ctx))) }()
				dsn = server.DSN("oxbow")
				a.printf("PostgreSQL runs in %s.\n", server.Dir())
				if psql := filepath.Join(server.BinDir(), "psql"); isFile(psql) {
					a.printf("  %s %q\n", psql, dsn)
				}
				a.printf("  export DATABASE_URL=%q\n", dsn)
			}
			if err := migrations.Up(ctx, dsn, migrations.Options{Logger: a.logger()}); err != nil {
				return err
			}
			cfg, err := flags.config(dsn, a.serviceLogger())
			if err != nil {
				return err
			}
			w, err := worker.New(ctx, cfg)
			if err != nil {
				return err
			}
			defer w.Close()
			a.printf("Working jobs. Interrupt to stop.\n")
			return w.Run(ctx)
		},
	}
	flags.add(cmd.Flags())
	cmd.Flags().StringVar(&dir, "data-dir", "", "the private PostgreSQL's directory (default: in the user's data directory)")
	return cmd
}

func isFile(path string) bool {
	info, err := os.Stat(path)
	return err == nil && !info.IsDir()
}

func firstError(errs ...error) error {
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}

package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"github.com/oxbow-memory/oxbow/internal/localpg"
	"github.com/oxbow-memory/oxbow/migrations"
	"github.com/oxbow-memory/oxbow/worker"
)

func newDevCommand(a *app) *cobra.Command {
	var flags workFlags
	var dir string
	cmd := &cobra.Command{
		Use:   "dev [-- COMMAND ARG...]",
		Short: "Run everything for development: a database, the schema, a worker",
		Long: `Run everything for development until interrupted: bring the database to this oxbow's version and work jobs.

Without DATABASE_URL a private PostgreSQL is started, on a Unix socket, with its data in a directory of its own; it is
there again the next time.

With a command, that is run instead of working jobs, with DATABASE_URL in its environment; dev ends when it ends.`,
		Example: `  oxbow dev
  oxbow dev -- oxbow recall ada "where does she live?"`,
		Args: cobra.ArbitraryArgs,
		RunE: func(cmd *cobra.Command, command []string) (err error) {
			ctx := cmd.Context()
			dsn := a.databaseURL
			if dsn != "" && len(command) == 0 {
				a.printf("The database is the one that DATABASE_URL names; unset it for a private one.\n")
			} else if dsn == "" {
				server, err := localpg.Start(ctx, localpg.Config{DataDir: dir, Logger: a.logger()})
				if err != nil {
					return err
				}
				defer func() { err = firstError(err, server.Stop(context.WithoutCancel(ctx))) }()
				dsn = server.DSN("oxbow")
				a.printf("PostgreSQL runs in %s.\n", server.Dir())
				if psql := filepath.Join(server.BinDir(), "psql"); isFile(psql) && len(command) == 0 {
					a.printf("  %s %q\n", psql, dsn)
				}
				if len(command) == 0 {
					a.printf("  export DATABASE_URL=%q\n", dsn)
				}
			}
			if err := migrations.Up(ctx, dsn, migrations.Options{Logger: a.logger()}); err != nil {
				return err
			}
			if len(command) > 0 {
				return a.runOn(ctx, dsn, command)
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

// runOn runs a command on the database until it ends. On an interrupt it sends SIGTERM, and kills
// the command 10 seconds later.
func (a *app) runOn(ctx context.Context, dsn string, command []string) error {
	cmd := exec.CommandContext(ctx, command[0], command[1:]...)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = a.in, a.out, a.err
	cmd.Env = append(os.Environ(), "DATABASE_URL="+dsn)
	cmd.Cancel = func() error { return cmd.Process.Signal(syscall.SIGTERM) }
	cmd.WaitDelay = 10 * time.Second
	err := cmd.Run()
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if err != nil {
		return fmt.Errorf("%s: %w", command[0], err)
	}
	return nil
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

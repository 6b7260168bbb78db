package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"time"

	"github.com/spf13/cobra"
	"golang.org/x/sync/errgroup"

	"github.com/oxbow-memory/oxbow/internal/localpg"
	"github.com/oxbow-memory/oxbow/migrations"
	"github.com/oxbow-memory/oxbow/worker"
)

func devCommand(a *app) *cobra.Command {
	var flags workFlags
	var http serveFlags
	var dir string
	cmd := &cobra.Command{
		Use:   "dev [-- COMMAND ARG...]",
		Short: "Run a development environment: PostgreSQL, the schema, a worker and the HTTP API",
		Long: `Run a development environment until interrupted: migrate the database, run a worker and serve the HTTP API.

Without DATABASE_URL, start a private PostgreSQL on a Unix socket. Its data is kept for the next run.

With a command, run it instead of these, with DATABASE_URL in its environment, and exit when it ends.`,
		Example: `  oxbow dev
  oxbow dev -- oxbow recall ada "where does she live?"`,
		Args: cobra.ArbitraryArgs,
		RunE: func(cmd *cobra.Command, command []string) (err error) {
			ctx := cmd.Context()
			if dir != "" && a.databaseURL != "" {
				return usagef("--data-dir is for a private PostgreSQL: unset DATABASE_URL")
			}
			if a.databaseURL == "" {
				server, err := localpg.Start(ctx, localpg.Config{DataDir: dir, Logger: a.logger()})
				if err != nil {
					return err
				}
				defer func() { err = errors.Join(err, server.Stop(context.WithoutCancel(ctx))) }()
				a.databaseURL = server.DSN("oxbow")
				a.printServer(server, len(command) == 0)
			} else if len(command) == 0 {
				a.printf("Using the database in DATABASE_URL. Unset it to start a private one.\n")
			}
			if err := migrations.Up(ctx, a.databaseURL, migrations.Options{Logger: a.logger()}); err != nil {
				return err
			}
			if len(command) > 0 {
				return a.runCommand(ctx, command)
			}
			return a.workAndServe(ctx, &flags, &http)
		},
	}
	flags.add(cmd.Flags())
	http.addAddress(cmd.Flags())
	http.rerank.add(cmd.Flags())
	cmd.Flags().StringVar(&dir, "data-dir", "",
		"`directory` of the private PostgreSQL (default: in the user's data directory)")
	return cmd
}

// workAndServe runs a worker and the server until ctx or one of them ends.
func (a *app) workAndServe(ctx context.Context, flags *workFlags, http *serveFlags) error {
	w, err := worker.New(ctx, flags.config(a.databaseURL, a.serviceLogger()))
	if err != nil {
		return err
	}
	defer w.Close()
	http.embedding, http.cfg.RequestsPerSecond = flags.embedding, 1000
	if http.cfg.Addr == "" {
		http.cfg.Addr = freeAddress(ctx)
	}
	cfg, err := http.config(a.databaseURL, a.serviceLogger())
	if err != nil {
		return err
	}
	a.printf("The worker is running. Interrupt it to stop.\n")
	both, ctx := errgroup.WithContext(ctx)
	both.Go(func() error { return w.Run(ctx) })
	both.Go(func() error { return a.serve(ctx, cfg) })
	return both.Wait()
}

// freeAddress returns the usual address or, if another program listens there, one with any port.
func freeAddress(ctx context.Context) string {
	const usual = "127.0.0.1:8080"
	listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", usual)
	if err != nil {
		return "127.0.0.1:0"
	}
	_ = listener.Close() // it is used at once
	return usual
}

// printServer prints where the private PostgreSQL runs, and how to connect to it.
func (a *app) printServer(server *localpg.Server, connect bool) {
	a.printf("PostgreSQL is running in %s.\n", server.Dir())
	if !connect {
		return
	}
	if psql, err := exec.LookPath(filepath.Join(server.BinDir(), "psql")); err == nil {
		a.printf("  %s %q\n", psql, a.databaseURL)
	}
	a.printf("  export DATABASE_URL=%q\n", a.databaseURL)
}

// runCommand runs a command on the database until it ends. On an interrupt it sends SIGTERM, and kills the command
// 10 seconds later.
func (a *app) runCommand(ctx context.Context, command []string) error {
	name := command[0]
	if self, err := os.Executable(); err == nil && name == "oxbow" {
		name = self // it need not be in $PATH
	}
	cmd := exec.CommandContext(ctx, name, command[1:]...)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = a.in, a.out, a.err
	cmd.Env = append(os.Environ(), "DATABASE_URL="+a.databaseURL)
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

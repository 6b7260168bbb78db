// Pgtestctl gives scripts access to the tests' private PostgreSQL.
//
//	pgtestctl create     starts it if necessary, creates an empty database and prints its URL
//	pgtestctl drop URL   drops such a database
//	pgtestctl dump URL   prints its schema oxbow as SQL
//	pgtestctl calls DIR  fails if tests with OXBOW_TEST_CALLS=DIR left a function uncalled that only workers may call
//	pgtestctl stop       stops it and deletes all its databases
package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strings"
	"time"

	"github.com/oxbow-memory/oxbow/internal/pgtest"
)

func main() {
	ctx, cancel := signal.NotifyContext(context.Background(), os.Interrupt)
	defer cancel()
	ctx, cancel = context.WithTimeout(ctx, 5*time.Minute)
	defer cancel()
	if err := run(ctx, os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "pgtestctl:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, args []string) error {
	switch {
	case len(args) == 1 && args[0] == "create":
		dsn, err := pgtest.Create(ctx)
		if err != nil {
			return err
		}
		fmt.Println(dsn)
		return nil
	case len(args) == 2 && args[0] == "drop":
		return pgtest.Drop(ctx, args[1])
	case len(args) == 2 && args[0] == "dump":
		return dump(ctx, args[1])
	case len(args) == 2 && args[0] == "calls":
		uncalled, err := pgtest.Uncalled(ctx, args[1])
		if err == nil && len(uncalled) > 0 {
			err = fmt.Errorf("no test calls these as a worker: %s", strings.Join(uncalled, ", "))
		}
		return err
	case len(args) == 1 && args[0] == "stop":
		return pgtest.Stop(ctx)
	}
	return fmt.Errorf("usage: pgtestctl create | drop URL | dump URL | calls DIR | stop")
}

func dump(ctx context.Context, dsn string) error {
	bin, err := pgtest.BinDir(ctx)
	if err != nil {
		return err
	}
	program := "pg_dump"
	if bin != "" {
		program = filepath.Join(bin, program)
	}
	cmd := exec.CommandContext(ctx, program, "--schema-only", "--schema=oxbow", "--no-owner", "--dbname="+dsn)
	cmd.Stdout, cmd.Stderr = os.Stdout, os.Stderr
	return cmd.Run()
}

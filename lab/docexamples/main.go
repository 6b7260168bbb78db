// Docexamples runs the fenced snippets of Markdown files, each file against a fresh database with a worker and a
// server beside it, in their order. scripts/docs-examples calls it with the interpreters that it has found.
//
//	docexamples [-v] -oxbow bin/oxbow -python python3 -node node README.md docs/sql.md
//
// It fails if a snippet fails, a query prints no rows, or a program prints nothing. A comment before a fence specifies
// how to run a snippet: see snippet.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"time"
)

type config struct {
	oxbow, python, node string
	verbose             bool
}

func main() {
	ctx, cancel := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer cancel()
	var cfg config
	flag.StringVar(&cfg.oxbow, "oxbow", "bin/oxbow", "the oxbow command")
	flag.StringVar(&cfg.python, "python", "python3", "a Python with psycopg 3 and the SDK's dependencies")
	flag.StringVar(&cfg.node, "node", "node", "a Node.js that finds the package pg")
	flag.BoolVar(&cfg.verbose, "v", false, "show what the snippets print")
	flag.Parse()

	failed := 0
	for _, file := range flag.Args() {
		n, err := runDocument(ctx, cfg, file)
		failed += n
		if err != nil {
			fmt.Fprintf(os.Stderr, "%s: %v\n", file, err)
			failed++
		}
	}
	if failed > 0 || flag.NArg() == 0 {
		fmt.Fprintf(os.Stderr, "docexamples: %d failed in %d documents\n", failed, flag.NArg())
		os.Exit(1)
	}
}

// runDocument runs a document's snippets, even after one fails, and returns how many failed. The error reports any
// other failure.
func runDocument(ctx context.Context, cfg config, file string) (failed int, err error) {
	text, err := os.ReadFile(file)
	if err != nil {
		return 0, err
	}
	found, err := snippets(file, string(text))
	if err != nil {
		return 0, err
	}
	db, err := newDatabase(ctx)
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, db.close(context.WithoutCancel(ctx))) }()
	dir, err := os.MkdirTemp("", "docexamples-")
	if err != nil {
		return 0, err
	}
	//nolint:errcheck // a temporary directory
	defer os.RemoveAll(dir)
	if err := os.Chmod(dir, 0o755); err != nil { // as root, PostgreSQL runs as another user in it
		return 0, err
	}

	r := &runner{cfg: cfg, db: db, dir: dir}
	_, stopWork, err := r.start(ctx, "working", "work")
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, stopWork()) }()
	printed, stopServe, err := r.start(ctx, "/v1\n", "serve", "--addr", "127.0.0.1:0")
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, stopServe()) }()
	r.url = serving.FindStringSubmatch(printed)[1]
	if r.key, err = r.newKey(ctx); err != nil {
		return 0, err
	}
	for _, s := range found {
		if ctx.Err() != nil {
			return failed, ctx.Err()
		}
		if !r.report(ctx, s) {
			failed++
		}
	}
	return failed, nil
}

// report runs a snippet and prints the result.
func (r *runner) report(ctx context.Context, s snippet) bool {
	switch {
	case s.shown():
		return true
	case s.notRun != "":
		fmt.Printf("%s %s: not run: %s\n", s.place(), s.lang, s.notRun)
		return true
	}
	begin := time.Now()
	printed, err := r.run(ctx, s)
	fmt.Printf("%s %s: %s in %.1f s\n", s.place(), s.lang, outcome(err), time.Since(begin).Seconds())
	if err != nil {
		fmt.Printf("%s\n    printed:\n%s\n    error:\n%s\n", indent(s.text), indent(printed), indent(err.Error()))
	} else if r.cfg.verbose {
		fmt.Printf("%s\n", indent(printed))
	}
	return err == nil
}

func outcome(err error) string {
	if err != nil {
		return "FAILED"
	}
	return "passed"
}

func indent(text string) string {
	return "    " + strings.ReplaceAll(strings.TrimRight(text, "\n"), "\n", "\n    ")
}

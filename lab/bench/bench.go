package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"

	"github.com/oxbow-memory/oxbow/internal/localpg"
	"github.com/oxbow-memory/oxbow/lab/must"
)

const seed = 1

// bench is one run of one benchmark.
type bench struct {
	ctx           context.Context
	rounds, size  int
	page, match   string
	name, command string
	out           io.Writer

	server    *localpg.Server
	databases map[string]database
	promises  []promise
}

// measure starts PostgreSQL, runs a benchmark, prints its promises, and writes them into the page if one is named.
func (b *bench) measure(run func(*bench)) (err error) {
	cleanUp := context.WithoutCancel(b.ctx)
	base, err := os.MkdirTemp("/var/tmp", "oxbow-bench-") // on disk, because a commit in memory is too cheap
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, remove(cleanUp, base)) }()
	if err := os.Chmod(base, 0o755); err != nil { // PostgreSQL may run as another user
		return err
	}
	if b.server, err = localpg.Start(b.ctx, localpg.Config{BaseDir: base, Settings: serverSettings()}); err != nil {
		return err
	}
	defer func() {
		for _, d := range b.databases {
			d.Close()
		}
		err = errors.Join(err, b.server.Stop(cleanUp))
	}()
	before := load()
	if err := must.Try(func() { run(b) }); err != nil || len(b.promises) == 0 {
		return err
	}
	b.table("Promises", fmt.Sprintf("%-84s", "what"), "promised", "measured", "")
	for _, p := range b.promises {
		b.row(fmt.Sprintf("%-84s", p.what), p.goal, p.measured, p.verdict())
	}
	fmt.Fprintf(b.out, "\n%s; load average %s before, %s after\n%s\n", machine(), before, load(), b.command)
	if b.page == "" {
		return nil
	}
	return b.writePage()
}

func remove(ctx context.Context, base string) error {
	clusters, err := filepath.Glob(filepath.Join(base, "pg-*"))
	for _, dir := range clusters {
		err = errors.Join(err, localpg.Remove(ctx, dir))
	}
	return errors.Join(err, os.RemoveAll(base))
}

// sized returns -size, or the benchmark's own number.
func (b *bench) sized(otherwise int) int {
	if b.size > 0 {
		return b.size
	}
	return otherwise
}

func (b *bench) pause(d time.Duration) {
	select {
	case <-b.ctx.Done():
		must.OK(b.ctx.Err())
	case <-time.After(d):
	}
}

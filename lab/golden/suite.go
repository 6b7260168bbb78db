package main

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/oxbow-memory/oxbow/internal/pgtest"
	"github.com/oxbow-memory/oxbow/lab/must"
	"github.com/oxbow-memory/oxbow/lab/program"
)

// cleanupTimeout limits the dropping of databases, which also follows an interrupt.
const cleanupTimeout = time.Minute

// suite is a program under test and a database that it has migrated. Every section gets a copy of the database.
type suite struct {
	dir      string // of the program and everything temporary
	binary   string
	template string // URL
	admin    *pgx.ConnConfig
	adminURL string
	copies   atomic.Int64
}

// newSuite builds the program, unless one is named, and migrates a database with it.
func newSuite(ctx context.Context, binary string) *suite {
	s := &suite{dir: must.Get(os.MkdirTemp("", "oxbow-golden-")), binary: binary}
	if err := must.Try(func() { s.prepare(ctx) }); err != nil {
		s.close()
		must.OK(err)
	}
	return s
}

// prepare makes a database to copy. The program runs on the copies as their owner, as in a single-tenant deployment.
func (s *suite) prepare(ctx context.Context) {
	if s.binary == "" {
		s.binary = must.Get(program.Build(ctx))
	}
	s.binary = must.Get(filepath.Abs(s.binary))
	s.adminURL = must.Get(pgtest.Create(ctx))
	s.admin = must.Get(pgx.ParseConfig(s.adminURL))
	s.template = must.Get(pgtest.Create(ctx))
	migrate := exec.CommandContext(ctx, s.binary, "migrate", "up")
	migrate.Env = environment("DATABASE_URL=" + s.template)
	if out, err := migrate.CombinedOutput(); err != nil {
		must.OK(fmt.Errorf("oxbow migrate up: %w\n%s", err, out))
	}
}

func (s *suite) close() {
	ctx, cancel := context.WithTimeout(context.Background(), cleanupTimeout)
	defer cancel()
	for _, dsn := range []string{s.template, s.adminURL} {
		if dsn != "" {
			if err := pgtest.Drop(ctx, dsn); err != nil {
				fmt.Fprintln(os.Stderr, "golden:", err)
			}
		}
	}
	if err := os.RemoveAll(s.dir); err != nil {
		fmt.Fprintln(os.Stderr, "golden:", err)
	}
}

// copyTemplate copies the template and returns the URL of the copy.
func (s *suite) copyTemplate(ctx context.Context) string {
	conn := must.Get(pgx.ConnectConfig(ctx, s.admin))
	defer conn.Close(context.WithoutCancel(ctx))
	template := must.Get(pgx.ParseConfig(s.template)).Database
	name := fmt.Sprintf("%s_%d", s.admin.Database, s.copies.Add(1))
	must.Get(conn.Exec(ctx, "create database "+name+" template "+template))
	return strings.Replace(s.template, template, name, 1)
}

// place is where one section is recorded: a migrated database, and a directory with the program and the samples.
type place struct {
	ctx  context.Context
	dsn  string
	conn *pgx.Conn
	dir  string
	env  []string
}

// errNotPlanted reports a database that cannot be prepared, most likely because a fault's pattern no longer matches.
var errNotPlanted = errors.New("the database cannot be prepared")

// record records one section in a copy of the migrated database with a fault.
func (s *suite) record(ctx context.Context, sec section, f fault) (text string, err error) {
	return text, must.Try(func() {
		dsn := s.copyTemplate(ctx)
		defer func() {
			ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), cleanupTimeout)
			defer cancel()
			must.OK(pgtest.Drop(ctx, dsn))
		}()
		conn := connect(ctx, dsn)
		defer conn.Close(context.WithoutCancel(ctx))
		if _, err := conn.Exec(ctx, helpersSQL+fixtureSQL+f.sql); err != nil {
			must.OK(fmt.Errorf("%w: %w", errNotPlanted, err))
		}
		p := &place{ctx: ctx, dsn: dsn, conn: conn, dir: must.Get(os.MkdirTemp(s.dir, sec.name+"-"))}
		defer func() { must.OK(os.RemoveAll(p.dir)) }()
		s.furnish(p, f)
		text = sec.record(p)
	})
}

// connect connects with settings that make values read the same everywhere.
func connect(ctx context.Context, dsn string) *pgx.Conn {
	config := must.Get(pgx.ParseConfig(dsn))
	maps.Copy(config.RuntimeParams, map[string]string{"timezone": "UTC", "datestyle": "ISO, YMD"})
	return must.Get(pgx.ConnectConfig(ctx, config))
}

// furnish puts the program, the samples and the scripts' own files into the directory of the place.
func (s *suite) furnish(p *place, f fault) {
	bin := filepath.Join(p.dir, "bin")
	must.OK(os.Mkdir(bin, 0o755))
	must.OK(os.CopyFS(filepath.Join(p.dir, "examples"), os.DirFS(filepath.Join(rootDir(), "examples"))))
	must.OK(os.CopyFS(filepath.Join(p.dir, "files"), os.DirFS(filepath.Join(suiteDir(), "files"))))
	if f.program == "" {
		must.OK(os.Symlink(s.binary, filepath.Join(bin, "oxbow")))
	} else {
		must.OK(os.WriteFile(filepath.Join(bin, "oxbow"), []byte("#!/bin/sh\n"+f.program+"\n"), 0o755))
	}
	p.env = environment("PATH="+bin+":/usr/bin:/bin", "DATABASE_URL="+p.dsn, "HOME="+p.dir, "OXBOW="+s.binary)
}

// environment returns the environment of programs: of the caller's variables only those that locate PostgreSQL.
func environment(own ...string) []string {
	env := []string{"PATH=/usr/bin:/bin", "HOME=/nonexistent", "LANG=C.UTF-8", "TZ=UTC"}
	for _, v := range os.Environ() {
		if strings.HasPrefix(v, "PGPASS") || strings.HasPrefix(v, "PGSSL") {
			env = append(env, v)
		}
	}
	return slices.Concat(env, own)
}

// shell runs a command line in the place, and returns its output and exit code.
func (p *place) shell(line string) (out, errOut string, code int) {
	cmd := exec.CommandContext(p.ctx, "sh", "-c", line)
	cmd.Dir, cmd.Env = p.dir, p.env
	var stdout, stderr strings.Builder
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	err := cmd.Run()
	if exit, ok := errors.AsType[*exec.ExitError](err); ok && exit.ExitCode() >= 0 {
		code, err = exit.ExitCode(), nil
	}
	must.OK(err)
	return stdout.String(), stderr.String(), code
}

// must runs a command line that must succeed, and returns its output.
func (p *place) must(line string) string {
	out, errOut, code := p.shell(line)
	if code != 0 {
		must.OK(fmt.Errorf("%s: exit %d\n%s%s", line, code, out, errOut))
	}
	return out
}

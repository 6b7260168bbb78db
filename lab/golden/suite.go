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
	"github.com/oxbow-memory/oxbow/lab/program"
)

// cleanupTimeout limits the dropping of databases, which also follows an interrupt.
const cleanupTimeout = time.Minute

// suite is a program to look at, and a database that it has migrated, of which every section gets a copy.
type suite struct {
	dir      string // of the program and everything temporary
	binary   string
	template string // URL
	admin    *pgx.ConnConfig
	adminURL string
	copies   atomic.Int64
}

func newSuite(ctx context.Context, binary string) (*suite, error) {
	dir, err := os.MkdirTemp("", "oxbow-golden-")
	if err != nil {
		return nil, err
	}
	s := &suite{dir: dir, binary: binary}
	if err := s.prepare(ctx); err != nil {
		s.close()
		return nil, err
	}
	return s, nil
}

func (s *suite) prepare(ctx context.Context) (err error) {
	if s.binary == "" {
		if s.binary, err = program.Build(ctx); err != nil {
			return err
		}
	}
	if s.binary, err = filepath.Abs(s.binary); err != nil {
		return err
	}
	if s.adminURL, err = pgtest.Create(ctx); err != nil {
		return fmt.Errorf("no database: %w", err)
	}
	if s.admin, err = pgx.ParseConfig(s.adminURL); err != nil {
		return err
	}
	if s.template, err = pgtest.Create(ctx); err != nil {
		return fmt.Errorf("no database: %w", err)
	}
	migrate := exec.CommandContext(ctx, s.binary, "migrate", "up")
	migrate.Env = environment("DATABASE_URL=" + s.template)
	if out, err := migrate.CombinedOutput(); err != nil {
		return fmt.Errorf("oxbow migrate up: %w\n%s", err, out)
	}
	return nil
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

// copyTemplate makes a database like the template, and returns its URL.
func (s *suite) copyTemplate(ctx context.Context) (string, error) {
	conn, err := pgx.ConnectConfig(ctx, s.admin)
	if err != nil {
		return "", err
	}
	defer conn.Close(context.WithoutCancel(ctx))
	template, err := pgx.ParseConfig(s.template)
	if err != nil {
		return "", err
	}
	name := fmt.Sprintf("%s_%d", s.admin.Database, s.copies.Add(1))
	if _, err := conn.Exec(ctx, "create database "+name+" template "+template.Database); err != nil {
		return "", err
	}
	return strings.Replace(s.template, template.Database, name, 1), nil
}

// place is where one section is recorded: a migrated database, and a directory with the program and the samples.
type place struct {
	dsn  string
	conn *pgx.Conn
	dir  string
	env  []string
}

// errNotPlanted reports a database that cannot be prepared, most likely because a fault's pattern no longer matches.
var errNotPlanted = errors.New("the database cannot be prepared")

// record records one section in a copy of the migrated database with a fault.
func (s *suite) record(ctx context.Context, sec section, f fault) (text string, err error) {
	dsn, err := s.copyTemplate(ctx)
	if err != nil {
		return "", err
	}
	defer func() {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), cleanupTimeout)
		defer cancel()
		err = errors.Join(err, pgtest.Drop(ctx, dsn))
	}()
	conn, err := connect(ctx, dsn)
	if err != nil {
		return "", err
	}
	defer conn.Close(context.WithoutCancel(ctx))
	if _, err := conn.Exec(ctx, helpersSQL+fixtureSQL+f.sql); err != nil {
		return "", fmt.Errorf("%w: %w", errNotPlanted, err)
	}
	p := &place{dsn: dsn, conn: conn}
	if p.dir, err = os.MkdirTemp(s.dir, sec.name+"-"); err != nil {
		return "", err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(p.dir)) }()
	if err := s.furnish(p, f); err != nil {
		return "", err
	}
	return sec.record(ctx, p)
}

// connect connects with settings that make values read the same everywhere.
func connect(ctx context.Context, dsn string) (*pgx.Conn, error) {
	config, err := pgx.ParseConfig(dsn)
	if err != nil {
		return nil, err
	}
	maps.Copy(config.RuntimeParams, map[string]string{"timezone": "UTC", "datestyle": "ISO, YMD"})
	return pgx.ConnectConfig(ctx, config)
}

// furnish puts the program, the samples and the scripts' own files into the directory of the place.
func (s *suite) furnish(p *place, f fault) error {
	bin := filepath.Join(p.dir, "bin")
	err := errors.Join(os.Mkdir(bin, 0o755),
		os.CopyFS(filepath.Join(p.dir, "examples"), os.DirFS(filepath.Join(rootDir(), "examples"))),
		os.CopyFS(filepath.Join(p.dir, "files"), os.DirFS(filepath.Join(suiteDir(), "files"))))
	if f.program == "" {
		err = errors.Join(err, os.Symlink(s.binary, filepath.Join(bin, "oxbow")))
	} else {
		err = errors.Join(err, os.WriteFile(filepath.Join(bin, "oxbow"), []byte("#!/bin/sh\n"+f.program+"\n"), 0o755))
	}
	p.env = environment("PATH="+bin+":/usr/bin:/bin", "DATABASE_URL="+p.dsn, "HOME="+p.dir, "OXBOW="+s.binary)
	return err
}

// environment is what programs get: nothing of the caller's but what finds the PostgreSQL.
func environment(own ...string) []string {
	env := []string{"PATH=/usr/bin:/bin", "HOME=/nonexistent", "LANG=C.UTF-8", "TZ=UTC"}
	for _, v := range os.Environ() {
		if strings.HasPrefix(v, "PGPASS") || strings.HasPrefix(v, "PGSSL") {
			env = append(env, v)
		}
	}
	return slices.Concat(env, own)
}

// shell runs a command line in the place, and returns what it wrote and how it ended.
func (p *place) shell(ctx context.Context, line string) (out, errOut string, code int, err error) {
	cmd := exec.CommandContext(ctx, "sh", "-c", line)
	cmd.Dir, cmd.Env = p.dir, p.env
	var stdout, stderr strings.Builder
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	err = cmd.Run()
	if exit, ok := errors.AsType[*exec.ExitError](err); ok && exit.ExitCode() >= 0 {
		return stdout.String(), stderr.String(), exit.ExitCode(), nil
	}
	return stdout.String(), stderr.String(), 0, err
}

// must runs a command line that has to succeed, and returns what it wrote.
func (p *place) must(ctx context.Context, line string) (string, error) {
	out, errOut, code, err := p.shell(ctx, line)
	if err != nil {
		return "", fmt.Errorf("%s: %w", line, err)
	} else if code != 0 {
		return "", fmt.Errorf("%s: exit %d\n%s%s", line, code, out, errOut)
	}
	return out, nil
}

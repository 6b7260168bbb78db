package main

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"github.com/oxbow-memory/oxbow/internal/pgtest"
	"github.com/oxbow-memory/oxbow/migrations"
	"github.com/oxbow-memory/oxbow/store"
)

func TestMigrate(t *testing.T) {
	t.Parallel()
	dsn := pgtest.Empty(t)
	migrate := func(args ...string) result {
		return cli(t, append([]string{"migrate", "--database-url", dsn}, args...)...)
	}
	status := func() (st migrations.Status) {
		r := migrate("status", "--json")
		require.Zero(t, r.code, r.err)
		require.NoError(t, json.Unmarshal([]byte(r.out), &st))
		return st
	}

	st := status()
	require.Contains(t, st.Problem, "no Oxbow schema")
	require.Zero(t, st.Ours.Current)
	r := migrate("status")
	require.Zero(t, r.code)
	require.Contains(t, r.out, "pending")
	require.NotContains(t, r.out, "applied")
	require.Regexp(t, `views +pending: \d+ files`, r.out)

	r = migrate("up", "--verbose")
	require.Zero(t, r.code, r.err)
	require.Regexp(t, `^Database ".*": schema oxbow is at version (\d+) of \d+, River at 8 of 8\.\n$`, r.out)
	require.Contains(t, r.err, "001_settings.sql")
	st = status()
	require.Empty(t, st.Problem)
	require.Equal(t, st.Ours.Latest, st.Ours.Current)
	require.Positive(t, st.Ours.Latest)
	require.True(t, st.CodeCurrent)
	r = migrate("up")
	require.Zero(t, r.code)
	require.Empty(t, r.err, "nothing to say the second time")
	r = migrate("status")
	require.Contains(t, r.out, "is ready for this version of oxbow")
	require.Equal(t, len(st.Migrations), strings.Count(r.out, " applied\n"))

	r = migrate("down", "--to", "99", "--yes")
	require.Equal(t, exitUsage, r.code)
	require.Contains(t, r.err, fmt.Sprintf("invalid --to 99: expected 0 to %d", store.SchemaVersion))
	require.Equal(t, exitUsage, migrate("down").code, "no terminal to ask on")
	require.Empty(t, status().Problem)

	r = migrate("down", "--yes")
	require.Zero(t, r.code, r.err)
	require.Contains(t, r.out, "has no schema oxbow")
	r = migrate("down", "--yes")
	require.Zero(t, r.code, r.err)
	require.Contains(t, r.out, "has no schema oxbow")
}

func TestMigrateNewerDatabase(t *testing.T) {
	t.Parallel()
	dsn := pgtest.Database(t)
	conn, err := pgx.Connect(t.Context(), dsn)
	require.NoError(t, err)
	defer conn.Close(t.Context())
	_, err = conn.Exec(t.Context(), `update oxbow.schema_version set version = 99`)
	require.NoError(t, err)
	for _, args := range [][]string{{"up"}, {"down", "--yes"}} {
		r := cli(t, append([]string{"migrate", "--database-url", dsn}, args...)...)
		require.Equal(t, exitFailed, r.code)
		require.Regexp(t, `^oxbow: the database is newer than this version of oxbow: database ".*" is at version 99 `+
			`\(River 8\), this version of oxbow knows version \d+ \(River 8\)`, r.err)
	}
}

func TestMigrateNoSuchDatabase(t *testing.T) {
	t.Parallel()
	dsn := pgtest.Empty(t)
	cfg, err := pgx.ParseConfig(dsn)
	require.NoError(t, err)
	r := cli(t, "migrate", "up", "--database-url", strings.Replace(dsn, "/"+cfg.Database, "/mig_absent", 1))
	require.Equal(t, exitFailed, r.code)
	require.Contains(t, r.err, `database "mig_absent" does not exist on`)
}

func TestMigrateInterrupted(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	r := cliContext(ctx, "migrate", "up", "--database-url", pgtest.Empty(t))
	require.Equal(t, exitFailed, r.code)
	require.Equal(t, "oxbow: interrupted\n", r.err)
}

package migrations_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/oxbow-memory/oxbow/internal/pgtest"
	"github.com/oxbow-memory/oxbow/migrations"
)

// unreleased creates what the program of the unreleased schema leaves behind: tern's version table,
// River's, and one table.
const unreleased = `
	create extension vector; create extension btree_gin; create schema oxbow;
	create table oxbow.installed_code (name text primary key, checksum text not null, installed_at timestamptz not null
		default now());
	insert into oxbow.installed_code values ('010_reject.sql', 'abc');
	create table oxbow.river_migration (line text not null, version bigint not null, created_at timestamptz not null
		default now(),
		primary key (line, version));
	insert into oxbow.river_migration select 'main', generate_series(1, 8);
	create table oxbow.memories (user_id text not null, id uuid not null default gen_random_uuid(),
	content text not null);
	insert into oxbow.memories (user_id, content) values ('ann', 'A boat on the river.');
	create table oxbow.schema_version (version int4 not null);
	insert into oxbow.schema_version values (17)`

func TestUnreleasedSchemaIsRefused(t *testing.T) {
	t.Parallel()
	dsn := pgtest.Empty(t)
	conn := connect(t, dsn)
	exec(t, conn, unreleased)
	before := objects(t, conn)
	for version, found := range map[string]string{"1": "at version 1 of", "14": "at version 14 of",
		"17": "at version 17 of"} {
		exec(t, conn, "update oxbow.schema_version set version = "+version)
		for _, err := range []error{
			migrations.Up(t.Context(), dsn, migrations.Options{}),
			migrations.Down(t.Context(), dsn, 0, migrations.Options{}),
			migrations.Check(t.Context(), conn),
		} {
			require.ErrorIs(t, err, migrations.ErrUnreleased)
			require.ErrorContains(t, err, found)
			require.ErrorContains(t, err, "oxbow export USER --output FILE")
			require.ErrorContains(t, err, "oxbow import --traits FILE")
		}
		require.Equal(t, version, value[string](t, conn, `select version::text from oxbow.schema_version`))
	}
	st, err := migrations.Read(t.Context(), dsn)
	require.NoError(t, err)
	require.Contains(t, st.Problem, "cannot upgrade")
	require.Empty(t, st.Migrations)
	require.Equal(t, before, objects(t, conn))
	require.Equal(t, []string{"A boat on the river."}, list(t, conn, `select content from oxbow.memories`))
	require.Equal(t, []string{"abc"}, list(t, conn, `select checksum from oxbow.installed_code`))
}

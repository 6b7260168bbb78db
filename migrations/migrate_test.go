package migrations_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/oxbow-memory/oxbow/internal/pgtest"
	"github.com/oxbow-memory/oxbow/migrations"
)

func TestUpInstallsAll(t *testing.T) {
	t.Parallel()
	b := setup(t)
	conn := b.conn(t)
	require.ErrorIs(t, migrations.CheckSource(t.Context(), conn, b.src), migrations.ErrNotMigrated)

	require.NoError(t, migrations.Up(t.Context(), b.dsn, b.opts))
	require.NoError(t, migrations.CheckSource(t.Context(), conn, b.src))
	require.EqualValues(t, 2, value[int32](t, conn, `select version from oxbow.schema_version`))
	require.EqualValues(t, migrations.RiverVersion, value[int64](t, conn,
		`select max(version) from oxbow.river_migration`))
	require.Equal(t, []string{"10", "20"}, list(t, conn, `select name from oxbow.runs order by 1`))
	// A function's search path has our schema, the extension's schema, and temporary objects last.
	require.Equal(t, "search_path=oxbow, public, pg_temp", value[string](t, conn,
		`select unnest(proconfig) from pg_proc where oid = 'oxbow.near'::regproc`))
	for _, role := range b.src.Roles {
		require.True(t, value[bool](t, conn,
			`select has_table_privilege($1, 'oxbow.schema_version', 'select') and not rolcanlogin from pg_roles
				where rolname = $1`, role))
	}
	require.EqualValues(t, 0,
		value[int64](t, conn,
			`select count(*) from pg_locks where locktype = 'advisory' and database = (select oid from pg_database
				where datname = current_database())`))

	st, err := migrations.ReadSource(t.Context(), b.dsn, b.src)
	require.NoError(t, err)
	require.True(t, st.CodeCurrent)
	require.Empty(t, st.Problem)
	require.Len(t, st.Migrations, migrations.RiverVersion+2)
	for _, m := range st.Migrations {
		require.True(t, m.Applied, m.Name)
	}
}

func TestChangedCodeRunsAgain(t *testing.T) {
	t.Parallel()
	b := setup(t)
	conn := b.conn(t)
	require.NoError(t, migrations.Up(t.Context(), b.dsn, b.opts))
	require.NoError(t, migrations.Up(t.Context(), b.dsn, b.opts))
	require.Len(t, list(t, conn, `select name from oxbow.runs`), 2)

	b.code["20_views.sql"].Data = append(b.code["20_views.sql"].Data, " -- changed"...)
	err := migrations.CheckSource(t.Context(), conn, b.src)
	require.ErrorIs(t, err, migrations.ErrBehind)
	require.ErrorIs(t, err, migrations.ErrCodeDiffers)
	require.ErrorContains(t, err, "20_views.sql")
	require.NoError(t, migrations.Up(t.Context(), b.dsn, b.opts))
	require.Equal(t, []string{"10", "10", "20", "20"}, list(t, conn, `select name from oxbow.runs order by 1`))

	delete(b.code, "20_views.sql")
	require.ErrorContains(t, migrations.CheckSource(t.Context(), conn, b.src), "20_views.sql")
	require.NoError(t, migrations.Up(t.Context(), b.dsn, b.opts))
	require.Equal(t, []string{"10_functions.sql"}, list(t, conn, `select name from oxbow.installed_code`))
	require.NoError(t, migrations.CheckSource(t.Context(), conn, b.src))
}

// What an earlier version of the files defined is replaced or dropped, and rights that no file grants are revoked.
func TestUpLeavesNothingOfAnEarlierVersion(t *testing.T) {
	t.Parallel()
	b := setup(t)
	second := b.code["10_functions.sql"].Data
	b.code["10_functions.sql"].Data = append([]byte(`
		create function oxbow.near(a halfvec, b halfvec) returns float8 language sql as 'select a <-> b'; -- other arguments
		create function oxbow.other(a int) returns text language sql as 'select a::text';             -- another result
		create function oxbow.named(first int) returns int language sql as 'select first';           -- another name
		create function oxbow.gone(a int, out b int, out c int) language sql as 'select a, a';
		create procedure oxbow.gone_too() language sql as 'select 1';
		create function oxbow.fire() returns trigger language plpgsql as 'begin return null; end';
		create trigger fire after insert on oxbow.runs execute function oxbow.fire();
		create view oxbow.seen as select * from oxbow.gone(1);
		`), second...)
	require.NoError(t, migrations.Up(t.Context(), b.dsn, b.opts))
	conn := b.conn(t)
	exec(t, conn, fmt.Sprintf(`create type oxbow.mood as enum ('fine');
		grant create on schema oxbow to %[1]s; grant update on oxbow.memories to %[1]s; grant update (id) on oxbow.memories to %[1]s;
		grant usage on all sequences in schema oxbow to %[1]s; grant usage on type oxbow.mood to %[1]s;
		grant execute on function oxbow.near(halfvec) to %[1]s with grant option; drop type oxbow.mood;
		create function public.mine() returns trigger language plpgsql as 'begin return null; end';
		create trigger mine after insert on oxbow.runs execute function public.mine()`, b.src.Roles[0]))

	b.code["10_functions.sql"].Data = append(second, `
		create or replace function oxbow.other(a int) returns int language sql as 'select a';
		create or replace function oxbow.named(second int) returns int language sql as 'select second';`...)
	require.NoError(t, migrations.Up(t.Context(), b.dsn, b.opts))
	require.NoError(t, migrations.CheckSource(t.Context(), conn, b.src))
	require.Contains(t, objects(t, conn), "trigger mine on oxbow.runs", "it calls a function of another schema")
	exec(t, conn, "drop function public.mine cascade")

	fresh := setup(t)
	fresh.opts = fresh.opts.WithSource(b.src)
	require.NoError(t, migrations.Up(t.Context(), fresh.dsn, fresh.opts))
	t.Cleanup(func() { execLater(t, fresh.dsn, "drop schema oxbow cascade") }) // before the roles are dropped
	require.Equal(t, objects(t, fresh.conn(t)), objects(t, conn))
	const rights = `
		select format('%s %s', c.relname, c.relacl) from pg_class c where c.relnamespace = 'oxbow'::regnamespace
		union all select format('%s.%s %s', attrelid::regclass, attname, attacl) from pg_attribute where attacl is not null
		  and attrelid >= 16384
		union all select format('%s %s', p.oid::regprocedure, p.proacl) from pg_proc p
		where p.pronamespace = 'oxbow'::regnamespace
		union all select format('%s %s', t.typname, t.typacl) from pg_type t where t.typnamespace = 'oxbow'::regnamespace
		union all select format('%s', n.nspacl) from pg_namespace n where n.nspname = 'oxbow' order by 1`
	require.Equal(t, list(t, fresh.conn(t), rights), list(t, conn, rights))
}

func TestUpDownUp(t *testing.T) {
	t.Parallel()
	dsn := pgtest.Empty(t)
	conn := connect(t, dsn)
	exec(t, conn, `create extension vector; create extension btree_gin`)
	empty := objects(t, conn)
	require.NoError(t, migrations.Up(t.Context(), dsn, migrations.Options{}))
	require.NoError(t, migrations.Check(t.Context(), conn))
	full := objects(t, conn)
	require.Greater(t, len(full), len(empty)+100)

	require.NoError(t, migrations.Down(t.Context(), dsn, 0, migrations.Options{}))
	require.Equal(t, empty, objects(t, conn))
	require.ErrorIs(t, migrations.Check(t.Context(), conn), migrations.ErrNotMigrated)
	require.ErrorIs(t, migrations.Down(t.Context(), dsn, 0, migrations.Options{}), migrations.ErrNotMigrated)

	require.NoError(t, migrations.Up(t.Context(), dsn, migrations.Options{}))
	require.NoError(t, migrations.Check(t.Context(), conn))
	require.Equal(t, full, objects(t, conn))
}

func TestEachMigrationGoesDownAndUp(t *testing.T) {
	t.Parallel()
	dsn := pgtest.Empty(t)
	conn := connect(t, dsn)
	require.NoError(t, migrations.Up(t.Context(), dsn, migrations.Options{}))
	full := objects(t, conn)
	latest := value[int32](t, conn, `select version from oxbow.schema_version`)
	for target := latest - 1; target >= 1; target-- {
		require.NoError(t, migrations.Down(t.Context(), dsn, target, migrations.Options{}), target)
		require.Equal(t, target, value[int32](t, conn, `select version from oxbow.schema_version`))
		require.ErrorIs(t, migrations.Check(t.Context(), conn), migrations.ErrBehind)
	}
	require.NoError(t, migrations.Up(t.Context(), dsn, migrations.Options{}))
	require.Equal(t, full, objects(t, conn))
}

func TestDownTo(t *testing.T) {
	t.Parallel()
	b := setup(t)
	conn := b.conn(t)
	require.NoError(t, migrations.Up(t.Context(), b.dsn, b.opts))
	require.ErrorContains(t, migrations.Down(t.Context(), b.dsn, 3, b.opts), "expected 0 to 2")
	require.ErrorContains(t, migrations.Down(t.Context(), b.dsn, -1, b.opts), "expected 0 to 2")
	require.NoError(t, migrations.Down(t.Context(), b.dsn, 2, b.opts))
	require.NoError(t, migrations.CheckSource(t.Context(), conn, b.src))

	require.NoError(t, migrations.Down(t.Context(), b.dsn, 1, b.opts))
	require.NotContains(t, list(t, conn, `select attname from pg_attribute
		where attrelid = 'oxbow.memories'::regclass`),
		"note")
	require.ErrorIs(t, migrations.CheckSource(t.Context(), conn, b.src), migrations.ErrBehind)
	require.NoError(t, migrations.Up(t.Context(), b.dsn, b.opts))
	require.Len(t, list(t, conn, `select name from oxbow.runs`), 4, "all code is installed again")
	require.NoError(t, migrations.CheckSource(t.Context(), conn, b.src))
}

func TestDownRefusesWhenOthersDepend(t *testing.T) {
	t.Parallel()
	b := setup(t)
	conn := b.conn(t)
	require.NoError(t, migrations.Up(t.Context(), b.dsn, b.opts))
	exec(t, conn, `
		create view public.mine as select id from oxbow.memories;
		create table public.child (id int references oxbow.memories);
		create table public.typed (state oxbow.river_job_state)`)
	err := migrations.Down(t.Context(), b.dsn, 0, b.opts)
	for _, part := range []string{"public.mine", "public.child", "public.typed"} {
		require.ErrorContains(t, err, part)
	}
	require.NoError(t, migrations.CheckSource(t.Context(), conn, b.src))
	exec(t, conn, `drop view public.mine; drop table public.child, public.typed`)
	require.NoError(t, migrations.Down(t.Context(), b.dsn, 0, b.opts))
	require.NotContains(t, list(t, conn, `select nspname from pg_namespace`), "oxbow")
}

func TestNewerDatabaseIsRefused(t *testing.T) {
	t.Parallel()
	b := setup(t)
	conn := b.conn(t)
	require.NoError(t, migrations.Up(t.Context(), b.dsn, b.opts))
	before := objects(t, conn)
	for name, test := range map[string]struct{ ahead, back, says string }{
		"ours": {`update oxbow.schema_version set version = 7`, `update oxbow.schema_version set version = 2`,
			"version 7 (River 8), this version of oxbow knows version 2 (River 8)"},
		"River": {`insert into oxbow.river_migration (version, line) values (9, 'main')`,
			`delete from oxbow.river_migration where version = 9`,
			"version 2 (River 9), this version of oxbow knows version 2 (River 8)"},
	} {
		t.Run(name, func(t *testing.T) {
			exec(t, conn, test.ahead)
			for _, err := range []error{
				migrations.Up(t.Context(), b.dsn, b.opts),
				migrations.Down(t.Context(), b.dsn, 0, b.opts),
				migrations.Down(t.Context(), b.dsn, 1, b.opts),
				migrations.CheckSource(t.Context(), conn, b.src),
			} {
				require.ErrorIs(t, err, migrations.ErrAhead)
				require.ErrorContains(t, err, test.says)
			}
			st, err := migrations.ReadSource(t.Context(), b.dsn, b.src)
			require.NoError(t, err)
			require.Contains(t, st.Problem, test.says)
			exec(t, conn, test.back)
		})
	}
	require.Equal(t, before, objects(t, conn))
	require.NoError(t, migrations.CheckSource(t.Context(), conn, b.src))
}

func TestOlderAndNewerDatabasesDiffer(t *testing.T) {
	t.Parallel()
	b := setup(t)
	conn := b.conn(t)
	second := b.migrations["002_second.sql"]
	delete(b.migrations, "002_second.sql")
	delete(b.code, "20_views.sql")
	require.NoError(t, migrations.Up(t.Context(), b.dsn, b.opts))
	b.migrations["002_second.sql"] = second
	err := migrations.CheckSource(t.Context(), conn, b.src)
	require.ErrorIs(t, err, migrations.ErrBehind)
	require.NotErrorIs(t, err, migrations.ErrCodeDiffers)
	require.ErrorContains(t, err,
		"version 1 (River 8), this version of oxbow requires version 2 (River 8); run oxbow migrate up")
	st, err := migrations.ReadSource(t.Context(), b.dsn, b.src)
	require.NoError(t, err)
	last := st.Migrations[len(st.Migrations)-1]
	require.Equal(t, migrations.Migration{Line: "oxbow", Version: 2, Name: "002_second.sql"}, last)
	require.NoError(t, migrations.Up(t.Context(), b.dsn, b.opts))
	require.NoError(t, migrations.CheckSource(t.Context(), conn, b.src))
}

func TestErrorsNameFileAndLine(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.code["20_views.sql"] = file("-- Überschrift\nselect 1;\ncreate view oxbow.bad as select nothing from " +
		"oxbow.memories;")
	err := migrations.Up(t.Context(), b.dsn, b.opts)
	require.ErrorContains(t, err, "sql/code/20_views.sql line 3 (create view oxbow.bad")
	b.migrations["002_second.sql"] = file("select 1;\n\nselect * from oxbow.absent;")
	err = migrations.Up(t.Context(), pgtest.Empty(t), b.opts)
	require.ErrorContains(t, err, "migrations/002_second.sql line 3")
	require.ErrorContains(t, err, `relation "oxbow.absent" does not exist`)

	// The code was rolled back, and so were the migrations before it.
	conn := b.conn(t)
	require.EqualValues(t, 0, value[int32](t, conn, `select version from oxbow.schema_version`))
	for _, object := range []string{"function oxbow.near(public.halfvec)", "table oxbow.memories"} {
		require.NotContains(t, objects(t, conn), object)
	}
}

func TestConnectionStrings(t *testing.T) {
	t.Parallel()
	b := setup(t)
	keywords := b.as(t, value[string](t, b.conn(t), `select current_user`)) + " pool_max_conns=5"
	require.NoError(t, migrations.Up(t.Context(), keywords, b.opts))
	require.NoError(t, migrations.Up(t.Context(), b.dsn, b.opts), "as a URL")
	require.NoError(t, migrations.Down(t.Context(), keywords, 0, b.opts))
	require.ErrorContains(t, migrations.Up(t.Context(), "postgres://u:secret@h:port/d", b.opts), "port")
	require.NotContains(t, migrations.Up(t.Context(), "postgres://u:secret@h:port/d", b.opts).Error(), "secret")
}

package migrations_test

import (
	"fmt"
	"os"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"github.com/oxbow-memory/oxbow/internal/pgtest"
	"github.com/oxbow-memory/oxbow/migrations"
)

// owner creates a login that owns the database and has no other rights, and returns its connection
// string.
func (b *bundle) owner(t *testing.T) string {
	t.Helper()
	name := fmt.Sprintf("mig_owner_%d_%d", os.Getpid(), serial.Add(1))
	conn := b.conn(t)
	exec(t, conn, "create role "+name+" login")
	t.Cleanup(func() { dropRoles(t, b.dsn, name) })
	exec(t, conn, fmt.Sprintf("alter database %s owner to %s", pgx.Identifier{conn.Config().Database}.Sanitize(), name))
	t.Cleanup(func() { // runs before the role is dropped
		execLater(t, b.dsn, fmt.Sprintf("alter database %s owner to current_user",
			pgx.Identifier{conn.Config().Database}.Sanitize()))
	})
	return b.as(t, name)
}

func TestWithoutRightToTheExtension(t *testing.T) {
	t.Parallel()
	b := setup(t)
	dsn := b.owner(t)
	err := migrations.Up(t.Context(), dsn, b.opts)
	require.ErrorIs(t, err, migrations.ErrNoExtension)
	require.ErrorContains(t, err, "as a superuser, run in database")
	require.ErrorContains(t, err, "create extension vector")
	require.NotContains(t, list(t, b.conn(t), `select nspname from pg_namespace`), "oxbow", "nothing is left behind")
}

func TestWithoutRightToRoles(t *testing.T) {
	t.Parallel()
	b := setup(t)
	dsn := b.owner(t)
	admin := b.conn(t)
	// The extension may be in any schema.
	exec(t, admin, `create schema "Ext"; grant usage on schema "Ext" to public; create extension vector schema "Ext"`)
	require.NoError(t, migrations.Up(t.Context(), dsn, b.opts))
	said := b.log.waitFor(t, "may not create roles")
	for _, role := range b.src.Roles {
		require.Contains(t, said, "create role "+role+" nologin;")
	}
	require.Contains(t, said, "WARN")
	require.NoError(t, migrations.CheckSource(t.Context(), admin, b.src))
	require.Equal(t, `search_path=oxbow, "Ext", pg_temp`, value[string](t, admin,
		`select unnest(proconfig) from pg_proc where oid = 'oxbow.near'::regproc`))
	st, err := migrations.ReadSource(t.Context(), dsn, b.src)
	require.NoError(t, err)
	require.Equal(t, b.src.Roles, st.MissingRoles)

	// Once the roles exist, the code is installed again to grant them their rights.
	for _, role := range b.src.Roles {
		exec(t, admin, "create role "+role+" nologin")
	}
	require.ErrorContains(t, migrations.CheckSource(t.Context(), admin, b.src),
		"privileges of "+b.src.Roles[0]+" and "+b.src.Roles[1])
	require.NoError(t, migrations.Up(t.Context(), dsn, b.opts))
	require.Len(t, list(t, admin, `select name from oxbow.runs`), 4)
	require.NoError(t, migrations.CheckSource(t.Context(), admin, b.src))

	// A member of the group may run Check, and migrate added no members to any role.
	exec(t, admin, "set role "+b.src.Roles[0])
	require.NoError(t, migrations.CheckSource(t.Context(), admin, b.src))
	require.Empty(t, list(t, admin, `select member::regrole::text from pg_auth_members
		where member = any($1::regrole[])`,
		b.src.Roles))
}

// Up restores what somebody removed, as the doctor says.
func TestRemovedRightsAreRestored(t *testing.T) {
	t.Parallel()
	dsn := pgtest.Database(t)
	conn := connect(t, dsn)
	const missing = `select 4 - count(*) - has_table_privilege('oxbow_worker', 'oxbow.memory_terms', 'select')::int
			- has_function_privilege('oxbow_worker', 'oxbow.lock_repeats(text, uuid)', 'execute')::int
		from pg_policy p where p.polname in ('worker', 'app_select')
		and p.polrelid in ('oxbow.messages'::regclass, 'oxbow.users'::regclass)`
	complete := value[int](t, conn, missing)
	exec(t, conn, `drop policy worker on oxbow.messages; drop policy app_select on oxbow.users;
		revoke select on oxbow.memory_terms from oxbow_worker;
		revoke execute on function oxbow.lock_repeats from oxbow_worker`)
	require.Equal(t, complete+4, value[int](t, conn, missing))
	require.NoError(t, migrations.Up(t.Context(), dsn, migrations.Options{}))
	require.Equal(t, complete, value[int](t, conn, missing))
}

// Up leaves the group roles no rights that the code does not grant, such as those of an earlier version.
func TestEarlierRightsAreRevoked(t *testing.T) {
	t.Parallel()
	dsn := pgtest.Database(t)
	conn := connect(t, dsn)
	const rights = `
		select object || ' ' || a.grantee::regrole || ' ' || a.privilege_type from (
		  select p.oid::regprocedure::text, proacl from pg_proc p where pronamespace = 'oxbow'::regnamespace
		  union all select c.oid::regclass::text, relacl from pg_class c where relnamespace = 'oxbow'::regnamespace
		  union all select t.oid::regtype::text, typacl from pg_type t where typnamespace = 'oxbow'::regnamespace
		  union all select nspname, nspacl from pg_namespace where nspname = 'oxbow'
		) o (object, acl), aclexplode(acl) a order by 1`
	before := list(t, conn, rights)
	exec(t, conn, `grant execute on function oxbow.set_policy to oxbow_worker, oxbow_app;
		grant all on oxbow.erasures, oxbow.api_keys, oxbow.memories to oxbow_app;
		grant update on sequence oxbow.river_job_id_seq to oxbow_operator; grant create on schema oxbow to oxbow_worker;
		grant usage on type oxbow.memory_type to oxbow_operator;
		create policy app_select on oxbow.api_keys for select to oxbow_app using (true);
		update oxbow.installed_code set checksum = 'of an earlier version' where name like '180%'`)
	require.NotEqual(t, before, list(t, conn, rights))
	require.NoError(t, migrations.Up(t.Context(), pgtest.As(t, dsn, "oxbow"), migrations.Options{}))
	require.Equal(t, before, list(t, conn, rights))
	require.Zero(t, value[int](t, conn, `select count(*) from pg_policy p
		where p.polrelid = 'oxbow.api_keys'::regclass and 'oxbow_app'::regrole = any(p.polroles)`))
}

// A superuser who is not the owner may migrate. What it creates belongs to the owner, because functions run with the
// owner's rights.
func TestSuperuserCreatesForTheOwner(t *testing.T) {
	t.Parallel()
	dsn := pgtest.Database(t)
	conn := connect(t, dsn)
	require.NoError(t, migrations.Down(t.Context(), dsn, 15, migrations.Options{}))
	require.NoError(t, migrations.Up(t.Context(), dsn, migrations.Options{}))
	require.Empty(t, list(t, conn, `
		select c.oid::regclass::text from pg_class c where relnamespace = 'oxbow'::regnamespace and relowner <> 'oxbow'::regrole
		union all select p.oid::regprocedure::text from pg_proc p
		 where pronamespace = 'oxbow'::regnamespace and proowner <> 'oxbow'::regrole
		union all select t.oid::regtype::text from pg_type t
		 where typnamespace = 'oxbow'::regnamespace and typowner <> 'oxbow'::regrole`))
}

// The schema of pgvector need not be public. Up lets the group roles use it, or names the statement.
func TestSchemaOfExtensionIsUsable(t *testing.T) {
	t.Parallel()
	b := setup(t)
	dsn := b.owner(t)
	admin := b.conn(t)
	owner := pgx.Identifier{connect(t, dsn).Config().User}.Sanitize()
	exec(t, admin, `create schema ext; create extension vector schema ext; create extension btree_gin schema ext`)
	for _, role := range b.src.Roles {
		exec(t, admin, "create role "+role+" nologin")
	}
	err := migrations.Up(t.Context(), dsn, b.opts)
	require.ErrorIs(t, err, migrations.ErrNoExtension)
	require.ErrorContains(t, err, "grant usage on schema ext to "+owner)

	exec(t, admin, "grant usage on schema ext to "+owner)
	require.NoError(t, migrations.Up(t.Context(), dsn, b.opts))
	require.Contains(t, b.log.waitFor(t, "may not grant the use of the schema of pgvector"),
		"grant usage on schema ext to "+b.src.Roles[0]+", "+b.src.Roles[1]+";")

	exec(t, admin, "grant usage on schema ext to "+owner+" with grant option")
	require.NoError(t, migrations.Up(t.Context(), dsn, b.opts))
	for _, role := range b.src.Roles {
		require.True(t, value[bool](t, admin, "select has_schema_privilege('"+role+"', 'ext', 'usage')"))
	}
}

// A restore into a cluster without the roles loses their rights and gives PUBLIC its default rights
// back. The text of the code is current, but it must be installed again.
func TestRightsLostInARestore(t *testing.T) {
	t.Parallel()
	b := setup(t)
	require.NoError(t, migrations.Up(t.Context(), b.dsn, b.opts))
	conn := b.conn(t)
	for _, role := range b.src.Roles {
		exec(t, conn, "drop owned by "+role)
		exec(t, conn, "grant execute on function oxbow.near to public")
		err := migrations.CheckSource(t.Context(), conn, b.src)
		require.ErrorIs(t, err, migrations.ErrBehind)
		require.ErrorContains(t, err, "privileges of "+role+" in schema oxbow")

		require.NoError(t, migrations.Up(t.Context(), b.dsn, b.opts))
		require.NoError(t, migrations.CheckSource(t.Context(), conn, b.src))
		require.False(t,
			value[bool](t, conn, `select has_function_privilege('public', 'oxbow.near(halfvec)', 'execute')`))
	}
	require.Equal(t, []string{"10", "20", "10", "20", "10", "20"}, list(t, conn, "select name from oxbow.runs"))
}

func TestExtensionThatMovesIsFollowed(t *testing.T) {
	t.Parallel()
	b := setup(t)
	conn := b.conn(t)
	require.NoError(t, migrations.Up(t.Context(), b.dsn, b.opts))
	exec(t, conn, `create schema elsewhere; alter extension vector set schema elsewhere`)
	require.ErrorIs(t, migrations.CheckSource(t.Context(), conn, b.src), migrations.ErrCodeDiffers)
	require.NoError(t, migrations.Up(t.Context(), b.dsn, b.opts))
	require.Equal(t, "search_path=oxbow, elsewhere, pg_temp", value[string](t, conn,
		`select unnest(proconfig) from pg_proc where oid = 'oxbow.near'::regproc`))

	exec(t, conn, `drop extension vector cascade`)
	require.ErrorIs(t, migrations.CheckSource(t.Context(), conn, b.src), migrations.ErrNoExtension)
}

func TestWithoutRightToTheSchema(t *testing.T) {
	t.Parallel()
	b := setup(t)
	admin := b.conn(t)
	exec(t, admin, `create extension vector; create extension btree_gin`)
	name := fmt.Sprintf("mig_guest_%d", os.Getpid())
	exec(t, admin, "create role "+name+" login")
	t.Cleanup(func() { dropRoles(t, b.dsn, name) })
	err := migrations.Up(t.Context(), b.as(t, name), b.opts)
	require.ErrorContains(t, err, `role "`+name+`" may not create a schema in database`)
	require.ErrorContains(t, err, "grant create on database")
	require.ErrorContains(t, err, `to "`+name+`"`)

	require.NoError(t, migrations.Up(t.Context(), b.dsn, b.opts))
	err = migrations.CheckSource(t.Context(), connect(t, b.as(t, name)), b.src)
	require.ErrorContains(t, err, "make it a member of oxbow_app or oxbow_worker")
}

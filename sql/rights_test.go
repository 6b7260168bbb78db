package sqlcode_test

import (
	"cmp"
	"path"
	"slices"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"github.com/oxbow-memory/oxbow/internal/pgtest"
	sqlcode "github.com/oxbow-memory/oxbow/sql"
)

// groups are the group roles.
var groups = []string{"oxbow_app", "oxbow_worker", "oxbow_operator"}

func TestPublicMayDoNothing(t *testing.T) {
	t.Parallel()
	tx := pgtest.Tx(t)
	require.Empty(t, all[string](t, tx, `
		with rights (object, acl) as (
			select p.oid::regprocedure::text, coalesce(proacl, acldefault('f', proowner))
			  from pg_proc p where pronamespace = 'oxbow'::regnamespace
			union all select c.oid::regclass::text,
			       coalesce(relacl, acldefault(case relkind when 'S' then 's' else 'r' end::"char", relowner))
			  from pg_class c where relnamespace = 'oxbow'::regnamespace and relkind in ('r', 'p', 'v', 'm', 'f', 'S')
			union all select t.oid::regtype::text, coalesce(typacl, acldefault('T', typowner))
			  from pg_type t where typnamespace = 'oxbow'::regnamespace and typtype in ('d', 'e', 'r')
			union all select nspname, coalesce(nspacl, acldefault('n', nspowner)) from pg_namespace
			where nspname = 'oxbow'
		)
		select object || ': ' || a.privilege_type from rights, aclexplode(acl) a where a.grantee = 0`))
}

// granted returns the functions that sql/code lets a group role call.
func granted(role string) (functions []string) {
	for _, call := range sqlcode.Calls(role) {
		functions = append(functions, strings.TrimSuffix(strings.TrimPrefix(call, "oxbow."), "()"))
	}
	return functions
}

// The group roles may call exactly the functions that sql/code grants them.
func TestFunctionsAreAnAllowList(t *testing.T) {
	t.Parallel()
	tx := pgtest.Tx(t)
	for _, role := range groups {
		functions := granted(role)
		slices.Sort(functions)
		require.Equal(t, functions, all[string](t, tx, `
			select proname::text from pg_proc p
			 where pronamespace = 'oxbow'::regnamespace and has_function_privilege($1::name, p.oid, 'execute')
			 order by proname collate "C"`, role), role)
	}
}

// needs returns the rights that a role needs in order to run statements.
func needs(t *testing.T, tx db, role string, statements []string) []sqlcode.Need {
	t.Helper()
	exec(t, tx, "set local jit = off") // compiling takes longer than running
	rows, err := tx.Query(t.Context(), sqlcode.Needs, statements, role)
	require.NoError(t, err)
	found, err := pgx.CollectRows(rows, pgx.RowToStructByPos[sqlcode.Need])
	require.NoError(t, err)
	require.NotEmpty(t, found)
	return found
}

// missing returns those that the role does not have, with the objects that need them.
func missing(needed []sqlcode.Need) (texts []string) {
	for _, n := range needed {
		if !n.Held {
			text := n.What + " of " + n.Name + " for"
			for _, via := range n.Via {
				if via != nil {
					text += " " + *via
				} else {
					text += " the program"
				}
			}
			texts = append(texts, text)
		}
	}
	return texts
}

// work returns the statements of the worker and its jobs, and of the commands that its login may run.
func work(t *testing.T) []string {
	t.Helper()
	return slices.DeleteFunc(statementsOf(t, []string{"./worker", "./jobs", "./cli/oxbow"}, func(d declaration) bool {
		return d.pkg == module+"/worker" && d.file != "reembed.go" || // of the owner
			d.pkg == module+"/jobs" || d.uses["(*"+module+"/cli/oxbow.app).asOperator"]
	}), func(statement string) bool { // the owner tunes recall
		return strings.Contains(statement, "oxbow.channel_weights(") || strings.Contains(statement, "oxbow.recall_vector(")
	})
}

// The worker may do what its statements need, however deep, and functions that no job needs are not granted. The
// exceptions are those of applications, which it may use for every user.
func TestWorkerMayDoWhatItNeeds(t *testing.T) {
	t.Parallel()
	tx := pgtest.Tx(t)
	needed := needs(t, tx, "oxbow_worker", work(t))
	require.Empty(t, missing(needed))
	held := map[string]bool{}
	for _, n := range needed {
		held[n.Name+" "+n.What] = true
	}
	var unneeded []string
	beyond := append(granted("oxbow_app"),
		"recall_debug",               // the mode debug, for roles that see every user
		"river_job_state_in_bitmask") // in an index of River's
	for _, function := range granted("oxbow_worker") {
		if !held[function+" execute"] && !slices.Contains(beyond, function) {
			unneeded = append(unneeded, function)
		}
	}
	for _, right := range all[string](t, tx, `
		select c.relname || ' ' || lower(a.privilege_type) from pg_class c, aclexplode(c.relacl) a
		 where c.relnamespace = 'oxbow'::regnamespace and a.grantee = 'oxbow_worker'::regrole and not c.relispartition
		   and c.relname not like 'river\_%'
		   and (c.relname in ('api_keys', 'page_sessions', 'api_answers', 'api_log')
		        or not exists (select from pg_attribute where attrelid = c.oid and attname = 'user_id'))`) {
		if !held[right] {
			unneeded = append(unneeded, right)
		}
	}
	require.Empty(t, unneeded, "no job needs these")
	require.Zero(t, one[int](t, tx, `select count(*) from pg_class c join pg_attribute a on a.attrelid = c.oid
		where c.relnamespace = 'oxbow'::regnamespace and c.relkind in ('r', 'p') and a.attname = 'user_id'
		  and c.relname not in ('api_keys', 'page_sessions', 'api_answers', 'api_log')
		  and not has_table_privilege('oxbow_worker', c.oid, 'select, insert, update, delete')`), "it works on all data")
}

// The client may do what it needs as an application, and the server as an application or an operator.
func TestApplicationsMayDoWhatTheyNeed(t *testing.T) {
	t.Parallel()
	tx := pgtest.Tx(t)
	for packages, roles := range map[string][]string{
		". ./documents":           {"oxbow_app"},
		"./server ./server/pages": {"oxbow_app", "oxbow_operator"},
	} {
		patterns := strings.Fields(packages)
		statements := slices.DeleteFunc(statementsOf(t, patterns, func(d declaration) bool {
			return slices.ContainsFunc(patterns, func(p string) bool { return path.Join(module, p) == d.pkg })
		}), func(statement string) bool {
			return strings.Contains(statement, "oxbow.adopt_trait(") || // the owner imports traits
				strings.Contains(statement, "oxbow.recall_debug(") || // operators
				statement == "delete from oxbow.settings where key = 'secrets'" // advice of doctor
		})
		lacking := map[string]int{}
		for _, role := range roles {
			for _, text := range missing(needs(t, tx, role, statements)) {
				lacking[text]++
			}
		}
		for text, n := range lacking {
			require.Less(t, n, len(roles), "%v need %s", roles, text)
		}
	}
}

// A function or view that runs with the caller's rights needs no right that a role that may use it does not have.
func TestFunctionsMayDoWhatTheyNeed(t *testing.T) {
	t.Parallel()
	tx := pgtest.Tx(t)
	for _, role := range groups {
		views := all[string](t, tx, `select 'select from ' || c.oid::regclass from pg_class c
			where c.relnamespace = 'oxbow'::regnamespace and c.relkind = 'v' and has_table_privilege($1::name, c.oid, 'select')`, role)
		require.Empty(t, missing(needs(t, tx, role, append(sqlcode.Calls(role), views...))), role)
	}
}

// Calls and tables are found in bodies, however they are nested.
func TestNeedsAreFound(t *testing.T) {
	t.Parallel()
	tx := pgtest.Tx(t)
	for _, sql := range []string{
		"create table oxbow.planted (n integer, m integer check (oxbow.planted_check(m)) default oxbow.planted_default())",
		"create view oxbow.planted_view with (security_invoker) as select oxbow.planted_column() from oxbow.planted",
	} {
		for _, name := range []string{"check(integer)", "default()", "column()"} {
			kind := cmp.Or(map[string]string{"check(integer)": "boolean"}[name], "integer")
			exec(t, tx, "create or replace function oxbow.planted_"+name+" returns "+kind+" language sql return null::"+kind)
		}
		exec(t, tx, sql)
	}
	exec(t, tx, `create function oxbow.planted_owner() returns void language plpgsql security definer as
		'begin perform oxbow.planted_hidden(); end'`)
	exec(t, tx, `create function oxbow.planted_hidden() returns void language sql as ''`)
	exec(t, tx, `create function oxbow.planted_trigger() returns trigger language plpgsql as
		'begin perform oxbow.planted_owner(); delete from oxbow.strategies; return null; end'`)
	exec(t, tx, `create trigger planted after update on oxbow.planted for each row execute function oxbow.planted_trigger()`)
	exec(t, tx, `create function oxbow.planted_deep() returns void language plpgsql as $$ begin
		-- oxbow.planted_hidden()
		execute 'insert into oxbow.planted (n) values (1) on conflict (n) do update set n = 2';
		perform from oxbow.planted_view p join oxbow.webhooks w on true for update of w;
		end $$`)
	exec(t, tx, `create function oxbow.planted_begin() returns void language sql begin atomic
		select oxbow.planted_deep(); end`)
	var found []string
	for _, n := range needs(t, tx, "oxbow_worker", []string{"select oxbow . x, oxbow.planted_begin()"}) {
		found = append(found, n.Name+" "+n.What)
	}
	slices.Sort(found)
	require.Equal(t, []string{"planted insert", "planted select", "planted update", "planted_begin execute",
		"planted_check execute", "planted_column execute", "planted_deep execute", "planted_default execute",
		"planted_owner execute", "planted_view select", "reject execute", "strategies delete", "webhooks select",
		"webhooks update"}, found)
}

// The login of a worker is neither a superuser nor the owner, and bypasses no policy.
func TestLoginsAreNarrow(t *testing.T) {
	t.Parallel()
	tx := pgtest.Tx(t)
	require.Equal(t, []string{"server {oxbow_app,oxbow_operator}", "worker {oxbow_worker}"}, all[string](t, tx, `
		select r.rolname || ' ' || array(select m.roleid::regrole from pg_auth_members m where m.member = r.oid order by 1)::text
		  from pg_roles r where r.rolname in ('worker', 'server') and not (r.rolsuper or r.rolbypassrls or r.rolcreaterole
		   or r.rolcreatedb or r.rolreplication
		   or pg_has_role(r.oid, (select relowner from pg_class where oid = 'oxbow.memories'::regclass), 'MEMBER'))
		 order by 1`))
}

// The rights of applications on tables and partitions are an allow-list.
func TestTablesAreAnAllowList(t *testing.T) {
	t.Parallel()
	tx := pgtest.Tx(t)
	writable := map[string]string{
		"memories": "DELETE INSERT SELECT UPDATE", "messages": "DELETE INSERT SELECT UPDATE",
		"sessions": "DELETE INSERT SELECT UPDATE", "users": "DELETE INSERT SELECT UPDATE",
		"memory_vectors": "INSERT SELECT", "sensory": "INSERT SELECT", "api_answers": "INSERT SELECT",
		"api_log": "INSERT SELECT", "import_parts": "DELETE INSERT SELECT",
	}
	rights := all[string](t, tx, `
		select coalesce((select parent.relname from pg_inherits i join pg_class parent on parent.oid = i.inhparent
		                  where i.inhrelid = c.oid and c.relispartition), c.relname)
		       || ': ' || string_agg(distinct a.privilege_type, ' ' order by a.privilege_type)
		  from pg_class c, aclexplode(c.relacl) a
		 where c.relnamespace = 'oxbow'::regnamespace and a.grantee = 'oxbow_app'::regrole
		 group by c.oid`)
	require.NotEmpty(t, rights)
	for _, right := range rights {
		table, what, _ := strings.Cut(right, ": ")
		want, ok := writable[table]
		if !ok {
			want = "SELECT"
		}
		require.Equal(t, want, what, table)
	}
	require.Zero(t, one[int](t, tx, `select count(*) from pg_attribute a join pg_class c on c.oid = a.attrelid
		where c.relnamespace = 'oxbow'::regnamespace and a.attacl is not null`), "no rights on columns")
}

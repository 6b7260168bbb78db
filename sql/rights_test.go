package sqlcode_test

import (
	"io/fs"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/oxbow-memory/oxbow/internal/pgtest"
	sqlcode "github.com/oxbow-memory/oxbow/sql"
)

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

// The group roles may call exactly the functions that sql/code grants them.
func TestFunctionsAreAnAllowList(t *testing.T) {
	t.Parallel()
	tx := pgtest.Tx(t)
	granted := map[string][]string{}
	grant := regexp.MustCompile(`(?m)^call oxbow\.grant_(app|worker|operator)\(([^)]*)\);`)
	name := regexp.MustCompile(`\w+`)
	files, err := fs.Glob(sqlcode.FS, "code/*.sql")
	require.NoError(t, err)
	for _, file := range files {
		text, err := fs.ReadFile(sqlcode.FS, file)
		require.NoError(t, err)
		for _, m := range grant.FindAllSubmatch(text, -1) {
			functions := name.FindAllString(string(m[2]), -1)
			switch string(m[1]) {
			case "operator":
				granted["oxbow_operator"] = append(granted["oxbow_operator"], functions...)
			case "app":
				granted["oxbow_app"] = append(granted["oxbow_app"], functions...)
				fallthrough
			default:
				granted["oxbow_worker"] = append(granted["oxbow_worker"], functions...)
			}
		}
	}
	for _, role := range []string{"oxbow_app", "oxbow_worker", "oxbow_operator"} {
		slices.Sort(granted[role])
		require.Equal(t, granted[role], all[string](t, tx, `
			select proname::text from pg_proc p
			 where pronamespace = 'oxbow'::regnamespace and has_function_privilege($1::name, p.oid, 'execute')
			 order by proname collate "C"`, role), role)
	}
}

// The rights of applications on tables and partitions are an allow-list.
func TestTablesAreAnAllowList(t *testing.T) {
	t.Parallel()
	tx := pgtest.Tx(t)
	writable := map[string]string{
		"memories": "DELETE INSERT SELECT UPDATE", "messages": "DELETE INSERT SELECT UPDATE",
		"sessions": "DELETE INSERT SELECT UPDATE", "users": "DELETE INSERT SELECT UPDATE",
		"memory_vectors": "INSERT SELECT", "sensory": "INSERT SELECT", "api_answers": "INSERT SELECT",
		"api_log": "INSERT SELECT",
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

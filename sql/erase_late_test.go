package sqlcode_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/stretchr/testify/require"

	"github.com/oxbow-memory/oxbow/internal/pgtest"
)

// A way to write is a statement of an application about user $1, who has what furnish stores. new reports that it
// stores something even for a user of whom nothing is stored.
type way struct {
	sql string
	new bool
}

// ways has a statement for each table that an application may insert into and each function that may write.
var ways = map[string]way{
	"memories": {`insert into oxbow.memories (user_id, content) select $1, 'boat ' || n from generate_series(1, 100) n`, true},
	"memory_vectors": {`insert into oxbow.memory_vectors (user_id, memory_type, memory_id, embedding)
		select m.user_id, m.memory_type, m.id, array_fill(1, array[1024])::vector::halfvec
		  from oxbow.memories m where m.user_id = $1 and m.id = md5($1 || ' a')::uuid`, false},
	"messages": {`insert into oxbow.messages (user_id, session_id, content) values ($1, 's', $1 || ' sails')`, true},
	"sensory":  {`insert into oxbow.sensory (user_id, content) values ($1, $1 || ' opened a page')`, true},
	"sessions": {`insert into oxbow.sessions (user_id, id) values ($1, 'other')`, true},
	"users":    {`insert into oxbow.users (user_id, language) values ($1, 'en') on conflict do nothing`, true},
	"api_answers": {`insert into oxbow.api_answers (user_id, key, request, answer)
		values ($1, 'other', '\x00', to_jsonb($1::text))`, true},
	"api_log": {`insert into oxbow.api_log (user_id, id, at, role, operation, status)
		values ($1, gen_random_uuid(), now(), 'app', 'recall', 200)`, true},
	"import_parts": {`insert into oxbow.import_parts (user_id, import_id, part, content)
		values ($1, gen_random_uuid(), 1, convert_to($1, 'UTF8'))`, true},

	"add_memory":         {`select oxbow.add_memory($1, $1 || ' rows')`, true},
	"answered":           {`select oxbow.answered($1, $1 || '?', array[md5($1 || ' a')::uuid])`, true},
	"complete_intention": {`select oxbow.complete_intention($1, id) from oxbow.intentions where user_id = $1`, false},
	"delete_file":        {`select oxbow.delete_file($1, path) from oxbow.document_files where user_id = $1`, false},
	"delete_messages":    {`select oxbow.delete_messages($1, 's')`, false},
	"delete_trait":       {`select oxbow.delete_trait($1, id) from oxbow.memories_trait where user_id = $1`, false},
	"dissolve_trait":     {`select oxbow.dissolve_trait($1, id) from oxbow.memories_trait where user_id = $1`, false},
	"drop_intention":     {`select oxbow.drop_intention($1, id) from oxbow.intentions where user_id = $1`, false},
	"drop_skill":         {`select oxbow.drop_skill($1, id) from oxbow.skills where user_id = $1`, false},
	"edit_trait": {`select oxbow.edit_trait($1, id, content => $1 || ' rests') from oxbow.memories_trait
		where user_id = $1`, false},
	"end_instruction": {`select oxbow.end_instruction($1, id) from oxbow.instructions where user_id = $1`, false},
	"end_session":     {`select oxbow.end_session($1, id) from oxbow.sessions where user_id = $1`, false},
	"erase_memory":    {`select oxbow.erase_memory($1, md5($1 || ' a')::uuid)`, false},
	"erase_user":      {`select oxbow.erase_user($1)`, false},
	"feedback": {`select oxbow.feedback($1, 'wrong', array[id], reason => $1) from oxbow.memories
		where user_id = $1 and id = md5($1 || ' a')::uuid`, false},
	"finish_erasures": {`select oxbow.finish_erasures($1)`, false},
	"forget": {`select oxbow.forget($1, id, $1) from oxbow.memories
		where user_id = $1 and id = md5($1 || ' a')::uuid`, false},
	"ingest_file": {`select oxbow.ingest_file($1, $1 || '.md', array[$1 || ' one', $1 || ' two'])`, true},
	"instruct":    {`select oxbow.instruct($1, 'Call me ' || $1)`, true},
	"intend":      {`select oxbow.intend($1, $1 || ' swims')`, true},
	"learn_skill": {`select oxbow.learn_skill($1, $1, '{row}')`, true},
	"merge": {`select oxbow.merge($1, array_agg(id)) from oxbow.memories
		where user_id = $1 and id in (md5($1 || ' a')::uuid, md5($1 || ' b')::uuid) having count(*) = 2`, false},
	"promote": {`select oxbow.promote($1, id) from oxbow.memories
		where user_id = $1 and id = md5($1 || ' a')::uuid`, false},
	"restore": {`select oxbow.restore($1, id) from oxbow.memories
		where user_id = $1 and forgotten_at is not null`, false},
	"retry_operation": {`select oxbow.retry_operation($1, id) from oxbow.memories where user_id = $1 limit 1`, false},
	"rollback":        {`select oxbow.rollback($1, id) from oxbow.adjustments where user_id = $1`, false},
	"set_tier": {`select oxbow.set_tier($1, id, 'core') from oxbow.memories
		where user_id = $1 and id = md5($1 || ' a')::uuid`, false},
	"set_value":     {`select oxbow.set_value($1, 'name', to_jsonb($1::text))`, true},
	"signal":        {`select oxbow.signal($1, 'negative', 0.9, attributions => array[md5($1 || ' a')::uuid], reason => $1)`, true},
	"skill_outcome": {`select oxbow.skill_outcome($1, id, true) from oxbow.skills where user_id = $1`, false},
	"snooze_intention": {`select oxbow.snooze_intention($1, id, now() + interval '1 day') from oxbow.intentions
		where user_id = $1`, false},
	"supersede": {`select oxbow.supersede($1, id, $1 || ' sold it') from oxbow.memories
		where user_id = $1 and id = md5($1 || ' a')::uuid`, false},
	"touch": {`select oxbow.touch($1, array[md5($1 || ' a')::uuid])`, false},
	"unmerge": {`select oxbow.unmerge($1, id) from oxbow.memories where user_id = $1 and source = 'merge'
		and expired_at is null`, false},
	"verify": {`select oxbow.verify($1, id) from oxbow.memories
		where user_id = $1 and id = md5($1 || ' a')::uuid`, false},
}

// furnish stores something of each kind that the ways refer to. %[1]s is the user, quoted.
const furnish = `
	insert into oxbow.memories (user_id, id, content)
	select %[1]s, md5(%[1]s || ' ' || n)::uuid, %[1]s || ' has boat ' || n from unnest('{a,b,c,d,f}'::text[]) n;
	select oxbow.merge(%[1]s, array[md5(%[1]s || ' c')::uuid, md5(%[1]s || ' d')::uuid]);
	select oxbow.forget(%[1]s, md5(%[1]s || ' f')::uuid);
	select set_config('oxbow.origin', 'import', true);
	insert into oxbow.memories (user_id, memory_type, id, content, trait_stage, trait_subtype, trait_confidence)
	values (%[1]s, 'trait', md5(%[1]s || ' t')::uuid, %[1]s || ' gets up early', 'emerging', 'behavior', 0.5);
	select oxbow.adopt_trait(%[1]s, md5(%[1]s || ' t')::uuid, 'import'), set_config('oxbow.origin', '', true);
	insert into oxbow.messages (user_id, session_id, content) values (%[1]s, 's', %[1]s || ' says hello');
	select oxbow.instruct(%[1]s, 'Answer ' || %[1]s), oxbow.learn_skill(%[1]s, 'steer', '{turn}'),
	       oxbow.intend(%[1]s, %[1]s || ' runs'), oxbow.ingest_file(%[1]s, 'a.md', array[%[1]s || ' wrote']);
	insert into oxbow.adjustments (user_id, kind, memory_type, memory_id, before, after, cause, signals)
	values (%[1]s, 'memory_weight', 'fact', md5(%[1]s || ' a')::uuid, 1, 0.5, 'test', '{}')`

// orders are the orders of a transaction that writes and one that erases: when the first begins, writes and commits,
// each 0 before the erasure, 1 between it and its commit, or 2 after that. 000 is an erasure at rest, and 011 and 111 are
// like 001.
var orders = []string{"001", "002", "012", "022", "112", "122", "222"}

// Whatever a transaction that began before an erasure committed writes of the user, and whenever, is erased. What a
// later one writes stays.
func TestEraseUserWhileOthersWrite(t *testing.T) {
	t.Parallel()
	pool := pgtest.Pool(t)
	require.ElementsMatch(t, all[string](t, pool, `
		select c.relname::text from pg_class c join pg_attribute a on a.attrelid = c.oid and a.attname = 'user_id'
		 where c.relnamespace = 'oxbow'::regnamespace and c.relkind in ('r', 'p') and not c.relispartition
		   and has_table_privilege('oxbow_app', c.oid, 'insert')
		union all
		select p.proname from pg_proc p
		 where p.pronamespace = 'oxbow'::regnamespace and p.provolatile = 'v' and p.prokind = 'f'
		   and p.prorettype <> 'trigger'::regtype and has_function_privilege('oxbow_app', p.oid, 'execute')`),
		keys(ways), "a way to write without a case, or a case too many")

	dsn := pool.Config().ConnString()
	writer, eraser := connect(t, dsn), connect(t, dsn)
	for _, conn := range []*pgx.Conn{writer, eraser} {
		exec(t, conn, "set lock_timeout = '100ms'")
	}
	kept := map[string]bool{}
	for name, w := range ways {
		for _, order := range orders {
			user := fmt.Sprintf("gone %s %s", name, order)
			if order == "222" && w.new {
				user = fmt.Sprintf("kept %s %s", name, order)
				kept[user] = true
			}
			exec(t, writer, fmt.Sprintf(furnish, "'"+user+"'"))
			interleave(t, writer, eraser, order, user, w.sql, "select oxbow.erase_user($1)")
			require.Equal(t, 0, one[int](t, eraser, `select open from oxbow.finish_erasures($1)`, user), user)
		}
	}
	dump := pgtest.Dump(t, pool)
	for table, text := range dump {
		for line := range strings.Lines(text) {
			require.NotContains(t, line, "gone ", table)
			for user := range kept {
				if strings.Contains(line, user) {
					delete(kept, user)
				}
			}
		}
	}
	require.Empty(t, kept, "what new users stored is erased")
}

// The same for a memory, a file and the messages of a conversation.
func TestEraseOneWhileOthersWrite(t *testing.T) {
	t.Parallel()
	pool := pgtest.Pool(t)
	dsn := pool.Config().ConnString()
	writer, eraser := connect(t, dsn), connect(t, dsn)
	for _, conn := range []*pgx.Conn{writer, eraser} {
		exec(t, conn, "set lock_timeout = '100ms'")
	}
	type erasure struct{ furnish, write, erase, left string } // left lists what must be gone
	erasures := map[string]erasure{
		"file": {furnish, `select oxbow.ingest_file($1, 'a.md', array['late page'])`, `select oxbow.delete_file($1, 'a.md')`,
			`select left($1, 0) || unnest('{a.md,late page}'::text[])`},
		"messages": {furnish, `insert into oxbow.messages (user_id, session_id, content) values ($1, 's', 'late message')`,
			`select oxbow.delete_messages($1, 's')`, `select left($1, 0) || 'late message'`},
		"message": {furnish, `insert into oxbow.messages (user_id, session_id, id, content)
			values ($1, 's', md5($1 || ' m')::uuid, 'late message')`,
			`select oxbow.delete_messages($1, 's', array[md5($1 || ' m')::uuid])`, `select left($1, 0) || 'late message'`},
		"memory not yet stored": {`select %s`, `insert into oxbow.memories (user_id, id, content)
			values ($1, md5($1 || ' a')::uuid, 'late boat')`, `select oxbow.erase_memory($1, md5($1 || ' a')::uuid)`,
			`select 'late boat' union all select md5($1 || ' a')::uuid::text`},
	}
	for name, w := range ways {
		if strings.Contains(w.sql, "md5($1 || ' a')") && name != "erase_memory" {
			erasures["memory: "+name] = erasure{furnish, w.sql, `select oxbow.erase_memory($1, md5($1 || ' a')::uuid)`,
				`select md5($1 || ' a')::uuid::text union all select $1 || ' has boat a'`}
		}
	}
	for name, e := range erasures {
		for _, order := range orders[:len(orders)-1] {
			user := fmt.Sprintf("%s %s", name, order)
			exec(t, writer, fmt.Sprintf(e.furnish, "'"+user+"'"))
			interleave(t, writer, eraser, order, user, e.write, e.erase)
			require.Equal(t, 0, one[int](t, eraser, `select open from oxbow.finish_erasures($1)`, user), user)
			dump := pgtest.Dump(t, eraser)
			for _, text := range all[string](t, eraser, e.left, user) {
				for table, rows := range dump {
					require.NotContains(t, rows, text, "%s: %s", user, table)
				}
			}
			exec(t, eraser, `select oxbow.erase_user($1)`, user)
			exec(t, eraser, `select oxbow.finish_erasures($1)`, user)
		}
	}
}

// Every row of a user has the start of the transaction that stored it, or is deleted with one that has.
func TestEveryRowHasAnAge(t *testing.T) {
	t.Parallel()
	tx := pgtest.Tx(t)
	require.Equal(t, []string{"open_erasures"}, all[string](t, tx, `
		select c.relname::text from pg_class c join pg_attribute a on a.attrelid = c.oid and a.attname = 'user_id'
		 where c.relnamespace = 'oxbow'::regnamespace and c.relkind in ('r', 'p') and not c.relispartition
		   and oxbow.stored_before(c.oid) = 'false'`))
	require.Equal(t, []string{"now() true"}, all[string](t, tx, `
		select distinct pg_get_expr(d.adbin, d.adrelid) || ' ' || a.attnotnull
		  from pg_attribute a join pg_attrdef d on d.adrelid = a.attrelid and d.adnum = a.attnum
		  join pg_class c on c.oid = a.attrelid
		 where c.relnamespace = 'oxbow'::regnamespace and c.relkind in ('r', 'p') and a.attname = 'stored_at'`))
}

// interleave runs two transactions in an order: write in one, erase in the other. A statement that waits for the other
// transaction fails: the writer's transaction is rolled back, the eraser's begins again after the writer's has ended.
func interleave(t *testing.T, writer, eraser *pgx.Conn, order, user, write, erase string) {
	t.Helper()
	ctx := t.Context()
	steps := []func(){
		func() { exec(t, writer, "begin") },
		func() {
			if _, err := writer.Exec(ctx, write, user); err != nil {
				require.NotEqual(t, "0", order[1:2], "%s: %v", write, err) // the user was there
				exec(t, writer, "rollback; begin")
			}
		},
		func() { exec(t, writer, "commit") },
	}
	next := 0
	until := func(stage byte) {
		for ; next < len(steps) && order[next] <= stage; next++ {
			steps[next]()
		}
	}
	until('0')
	exec(t, eraser, "begin")
	if _, err := eraser.Exec(ctx, erase, user); err != nil {
		var pgErr *pgconn.PgError
		require.True(t, errors.As(err, &pgErr) && pgErr.Code == "55P03", "%s: %v", user, err)
		exec(t, eraser, "rollback")
		until('2')
		exec(t, eraser, "begin")
		exec(t, eraser, erase, user)
	}
	until('1')
	exec(t, eraser, "commit")
	until('2')
}

func keys[V any](m map[string]V) (names []string) {
	for name := range m {
		names = append(names, name)
	}
	return names
}

// Many open erasures end a few at a time, and none is left out.
func TestManyOpenErasures(t *testing.T) {
	t.Parallel()
	pool := pgtest.Pool(t)
	dsn := pool.Config().ConnString()
	older, eraser := connect(t, dsn), connect(t, dsn)
	exec(t, older, "begin")
	exec(t, older, `insert into oxbow.memories (user_id, id, content)
		select 'ada', md5('late ' || n)::uuid, 'Late boat ' || n from generate_series(1, 120) n`)
	for n := range 120 {
		exec(t, eraser, `select oxbow.erase_memory('ada', md5('late ' || $1::int)::uuid)`, n+1)
	}
	const finish = `select open from oxbow.finish_erasures('ada')`
	require.Equal(t, 120, one[int](t, eraser, finish))
	exec(t, older, "commit")
	require.Equal(t, []int{20, 0}, []int{one[int](t, eraser, finish), one[int](t, eraser, finish)})
	require.Equal(t, 0, one[int](t, eraser, `select count(*)::int from oxbow.memories where user_id = 'ada'`))
}

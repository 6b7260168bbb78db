package sqlcode_test

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"github.com/oxbow-memory/oxbow/internal/pgtest"
)

// upkeep has statements of jobs that lock rows of several tables.
var upkeep = map[string]string{
	"index_memories": `select oxbow.index_memories(array[$1], array(select id from oxbow.memories where user_id = $1))`,
	"fold_activity":  `select oxbow.fold_activity(100) where $1 <> ''`,
	"recount_terms":  `select oxbow.recount_terms($1)`,
	"assign_slots":   `select oxbow.assign_slots() where $1 <> ''`,
	"walk_vectors":   `select oxbow.walk_vectors(100) where $1 <> ''`,
	"index_vectors":  `select oxbow.index_vectors(100) where $1 <> ''`,
	"end_slots":      `select oxbow.end_slots(100) where $1 <> ''`,
	"write_vectors": `select oxbow.write_vectors(array[$1], (select value from oxbow.settings where key = 'embedding'),
		array[md5($1 || ' a')::uuid], array[array_fill(1, array[1024])::vector::halfvec])`,
	"settle_traits": `select oxbow.settle_traits(now() + interval '100 days', 100, $1, null)`,
}

// lock is a table with rows that a transaction holds, and how strongly: 1 for a foreign key, 2 to update them, 3 to delete
// them. Two transactions exclude each other if the sum is 4 or more.
type lock struct {
	Table    string
	Strength int
}

// strengths are the modes in which others can take no lock of that strength.
var strengths = map[int]string{1: "update", 2: "no key update", 3: "key share"}

// wait is a function that waits for rows and the locks that it holds by then.
type wait struct {
	name string
	rows lock
	held []lock
}

// holds returns how strongly the function holds rows of a table, 0 if it does not.
func (w wait) holds(table string) int {
	for _, l := range w.held {
		if l.Table == table {
			return l.Strength
		}
	}
	return 0
}

// deadlocks reports whether two functions may wait for each other. They cannot if both hold memories, because then one
// of them has waited for these.
func (w wait) deadlocks(other wait) bool {
	return w.rows.Strength+other.holds(w.rows.Table) >= 4 && other.holds(w.rows.Table) > 0 &&
		other.rows.Strength+w.holds(other.rows.Table) >= 4 && w.holds(other.rows.Table) > 0 &&
		w.holds("memories")+other.holds("memories") < 4
}

// Every function locks rows of different tables in one order (docs/architecture.md), so that two of them do not wait for
// each other. Each is stopped at the rows of each table that it locks, to see which it holds by then.
func TestOrderOfLocks(t *testing.T) {
	t.Parallel()
	pool := pgtest.Pool(t)
	dsn := pool.Config().ConnString()
	holder, runner, probe := connect(t, dsn), connect(t, dsn), connect(t, dsn)
	tables := all[string](t, probe, `
		select c.relname::text from pg_class c join pg_attribute a on a.attrelid = c.oid and a.attname = 'user_id'
		 where c.relnamespace = 'oxbow'::regnamespace and c.relkind in ('r', 'p') and not c.relispartition`)
	held := func(name, user string, tables []string) []lock {
		var sql []string // in one statement, because there are thousands
		for _, table := range tables {
			for strength := 1; strength < 3; strength++ { // a lock for key share would follow an update, and wait for it
				sql = append(sql, fmt.Sprintf(`select '%[1]s', %[2]d where (select count(*) from oxbow.%[1]s where user_id = $1)
					> (select count(*) from (select from oxbow.%[1]s where user_id = $1 for %[3]s skip locked) l)`,
					table, strength, strengths[strength]))
			}
		}
		rows, err := probe.Query(t.Context(), `select t, max(s) from (`+strings.Join(sql, " union all ")+`) l(t, s) group by t`,
			user)
		require.NoError(t, err)
		locks, err := pgx.CollectRows(rows, pgx.RowToStructByPos[lock])
		require.NoError(t, err)
		for i, l := range locks {
			if l.Strength == 2 && (strings.HasPrefix(name, "erase_") || strings.HasPrefix(name, "delete_")) {
				locks[i].Strength = 3
			}
		}
		return locks
	}
	statements := maps.Clone(upkeep)
	for name, w := range ways {
		statements[name] = w.sql
	}
	var waits []wait
	for name, sql := range statements {
		user := "user of " + name
		furnishAll(t, probe, name, user)
		exec(t, runner, "begin")
		exec(t, runner, sql, user)
		locks := held(name, user, tables)
		exec(t, runner, "rollback")
		for _, l := range locks {
			others := []string{}
			for _, o := range locks {
				if o.Table != l.Table {
					others = append(others, o.Table)
				}
			}
			for _, strength := range slices.Compact([]int{1, l.Strength}) {
				if len(others) == 0 {
					break
				}
				exec(t, holder, "begin")
				exec(t, holder, fmt.Sprintf(`select from oxbow.%s where user_id = $1 for %s`, l.Table, strengths[strength]), user)
				exec(t, runner, "begin")
				ended := make(chan error, 1)
				go func() {
					_, err := runner.Exec(context.WithoutCancel(t.Context()), sql, user)
					ended <- err
				}()
				require.Eventually(t, func() bool {
					return len(ended) > 0 || one[bool](t, probe,
						`select coalesce(wait_event_type = 'Lock', false) from pg_stat_activity where pid = $1`, runner.PgConn().PID())
				}, time.Minute, time.Millisecond)
				if len(ended) == 0 {
					waits = append(waits, wait{name, lock{l.Table, strength}, held(name, user, others)})
				}
				exec(t, holder, "rollback")
				require.NoError(t, <-ended)
				exec(t, runner, "rollback")
			}
		}
		exec(t, probe, `delete from oxbow.vector_slots`)
	}
	require.NotEmpty(t, waits)
	for i, w := range waits {
		for _, other := range waits[:i] {
			require.False(t, w.deadlocks(other), "%s waits for %v and holds %v; %s waits for %v and holds %v",
				w.name, w.rows, w.held, other.name, other.rows, other.held)
		}
	}
}

// furnishAll stores what a function locks.
func furnishAll(t *testing.T, tx db, name, user string) {
	t.Helper()
	exec(t, tx, fmt.Sprintf(furnish, "'"+user+"'"))
	exec(t, tx, `select oxbow.index_memories(array[$1], array(select id from oxbow.memories where user_id = $1))
		where $2 <> 'index_memories'`, user, name)
	exec(t, tx, `select oxbow.touch($1, array[md5($1 || ' a')::uuid]), oxbow.touch($1, array[md5($1 || ' t')::uuid])`, user)
	exec(t, tx, `insert into oxbow.memory_vectors (user_id, memory_type, memory_id, embedding)
		select m.user_id, m.memory_type, m.id, array_fill(1, array[1024])::vector::halfvec from oxbow.memories m
		 where m.user_id = $1 and m.id <> md5($1 || ' a')::uuid`, user)
	// the walk copies half of the vectors
	exec(t, tx, `insert into oxbow.vector_slots (user_id, memory_type, slot, born, walked_at, ending)
		values ($1, 'fact', 1, '3', case when $2 <> 'walk_vectors' then now() end, $2 = 'end_slots')`, user, name)
	exec(t, tx, `insert into oxbow.indexed_vectors (user_id, memory_type, memory_id)
		select user_id, memory_type, memory_id from oxbow.memory_vectors
		 where user_id = $1 and memory_type = 'fact' and ($2 <> 'walk_vectors' or memory_id < md5($1 || ' c')::uuid)
		on conflict do nothing`, user, name)
}

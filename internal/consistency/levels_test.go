package consistency

import (
	"testing"

	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"

	"github.com/oxbow-memory/oxbow/internal/pgtest"
)

// insertLevels gives a user an episode of each level, a fact that is full, one that is a summary, and a memory merged
// of three facts.
func insertLevels(t *testing.T, pool *pgxpool.Pool, user string) {
	t.Helper()
	for _, sql := range []string{
		`insert into oxbow.memories (user_id, memory_type, content, category, created_at, metadata)
		 select $1, l.type, l.name || ': we had lunch with Anna in Porto, the soup was cold, and the waiter was in a hurry. '
		          || 'Afterwards we walked along the river until the sun went down behind the old bridge.',
		        'plan', now() - l.days * interval '1 day',
		        '{"entities": [{"name": "Anna", "kind": "person"}], "trip": 3}'
		   from (values ('fact', 'fresh', 91), ('fact', 'summary of a fact', 1500), ('episodic', 'summary', 150),
		          ('episodic', 'tag', 300), ('episodic', 'trace', 570), ('episodic', 'archive', 3650)) l(type, name, days)`,
		`insert into oxbow.memories (user_id, content) select $1, 'Ann has a boat, she said ' || n || ' times'
		   from generate_series(1, 3) n`,
		`update oxbow.memories set stored_at = created_at where user_id = $1`,
		`select count(*) from oxbow.index_memories(array[$1], array(select id from oxbow.memories where user_id = $1))`,
		`insert into oxbow.memory_vectors (user_id, memory_type, memory_id, embedding)
		 select user_id, memory_type, id, array_fill(0.1::real, array[1024])::halfvec from oxbow.memories
		  where user_id = $1 on conflict do nothing`,
		`select oxbow.merge($1, array(select id from oxbow.memories where user_id = $1 and content like 'Ann has%'))`,
		`select oxbow.walk_levels(now(), 100000) where $1 <> ''`,
		`select oxbow.settle_levels(now(), 100000) where $1 <> ''`,
	} {
		_, err := pool.Exec(t.Context(), sql, user)
		require.NoError(t, err, sql)
	}
	var levels []string
	require.NoError(t, pool.QueryRow(t.Context(), `select array_agg(level || ' ' || memory_type order by created_at)
		from oxbow.memories where user_id = $1 and source is null`, user).Scan(&levels))
	require.Equal(t, []string{"archive episodic", "summary fact", "trace episodic", "tag episodic", "summary episodic",
		"full fact", "full fact", "full fact", "full fact"}, levels)
}

const mergedOne = `(select id from oxbow.memories where user_id = $1 and source = 'merge')`

// faults lists changes by somebody with all rights, and the kinds of problems that the check finds.
var faults = map[string]struct {
	sql      string
	kinds    []string
	repaired bool
}{
	"a fact as a tag": {`update oxbow.memories set level = 'tag' where user_id = $1 and memory_type = 'fact'
		and level = 'summary'`, []string{"kept", "level", "next level"}, false},
	"a document as a summary": {`insert into oxbow.memories (user_id, memory_type, content, level)
		values ($1, 'document', 'A page', 'summary')`, []string{"level"}, false},
	"an original lost": {`delete from oxbow.memory_archive a using oxbow.memories m where m.user_id = $1
		and a.user_id = $1 and m.id = a.memory_id and m.level = 'archive'`, []string{"original"}, false},
	"an original too many": {`insert into oxbow.memory_archive
		select user_id, memory_type, id, content, metadata, content_hash, 1, 'boat' from oxbow.memories
		 where user_id = $1 and content like 'fresh%'`, []string{"original"}, false},
	"full, but its original is archived": {`update oxbow.memories set level = 'full', weight_next_at = now()
		where user_id = $1 and level = 'trace'`, []string{"original"}, false},
	"all of the text in a summary": {`update oxbow.memories m set content = a.content || '!' from oxbow.memory_archive a
		where m.user_id = $1 and a.user_id = $1 and a.memory_id = m.id and m.level = 'summary'
		and m.memory_type = 'episodic'`, []string{"kept"}, false},
	"a text of an archived one": {`update oxbow.memories set content = 'lunch' where user_id = $1 and level = 'archive'`,
		[]string{"kept"}, false},
	"metadata of an archived one": {`update oxbow.memories set metadata = '{"context": "work"}' where user_id = $1
		and level = 'archive'`, []string{"kept"}, false},
	"metadata of a trace": {`update oxbow.memories set metadata = metadata || '{"trip": 3}' where user_id = $1
		and level = 'trace'`, []string{"kept"}, false},
	"terms of an archived one": {`insert into oxbow.memory_terms (user_id, memory_type, memory_id, len, tsv)
		select user_id, memory_type, id, 1, 'lunch' from oxbow.memories where user_id = $1 and level = 'archive'`,
		[]string{"kept"}, false},
	"all terms of a tag": {`update oxbow.memory_terms t set len = a.len, tsv = a.tsv
		from oxbow.memory_archive a join oxbow.memories m on m.user_id = a.user_id and m.id = a.memory_id
		where a.user_id = $1 and m.level = 'tag' and t.user_id = $1 and t.memory_id = m.id`, []string{"kept"}, false},
	"a vector of a trace": {`insert into oxbow.memory_vectors (user_id, memory_type, memory_id, embedding)
		select user_id, memory_type, id, array_fill(0.1::real, array[1024])::halfvec from oxbow.memories
		 where user_id = $1 and level = 'trace'`, []string{"kept"}, false},
	"an indexed vector of a tag": {`insert into oxbow.indexed_vectors (user_id, memory_type, memory_id)
		select user_id, memory_type, id from oxbow.memories where user_id = $1 and level = 'tag'`, []string{"kept"}, false},
	"a name of an archived one": {`insert into oxbow.entity_mentions (user_id, entity_id, memory_type, memory_id)
		select m.user_id, e.id, m.memory_type, m.id from oxbow.memories m
		  join oxbow.entities e on e.user_id = m.user_id and e.name = 'Anna'
		 where m.user_id = $1 and level = 'archive'`, []string{"kept"}, false},
	"never due": {`update oxbow.memories set weight_next_at = null where user_id = $1 and content like 'fresh%'`,
		[]string{"next level"}, true},
	"due too late": {`update oxbow.memories set weight_next_at = weight_next_at + interval '1 day' where user_id = $1
		and level = 'tag'`, []string{"next level"}, true},
	"activity that nothing followed": {`update oxbow.memories set activated_at = created_at - interval '3000 days'
		where user_id = $1 and level = 'tag'`, []string{"next level"}, true},
	"a link lost": {`delete from oxbow.memory_links where user_id = $1 and relation = 'merged_from'
		and to_id = (select max(id::text)::uuid from oxbow.memories where user_id = $1 and superseded_by is not null)`,
		[]string{"merged"}, false},
	"all links lost": {`delete from oxbow.memory_links where user_id = $1 and relation = 'merged_from'`,
		[]string{"merged"}, false},
	"another count": {`update oxbow.memories set metadata = jsonb_set(metadata, '{merged,count}', '4')
		where user_id = $1 and source = 'merge'`, []string{"merged"}, false},
	"no count": {`update oxbow.memories set metadata = metadata #- '{merged,count}' where user_id = $1
		and source = 'merge'`, []string{"merged"}, false},
	"an original is current": {`update oxbow.memories set expired_at = null, invalid_at = null, superseded_by = null
		where user_id = $1 and superseded_by = ` + mergedOne, []string{"merged"}, false},
	"an original names no other": {`update oxbow.memories set superseded_by = null where user_id = $1
		and superseded_by = ` + mergedOne, []string{"merged"}, false},
}

// The check finds memories that do not match their level, levels that are not due when they should be, and merged
// memories that do not match their originals. A repair makes levels due, and only reports the others.
func TestCheckFindsWrongLevels(t *testing.T) {
	t.Parallel()
	pool := pgtest.Pool(t)
	for name, fault := range faults {
		t.Run(name, func(t *testing.T) {
			user := "ann, " + name
			insertLevels(t, pool, user)
			_, found := check(t, pool, user, false)
			require.Empty(t, found, "nobody has done anything")
			bypass(t, pool, fault.sql, user)
			_, found = check(t, pool, user, false)
			require.Equal(t, fault.kinds, kinds(found), "%+v", found)
			for _, p := range found {
				require.Equal(t, user, p.UserID)
				require.NotZero(t, p.MemoryID)
				require.NotEmpty(t, p.Found)
				require.NotEqual(t, p.Found, p.Expected)
			}
			report, repaired := check(t, pool, user, true)
			require.Equal(t, fault.repaired, report.Repaired == report.Problems, "%+v", repaired)
			if fault.repaired {
				_, err := pool.Exec(t.Context(), `select oxbow.settle_levels(now(), 100000)`)
				require.NoError(t, err)
				_, found = check(t, pool, user, false)
				require.Empty(t, found)
			}
		})
	}
}

// The check reports no problem after ordinary operations on memories, nor while levels do not yet follow new policies
// or a new forgetting factor.
func TestCheckAcceptsWhatHappensToLevels(t *testing.T) {
	t.Parallel()
	pool := pgtest.Pool(t)
	for name, sql := range map[string][]string{
		"unmerged":         {`select oxbow.unmerge($1, ` + mergedOne + `)`},
		"merged again":     {`select oxbow.unmerge($1, ` + mergedOne + `)`, `select oxbow.restore($1, ` + mergedOne + `)`},
		"merged forgotten": {`select oxbow.forget($1, ` + mergedOne + `)`},
		"merged reworded":  {`select oxbow.supersede($1, ` + mergedOne + `, 'Ann has two boats')`},
		"original erased": {`select oxbow.erase_memory($1, (select min(id::text)::uuid from oxbow.memories
			where user_id = $1 and superseded_by is not null))`},
		"original restored": {`select oxbow.restore($1, (select min(id::text)::uuid from oxbow.memories
			where user_id = $1 and superseded_by is not null))`},
		"one more joins": {`insert into oxbow.memories (user_id, content) values ($1, 'Ann has a boat, she says')`,
			`select oxbow.merge($1, array(select id from oxbow.memories where user_id = $1 and expired_at is null
				and content like 'Ann has%'))`},
		"used":                    {`select oxbow.restore($1, id) from oxbow.memories where user_id = $1 and level <> 'full'`},
		"forgotten":               {`select oxbow.forget($1, id) from oxbow.memories where user_id = $1 and level <> 'full'`},
		"a new forgetting factor": {`insert into oxbow.users (user_id, forgetting_factor) values ($1, 30)`},
		"the usual forgetting factor": {`insert into oxbow.users (user_id, forgetting_factor) values ($1, 0.1)`,
			`select oxbow.settle_levels(now(), 100000) where $1 <> ''`, `delete from oxbow.users where user_id = $1`},
		"another forgetting factor": {`insert into oxbow.users (user_id) values ($1)`,
			`update oxbow.users set forgetting_factor = 0.1 where user_id = $1`},
		"in another category": {`update oxbow.memories set category = 'identity' where user_id = $1`},
		"imported": {`insert into oxbow.memories (user_id, memory_type, content, created_at)
			values ($1, 'episodic', 'not embedded yet', now() - interval '900 days')`},
	} {
		t.Run(name, func(t *testing.T) {
			user := "ann, " + name
			insertLevels(t, pool, user)
			for _, statement := range sql {
				_, err := pool.Exec(t.Context(), statement, user)
				require.NoError(t, err)
			}
			requireRightLevels(t, pool, user)
		})
	}
	t.Run("other policies", func(t *testing.T) { // last, because they are everybody's
		insertLevels(t, pool, "ann")
		_, err := pool.Exec(t.Context(), `select oxbow.set_policy('level_summary_weight', 0.9)`)
		require.NoError(t, err)
		requireRightLevels(t, pool, "ann")
	})
}

// requireRightLevels fails if the check finds a problem, now or when settle has done its work.
func requireRightLevels(t *testing.T, pool *pgxpool.Pool, user string) {
	t.Helper()
	for range 3 { // what comes back may be compressed again
		_, found := check(t, pool, user, false)
		require.Empty(t, found)
		_, err := pool.Exec(t.Context(), `select oxbow.walk_levels(now(), 100000), oxbow.settle_levels(now(), 100000)`)
		require.NoError(t, err)
	}
}

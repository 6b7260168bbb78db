package sqlcode_test

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/oxbow-memory/oxbow/internal/pgtest"
)

// requireStats checks a user's statistics against the stored terms, and returns the number of documents.
func requireStats(t *testing.T, tx db, user string) int {
	t.Helper()
	const there = `select format('%s: %s, %s', memory_type, count(*), sum(len)) from oxbow.memory_terms
		where user_id = $1 group by memory_type order by 1`
	const counted = `select format('%s: %s, %s', memory_type, documents, terms) from oxbow.memory_term_stats
		where user_id = $1 and documents <> 0 order by 1`
	require.Equal(t, all[string](t, tx, there, user), all[string](t, tx, counted, user))
	return one[int](t, tx, "select coalesce(sum(documents), 0) from oxbow.memory_term_stats where user_id = $1", user)
}

func TestIndexProcessesAMemoryOnce(t *testing.T) {
	t.Parallel()
	tx := pgtest.Tx(t)
	ids := []string{
		remember(t, tx, row{"user_id": ann(t), "content": "A boat."}),
		remember(t, tx, row{"user_id": ann(t), "content": "A long lamp beside the door.", "memory_type": "episodic"}),
	}
	require.ElementsMatch(t, ids, index(t, tx, ann(t)))
	require.Equal(t, 2, requireStats(t, tx, ann(t)))

	exec(t, tx, "delete from oxbow.reflection_inbox where user_id = $1", ann(t))
	require.Empty(t, index(t, tx, ann(t)))
	require.Equal(t, 2, requireStats(t, tx, ann(t)))
	require.Zero(t, one[int](t, tx, "select count(*) from oxbow.reflection_inbox where user_id = $1", ann(t)),
		"what was reflected on does not come back")

	third := remember(t, tx, row{"user_id": ann(t), "content": "A third."})
	require.Equal(t, []string{third}, index(t, tx, ann(t)))
	require.Equal(t, 3, requireStats(t, tx, ann(t)))
}

func TestIndexSkipsMissingMemories(t *testing.T) {
	t.Parallel()
	tx := pgtest.Tx(t)
	id := remember(t, tx, row{"user_id": ann(t)})
	const sql = "select i.id::text from oxbow.index_memories(array[$1], $2::text[]::uuid[]) i"
	require.Empty(t, all[string](t, tx, sql, bob(t), []string{id}), "another's")
	require.Empty(t, all[string](t, tx, sql, ann(t), []string{}))
	require.Empty(t, all[string](t, tx, sql, ann(t), nil))
	require.Equal(t, []string{id}, all[string](t, tx, sql, ann(t),
		[]string{"00000000-0000-0000-0000-000000000000", id, id}))
}

func TestStatisticsFollowDeletions(t *testing.T) {
	t.Parallel()
	tx := pgtest.Tx(t)
	for i := range 20 {
		kind := []string{"fact", "episodic", "document", "trait"}[i/2%4]
		remember(t, tx, row{"user_id": []string{ann(t), bob(t)}[i%2], "memory_type": kind,
			"content": strings.Repeat("word ", i+1)})
	}
	index(t, tx, ann(t))
	index(t, tx, bob(t))
	for _, c := range []struct {
		sql  string
		left int
	}{
		{"delete from oxbow.memories where user_id = $1 and memory_type = 'fact' and length(content) < 10", 9},
		{"delete from oxbow.memory_terms where user_id = $1 and memory_type = 'fact' and len < 10", 8},
		{"delete from oxbow.memory_terms_document where user_id = $1", 6},
		{"delete from oxbow.memories_fact where user_id = $1", 5},
		{"delete from oxbow.memories where user_id = $1 and memory_type = 'trait'", 3},
		{"delete from oxbow.memories where user_id = $1 || 'nobody'", 3},
	} {
		exec(t, tx, c.sql, ann(t))
		require.Equal(t, c.left, requireStats(t, tx, ann(t)), c.sql)
	}
	require.Equal(t, 10, requireStats(t, tx, bob(t)))
}

func TestInbox(t *testing.T) {
	t.Parallel()
	tx := pgtest.Tx(t)
	exec(t, tx, "insert into oxbow.users (user_id, opted_out) values ($1, true)", bob(t))
	for _, user := range []string{ann(t), bob(t)} {
		for _, kind := range []string{"fact", "episodic", "trait", "document"} {
			remember(t, tx, row{"user_id": user, "memory_type": kind, "valid_at": ago(time.Hour), "importance": 0.7,
				"session_id": "s1"})
		}
		require.Len(t, index(t, tx, user), 4)
	}
	require.Equal(t, []string{"ann in TestInbox episodic 0.7 s1 t", "ann in TestInbox fact 0.7 s1 t"},
		all[string](t, tx, `
		select concat_ws(' ', i.user_id, i.memory_type, i.importance, i.session_id, i.valid_at = m.valid_at)
		  from oxbow.reflection_inbox i join oxbow.memories m on m.user_id = i.user_id and m.id = i.memory_id
		 where i.user_id in ($1, $2) order by 1`, ann(t), bob(t)))

	exec(t, tx, `insert into oxbow.users (user_id) values ($1)`, ann(t))
	require.Equal(t, 2, one[int](t, tx, `select count(*) from oxbow.reflection_inbox where user_id = $1`, ann(t)))
	exec(t, tx, `set local role oxbow_app`)
	exec(t, tx, `select set_config('oxbow.user_id', $1, true)`, ann(t))
	exec(t, tx, `update oxbow.users set opted_out = true where user_id = $1`, ann(t))
	exec(t, tx, `reset role`)
	require.Zero(t, one[int](t, tx, `select count(*) from oxbow.reflection_inbox where user_id = $1`, ann(t)),
		"opting out empties it")
}

// facts stores the same fact n times, each a minute newer than the one before.
func facts(t *testing.T, tx db, user, content string, n int) []string {
	t.Helper()
	ids := make([]string, n)
	for i := range ids {
		ids[i] = remember(t, tx, row{"user_id": user, "content": content,
			"created_at": ago(time.Hour - time.Duration(i)*time.Minute)})
	}
	return ids
}

// The versions of a fact do not hide it.
func TestSimilarFactOfManyVersions(t *testing.T) {
	t.Parallel()
	tx := pgtest.Tx(t)
	for i, id := range facts(t, tx, ann(t), "She likes tea.", 30) {
		addVector(t, tx, ann(t), "fact", id, map[bool]string{true: axis(1, 2), false: axis(1)}[i == 0])
	}
	index(t, tx, ann(t))
	require.Len(t, all[string](t, tx, "select content from oxbow.similar_facts($1, array[$2::text::halfvec], 5, 0.3)",
		ann(t), axis(1)), 1)
}

func TestRepeatedFactsAreFolded(t *testing.T) {
	t.Parallel()
	tx := pgtest.Tx(t)
	ids := facts(t, tx, ann(t), "She likes tea.", 4)
	exec(t, tx, "update oxbow.memories set mention_count = 5, valid_at = $2 where id = $1", ids[2], ago(30*time.Minute))
	remember(t, tx, row{"user_id": bob(t), "content": "She likes tea."})
	remember(t, tx, row{"user_id": ann(t), "content": "She likes tea.", "memory_type": "episodic"})
	remember(t, tx, row{"user_id": ann(t), "content": "She likes tea!"})
	// the newest first, because the order of the jobs must not matter
	exec(t, tx, "select oxbow.index_memories(array[$2], array[$1::text::uuid])", ids[3], ann(t))
	index(t, tx, ann(t))
	index(t, tx, bob(t))

	const current = `select id::text from oxbow.memories where content = 'She likes tea.' and memory_type = 'fact'
		and expired_at is null and user_id = $1`
	require.Equal(t, []string{ids[0]}, all[string](t, tx, current, ann(t)))
	require.Len(t, all[string](t, tx, current, bob(t)), 1)
	require.Equal(t, 8, one[int](t, tx, "select mention_count from oxbow.memories where id = $1", ids[0]))
	require.Equal(t, 3, one[int](t, tx, `
		select count(*) from oxbow.memories where user_id = $2 and superseded_by = $1 and expired_at = now()
		and invalid_at = coalesce(valid_at, created_at)`, ids[0], ann(t)))
	require.ElementsMatch(t, ids[1:], all[string](t, tx,
		"select memory_id::text from oxbow.memory_history where user_id = $1 and event = 'SUPERSEDE'", ann(t)))
	require.Equal(t, 1, one[int](t, tx,
		`select count(*) from oxbow.memories where user_id = $1 and memory_type = 'episodic'
				and expired_at is null`, ann(t)))

	// a later repetition
	remember(t, tx, row{"user_id": ann(t), "content": "She likes tea."})
	index(t, tx, ann(t))
	require.Equal(t, []string{ids[0]}, all[string](t, tx, current, ann(t)))
	require.Equal(t, 9, one[int](t, tx, "select mention_count from oxbow.memories where id = $1", ids[0]))

	// operations on the kept fact also apply to its repetitions, which as-of queries would return
	const same,
		hidden = `select count(*) from oxbow.memories where user_id = $1 and content = 'She likes tea.'
			and memory_type = 'fact'`, " and forgotten_at is not null"
	require.Equal(t, 5, one[int](t, tx, same, ann(t)))
	exec(t, tx, "select oxbow.forget($1, $2)", ann(t), ids[1])
	require.Equal(t, 1, one[int](t, tx, same+hidden, ann(t)), "and not the other way round")
	exec(t, tx, "select oxbow.restore($1, $2)", ann(t), ids[1])
	exec(t, tx, "select oxbow.forget($1, $2)", ann(t), ids[0])
	require.Equal(t, 5, one[int](t, tx, same+hidden, ann(t)))
	exec(t, tx, "select oxbow.restore($1, $2)", ann(t), ids[0])
	require.Zero(t, one[int](t, tx, same+hidden, ann(t)))
	exec(t, tx, "select oxbow.erase_memory($1, $2)", ann(t), ids[0])
	require.Zero(t, one[int](t, tx, same, ann(t)))
	require.Equal(t, 2, one[int](t, tx, "select count(*) from oxbow.memories where user_id = $1", ann(t)))
}

// Facts without a meaningful difference are folded; others are not.
func TestWhatCountsAsTheSame(t *testing.T) {
	t.Parallel()
	tx := pgtest.Tx(t)
	for i, c := range []struct {
		a, b string
		same bool
	}{
		{"Likes tea", "Likes tea.", true},
		{"Likes tea", "likes tea . ", true},
		{"Likes tea", " Likes  tea\n", true},
		{"Likes tea, and rice", "Likes tea，　and rice", true},
		{"我喜欢茶", "我喜欢茶。", true},
		{"我喜欢茶，咖啡", "我喜欢茶,咖啡", true},
		{"Likes tea", "Likes tea?", false},
		{"Likes tea", "Likes tea…", false},
		{"Her password is fox", "Her password is fox!", false},
		{"Likes polish food", "Likes Polish food", false},
		{"Rates it 10²", "Rates it 102", false},
		{"我喜欢茶", "我喜欢 茶", false},
		// longer than 4 kB
		{"Likes" + strings.Repeat(" tea", 1100), "Likes" + strings.Repeat(" tea", 1100) + ".", false},
	} {
		user := fmt.Sprint(ann(t), i)
		first := remember(t, tx, row{"user_id": user, "content": c.a, "created_at": ago(time.Hour)})
		remember(t, tx, row{"user_id": user, "content": c.b})
		index(t, tx, user)
		require.Equal(t, c.same, one[bool](t, tx,
			"select count(*) = 1 from oxbow.memories where user_id = $1 and expired_at is null", user), "%s | %s", c.a,
			c.b)
		require.Equal(t, c.same, one[bool](t, tx, "select mention_count = 2 from oxbow.memories where id = $1", first))
		require.Equal(t, c.same, one[bool](t, tx, `
			select count(*) = 1 from oxbow.memory_history
			 where user_id = $1 and event = 'SUPERSEDE' and old_content = $2 and new_content = $3`, user, c.b, c.a))
	}
}

// Facts of several speakers, agents or contexts stay apart, because recall and context filter by these. Of two that are
// the same, the one that began first stays, but not before another that it replaced.
func TestWhatIsFoldedInto(t *testing.T) {
	t.Parallel()
	tx := pgtest.Tx(t)
	early := row{"valid_at": ago(48 * time.Hour)}
	for name, c := range map[string]struct {
		second row
		left   []string
	}{
		"same":              {row{}, []string{"first"}},
		"began earlier":     {early, []string{"second"}},
		"began later":       {row{"valid_at": ago(time.Minute)}, []string{"first"}},
		"replaced another":  {early, []string{"first"}},
		"another speaker":   {row{"speaker": "Bob"}, []string{"first", "second"}},
		"another agent":     {row{"agent_id": "coach"}, []string{"first", "second"}},
		"another context":   {row{"metadata": `{"context": "personal"}`}, []string{"first", "second"}},
		"other metadata":    {row{"metadata": `{"context": "work", "mood": "good"}`}, []string{"first"}},
		"none of the three": {row{"metadata": `{}`, "agent_id": nil, "speaker": nil}, []string{"first", "second"}},
	} {
		first := row{"user_id": ann(t) + name, "content": "Likes plums.", "speaker": "Ann", "agent_id": "cook",
			"metadata": `{"context": "work"}`, "created_at": ago(time.Hour), "external_id": "first"}
		id := remember(t, tx, first)
		if name == "replaced another" {
			exec(t, tx, `insert into oxbow.memory_links (user_id, from_type, from_id, to_type, to_id, relation)
				values ($1, 'fact', $2, 'fact', $2, 'supersedes')`, first["user_id"], id)
		}
		remember(t, tx, first.with(row{"external_id": "second", "created_at": ago(0)}).with(c.second))
		index(t, tx, ann(t)+name)
		require.Equal(t, c.left, all[string](t, tx, `select external_id from oxbow.memories
			where user_id = $1 and expired_at is null and mention_count = $2 order by 1`, first["user_id"], 3-len(c.left)),
			name)
	}
}

// A repetition forgotten separately stays forgotten; one restored separately outlives the kept fact.
func TestRepeatsChangedSeparately(t *testing.T) {
	t.Parallel()
	tx := pgtest.Tx(t)
	ids := facts(t, tx, ann(t), "她喜欢喝茶。", 3)
	index(t, tx, ann(t))
	const forgotten = "select id::text from oxbow.memories where user_id = $1 and forgotten_at is not null"
	exec(t, tx, "select oxbow.forget($1, $2)", ann(t), ids[1])
	exec(t, tx, "update oxbow.memories set forgotten_at = forgotten_at - interval '1 minute' where id = $1", ids[1])
	exec(t, tx, "select oxbow.forget($1, $2)", ann(t), ids[0])
	require.Len(t, all[string](t, tx, forgotten, ann(t)), 3)
	exec(t, tx, "select oxbow.restore($1, $2)", ann(t), ids[0])
	require.Equal(t, []string{ids[1]}, all[string](t, tx, forgotten, ann(t)))

	exec(t, tx, "select oxbow.forget($1, $2)", ann(t), ids[0])
	exec(t, tx, "select oxbow.restore($1, $2)", ann(t), ids[1])
	require.ElementsMatch(t, []string{ids[0], ids[2]}, all[string](t, tx, forgotten, ann(t)))
	exec(t, tx, "select oxbow.erase_memory($1, $2)", ann(t), ids[0]) // as sweep does after 30 days
	require.Equal(t, []string{ids[1]}, all[string](t, tx, "select id::text from oxbow.memories where user_id = $1",
		ann(t)))
}

func TestEndedAndForgottenFactsAreNotRepeated(t *testing.T) {
	t.Parallel()
	tx := pgtest.Tx(t)
	for _, column := range []string{"invalid_at", "forgotten_at", "expired_at"} {
		user := ann(t) + column
		old := remember(t, tx, row{"user_id": user, "created_at": ago(time.Hour), column: ago(0)})
		now := remember(t, tx, row{"user_id": user, "created_at": ago(0)})
		require.ElementsMatch(t, []string{old, now}, index(t, tx, user))
		require.Equal(t, []string{now}, all[string](t, tx, `
			select id::text from oxbow.memories where user_id = $1 and superseded_by is null and mention_count = 1
			and id <> $2`, user, old), column)
	}
}

// Two jobs fold one of two equal facts each, in concurrent transactions.
func TestFoldingOfTwoOpenTransactions(t *testing.T) {
	t.Parallel()
	for name, order := range map[string][2]int{"older first": {0, 1}, "younger first": {1, 0}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dsn := pgtest.Database(t)
			conn := connect(t, dsn)
			ids := facts(t, conn, ann(t), "She likes tea.", 2)
			const sql = "select oxbow.index_memories(array[$2], array[$1::text::uuid])"
			first, second := begin(t, dsn), begin(t, dsn)
			exec(t, second, "set local lock_timeout = 0")
			pid := one[int](t, second, "select pg_backend_pid()")
			exec(t, first, sql, ids[order[0]], ann(t))

			done := make(chan error, 1)
			go func() {
				_, err := second.Exec(t.Context(), sql, ids[order[1]], ann(t))
				done <- err
			}()
			for !one[bool](t, conn, "select exists (select from pg_locks where pid = $1 and not granted)", pid) {
				require.Empty(t, done, "the second is to wait for the first")
			}
			require.NoError(t, first.Commit(t.Context()))
			require.NoError(t, <-done)
			require.NoError(t, second.Commit(t.Context()))

			require.Equal(t, []string{ids[0]}, all[string](t, conn,
				"select id::text from oxbow.memories where expired_at is null and mention_count = 2"))
			require.Equal(t, []string{ids[1]}, all[string](t, conn,
				"select id::text from oxbow.memories where superseded_by = $1", ids[0]))
			require.Equal(t, 2, requireStats(t, conn, ann(t)))
			require.Equal(t, 1, one[int](t, conn, "select count(*) from oxbow.memory_history"))
		})
	}
}

// Eight workers index overlapping batches of many equal facts without errors, including deadlocks.
func TestIndexInParallel(t *testing.T) {
	t.Parallel()
	const contents, each, workers = 8, 20, 8
	pool := pgtest.Pool(t)
	oldest := map[string]string{}
	var ids []string
	for i := range contents {
		content := fmt.Sprintf("Fact number %d.", i)
		same := facts(t, pool, ann(t), content, each)
		oldest[content] = same[0]
		ids = append(ids, same...)
	}

	done := make(chan error, workers)
	for w := range workers {
		conn := connect(t, pool.Config().ConnString())
		go func() {
			random := rand.New(rand.NewPCG(7, uint64(w)))
			mine := append([]string(nil), ids...)
			random.Shuffle(len(mine), func(i, j int) { mine[i], mine[j] = mine[j], mine[i] })
			for len(mine) > 0 {
				n := min(len(mine), 1+random.IntN(8))
				if _, err := conn.Exec(t.Context(), "select oxbow.index_memories(array[$2], $1::text[]::uuid[])",
					mine[:n], ann(t)); err != nil {
					done <- err
					return
				}
				mine = mine[n:]
			}
			done <- nil
		}()
	}
	for range workers {
		require.NoError(t, <-done)
	}

	require.Equal(t, contents*each, requireStats(t, pool, ann(t)))
	require.Equal(t, contents*each, one[int](t, pool, "select count(*) from oxbow.reflection_inbox"))
	require.Equal(t, contents*(each-1), one[int](t, pool, "select count(*) from oxbow.memory_history"))
	for content, id := range oldest {
		require.Equal(t, []string{id},
			all[string](t, pool, "select id::text from oxbow.memories where content = $1 and expired_at is null",
				content))
		require.Equal(t, each, one[int](t, pool, "select mention_count from oxbow.memories where id = $1", id))
		require.Equal(t, each-1, one[int](t, pool, "select count(*) from oxbow.memories where superseded_by = $1", id))
	}
}

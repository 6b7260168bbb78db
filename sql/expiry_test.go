package sqlcode_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/oxbow-memory/oxbow/internal/pgtest"
)

// The time at which a memory expires must be after its creation.
func TestExpiryInThePastIsRefused(t *testing.T) {
	t.Parallel()
	tx := pgtest.Tx(t)
	now := one[time.Time](t, tx, "select now()")
	for _, kind := range []string{"fact", "episodic"} {
		good := row{"user_id": ann(t), "memory_type": kind, "content": "one"}
		for _, bad := range []row{{"expires_at": now}, {"expires_at": now.Add(-time.Hour)},
			{"expires_at": now.AddDate(-100, 0, 0)}, {"expires_at": ago(0), "created_at": ago(0)}} {
			sql, args := good.with(bad).statement("oxbow.memories")
			err := fails(t, tx, sql, args...)
			require.Equal(t, "23514", err.Code, "a check violation: %v", err)
			require.Equal(t, "expires_at", err.ColumnName)
			require.Equal(t, "expires_at must be after created_at, which is now by default", err.Message)
			require.Contains(t, err.Detail, one[string](t, tx, "select $1::timestamptz::text", bad["expires_at"]))
		}
		remember(t, tx, good.with(row{"expires_at": now.Add(time.Second)}))
		id := remember(t, tx, good.with(row{"expires_at": ago(0), "created_at": ago(time.Hour)}))
		require.Equal(t, "23514", fails(t, tx, "update oxbow.memories set expires_at = $1 where id = $2::text::uuid",
			ago(2*time.Hour), id).Code)
	}
}

const (
	expired  = "The ferry ticket is in the drawer."
	expiring = "The ferry sails at noon."
	lasting  = "A ferry is a boat."
)

// A memory is current until expires_at, whether settle has ended it or not, and again once it is promoted.
func TestExpiry(t *testing.T) {
	t.Parallel()
	for _, kind := range []string{"fact", "episodic"} {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			tx := pgtest.Tx(t)
			user := ann(t)
			now := one[time.Time](t, tx, "select now()")
			at := func(hours int) time.Time { return now.Add(time.Duration(hours) * time.Hour) }
			old := row{"user_id": user, "memory_type": kind, "created_at": at(-100)}
			id := remember(t, tx, old.with(row{"content": expired, "expires_at": at(-2)}))
			remember(t, tx, old.with(row{"content": expiring, "expires_at": at(2)}))
			remember(t, tx, old.with(row{"content": lasting}))
			index(t, tx, user)

			recalled := func(args row, want ...string) {
				t.Helper()
				require.ElementsMatch(t, want, contents(recall(t, tx, row{"user_id": user, "query": "ferry"}.with(args))),
					args)
			}
			check := func() {
				t.Helper()
				recalled(row{}, expiring, lasting)
				recalled(row{"now": at(3)}, lasting)
				recalled(row{"now": at(-3)}, all[string](t, tx, `select content from oxbow.memories
					where user_id = $1 and expired_at is null`, user)...)
				for _, as := range []string{"valid_as_of", "believed_as_of"} {
					recalled(row{as: at(-3)}, expired, expiring, lasting)
					recalled(row{as: at(-1)}, expiring, lasting)
				}
				recalled(row{"valid_as_of": at(-1), "believed_as_of": at(-1)}, expiring, lasting)
				recalled(row{"valid_as_of": at(-3), "believed_as_of": at(-1)}, expired, expiring, lasting)
				for _, query := range []any{nil, "ferry"} {
					block := contextOf(t, tx, row{"user_id": user, "query": query})
					require.NotContains(t, block, expired)
					require.Contains(t, block, expiring)
				}
				require.Len(t, timelineOf(t, tx, user, "ferry"), 3, "the timeline shows all times")
				if kind == "fact" {
					require.ElementsMatch(t, []string{expiring, lasting}, all[string](t, tx,
						`select content from oxbow.timeline($1, 'ferry') where current`, user))
					require.ElementsMatch(t, []string{expiring, lasting}, all[string](t, tx,
						`select content from oxbow.facts_as_of($1)`, user))
					require.Len(t, all[string](t, tx, `select content from oxbow.facts_as_of($1, $2)`, user, at(-3)), 3)
				}
				err := fails(t, tx, `select oxbow.supersede($1, $2::text::uuid, 'It was used.')`, user, id)
				require.Equal(t, "OX102", err.Code)
				require.Contains(t, err.Message, "expired at")
				err = fails(t, tx, `select oxbow.restore($1, $2::text::uuid)`, user, id)
				require.Contains(t, err.Message, "is not forgotten: it expired at ")
				require.Contains(t, err.Hint, "oxbow.promote(user_id => '"+user+"', id => '"+id+"')")
			}
			check()
			require.Equal(t, int64(1), one[int64](t, tx, `select expired from oxbow.expire_memories(now(), 10)`))
			require.Zero(t, one[int64](t, tx, `select expired + promoted from oxbow.expire_memories(now(), 10)`))
			check()
			require.Equal(t, "EXPIRE settle: it expired", one[string](t, tx, `select event || ' ' || actor || ': ' || reason
				from oxbow.history($1, $2::text::uuid) where event <> 'ADD'`, user, id))
			require.True(t, one[bool](t, tx, `select invalid_at = expires_at and expired_at = now()
				from oxbow.memories where id = $1::text::uuid`, id))

			require.True(t, one[bool](t, tx, `select oxbow.promote($1, $2::text::uuid)`, user, id))
			recalled(row{}, expired, expiring, lasting)
			recalled(row{"now": at(3)}, expired, lasting)
			newer := one[string](t, tx, `select oxbow.supersede($1, id, 'The ferry sails at one.')::text
				from oxbow.memories where content = $2 and user_id = $1`, user, expiring)
			require.True(t, one[bool](t, tx, `select expires_at = $1 from oxbow.memories where id = $2::text::uuid`, at(2),
				newer), "a new version expires when the old one would have")
		})
	}
}

// Promoting a memory that settle has not ended yet keeps the gap in what was believed.
func TestPromoteBeforeSettle(t *testing.T) {
	t.Parallel()
	tx := pgtest.Tx(t)
	user := ann(t)
	now := one[time.Time](t, tx, "select now()")
	id := remember(t, tx, row{"user_id": user, "content": expired, "created_at": now.Add(-9 * time.Hour),
		"expires_at": now.Add(-2 * time.Hour), "invalid_at": now.Add(time.Hour)})
	index(t, tx, user)
	require.True(t, one[bool](t, tx, `select oxbow.promote($1, $2::text::uuid)`, user, id))
	require.True(t, one[bool](t, tx, `select invalid_at = now() + interval '1 hour' from oxbow.memories
		where id = $1::text::uuid`, id))
	for args, want := range map[string]int{"": 1, ", believed_as_of => now() - interval '1 hour'": 0,
		", believed_as_of => now() - interval '3 hours'": 1, ", now => now() + interval '2 hours'": 0} {
		require.Equal(t, want, one[int](t, tx, `select count(*) from oxbow.recall($1, 'ferry'`+args+`)`, user), args)
	}
}

// Use promotes only summaries, before recall would miss them.
func TestUsePromotesOnlySummaries(t *testing.T) {
	t.Parallel()
	tx := pgtest.Tx(t)
	for source, want := range map[string]string{"app": "0 1", "summary": "1 0"} {
		remember(t, tx, row{"user_id": ann(t) + source, "memory_type": "episodic", "source": source, "strength": 3.0,
			"expires_at": time.Now().Add(5 * time.Minute)})
		promoted := one[int64](t, tx, `select promoted from oxbow.expire_memories(now(), 10)`)
		require.Equal(t, want, one[string](t, tx, `select $1::bigint || ' ' || expired
			from oxbow.expire_memories(now() + interval '6 minutes', 10)`, promoted))
	}
}

// A fact that expires and a lasting fact are not folded together.
func TestExpiringFactsAreNotFolded(t *testing.T) {
	t.Parallel()
	tx := pgtest.Tx(t)
	for range 2 {
		remember(t, tx, row{"user_id": ann(t), "content": "Ann has a boat.", "expires_at": time.Now().Add(time.Hour)})
		remember(t, tx, row{"user_id": ann(t), "content": "Ann has a boat."})
	}
	index(t, tx, ann(t))
	require.Equal(t, []bool{false, true, true}, all[bool](t, tx, `select expires_at is not null from oxbow.memories
		where user_id = $1 and expired_at is null order by 1`, ann(t)))
	require.Equal(t, 1, one[int](t, tx, `select count(*) from oxbow.facts_to_reconcile($1,
		array(select id from oxbow.memories where user_id = $1))`, ann(t)), "and it replaces none")
}

// An edge between entities holds as long as the memory that states it.
func TestExpiryOfEdges(t *testing.T) {
	t.Parallel()
	tx := pgtest.Tx(t)
	id := remember(t, tx, row{"user_id": ann(t), "content": "Bo works at Acme.", "created_at": ago(0),
		"expires_at": ago(-time.Hour), "metadata": `{"entities": [{"name": "Bo", "kind": "person"},
			{"name": "Acme", "kind": "organization"}]}`})
	index(t, tx, ann(t))
	holds := func() []bool {
		return append(all[bool](t, tx, `select holds from oxbow.entity_edges_of($1)`, ann(t)),
			all[bool](t, tx, `select expired_at is null from oxbow.entities_of($1)`, ann(t))...)
	}
	require.Equal(t, []bool{false, false, false}, holds())
	require.True(t, one[bool](t, tx, `select oxbow.promote($1, $2::text::uuid)`, ann(t), id))
	require.Equal(t, []bool{true, true, true}, holds())
}

// Memories that expire later do not slow down recall or settle, nor do those of other users slow down recall.
func TestExpiryReadsWhatIsDue(t *testing.T) {
	t.Parallel()
	tx := begin(t, pgtest.Database(t)) // its own, because ANALYZE locks the tables
	fill := func(user, expires string, n int) {
		exec(t, tx, `insert into oxbow.memories (user_id, memory_type, content, created_at, expires_at)
			select $1, (array['fact', 'episodic'])[1 + n % 2], 'boat ' || n, now() - interval '1 day', `+expires+`
			  from generate_series(1, $2::int) n`, user, n)
	}
	cost := func(do func()) int {
		t.Helper()
		whole, before := reads(t, tx)
		do()
		wholeAfter, after := reads(t, tx)
		require.Equal(t, whole, wholeAfter, "no sequential scan")
		return after - before
	}
	filtered := func() (is bool) {
		t.Helper()
		exec(t, tx, "set local enable_seqscan = off") // as in recall
		require.LessOrEqual(t, cost(func() {
			is = one[bool](t, tx, `select oxbow.recall_is_filtered($1, row(null, null, null, null, null, now(),
				oxbow.trait_rules(), null, null, null, null, null, null)::oxbow.recall_filter)`, ann(t))
		}), 5)
		return is
	}
	for range 6 { // make the generic plans while the tables are empty
		require.False(t, filtered())
		exec(t, tx, `select oxbow.expire_memories(now(), 10)`)
	}
	for _, known := range []bool{false, true} {
		fill(ann(t), "now() + interval '1 day'", 1000)
		fill(bob(t), "now() - interval '1 hour'", 1000)
		if known {
			exec(t, tx, "analyze oxbow.memories")
		}
		require.False(t, filtered())
		settled := cost(func() { exec(t, tx, `select oxbow.expire_memories(now(), 100)`) })
		if known { // without statistics the update may look up a small user's memories by the user alone
			require.Less(t, settled, 1000)
		}
	}
	fill(ann(t), "now() - interval '1 hour'", 1)
	require.True(t, filtered())
}

package sqlcode_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/oxbow-memory/oxbow/internal/pgtest"
)

// A forgotten memory records who forgot it, and can be restored whoever did.
func TestForgottenBy(t *testing.T) {
	t.Parallel()
	for _, by := range []string{"user", "auto", "merge"} {
		t.Run(by, func(t *testing.T) {
			t.Parallel()
			tx := pgtest.Tx(t)
			id := remember(t, tx, row{"user_id": ann(t), "content": "it was 1", "session_id": "before",
				"created_at": ago(time.Hour)})
			summary := summarized(t, tx, ann(t))
			index(t, tx, ann(t)) // a fact of the conversation repeats it
			if by == "user" {
				exec(t, tx, "select oxbow.forget($1, $2, 'asked to')", ann(t), id)
			} else {
				require.True(t, one[bool](t, tx, "select oxbow.forget_memory($1, $2, $3, 'review', 'why')", ann(t), id, by))
			}
			require.False(t, one[bool](t, tx, "select oxbow.forget_memory($1, $2, 'auto', 'x', null)", ann(t), id))
			const who = "select coalesce(forgotten_by, 'nobody') from oxbow.memories where user_id = $1 and id = $2"
			require.Equal(t, by, one[string](t, tx, who, ann(t), id))
			require.Equal(t, "auto", one[string](t, tx, who, ann(t), summary))
			exec(t, tx, "select oxbow.restore($1, $2)", ann(t), id)
			require.Equal(t, "nobody", one[string](t, tx, who, ann(t), id))
		})
	}
}

func TestVerifyAndTier(t *testing.T) {
	t.Parallel()
	tx := pgtest.Tx(t)
	id := remember(t, tx, row{"user_id": ann(t), "strength": 2.0, "created_at": ago(30 * 24 * time.Hour)})
	theirs := remember(t, tx, row{"user_id": bob(t)})
	trait := remember(t, tx, settled(ann(t), "core", "likes boats", 0.8, ago(0)))
	asApp(t, tx)
	setUser(t, tx, ann(t))
	for range 2 { // the second time changes nothing
		exec(t, tx, "select oxbow.verify($1, $2::text::uuid)", ann(t), id)
		exec(t, tx, "select oxbow.set_tier($1, $2::text::uuid, 'core', reason => 'her name')", ann(t), id)
	}
	exec(t, tx, "select oxbow.set_tier($1, $2::text::uuid, 'normal')", ann(t), id)
	exec(t, tx, "select oxbow.verify($1, $2::text::uuid, false)", ann(t), id)
	require.Equal(t, []string{`VERIFY {"verified": true}`, `PROMOTE {"tier": "core"} her name`,
		`DEMOTE {"tier": "normal"}`, `VERIFY {"verified": false}`}, all[string](t, tx, `
			select concat_ws(' ', h.event, h.new_metadata, h.reason) from oxbow.history($1, $2::text::uuid) h
			 where h.event <> 'ADD' order by h.at`, ann(t), id))
	require.Equal(t, []bool{true, false}, all[bool](t, tx, `select after > before from oxbow.weight_log
		where user_id = $1 and cause = 'reviewed' order by at`, ann(t)), "core memories do not fade")

	for _, call := range []string{"oxbow.verify($1, $2::text::uuid)", "oxbow.set_tier($1, $2::text::uuid, 'core')"} {
		require.ErrorContains(t, fails(t, tx, "select "+call, bob(t), theirs), "may not see user")
		require.Equal(t, "OX101", fails(t, tx, "select "+call, ann(t), theirs).Code)
	}
	for column, call := range map[string]string{
		"tier": "oxbow.set_tier($1, $2::text::uuid, 'gold')", "verified": "oxbow.verify($1, $2::text::uuid, null)",
	} {
		err := fails(t, tx, "select "+call, ann(t), id)
		require.Equal(t, []string{"23514", column}, []string{err.Code, err.ColumnName})
	}
	require.Equal(t, "memory_type",
		fails(t, tx, "select oxbow.set_tier($1, $2::text::uuid, 'core')", ann(t), trait).ColumnName)
	exec(t, tx, "select oxbow.forget($1, $2::text::uuid)", ann(t), id)
	for _, call := range []string{"oxbow.verify($1, $2::text::uuid)", "oxbow.set_tier($1, $2::text::uuid, 'core')"} {
		require.Equal(t, "OX103", fails(t, tx, "select "+call, ann(t), id).Code)
	}
}

// Users with few due facts do not wait for one with many. Each call looks at other users.
func TestManyDueFactsDelayNobody(t *testing.T) {
	t.Parallel()
	tx := pgtest.Tx(t)
	exec(t, tx, `insert into oxbow.memories (user_id, content, review_at)
		select $1::text, 'It was ' || n, now() - interval '2 days' from generate_series(1, 30) n
		union all
		select format('%s %s', $1, n), 'It was ' || n, now() + case when n % 5 = 0 then interval '1 day' else '-1 day' end
		  from generate_series(101, 250) n`, ann(t))
	found := map[string]bool{}
	for _, most := range []int{100, 51} {
		users := all[string](t, tx, `select oxbow.users_to_review(now(), 10)`)
		require.Contains(t, users, ann(t))
		require.LessOrEqual(t, len(users), most)
		for _, u := range users {
			found[u] = true
		}
	}
	require.Len(t, found, 1+120)
	require.Empty(t, all[string](t, tx, `select oxbow.users_to_review(now(), 0)`))
}

// A fact that a person demoted is not due for promotion, even if it was never reviewed.
func TestDemotedFactsAreNotDue(t *testing.T) {
	t.Parallel()
	tx := pgtest.Tx(t)
	id := remember(t, tx, row{"user_id": ann(t), "content": "Ann likes ramen", "strength": 2.9})
	index(t, tx, ann(t))
	const due = `select count(*)::int from oxbow.memories where user_id = $1 and review_at is not null`
	for _, tier := range []string{"core", "normal"} {
		exec(t, tx, `select oxbow.set_tier($1, $2::text::uuid, $3)`, ann(t), id, tier)
	}
	exec(t, tx, `select oxbow.walk_reviews($1, '00000000-0000-0000-0000-000000000000', 10, now())`, ann(t))
	require.Zero(t, one[int](t, tx, due, ann(t)))
	exec(t, tx, `update oxbow.memories set reviews = 0 where user_id = $1`, ann(t))
	exec(t, tx, `select oxbow.walk_reviews($1, '00000000-0000-0000-0000-000000000000', 10, now())`, ann(t))
	require.Equal(t, 1, one[int](t, tx, due, ann(t)), "without the demotion it would be")
}

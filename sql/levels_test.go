package sqlcode_test

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/oxbow-memory/oxbow/internal/pgtest"
)

// The levels and the days on which they change are those that a scan of every day finds.
func TestLevelsFollowADailyScan(t *testing.T) {
	t.Parallel()
	tx := pgtest.Tx(t)
	random := rand.New(rand.NewPCG(18, 4))
	names := []string{"full", "summary", "tag", "trace", "archive"}
	exec(t, tx, `insert into oxbow.users (user_id, forgetting_factor) values ($1, 0.7)`, bob(t))
	ids := map[string]string{ann(t): "", bob(t): ""}
	for user := range ids {
		ids[user] = remember(t, tx, row{"user_id": user, "memory_type": "episodic"})
	}
	rises, falls := 0, 0
	for range 40 {
		base := time.Now().Add(time.Minute) // when the changed policies are in force
		past := func(days float64) time.Time { return base.Add(-time.Duration(random.Float64() * days * float64(day))) }
		user := []string{ann(t), bob(t)}[random.IntN(2)]
		active := past(1500)
		sensitivity := random.IntN(2)
		exec(t, tx, `update oxbow.memories set category = $3, created_at = $4, stored_at = $4, strength = $5, used_at = $6, mentions = $7,
			negated_at = $8, activated_at = $9, source = $10, sensitivity = $11 where user_id = $1 and id = $2`, user, ids[user],
			[]string{"identity", "skill", "temporary", "无"}[random.IntN(4)], active.Add(-day), 4*random.Float64()*random.Float64(),
			[]any{nil, active}[random.IntN(2)], []any{nil, mentions(active.Add(-2*day), active)}[random.IntN(2)],
			[]any{nil, nil, past(90), past(9)}[random.IntN(4)], active, []any{nil, "summary"}[random.IntN(2)], sensitivity)
		exec(t, tx, `select oxbow.set_policy('weight_conflict_fade', $1)`, float64(random.IntN(2)))
		const days = 4000
		daily := all[float64](t, tx, `
			select w.weight
			  from (select m, oxbow.recall_rules($1, 'infinity') as rules from oxbow.memories m
			         where m.user_id = $1 and m.id = $2 offset 0) m
			 cross join generate_series(0, $3::integer) n
			 cross join oxbow.weight_factors((m.m).category, (m.m).created_at, (m.m).activated_at, (m.m).used_at,
			   (m.m).mentions, (m.m).negated_at, (m.m).strength, (m.m).tier, (m.m).source,
			   (m.m).activated_at + n * interval '24 hours', m.rules) w
			 order by n`, user, ids[user], days)
		level := func(n int) int {
			of := 0
			for i, bound := range []struct {
				weight float64
				days   int
			}{{0.30, 90}, {0.15, 180}, {0.10, 365}, {0.05, 730}} {
				if daily[n] < bound.weight && n >= bound.days*(1+sensitivity) {
					of = i + 1
				}
			}
			return of
		}
		today := int(base.Sub(active) / day)
		for range 3 {
			next := today + 1
			for next <= days && level(next) == level(today) {
				next++
			}
			at := active.Add(time.Duration(today)*day + time.Hour)
			planned := one[string](t, tx, `
				select p.level || ' ' || coalesce((round(extract(epoch from p.next - $3::timestamptz) / 86400))::integer, 0)
				  from oxbow.plan_levels(array[$1], array[$2::text::uuid], $4) p`, user, ids[user], active, at)
			if next > days {
				require.Contains(t, planned, names[level(today)]+" ")
				break
			}
			require.Equal(t, fmt.Sprintf("%s %d", names[level(today)], next), planned, "on day %d", today)
			if level(next) < level(today) {
				rises++
			} else {
				falls++
			}
			today = next
		}
	}
	require.Greater(t, rises, 3, "some rise")
	require.Greater(t, falls, 30)
}

const lunch = "We had lunch with Anna in Porto. The soup was cold, and the waiter was in a hurry all the time. " +
	"Afterwards we walked along the river until the sun went down behind the old bridge and the lights came on."

// aged stores a memory of ten years ago and does the work of embed.
func aged(t *testing.T, tx db, r row) (id string, created time.Time) {
	t.Helper()
	created = time.Now().Add(-3650 * day).Truncate(time.Millisecond)
	r = row{"user_id": ann(t), "created_at": created, "stored_at": created}.with(r)
	id = remember(t, tx, r)
	index(t, tx, ann(t))
	embedded(t, tx, id)
	return id, created
}

func embedded(t *testing.T, tx db, id string) {
	t.Helper()
	exec(t, tx, `insert into oxbow.memory_vectors (user_id, memory_type, memory_id, embedding)
		select user_id, memory_type, id, array_fill(0.1::real, array[1024])::halfvec from oxbow.memories
		 where user_id = $1 and id = $2 on conflict do nothing`, ann(t), id)
}

// The time before a memory was stored does not count.
func TestBackfilledMemoriesKeepAllAtFirst(t *testing.T) {
	t.Parallel()
	tx := pgtest.Tx(t)
	id, _ := aged(t, tx, row{"memory_type": "episodic", "content": lunch, "stored_at": time.Now()})
	for days, level := range map[time.Duration]string{0: "full", 89: "full", 91: "archive"} {
		tx, err := tx.Begin(t.Context())
		require.NoError(t, err)
		exec(t, tx, `select oxbow.walk_levels($1, 1000), oxbow.settle_levels($1, 1000)`, time.Now().Add(days*day))
		require.Equal(t, level, one[string](t, tx, `select level from oxbow.memories where user_id = $1 and id = $2`,
			ann(t), id), days)
		require.NoError(t, tx.Rollback(t.Context()))
	}
}

// settleLevels does the work of settle at a moment.
func settleLevels(t *testing.T, tx db, at time.Time) {
	t.Helper()
	exec(t, tx, `update oxbow.memories set weight_next_at = $2 where user_id = $1 and weight_next_at > $2`, ann(t), at)
	exec(t, tx, `select oxbow.settle_levels($1, 1000)`, at)
}

// remains describes a memory: its level and text, and the tables that have a row for it.
func remains(t *testing.T, tx db, id string) string {
	t.Helper()
	return one[string](t, tx, `
		select concat_ws(' ', m.level, m.content, '|',
		         case when exists (select from oxbow.memory_vectors x where x.user_id = $1 and x.memory_id = m.id)
		              then 'vector' end,
		         case when exists (select from oxbow.memory_terms x where x.user_id = $1 and x.memory_id = m.id)
		              then 'terms' end,
		         case when exists (select from oxbow.entity_mentions x where x.user_id = $1 and x.memory_id = m.id)
		              then 'names' end,
		         case when exists (select from oxbow.memory_archive x where x.user_id = $1 and x.memory_id = m.id
		                            and x.content = $3) then 'original' end)
		  from oxbow.memories m where m.user_id = $1 and m.id = $2`, ann(t), id, lunch)
}

// rightStatistics fails if the statistics of the terms differ from the terms.
func rightStatistics(t *testing.T, tx db) {
	t.Helper()
	require.Zero(t, one[int](t, tx, `
		select count(*) from oxbow.memory_term_stats s
		  left join lateral (select count(*) as documents, coalesce(sum(len), 0) as terms from oxbow.memory_terms t
		    where t.user_id = s.user_id and t.memory_type = s.memory_type) t on true
		 where s.user_id = $1 and (s.documents, s.terms) is distinct from (t.documents, t.terms)`, ann(t)))
}

// An episode goes through all levels, keeps less at each, and comes back.
func TestLevelsOfAnEpisode(t *testing.T) {
	t.Parallel()
	for name, back := range map[string]func(t *testing.T, tx db, id string){
		"used": func(t *testing.T, tx db, id string) {
			exec(t, tx, `select oxbow.touch($1, array[$2::uuid])`, ann(t), id)
			exec(t, tx, `select oxbow.fold_activity(100)`)
		},
		"mentioned": func(t *testing.T, tx db, id string) {
			exec(t, tx, `select oxbow.mention_memory($1, 'episodic', $2, array[now()], 1, 0::smallint, 'me')`, ann(t), id)
		},
		"restored": func(t *testing.T, tx db, id string) {
			exec(t, tx, `select oxbow.restore($1, $2)`, ann(t), id)
		},
		"forgotten and restored": func(t *testing.T, tx db, id string) {
			exec(t, tx, `select oxbow.forget($1, $2)`, ann(t), id)
			exec(t, tx, `select oxbow.restore($1, $2)`, ann(t), id)
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			tx := pgtest.Tx(t)
			id, created := aged(t, tx, row{"memory_type": "episodic", "content": lunch, "category": "plan", "metadata": row{
				"entities": []row{{"name": "Anna", "kind": "person"}, {"name": "Porto", "kind": "place"}}, "trip": 3}})
			remember(t, tx, row{"user_id": ann(t), "memory_type": "episodic", "content": "Another lunch in Porto."})
			index(t, tx, ann(t))
			for _, c := range []struct {
				days int
				want string
			}{
				{100, "full " + lunch + " | vector terms names"},
				{150, "summary We had lunch with Anna in Porto. The soup was cold, and the waiter was in a hurry all the time. " +
					"| vector terms names original"},
				{300, "tag Anna, Porto, waiter, Afterwards, behind | terms names original"},
				{570, "trace " + created.UTC().Format(time.DateOnly) + " · Anna, Porto · plan | terms names original"},
				{1500, "archive [archived] | original"},
			} {
				settleLevels(t, tx, created.Add(time.Duration(c.days)*day))
				require.Equal(t, c.want, remains(t, tx, id), "after %d days", c.days)
				rightStatistics(t, tx)
			}
			require.Equal(t, []string{`summary`, `tag`, `trace`, `archive`}, all[string](t, tx, `
				select new_metadata ->> 'level' from oxbow.memory_history
				 where user_id = $1 and event = 'COMPRESS' and old_content is null and new_content is null order by created_at`, ann(t)))
			require.Equal(t, lunch, one[string](t, tx, `select new_content from oxbow.history($1, $2) where event = 'ADD'`,
				ann(t), id))
			exec(t, tx, `delete from oxbow.river_job; delete from oxbow.reflection_inbox`)

			back(t, tx, id)
			require.Equal(t, "full "+lunch+" |", remains(t, tx, id))
			require.Equal(t, 1, one[int](t, tx, `select count(*) from oxbow.embeddables(array[$1], array[$2::text::uuid], 'm')
				where not has_terms and not has_vector`, ann(t), id))
			require.Positive(t, one[int](t, tx, `select count(*) from oxbow.river_job where args ->> 'ids' = $1`, id))
			index(t, tx, ann(t))
			embedded(t, tx, id)
			require.Equal(t, "full "+lunch+" | vector terms names", remains(t, tx, id))
			require.Equal(t, 3, one[int](t, tx, `select (metadata ->> 'trip')::integer from oxbow.memories where id = $1`, id))
			require.Zero(t, one[int](t, tx, `select count(*) from oxbow.reflection_inbox where memory_id = $1`, id),
				"reflection has seen it")
			rightStatistics(t, tx)
			settleLevels(t, tx, time.Now().Add(day))
			require.Contains(t, remains(t, tx, id), "full "+lunch, "it stays")
		})
	}
}

// A tag has names first, then the longest words as the text writes them.
func TestLevelTags(t *testing.T) {
	t.Parallel()
	tx := pgtest.Tx(t)
	const entities = `{"entities": [{"name": "Anna", "kind": "person"}, {"name": "I", "kind": "self"}]}`
	for _, c := range []struct{ text, metadata, want string }{
		{"The eye of the hurricane passed Lisbon", `{}`, "eye, hurricane, passed, Lisbon"},
		{"Kubernetes:\n(Prometheus) alerts", `{}`, "Kubernetes, Prometheus, alerts"},
		{"Anna's garden, Anna's berries and the berries of Anna", entities, "Anna, garden, berries"},
		{"one two three four five sixth seventh eighth", entities, "Anna, three, sixth, seventh, eighth"},
		{"吃饭了", `{}`, "吃饭了, 饭了"},
		{"of the", `{}`, ""},
	} {
		require.Equal(t, c.want, one[string](t, tx, `
			select g.tag from oxbow.terms($1) t, oxbow.tag_of($1, $2::text::jsonb, t.tsv) g`, c.text, c.metadata), c.text)
	}
}

// Current facts can be found at any age. A fact of several sentences is shortened, and recognized when it is stored
// again.
func TestCurrentFactsStayFindable(t *testing.T) {
	t.Parallel()
	tx := pgtest.Tx(t)
	allergy, created := aged(t, tx, row{"content": "Ann is allergic to walnuts", "category": "health"})
	long, _ := aged(t, tx, row{"content": lunch})
	settleLevels(t, tx, created.Add(5*365*day))
	require.Equal(t, "summary Ann is allergic to walnuts | vector terms", remains(t, tx, allergy),
		"one sentence is its summary")
	require.Contains(t, remains(t, tx, long), "summary We had lunch with Anna in Porto. The soup was cold")
	found := func(query, want string) {
		t.Helper()
		require.Contains(t, contents(recall(t, tx, row{"user_id": ann(t), "query": query, "now": created.Add(5 * 365 * day)})),
			want)
	}
	found("what is Ann allergic to?", "Ann is allergic to walnuts")
	found("where did the lights come on?", "We had lunch with Anna in Porto. "+
		"The soup was cold, and the waiter was in a hurry all the time.")

	again := remember(t, tx, row{"user_id": ann(t), "content": lunch})
	index(t, tx, ann(t))
	require.Equal(t, long, one[string](t, tx, `select superseded_by::text from oxbow.memories where id = $1`, again))
	require.Equal(t, "full "+lunch+" | vector terms", remains(t, tx, long))
}

// Sensitive and ended memories, those of a higher tier, traits and documents keep their whole text.
func TestSomeMemoriesHaveNoLevels(t *testing.T) {
	t.Parallel()
	tx := pgtest.Tx(t)
	for name, given := range map[string]row{
		"sensitive": {"sensitivity": 2}, "core": {"tier": "core"}, "system": {"tier": "system"},
		"ended": {"invalid_at": ago(0)}, "superseded": {"expired_at": ago(0)}, "document": {"memory_type": "document"},
	} {
		id, _ := aged(t, tx, row{"memory_type": "episodic", "content": lunch}.with(given))
		settleLevels(t, tx, time.Now())
		require.Contains(t, remains(t, tx, id), "full "+lunch, name)
		require.Nil(t, one[*time.Time](t, tx, `select weight_next_at from oxbow.memories where id = $1`, id), name)
	}
}

// Events that lower a weight make the level due; those that raise it need not. A change of policies or of names of
// categories begins the walk again.
func TestLevelsFollowChanges(t *testing.T) {
	t.Parallel()
	tx := pgtest.Tx(t)
	id := remember(t, tx, row{"user_id": ann(t), "memory_type": "episodic",
		"created_at": time.Now().Add(-100 * day), "stored_at": time.Now().Add(-100 * day)})
	exec(t, tx, `select oxbow.walk_levels(now(), 1000)`)
	next := func() time.Time {
		t.Helper()
		return one[time.Time](t, tx, `select weight_next_at from oxbow.memories where id = $1`, id)
	}
	planned := next()
	require.True(t, planned.After(time.Now()))
	for _, change := range []string{
		`update oxbow.memories set negated_at = now() where id = $1`,
		`update oxbow.memories set category = 'mood' where id = $1`,
		`update oxbow.memories set strength = 0.1 where id = $1`,
		`insert into oxbow.users (user_id, forgetting_factor) select user_id, 1 from oxbow.memories where id = $1
		   on conflict (user_id) do update set forgetting_factor = 2`,
		`insert into oxbow.users (user_id, forgetting_factor) select user_id, 1 from oxbow.memories where id = $1
		   on conflict (user_id) do update set forgetting_factor = 3`,
	} {
		exec(t, tx, `update oxbow.memories set weight_next_at = now() + interval '1 day' where id = $1`, id)
		exec(t, tx, change, id)
		if change[:6] == "insert" && one[float64](t, tx, `select forgetting_factor from oxbow.users where user_id = $1`, ann(t)) == 1 {
			continue
		}
		require.False(t, next().After(time.Now()), change)
	}
	exec(t, tx, `update oxbow.users set forgetting_factor = 1 where user_id = $1`, ann(t))
	exec(t, tx, `update oxbow.memories set negated_at = null, category = null, strength = 1 where id = $1`, id)
	exec(t, tx, `select oxbow.settle_levels(now(), 1000)`)
	planned = next()
	exec(t, tx, `select oxbow.touch($1, array[$2::uuid]), oxbow.fold_activity(10)`, ann(t), id)
	require.Equal(t, planned, next(), "it is looked at then, and scheduled again")
	exec(t, tx, `update oxbow.memories set category = 'mood' where id = $1`, id)
	exec(t, tx, `select oxbow.settle_levels(now(), 1000)`)
	planned = next()
	exec(t, tx, `update oxbow.category_names set category = 'identity' where name = 'mood'`)
	exec(t, tx, `select oxbow.walk_levels(now(), 1000)`)
	require.NotEqual(t, planned, next(), "the name stands for another category")
	planned = next()
	exec(t, tx, `select oxbow.set_policy('level_summary_weight', 5)`)
	exec(t, tx, `select oxbow.walk_levels(now(), 1000)`)
	require.NotEqual(t, planned, next())
}

// Only Oxbow changes a level, and only if the original is kept.
func TestLevelsAreNotTheApplications(t *testing.T) {
	t.Parallel()
	tx := pgtest.Tx(t)
	id := remember(t, tx, row{"user_id": ann(t)})
	err := fails(t, tx, `update oxbow.memories set level = 'tag', content = 'boat' where id = $1`, id)
	require.Equal(t, "content of a memory cannot be changed in place", err.Message)
	err = fails(t, tx, `update oxbow.memories set level = 'deep' where id = $1`, id)
	require.Equal(t, "level must be full, summary, tag, trace or archive", err.Message)
	require.Equal(t, "level", err.ColumnName)
	sql, args := row{"user_id": ann(t), "content": "A boat.", "level": "gone"}.statement("oxbow.memories")
	require.Equal(t, "level", fails(t, tx, sql, args...).ColumnName)
	exec(t, tx, `set local role oxbow_app`)
	exec(t, tx, `select set_config('oxbow.user_id', $1, true)`, ann(t))
	err = fails(t, tx, `update oxbow.memories set level = 'tag' where id = $1`, id)
	require.Equal(t, "level of a memory cannot be changed in place", err.Message)
}

// A memory that was archived for archive_delete_days is forgotten, unless the policy is 0.
func TestArchivedMemoriesAreForgotten(t *testing.T) {
	t.Parallel()
	tx := pgtest.Tx(t)
	id, created := aged(t, tx, row{"memory_type": "episodic", "content": lunch})
	late, _ := aged(t, tx, row{"memory_type": "episodic", "content": "Anna came by train."})
	archived := created.Add(3000 * day)
	settleLevels(t, tx, archived)
	require.Contains(t, remains(t, tx, id), "archive")
	forgotten := func() []string {
		t.Helper()
		return all[string](t, tx, `select id::text from oxbow.memories where user_id = $1 and forgotten_by = 'auto'`, ann(t))
	}
	settleLevels(t, tx, archived.Add(9999*day))
	require.Empty(t, forgotten())
	exec(t, tx, `select oxbow.set_policy('archive_delete_days', 365)`)
	exec(t, tx, `update oxbow.memory_archive set since = since + interval '10 days' where memory_id = $1`, late)
	exec(t, tx, `select oxbow.schedule_levels(array[$1], array[$2::text::uuid], $3)`, ann(t), id, archived)
	require.WithinDuration(t, archived.Add(365*day), one[time.Time](t, tx,
		`select weight_next_at from oxbow.memories where id = $1`, id), 2*time.Hour)
	settleLevels(t, tx, archived.Add(364*day))
	require.Empty(t, forgotten())
	settleLevels(t, tx, archived.Add(366*day))
	require.Equal(t, []string{id}, forgotten())
	require.Equal(t, "settle: archived for 365 days", one[string](t, tx,
		`select actor || ': ' || reason from oxbow.memory_history where memory_id = $1 and event = 'DELETE'`, id))
	exec(t, tx, `select oxbow.restore($1, $2)`, ann(t), id)
	require.Contains(t, remains(t, tx, id), "full "+lunch)
}

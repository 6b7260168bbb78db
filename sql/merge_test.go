package sqlcode_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/oxbow-memory/oxbow/internal/pgtest"
)

// soups stores four episodes that say the same, on the first days of a month, and returns their ids.
func soups(t *testing.T, tx db) (ids []string) {
	t.Helper()
	for i, more := range []row{
		{"importance": 0.8},
		{"mention_count": 2, "strength": 1.6, "used_at": ago(time.Hour), "metadata": `{"context": "work", "mood": "fine"}`},
		{"sensitivity": 1, "negated_at": ago(time.Hour)},
		{"tier": "core"},
	} {
		ids = append(ids, remember(t, tx, row{"user_id": ann(t), "memory_type": "episodic", "category": "interest",
			"content": fmt.Sprintf("Had soup, the %d.", i), "valid_at": fmt.Sprintf("2026-11-0%d 12:00Z", i+1)}.with(more)))
	}
	index(t, tx, ann(t))
	return ids
}

const currentEpisodes = `select content from oxbow.memories_episodic
	where user_id = $1 and expired_at is null and forgotten_at is null order by coalesce(valid_at, created_at)`

// A merged memory combines its originals; a later repetition joins it; unmerge undoes it.
func TestMerge(t *testing.T) {
	t.Parallel()
	tx, user := pgtest.Tx(t), ann(t)
	ids := soups(t, tx)
	before := one[float64](t, tx, `select max(w.unclamped) from oxbow.memories m, oxbow.weight($1, m.id) w
		where m.user_id = $1`, user)
	id := one[string](t, tx, `select oxbow.merge($1, $2::text[]::uuid[], 'Had soup')::text`, user, ids[:3])
	require.Equal(t, []string{"Had soup (3 times, 2026-11-01 to 2026-11-03)", "Had soup, the 3."},
		all[string](t, tx, currentEpisodes, user))
	require.Equal(t, "0.8 1 4 t interest 3 2 normal merge", one[string](t, tx, `
		select concat_ws(' ', importance, sensitivity, mention_count, negated_at is null, category,
		       jsonb_array_length(metadata #> '{merged,dates}'), cardinality(mentions), tier, source)
		  from oxbow.memories where id = $1::text::uuid`, id))
	require.InDelta(t, 1.6, one[float64](t, tx, `select strength from oxbow.memories where id = $1::text::uuid`, id), 1e-9)
	require.GreaterOrEqual(t, one[float64](t, tx, `select unclamped from oxbow.weight($1, $2::text::uuid)`, user, id), before)

	// it is found by its words and by each of its dates, and history shows what it was made of
	for _, query := range []string{"soup", "2026-11-02"} {
		require.Contains(t, contents(recall(t, tx, row{"user_id": user, "query": query})),
			"Had soup (3 times, 2026-11-01 to 2026-11-03)", query)
	}
	require.Equal(t, 3, one[int](t, tx, `select count(*)::int from oxbow.history($1, $2::text::uuid)
		where event = 'SUPERSEDE' and new_content like 'Had soup (3 times%'`, user, id))

	require.Equal(t, id, one[string](t, tx, `select oxbow.merge($1, $2::text[]::uuid[])::text`, user, []string{id, ids[3]}))
	require.Equal(t, []string{"Had soup, the 3 (4 times, 2026-11-01 to 2026-11-04)"}, all[string](t, tx, currentEpisodes, user))
	require.Equal(t, "Had soup (3 times, 2026-11-01 to 2026-11-03)", one[string](t, tx, `select old_content
		from oxbow.memory_history where user_id = $1 and memory_id = $2::text::uuid and event = 'UPDATE'`, user, id))
	require.Equal(t, []string{"merged 3 app", "merged 1 app"}, logged(t, tx))
	require.Equal(t, "23001", fails(t, tx, `update oxbow.memories set content = 'x' where id = $1::text::uuid`, id).Code,
		"nobody else changes its text")

	require.Len(t, all[string](t, tx, `select unnest(oxbow.unmerge($1, $2::text::uuid))::text`, user, id), 4)
	require.Equal(t, []string{"Had soup, the 0.", "Had soup, the 1.", "Had soup, the 2.", "Had soup, the 3."},
		all[string](t, tx, currentEpisodes, user))
	exec(t, tx, `select oxbow.restore($1, $2::text::uuid)`, user, id)
	require.Len(t, all[string](t, tx, currentEpisodes, user), 1, "restoring it merges them again")
	require.Equal(t, 4, one[int](t, tx, `select count(*)::int from oxbow.memory_history where user_id = $1
		and event = 'SUPERSEDE' and reason = 'the merged memory was restored'`, user))
}

// Facts that were folded into a merged memory become current with its originals, and earlier versions do not. Once one
// of the originals is part of another merged memory, or forgotten, the first cannot be restored.
func TestUnmerge(t *testing.T) {
	t.Parallel()
	for name, change := range map[string]string{
		"merged":    `select oxbow.merge($1, $2::text[]::uuid[])`,
		"forgotten": `select oxbow.forget($1, i::uuid) from unnest($2::text[]) i`,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			tx, user := pgtest.Tx(t), ann(t)
			fact := func(content string) string { return remember(t, tx, row{"user_id": user, "content": content}) }
			ids := []string{fact("Ann has a cat"), fact("Ann has one cat")}
			id := one[string](t, tx, `select oxbow.merge($1, $2::text[]::uuid[], 'Ann has one cat')::text`, user, ids)
			repeats, exact, earlier := fact("A cat is Ann's"), fact("Ann has one cat"), fact("Ann has a kitten")
			exec(t, tx, `select oxbow.reconcile_facts($1, 'test', json_build_array(json_build_object(
				'id', $2::text, 'type', 'fact', 'content', 'A cat is Ann''s', 'at', now(), 'sources', json_build_array(),
				'about', json_build_array('cat'),
				'operation', 'NOOP', 'target', $3::text)))`, user, repeats, id)
			exec(t, tx, `with ended as (
				  update oxbow.memories set expired_at = now(), invalid_at = now(), superseded_by = $3::text::uuid
				   where user_id = $1 and id = $2::text::uuid)
				insert into oxbow.memory_links (user_id, from_type, from_id, to_type, to_id, relation)
				values ($1, 'fact', $3::text::uuid, 'fact', $2::text::uuid, 'supersedes')`, user, earlier, id)
			index(t, tx, user)
			const current = `select id::text from oxbow.memories_fact
				where user_id = $1 and expired_at is null and forgotten_at is null`
			require.Equal(t, []string{id}, all[string](t, tx, current, user))
			exec(t, tx, `select oxbow.unmerge($1, $2::text::uuid)`, user, id)
			require.ElementsMatch(t, append([]string{repeats, exact}, ids...), all[string](t, tx, current, user))

			exec(t, tx, change, user, []string{repeats, ids[0]})
			before := all[string](t, tx, current, user)
			err := fails(t, tx, `select oxbow.restore($1, $2::text::uuid)`, user, id)
			require.Equal(t, "OX102", err.Code)
			require.Equal(t, "memory "+id+" cannot be restored: its original "+ids[0]+" is no longer current", err.Message)
			require.Equal(t, before, all[string](t, tx, current, user))
		})
	}
}

// A merged memory is found by the words of its present text, and by all its dates.
func TestWordsOfMergedMemories(t *testing.T) {
	t.Parallel()
	tx, user := pgtest.Tx(t), ann(t)
	id := one[string](t, tx, `select oxbow.merge($1, $2::text[]::uuid[], 'Had soup')::text`, user, soups(t, tx))
	goulash := remember(t, tx, row{"user_id": user, "memory_type": "episodic", "content": "Ate",
		"valid_at": "2026-11-20 12:00Z"})
	index(t, tx, user)
	exec(t, tx, `select oxbow.merge($1, $2::text[]::uuid[], 'Had goulash')`, user, []string{id, goulash})
	for _, query := range []string{"goulash", "2026-11-02", "2026-11-20"} {
		require.Equal(t, []string{"Had goulash (5 times, 2026-11-01 to 2026-11-20)"},
			contents(recall(t, tx, row{"user_id": user, "query": query})), query)
	}
	rightStatistics(t, tx)
}

// Changes of one of the originals, or of the merged memory.
func TestMergedMemoriesEnd(t *testing.T) {
	t.Parallel()
	const whole, original = "whole", "original"
	three := []string{"Had soup, the 1.", "Had soup, the 2.", "Had soup, the 3."}
	for name, c := range map[string]struct {
		sql  string
		what string
		want []string
		gone string // a text that no table may hold
	}{
		"forget":          {`select oxbow.forget($1, $2)`, whole, []string{}, ""},
		"forget one":      {`select oxbow.forget($1, $2)`, original, three, ""},
		"erase":           {`select oxbow.erase_memory($1, $2)`, whole, []string{}, "soup"},
		"erase one":       {`select oxbow.erase_memory($1, $2)`, original, three, "the 0"},
		"restore one":     {`select oxbow.restore($1, $2)`, original, append([]string{"Had soup, the 0."}, three...), ""},
		"forget, restore": {`select oxbow.forget($1, $2), oxbow.restore($1, $2)`, whole, []string{"Had soup, the 0 (4 times, 2026-11-01 to 2026-11-04)"}, ""},
		"unmerge, erase one": {`select oxbow.unmerge($1, m.superseded_by), oxbow.erase_memory($1, $2) from oxbow.memories m
			where m.id = $2`, original, three, "the 0"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			tx, user := pgtest.Tx(t), ann(t)
			ids := soups(t, tx)
			id := one[string](t, tx, `select oxbow.merge($1, $2::text[]::uuid[], 'Had soup, the 0.')::text`, user, ids)
			if c.what == original {
				id = ids[0]
			}
			exec(t, tx, strings.ReplaceAll(c.sql, "$2", "$2::text::uuid"), user, id)
			require.Equal(t, c.want, all[string](t, tx, currentEpisodes, user))
			for _, table := range all[string](t, tx, `select c.relname::text from pg_class c
				join pg_attribute a on a.attrelid = c.oid and a.attname = 'user_id'
				where c.relnamespace = 'oxbow'::regnamespace and c.relkind in ('r', 'p') and not c.relispartition`) {
				require.Zero(t, one[int](t, tx, `select count(*)::int from oxbow.`+table+` t
					where t.user_id = $1 and $2 <> '' and strpos(t::text, $2) > 0`, user, c.gone), table)
			}
		})
	}
}

// The error of an invalid call names the field and the value. The call changes nothing.
func TestMergeRefuses(t *testing.T) {
	t.Parallel()
	tx, user := pgtest.Tx(t), ann(t)
	ids := soups(t, tx)
	fact := remember(t, tx, row{"user_id": user, "content": "A fact."})
	bobs := remember(t, tx, row{"user_id": bob(t), "memory_type": "episodic", "content": "Had soup."})
	ended := remember(t, tx, row{"user_id": user, "memory_type": "episodic", "expired_at": ago(-time.Minute)})
	erased := one[string](t, tx, `select oxbow.merge($1, $2::text[]::uuid[], 'A boat')::text`, user, []string{
		remember(t, tx, row{"user_id": user, "memory_type": "episodic", "content": "A boat."}),
		remember(t, tx, row{"user_id": user, "memory_type": "episodic", "content": "A boat again."})})
	exec(t, tx, `select oxbow.erase_memory($1, $2::text::uuid)`, user, erased)
	merge, unmerge := `select oxbow.merge($1, $2::text[]::uuid[])`, `select oxbow.unmerge($1, $2::text::uuid)`
	for name, c := range map[string]struct {
		sql        string
		arg        any
		code, says string
	}{
		"one":          {merge, ids[:1], "23514", "ids must be 2 to 1000 different memories"},
		"twice":        {merge, []string{ids[0], ids[0]}, "23514", "different memories: The value is '" + ids[0]},
		"types":        {merge, []string{ids[0], fact}, "23514", "ids must all be facts or all be episodes"},
		"users":        {merge, []string{ids[0], bobs}, "OX101", "has no memory " + bobs},
		"ended":        {merge, []string{ids[0], ended}, "23514", "ids must be a current memory"},
		"erased":       {merge, []string{ids[0], erased}, "OX101", "has no memory " + erased},
		"unmerge it":   {unmerge, erased, "OX101", "has no memory " + erased},
		"not merged":   {unmerge, ids[0], "23514", "id must be a merged memory"},
		"another's":    {unmerge, bobs, "OX101", "has no memory " + bobs},
		"no id at all": {unmerge, nil, "23514", "id must not be null"},
	} {
		err := fails(t, tx, c.sql, user, c.arg)
		require.Equal(t, c.code, err.Code, name)
		require.Contains(t, err.Message+": "+err.Detail, c.says, name)
	}
	require.Len(t, all[string](t, tx, currentEpisodes, user), 4)
}

// The originals of a merged memory leave the indexes after 30 days. Recall then finds the merged memory, and unmerging
// restores them.
func TestOriginalsAreArchived(t *testing.T) {
	t.Parallel()
	tx, user := pgtest.Tx(t), ann(t)
	ids := soups(t, tx)
	for _, id := range ids {
		embedded(t, tx, id)
	}
	id := one[string](t, tx, `select oxbow.merge($1, $2::text[]::uuid[], 'Had soup')::text`, user, ids)
	exec(t, tx, `select oxbow.settle_levels(now() + interval '29 days', 1000)`)
	const kept = `select count(*)::int from oxbow.memories m where m.user_id = $1 and m.level = $2
		and exists (select from oxbow.memory_vectors v where v.user_id = $1 and v.memory_id = m.id) = $3
		and exists (select from oxbow.memory_terms t where t.user_id = $1 and t.memory_id = m.id) = $3`
	const filtered = `select oxbow.recall_is_filtered($1, row(null, null, null, null, null, now(), oxbow.trait_rules(),
		null, null, null, null, null, null)::oxbow.recall_filter)`
	require.Equal(t, 5, one[int](t, tx, kept, user, "full", true))
	require.True(t, one[bool](t, tx, filtered, user))
	exec(t, tx, `select oxbow.settle_levels(now() + interval '31 days', 1000)`)
	require.Equal(t, 4, one[int](t, tx, kept, user, "archive", false))
	require.False(t, one[bool](t, tx, filtered, user), "recall no longer checks what it finds")
	rightStatistics(t, tx)
	exec(t, tx, `select oxbow.schedule_levels(array[$1], array[$2::text::uuid], now() + interval '31 days')`, user, ids[0])
	require.Zero(t, one[int](t, tx, `select count(*)::int from oxbow.memories
		where user_id = $1 and level = 'archive' and weight_next_at is not null`, user), "they stay archived")
	require.Equal(t, []string{"Had soup (4 times, 2026-11-01 to 2026-11-04)"},
		contents(recall(t, tx, row{"user_id": user, "query": "soup", "valid_as_of": "2026-11-03 12:30Z"})))
	require.Equal(t, "Had soup, the 0.", one[string](t, tx, `select h.old_content from oxbow.history($1, $2::text::uuid) h
		where h.event = 'SUPERSEDE' and h.memory_id::text = $2`, user, ids[0]))

	exec(t, tx, `select oxbow.unmerge($1, $2::text::uuid)`, user, id)
	require.Equal(t, []string{"Had soup, the 0.", "Had soup, the 1.", "Had soup, the 2.", "Had soup, the 3."},
		all[string](t, tx, currentEpisodes, user))
	require.Equal(t, `{"mood": "fine", "context": "work"}`, one[string](t, tx, `select metadata::text from oxbow.memories
		where user_id = $1 and id = $2::text::uuid`, user, ids[1]))
	index(t, tx, user)
	require.Len(t, contents(recall(t, tx, row{"user_id": user, "query": "soup"})), 4)

	exec(t, tx, `select oxbow.settle_levels(now(), 1000)`)
	exec(t, tx, `select oxbow.restore($1, $2::text::uuid)`, user, id)
	exec(t, tx, `select oxbow.settle_levels(now() + interval '31 days', 1000)`)
	require.Equal(t, 4, one[int](t, tx, kept, user, "archive", false), "they leave again")
}

package main

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"

	"github.com/oxbow-memory/oxbow"
	"github.com/oxbow-memory/oxbow/internal/lifecycle"
	"github.com/oxbow-memory/oxbow/internal/traittest"
)

// pool is for traits, which no command creates.
func (d on) pool() *pgxpool.Pool {
	d.t.Helper()
	pool, err := pgxpool.New(d.t.Context(), d.dsn)
	require.NoError(d.t, err)
	d.t.Cleanup(pool.Close)
	return pool
}

// lin creates the traits of one user: a core trait with a preference and a behavior below it,
// another preference, and some hidden traits.
func lin(t *testing.T, pool *pgxpool.Pool) (core, preference, behavior uuid.UUID) {
	t.Helper()
	made := func(at time.Time, c float64) []traittest.Event { return []traittest.Event{traittest.Created(at, c)} }
	april := traittest.Day(4, 1)
	core = traittest.Trait{UserID: "林", Content: "林是一个自律、有条理的人。", Subtype: lifecycle.CoreTrait,
		Events: made(april, 0.9)}.Insert(t, pool)
	preference = traittest.Trait{UserID: "林", Content: "喜欢清晨", Subtype: lifecycle.Preference, Parent: core,
		Context: "contextual", Events: made(april, 0.65),
		Tendencies: `{"work": {"tendency": "早到公司", "confidence": 0.7}, "personal": {"tendency": "周末睡懒觉", "confidence": ` +
			`0.4}}`}.Insert(t, pool)
	traittest.Trait{UserID: "林", Content: "Tea rather than coffee", Subtype: lifecycle.Preference,
		Events: made(april, 0.8)}.Insert(t, pool)
	behavior = traittest.Trait{UserID: "林", Content: "每天五点起床。", Parent: preference, Context: "personal",
		Events: []traittest.Event{
			traittest.Created(traittest.Day(1, 10), 0.4,
				traittest.Evidence{Content: "早上五点起床，去湖边。", At: traittest.Day(1, 3), Session: "s1"},
				traittest.Evidence{Content: "五点就醒了。", At: traittest.Day(1, 8), Session: "s2"}),
			traittest.Reinforced(traittest.Day(2, 10), 0.2,
				traittest.Evidence{Content: "我是早起的人。", At: traittest.Day(2, 9), Session: "s3",
					Quality: lifecycle.QualityB, Context: "personal"}),
			traittest.Contradicted(traittest.Day(3, 10), 0.2,
				traittest.Evidence{Content: "睡到中午。", At: traittest.Day(3, 9), Against: true}),
			{Event: lifecycle.Event{Kind: lifecycle.Promoted, At: april}, Reason: "part of a preference"},
		}}.Insert(t, pool)
	traittest.Trait{UserID: "林", Content: "最近在学画画", Events: []traittest.Event{traittest.Watched(traittest.Day(3, 20),
		traittest.Day(4, 19))}}.Insert(t, pool)
	traittest.Trait{UserID: "林", Content: "Collects stamps", Events: made(april, 0.2)}.Insert(t, pool)
	traittest.Trait{UserID: "林", Content: "Sails", Events: made(traittest.Day(1, 1), 0.3)}.Insert(t, pool)
	return core, preference, behavior
}

func TestTraits(t *testing.T) {
	t.Parallel()
	d := onDatabase(t)
	core, preference, behavior := lin(t, d.pool())
	short := func(id uuid.UUID) string { return id.String()[:8] }
	d.exec(`insert into oxbow.users (user_id, timezone) values ('林', 'Asia/Shanghai')`)

	text := d.ok("traits", "林", "--now", "2025-04-02")
	lines := strings.Split(text, "\n")
	require.Regexp(t, `^trait +subtype +stage +confidence +stored +context +for +against +last evidence +id$`, lines[0])
	require.Len(t, lines, 10)
	require.Regexp(t, `^林是一个自律、有条理的人。 +core +core +0\.90 +0\.90 +general +0 +0 +`+short(core), lines[2])
	require.Regexp(t, `^  喜欢清晨 +preference +established +0\.65 +0\.65 +contextual +0 +0 +`+short(preference), lines[3])
	require.Regexp(t, `^    – 周末睡懒觉 +0\.40 +personal$`, lines[4])
	require.Regexp(t, `^    – 早到公司 +0\.70 +work$`, lines[5])
	require.Regexp(t, `^    每天五点起床。 +behavior +emerging +0\.30 +0\.30 +personal +3 +1 +2025-02-09 +`+short(behavior),
		lines[6])
	require.Regexp(t, `^Tea rather than coffee +preference +established +0\.80`, lines[7])
	require.Equal(t, "Not shown: 2 candidates, 1 trend (--all).", lines[9])
	// On a terminal every row's subtype is aligned with the header.
	for _, line := range append(lines[2:4], lines[6:8]...) {
		subtype := regexpIndex(line, "core ", "preference ", "behavior ")
		require.Equal(t, places(lines[0][:strings.Index(lines[0], "subtype")]), places(line[:subtype]), line)
	}

	text = d.ok("traits", "林", "--now", "2025-04-02", "--all")
	require.Regexp(t, `最近在学画画 +behavior +trend +general +0 +0 +2025-04-19 +[0-9a-f]{8}\n`, text+"\n")
	require.NotContains(t, text, "Not shown")
	require.Contains(t, d.ok("traits", "林", "--now", "2025-04-20", "--all"), "dissolved", "its window is over")

	traits := decoded[[]oxbow.Trait](t, d.ok("traits", "林", "--now", "2025-04-02", "--json"))
	require.Len(t, traits, 4)
	require.Equal(t, []uuid.UUID{core, preference}, []uuid.UUID{traits[0].ID, traits[2].ID})
	require.Equal(t, "早到公司", traits[2].Tendencies["work"].Tendency)
	require.Len(t, decoded[[]oxbow.Trait](t, d.ok("traits", "林", "--now", "2025-04-02", "--json", "--all")), 7)

	text = d.ok("traits", "林", "--as-of", "2025-02")
	require.Regexp(t, `每天五点起床。 +behavior +emerging +0\.4\d +personal +3 +0 +2025-02-09`, text)
	require.NotContains(t, text, "stored")
	require.NotContains(t, text, "喜欢清晨")
}

// regexpIndex returns where the first of the words begins.
func regexpIndex(line string, words ...string) int {
	first := len(line)
	for _, w := range words {
		if i := strings.Index(line, w); i >= 0 {
			first = min(first, i)
		}
	}
	return first
}

func TestMissingTraitsAreExplained(t *testing.T) {
	t.Parallel()
	d := onDatabase(t)
	says := func(what string, args ...string) {
		t.Helper()
		r := d.run(append([]string{"traits", "ada"}, args...)...)
		require.Zero(t, r.code, r.err)
		require.Empty(t, r.out)
		require.Equal(t, "User \"ada\" has no traits. "+what+"\n", r.err)
	}
	says(`There are no memories.`)
	d.ok("remember", "ada", "The boat is called Heron.")
	says(`1 memory not embedded yet. Is a worker running (oxbow work)?`)
	says(`Reflection had found none at that time.`, "--as-of", "2020")
	d.exec(`select oxbow.index_memories(array['ada'], array(select id from oxbow.memories))`)
	says(`The inbox has 1 memory: a worker reflects when it is due, "oxbow reflect" immediately.`)
	d.exec(`delete from oxbow.reflection_inbox`)
	says(`A trait requires a pattern across several conversations, for the rules on three days.`)
	require.Equal(t, "[]", d.ok("traits", "ada", "--json"))
	d.exec(`insert into oxbow.users (user_id, opted_out) values ('ada', true)`)
	says(`The user opted out of reflection.`)

	traittest.Trait{UserID: "ada", Events: []traittest.Event{traittest.Created(time.Now(), 0.2)}}.Insert(t, d.pool())
	require.Equal(t, "User \"ada\" has no trait of stage emerging or higher. Hidden: 1 candidate (--all).\n",
		d.run("traits", "ada").err)
}

// In a corrupt database every trait is listed exactly once.
func TestTree(t *testing.T) {
	t.Parallel()
	id := func(n byte) uuid.UUID { return uuid.UUID{0: n, 15: n} }
	trait := func(n, parent byte) oxbow.Trait {
		t := oxbow.Trait{ID: id(n), Content: string('a' + rune(n))}
		if parent > 0 {
			t.ParentID = id(parent)
		}
		return t
	}
	for name, test := range map[string]struct {
		traits []oxbow.Trait
		tree   string
	}{
		"none": {nil, ""},
		"order is kept": {[]oxbow.Trait{trait(1, 0), trait(2, 1), trait(3, 0), trait(4, 1), trait(5, 2)},
			"b0 c1 f2 e1 d0"},
		"parent is not shown":   {[]oxbow.Trait{trait(1, 9), trait(2, 0)}, "b0 c0"},
		"parent comes later":    {[]oxbow.Trait{trait(1, 2), trait(2, 0)}, "c0 b1"},
		"its own parent":        {[]oxbow.Trait{trait(1, 1)}, "b0"},
		"parents in a circle":   {[]oxbow.Trait{trait(1, 2), trait(2, 1), trait(3, 0)}, "d0 b0 c1"},
		"child of its own aunt": {[]oxbow.Trait{trait(1, 0), trait(2, 1), trait(3, 2), trait(4, 3)}, "b0 c1 d2 e3"},
	} {
		var tree []string
		for _, b := range treeOf(test.traits) {
			tree = append(tree, b.Content+string('0'+rune(b.depth)))
		}
		require.Equal(t, test.tree, strings.Join(tree, " "), name)
	}
}

func TestShortIDs(t *testing.T) {
	t.Parallel()
	a, b := uuid.MustParse("11111111-2222-4333-8444-555555555555"),
		uuid.MustParse("11111111-2222-4433-8444-555555555555")
	c := uuid.MustParse("91111111-2222-4433-8444-555555555555")
	require.Equal(t, map[uuid.UUID]string{a: "11111111", c: "91111111"}, shortIDs([]oxbow.Trait{{ID: a}, {ID: c}}))
	require.Equal(t, map[uuid.UUID]string{a: "11111111-2222-43", b: "11111111-2222-44", c: "91111111-2222-44"},
		shortIDs([]oxbow.Trait{{ID: a}, {ID: b}, {ID: c}}))
	require.Equal(t, map[uuid.UUID]string{a: "11111111"}, shortIDs([]oxbow.Trait{{ID: a}}))
}

// On a terminal of 60 cells no line is wider, and a tree keeps its indentation.
func TestTraitsOnANarrowTerminal(t *testing.T) {
	t.Parallel()
	var traits []oxbow.Trait
	require.NoError(t, json.Unmarshal([]byte(`[
		{"id": "11111111-2222-4333-8444-555555555555", "subtype": "core", "stage": "core", "confidence": 0.9, `+
		`"stored_confidence": 0.95, "context": "general",
		 "content": "她做事有条理，喜欢把一周的安排提前写下来，而且很少临时改变计划，除非家里有急事，或者朋友需要她的帮助。"},
		{"id": "21111111-2222-4333-8444-555555555555", "subtype": "behavior", "stage": "trend", "window_end": `+
		`"2025-04-19T12:00:00Z",
		 "last_reinforced": "2025-03-01T12:00:00Z", "supporting": 2, "parent_id": "11111111-2222-4333-8444-555555555555", `+
		`"content": "Paints in the evenings",
		 "tendencies": {"work": {"tendency": "draws in meetings", "confidence": 0.4}}}]`), &traits))
	var out bytes.Buffer
	u := &user{database: &database{app: &app{out: &out}}, zone: time.UTC}
	table := u.traitTable(treeOf(traits), shortIDs(traits))
	table.columns = 60
	table.print()
	for line := range strings.Lines(out.String()) {
		require.LessOrEqual(t, places(strings.TrimRight(line, "\n")), 60, line)
	}
	require.Contains(t, out.String(), "subtype core; stage core; confidence 0.90; stored 0.95;")
	require.Contains(t, out.String(), "\n  Paints in the evenings\n    subtype behavior; stage trend; ")
	require.Contains(t, out.String(), "\n    – draws in meetings\n      confidence 0.40; context work\n")
	require.Contains(t, out.String(), "window ends 2025-04-19")
}

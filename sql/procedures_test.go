package sqlcode_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/oxbow-memory/oxbow/internal/pgtest"
)

func TestInstruct(t *testing.T) {
	t.Parallel()
	tx := pgtest.Tx(t)
	asApp(t, tx)
	setUser(t, tx, ann(t))
	instruct := func(call string) string {
		t.Helper()
		return one[string](t, tx, "select oxbow.instruct($1, "+call+")", ann(t))
	}
	current := func() []string {
		t.Helper()
		return all[string](t, tx, "select content from oxbow.instructions_of($1)", ann(t))
	}
	german := instruct("'Answer in German', 'language'")
	require.Equal(t, german, instruct("'answer in German', 'language'"), "the same words")
	instruct("'Answer in French', 'language', context => 'work'")
	instruct("'Never mention Bob', 'avoid'")
	instruct("'Never mention Eve', 'avoid', priority => 5")
	first := instruct("'Answer in English', 'language', external_id => 'x'")
	require.Equal(t, first, instruct("'Answer in Greek', 'language', external_id => 'x'"))
	require.ElementsMatch(t, []string{"Never mention Eve", "Answer in English", "Never mention Bob", "Answer in French"},
		current())
	require.Equal(t, "Never mention Eve", current()[0])
	require.Equal(t, []string{first}, all[string](t, tx,
		"select replaced_by::text from oxbow.instructions_of($1, ended => true) where ended_at is not null", ann(t)))
	require.True(t, one[bool](t, tx, "select oxbow.end_instruction($1, $2::text::uuid)", ann(t), first))
	require.False(t, one[bool](t, tx, "select oxbow.end_instruction($1, $2::text::uuid)", ann(t), first))
	require.NotContains(t, current(), "Answer in English")

	for call, why := range map[string]string{
		"instruct($1, ' ')": "content must not be blank", "instruct($1, repeat('x', 2001))": "content must not",
		"instruct($1, 'a', 'mood')":                                        "aspect must be",
		"instruct($1, 'a', context => 'gym')":                              "context must be",
		"instruct($1, 'a', priority => 101)":                               "priority must be",
		"end_instruction($1, gen_random_uuid())":                           "no instruction",
		"end_instruction($1, oxbow.instruct($1, 'a'), repeat('x', 10001))": "reason must have",
		"learn_skill($1, ' ', '{a}')":                                      "name must not be blank",
		"learn_skill($1, 'a', '{}')":                                       "steps must be",
		"learn_skill($1, 'a', null)":                                       "steps must be",
		"skill_outcome($1, gen_random_uuid(), true)":                       "no skill",
		"skills_for($1, 'a', 0)":                                           "max_results must be",
		"instruct($1 || 'x', 'Answer in Greek')":                           "may not see",
		"learn_skill($1 || 'x', 'a', '{a}')":                               "may not see",
		"drop_skill($1, gen_random_uuid())":                                "no skill",
		"instruct($1, 'a', external_id => '')":                             "external_id must have",
	} {
		require.ErrorContains(t, fails(t, tx, "select oxbow."+call, ann(t)), why, call)
	}
}

// Instructions come first in the block, whatever else there is, and take at most half of it.
func TestInstructionsInContext(t *testing.T) {
	t.Parallel()
	tx := pgtest.Tx(t)
	exec(t, tx, "insert into oxbow.users (user_id, language) values ($1, 'en')", ann(t))
	remember(t, tx, settled(ann(t), "core", "likes boats", 0.9, time.Now().Add(-time.Hour)))
	remember(t, tx, settled(ann(t), "preference", "Prefers short answers", 0.7, time.Now().Add(-time.Hour)))
	index(t, tx, ann(t))
	exec(t, tx, "select oxbow.instruct($1, 'Always answer me in German', 'language')", ann(t))
	exec(t, tx, "select oxbow.instruct($1, 'Call me Sam', 'address', agent => 'a', priority => 1)", ann(t))
	block := func(arguments string) string {
		t.Helper()
		return one[string](t, tx, "select oxbow.context($1"+arguments+")", ann(t))
	}
	const rest = "- Prefers short answers (inferred)\n## Core traits\n- likes boats"
	require.Equal(t, "## How the user wants to be answered\n- Always answer me in German\n"+rest, block(""))
	require.Equal(t, "## How the user wants to be answered\n- Call me Sam\n- Always answer me in German\n"+rest,
		block(", agent => 'a'"))
	exec(t, tx, "select oxbow.instruct($1, 'Answer in French here', 'language', session_id => 's1')", ann(t))
	require.Equal(t, "## How the user wants to be answered\n- Answer in French here\n- Always answer me in German\n"+rest,
		block(", session_id => 's1'"))
	require.NotContains(t, block(", session_id => 's2'"), "French")
	exec(t, tx, "select oxbow.end_instruction($1, id) from oxbow.instructions_of($1) where session = 's1'", ann(t))
	require.Equal(t, []string{"Call me Sam false", "Always answer me in German false", "Prefers short answers true"},
		all[string](t, tx, "select content || ' ' || inferred from oxbow.instructions_of($1)", ann(t)))
	exec(t, tx, "select oxbow.instruct($1, 'Say ' || n || repeat(' very loud', 20)) from generate_series(1, 40) n", ann(t))
	require.Contains(t, block(", max_tokens => 300"), "likes boats")
}

// A skill for the situation that worked more often comes first; a new version keeps the counts.
func TestSkills(t *testing.T) {
	t.Parallel()
	tx := pgtest.Tx(t)
	asApp(t, tx)
	setUser(t, tx, ann(t))
	learn := func(call string) string {
		t.Helper()
		return one[string](t, tx, "select oxbow.learn_skill($1, "+call+")", ann(t))
	}
	named := func(situation string) []string {
		t.Helper()
		return all[string](t, tx, "select name || ' ' || version from oxbow.skills_for($1, $2)", ann(t), situation)
	}
	report := learn("'Weekly report', '{collect,write,send}', 'the weekly report for the boss'")
	learn("'Quick report', '{write}', 'a report for the boss'")
	learn("'买菜', '{列清单,比价,付钱}', '去菜市场买菜'")
	require.Equal(t, report, learn("'weekly report', '{collect,write,send}', 'the weekly report for the boss'"))
	for range 3 {
		exec(t, tx, "select oxbow.skill_outcome($1, $2::text::uuid, true)", ann(t), report)
	}
	require.Equal(t, []string{"Weekly report 1", "Quick report 1"}, named("Write a report for my boss"))
	require.Equal(t, []string{"买菜 1"}, named("下午去买菜"))
	require.Empty(t, named("swimming"))
	const quick = "- Quick report (a report for the boss): 1. write"
	require.Equal(t, "## How to do it\n"+
		"- Weekly report (the weekly report for the boss): 1. collect; 2. write; 3. send\n"+quick,
		one[string](t, tx, "select oxbow.context($1, 'Write a report for my boss', include => '{skills}')", ann(t)))
	require.Empty(t, one[string](t, tx, "select oxbow.context($1, 'swimming', include => '{skills}')", ann(t)))
	require.Contains(t, one[string](t, tx, "select oxbow.context($1, ' ', include => '{skills}')", ann(t)), "买菜")
	second := learn("'Weekly report', '{collect,check,send}', 'the weekly report for the boss', reason => 'checked'")
	exec(t, tx, "select oxbow.skill_outcome($1, $2::text::uuid, false)", ann(t), report) // reported late
	require.Equal(t, []string{"3 1 2"}, all[string](t, tx, `select concat_ws(' ', successes, failures, version)
		from oxbow.skills_for($1, 'weekly report') where id = $2::text::uuid`, ann(t), second))
	require.Equal(t, []string{"checked"}, all[string](t, tx,
		"select reason from oxbow.skills where user_id = $1 and id = $2::text::uuid", ann(t), report))
	require.True(t, one[bool](t, tx, "select oxbow.drop_skill($1, $2::text::uuid)", ann(t), second))
	require.Equal(t, []string{"Quick report 1"}, named("weekly report"))

	exec(t, tx, "reset role")
	require.Equal(t, []string{"a: 1. b", "a (c), requires d, e: 1. b; 2. f", "a（c），需要d、e：1. b；2. f"}, all[string](t, tx,
		`select oxbow.skill_line('a', '', '{}', '{b}', false) union all
		 select oxbow.skill_line('a', 'c', '{d,e}', '{b,f}', z) from unnest('{f,t}'::boolean[]) z`))
}

package sqlcode_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/oxbow-memory/oxbow/internal/pgtest"
)

// recalls returns the contents that a user's question recalls.
func recalls(t *testing.T, tx db, user, query string) []string {
	t.Helper()
	return all[string](t, tx, "select content from oxbow.recall($1, $2)", user, query)
}

// A memory that was wrong once does not come back for similar questions, and does for others.
func TestWrongIsSuppressed(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ right, wrong, question, alike, other string }{
		{"Lena works at a bakery", "Lena works at a bank", "Where does Lena work?", "where does lena work now",
			"Does Lena know somebody at a bank?"},
		{"小李养了一只猫", "小李养了一只狗", "小李养了什么宠物?", "小李养了什么宠物呢", "谁养了狗?"},
	} {
		t.Run(c.question, func(t *testing.T) {
			t.Parallel()
			tx := pgtest.Tx(t)
			remember(t, tx, row{"user_id": ann(t), "content": c.right})
			wrong := remember(t, tx, row{"user_id": ann(t), "content": c.wrong})
			index(t, tx, ann(t))
			require.Contains(t, recalls(t, tx, ann(t), c.question), c.wrong)
			exec(t, tx, "select oxbow.feedback($1, 'wrong', array[$2::text::uuid], query => $3)", ann(t), wrong, c.question)
			for _, question := range []string{c.question, c.alike} {
				require.NotContains(t, recalls(t, tx, ann(t), question), c.wrong, question)
				require.Contains(t, recalls(t, tx, ann(t), question), c.right, question)
			}
			require.Contains(t, recalls(t, tx, ann(t), c.other), c.wrong)
			require.Equal(t, []bool{true}, all[bool](t, tx, `select (explain -> 'suppressed')::boolean
				from oxbow.recall($1, $2, mode => 'debug') where id = $3::text::uuid`, ann(t), c.question, wrong))

			exec(t, tx, "select oxbow.feedback($1, 'helpful', array[$2::text::uuid], query => $3)", ann(t), wrong, c.alike)
			require.Contains(t, recalls(t, tx, ann(t), c.question), c.wrong)
		})
	}
}

// Without a question a wrong memory is left out of every answer until the time is over, but nothing else changes.
func TestWrongWithoutQuestion(t *testing.T) {
	t.Parallel()
	tx := pgtest.Tx(t)
	id := remember(t, tx, row{"user_id": ann(t), "content": "The boat is green"})
	index(t, tx, ann(t))
	exec(t, tx, "select oxbow.feedback($1, 'wrong', array[$2::text::uuid])", ann(t), id)
	require.Empty(t, recalls(t, tx, ann(t), "What colour is the boat?"))
	require.Equal(t, 1.0, one[float64](t, tx, "select strength from oxbow.memories where user_id = $1", ann(t)))
	exec(t, tx, "update oxbow.suppressions set expires_at = now() - interval '1 second' where user_id = $1", ann(t))
	require.NotEmpty(t, recalls(t, tx, ann(t), "What colour is the boat?"))
	require.EqualValues(t, 1, one[int64](t, tx, "select oxbow.expire_feedback(now(), 100)"))
}

// What a person says of one memory is done at once and can be undone.
func TestNamedFeedback(t *testing.T) {
	t.Parallel()
	tx := pgtest.Tx(t)
	home := remember(t, tx, row{"user_id": ann(t), "content": "Ann lives in Porto", "created_at": ago(time.Hour)})
	tom := remember(t, tx, row{"user_id": ann(t), "content": "Tom lives in Porto", "created_at": ago(time.Hour)})
	trait := remember(t, tx, settled(ann(t), "behavior", "likes Porto", 0.8, time.Now().Add(-time.Hour)))
	index(t, tx, ann(t))
	require.Len(t, recalls(t, tx, ann(t), "Porto"), 3)
	exec(t, tx, "select oxbow.feedback($1, 'outdated', array[$2::text::uuid])", ann(t), home)
	exec(t, tx, "select oxbow.feedback($1, 'not_about_me', array[$2::text::uuid])", ann(t), tom)
	exec(t, tx, "select oxbow.feedback($1, 'not_about_me', array[$2::text::uuid])", ann(t), trait)
	require.Empty(t, recalls(t, tx, ann(t), "Porto"))
	exec(t, tx, "select oxbow.restore($1, $2::text::uuid)", ann(t), home)
	exec(t, tx, "select oxbow.restore($1, $2::text::uuid)", ann(t), tom)
	exec(t, tx, "select oxbow.edit_trait($1, $2::text::uuid, confidence => 0.7)", ann(t), trait)
	require.Len(t, recalls(t, tx, ann(t), "Porto"), 3)
}

// Feedback about an answer is about what it used; the memories count as used and as accessed.
func TestAnswered(t *testing.T) {
	t.Parallel()
	tx := pgtest.Tx(t)
	a := remember(t, tx, row{"user_id": ann(t), "content": "a"})
	b := remember(t, tx, row{"user_id": ann(t), "content": "b"})
	theirs := remember(t, tx, row{"user_id": bob(t), "content": "c"})
	asApp(t, tx)
	setUser(t, tx, ann(t))
	answer := one[string](t, tx, `select oxbow.answered($1, 'which?', array[$2, $3, $4, $3]::text[]::uuid[],
		array[$3]::text[]::uuid[])`, ann(t), a, b, theirs)
	require.Equal(t, []bool{false, true}, all[bool](t, tx,
		"select used from oxbow.activity where user_id = $1 order by used", ann(t)))
	require.Equal(t, []string{a, b}, all[string](t, tx,
		"select unnest(recalled)::text from oxbow.answers where user_id = $1", ann(t)))
	first := one[string](t, tx, "select oxbow.feedback($1, 'wrong', answer_id => $2::text::uuid, external_id => 'x')",
		ann(t), answer)
	again := one[string](t, tx, "select oxbow.feedback($1, 'wrong', answer_id => $2::text::uuid, external_id => 'x')",
		ann(t), answer)
	require.Equal(t, first, again)
	require.Equal(t, []string{b}, all[string](t, tx,
		"select memory_id::text from oxbow.feedback_subjects where user_id = $1", ann(t)))
}

func TestFeedbackRefuses(t *testing.T) {
	t.Parallel()
	tx := pgtest.Tx(t)
	id := remember(t, tx, row{"user_id": ann(t)})
	for call, why := range map[string]string{
		"feedback($1, 'bad', array[$2::text::uuid])":                                   "kind must be",
		"feedback($1, null, array[$2::text::uuid])":                                    "kind must be",
		"feedback($1 , 'wrong', nullif(array[$2::text::uuid], array[$2::text::uuid]))": "or answer_id must say",
		"feedback($1, 'wrong', array_remove(array[$2::text::uuid], $2::text::uuid))":   "or answer_id must say",
		"feedback($1, 'wrong', answer_id => $2::text::uuid)":                           "no answer",
		"feedback($1 || 'x', 'wrong', array[$2::text::uuid])":                          "no memory",
		"feedback($1, 'wrong', array[$2::text::uuid], actor => 'reflection')":          "actor must not be",
		"feedback($1, 'wrong', array[$2::text::uuid], reason => repeat('x', 10001))":   "reason must have",
		"answered($1, repeat('x', 50001), array[$2::text::uuid])":                      "query must have",
		"answered($1, 'q', array[$2::text::uuid], at => 'infinity')":                   "at must be in the years 1 to 9999",
		"rollback($1, $2::text::uuid)":                                                 "no adjustment",
	} {
		require.ErrorContains(t, fails(t, tx, "select oxbow."+call, ann(t), id), why, call)
	}
}

// Undoing an adjustment gives a memory the weight that it would have without it, at any later time.
func TestRollback(t *testing.T) {
	t.Parallel()
	tx := pgtest.Tx(t)
	id := remember(t, tx, row{"user_id": ann(t), "created_at": ago(20 * 24 * time.Hour)})
	trait := remember(t, tx, settled(ann(t), "behavior", "likes boats", 0.8, time.Now().Add(-time.Hour)))
	const weight = "select unclamped from oxbow.weight($1, $2::text::uuid, now() + interval '1 day')"
	const confidence = "select trait_confidence from oxbow.memories_trait where user_id = $1"
	before := one[float64](t, tx, weight, ann(t), id)
	first := one[string](t, tx, "select oxbow.adjust($1, 'fact', $2, 0.5, 'c', '{}', -2, now())", ann(t), id)
	second := one[string](t, tx, "select oxbow.adjust($1, 'fact', $2, 0.7, 'c', '{}', -2, now())", ann(t), id)
	lower := one[string](t, tx, "select oxbow.adjust($1, 'trait', $2, 0.8, 'c', '{}', -2, now())", ann(t), trait)
	require.Less(t, one[float64](t, tx, weight, ann(t), id), before)
	require.InDelta(t, 0.64, one[float64](t, tx, confidence, ann(t)), 1e-3)
	asApp(t, tx)
	setUser(t, tx, ann(t))
	for _, adjustment := range []string{first, second, lower, first} { // the last time changes nothing
		exec(t, tx, "select oxbow.rollback($1, $2::text::uuid)", ann(t), adjustment)
	}
	require.InDelta(t, before, one[float64](t, tx, weight, ann(t), id), 1e-12)
	require.InDelta(t, 0.8, one[float64](t, tx, confidence, ann(t)), 1e-3)
	require.Equal(t, []string{"person", "person", "person"}, all[string](t, tx,
		"select undone_by from oxbow.adjustments_of($1)", ann(t)))
	require.ErrorContains(t, fails(t, tx, "select oxbow.rollback($1, $2::text::uuid)", bob(t), first), "may not see")
}

// What was wrong together is less related, until that is undone.
func TestLinksAreAdjusted(t *testing.T) {
	t.Parallel()
	tx := pgtest.Tx(t)
	first, second, third := naming(t, tx, "Anna rows", "Anna"), naming(t, tx, "Anna sails", "Anna"),
		naming(t, tx, "Anna swims", "Anna")
	for _, to := range []string{second, third} {
		exec(t, tx, `insert into oxbow.memory_links (user_id, from_type, from_id, to_type, to_id, relation, weight)
			values ($1, 'fact', $2, 'fact', $3, 'related_to', 0.8)`, ann(t), first, to)
	}
	signal := one[string](t, tx, "select oxbow.feedback($1, 'wrong', array[$2, $3]::uuid[], query => 'Rows?')", ann(t), first,
		second)
	exec(t, tx, "select oxbow.adjust($1, 'fact', $2, 0.5, 'c', array[$3]::uuid[], -2, now())", ann(t), first, signal)
	weights := func() []float64 {
		return all[float64](t, tx, "select weight from oxbow.memory_links where user_id = $1 and from_id = $2 order by 1",
			ann(t), first)
	}
	require.Equal(t, []float64{0.4, 0.8}, weights())
	id := one[string](t, tx, "select id from oxbow.adjustments_of($1) where kind = 'relation_weight' and "+
		"target ->> 'memory_id' = $2", ann(t), second)
	exec(t, tx, "select oxbow.rollback($1, $2::text::uuid)", ann(t), id)
	require.InDeltaSlice(t, []float64{0.8, 0.8}, weights(), 1e-12)
	exec(t, tx, "select oxbow.erase_memory($1, $2)", ann(t), second)
	require.Zero(t, one[int](t, tx, "select count(*)::int from oxbow.adjustments where target <> '{}' and user_id = $1", ann(t)))
}

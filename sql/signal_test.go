package sqlcode_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/oxbow-memory/oxbow/internal/pgtest"
)

// A signal of an application's own judge has the fields and the effect of one of the job judge.
func TestSignal(t *testing.T) {
	t.Parallel()
	tx := pgtest.Tx(t)
	good := remember(t, tx, row{"user_id": ann(t), "content": "Lena works at a bakery"})
	bad := remember(t, tx, row{"user_id": ann(t), "content": "Lena works at a bank"})
	index(t, tx, ann(t))
	const question = "Where does Lena work?"
	said := one[string](t, tx, `insert into oxbow.messages (user_id, session_id, role, content)
		values ($1, 's', 'user', 'No, she does not') returning id::text`, ann(t))
	asApp(t, tx)
	setUser(t, tx, ann(t))
	answer := one[string](t, tx, "select oxbow.answered($1, $2, array[$3, $4]::text[]::uuid[])::text", ann(t), question, bad, good)
	signal := func(call string) string {
		t.Helper()
		return one[string](t, tx, "select oxbow.signal($1, "+call+", answer_id => $2::text::uuid)::text", ann(t), answer)
	}
	signal("'neutral', 1")
	signal("'negative', 0.5")
	signal("'negative', 1, '{style}', '{penalty}'")
	mixed := signal(`'mixed', 0.9, parts => '{"final_answer": "positive", "style": "negative"}', external_id => 'x'`)
	require.Equal(t, mixed, signal("'negative', 1, external_id => 'x'"), "a repeated call has no effect")
	require.Len(t, recalls(t, tx, ann(t), question), 2)
	heard := signal("'negative', 0.9, attributions => array['" + bad + "']::uuid[], message_id => '" + said + "'")
	require.Equal(t, heard, signal("'positive', 1, message_id => '"+said+"'"), "a message has one signal")
	require.Equal(t, []string{"Lena works at a bakery"}, recalls(t, tx, ann(t), question))
	exec(t, tx, "reset role")
	require.Equal(t, []string{
		"judge complaint negative 0.5 {final_answer} {} 0.5,0.5",
		"judge complaint negative 0.9 {final_answer} {} 1",
		"judge complaint negative 1 {style} {penalty} 0.5,0.5",
		"judge complaint neutral 1 {final_answer} {} 0.5,0.5",
		"judge complaint mixed 0.9 {style,final_answer} {} 0.5,0.5",
	}, all[string](t, tx, `select concat_ws(' ', source, kind, type, confidence, targets::text, action_hint::text,
		  (select string_agg(f.share::text, ',') from oxbow.feedback_subjects f
		    where f.user_id = s.user_id and f.signal_id = s.id))
		from oxbow.feedback_signals s where user_id = $1 order by parts nulls first, 1`, ann(t)))
	require.Equal(t, 3, one[int](t, tx, `select count(*)::int from oxbow.sensory
		where user_id = $1 and kind = 'failed_turn'`, ann(t)))
	require.Equal(t, "s", one[string](t, tx, "select session_id from oxbow.feedback_signals where message_id = $1::text::uuid", said))

	asApp(t, tx)
	setUser(t, tx, ann(t))
	for call, why := range map[string]string{
		"'bad', 1":                "type must be",
		"'negative', null":        "confidence must be",
		"'negative', 1.5":         "confidence must be",
		"'negative', 1, '{mood}'": "targets must be",
		"'negative', 1, action_hint => '{}', kind => 'x'":            "kind must be",
		"'negative', 1, action_hint => '{burn}'":                     "action_hint must be",
		"'mixed', 1":                                                 "parts must have",
		"'mixed', 1, parts => '[]'":                                  "parts must have",
		`'mixed', 1, parts => '{"style": "bad"}'`:                    "parts must have",
		`'mixed', 1, '{style}', parts => '{"reasoning": "neutral"}'`: "parts must have",
		`'mixed', 1, parts => '{"mood": "neutral"}'`:                 "targets must be",
		`'negative', 1, parts => '{"style": "negative"}'`:            "parts must have",
		"'negative', 1, message_id => gen_random_uuid()":             "message_id must be",
	} {
		require.ErrorContains(t, fails(t, tx, "select oxbow.signal($1, "+call+", answer_id => $2::text::uuid)", ann(t), answer),
			why, call)
	}
	require.ErrorContains(t, fails(t, tx, "select oxbow.signal($1, 'negative', 1)", ann(t)), "attributions or answer_id must")
	require.ErrorContains(t, fails(t, tx, "select oxbow.signal($1, 'negative', 1, answer_id => gen_random_uuid())", ann(t)),
		"has no answer")
	require.ErrorContains(t, fails(t, tx, "select oxbow.signal($1 || 'x', 'negative', 1, answer_id => gen_random_uuid())",
		ann(t)), "may not see")
}

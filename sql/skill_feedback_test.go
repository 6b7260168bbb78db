package sqlcode_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/oxbow-memory/oxbow/internal/pgtest"
)

// An answer names the user's own skills, and only the user can undo what feedback changed of them.
func TestSkillFeedbackIsTheUsers(t *testing.T) {
	t.Parallel()
	tx := pgtest.Tx(t)
	memory := remember(t, tx, row{"user_id": ann(t)})
	learn := "select oxbow.learn_skill($1, 'Knot', '{tie}')"
	own, theirs := one[string](t, tx, learn, ann(t)), one[string](t, tx, learn, bob(t))
	answer := one[string](t, tx, "select oxbow.answered($1, 'Knot?', '{}', array[$2, $3, $4]::text[]::uuid[])",
		ann(t), own, theirs, memory)
	const used = "select concat_ws(' ', used, skills) from oxbow.answers where user_id = $1 and id = $2::text::uuid"
	require.Equal(t, "{"+memory+"} {"+own+"}", one[string](t, tx, used, ann(t), answer))
	require.Equal(t, []bool{false, true}, all[bool](t, tx, `select used_at is null from oxbow.skills
		where user_id in ($1, $2) order by id = $3::text::uuid desc`, ann(t), bob(t), own))

	const adjust = "select oxbow.adjust_skill($1, $2::text::uuid, 0, 4, 'c', '{}', -4, now())"
	require.Nil(t, one[*string](t, tx, adjust, ann(t), theirs))
	counted := one[string](t, tx, adjust, ann(t), own)
	require.Equal(t, []string{"Knot 0", "Knot 0.16666666666666666"}, all[string](t, tx,
		"select content || ' ' || after from oxbow.adjustments_of($1, $2::text::uuid)", ann(t), own))
	asApp(t, tx)
	setUser(t, tx, bob(t))
	require.ErrorContains(t, fails(t, tx, "select oxbow.rollback($1, $2::text::uuid)", ann(t), counted), "may not see")
	require.ErrorContains(t, fails(t, tx, "select oxbow.rollback($1, $2::text::uuid)", bob(t), counted), "no adjustment")
	require.ErrorContains(t, fails(t, tx, "select oxbow.propose_from_feedback(now())"), "permission denied")
	setUser(t, tx, ann(t))
	require.Empty(t, all[string](t, tx, "select name from oxbow.skills_for($1)", ann(t)))
	for range 2 { // undoing again has no effect
		exec(t, tx, "select oxbow.rollback($1, id) from oxbow.adjustments_of($1)", ann(t))
		require.Equal(t, []int32{0}, all[int32](t, tx, "select failures from oxbow.skills_for($1)", ann(t)))
	}
	setUser(t, tx, bob(t))
	require.Equal(t, []string{"Knot"}, all[string](t, tx, "select name from oxbow.skills_for($1)", bob(t)))
}

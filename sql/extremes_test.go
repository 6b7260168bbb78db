package sqlcode_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/oxbow-memory/oxbow/internal/pgtest"
)

// Each policy is set to the ends of its range and to values that are hardly numbers. It is refused, or everything that
// reads policies still works, also for memories with such numbers.
func TestExtremePolicies(t *testing.T) {
	t.Parallel()
	tx := pgtest.Tx(t)
	user := ann(t)
	populate(t, tx, user)
	old := row{"user_id": user, "created_at": "2020-01-01", "mentions": `{"(2020-01-02,t)","(2020-01-03,f)"}`,
		"negated_at": "2020-01-04", "metadata": `{"emotion": {"arousal": 1e-400, "valence": -1e400}}`}
	for i, numbers := range []row{{"importance": 5e-324, "strength": 5e-324}, {"strength": 1.7e308}, {"strength": 1e-90},
		{"importance": 1e-90, "strength": 99.0}} {
		remember(t, tx, old.with(numbers).with(row{"content": "A boat in the harbour, number " + string(rune('1'+i))}))
	}
	index(t, tx, user)
	policies := all[string](t, tx, `select name from oxbow.policy_definitions order by 1`)
	require.Greater(t, len(policies), 100)
	for _, name := range policies {
		for _, value := range []string{"minimum", "maximum", "least(1e-9, maximum)", "'5e-324'", "'-5e-324'", "'NaN'", "'Infinity'",
			"'-Infinity'", "'1e308'", "'2.3e-308'"} {
			exec(t, tx, "savepoint before")
			_, err := tx.Exec(t.Context(), `select oxbow.set_policy(name, (`+value+`)::double precision)
				from oxbow.policy_definitions where name = $1`, name)
			if err != nil {
				require.ErrorContains(t, err, "value of "+name+" must be")
				exec(t, tx, "rollback to before")
				continue
			}
			for _, sql := range []string{
				`select * from oxbow.recall($1, 'a boat in the harbour', now => clock_timestamp() + interval '1 second')`,
				`select oxbow.context($1, 'boat', now => clock_timestamp() + interval '1 second')`,
				`select w.* from oxbow.memories m, oxbow.weight($1, m.id, clock_timestamp() + interval '1 day') w where m.user_id = $1`,
				`select oxbow.emotion_profile($1)`, `select oxbow.predict($1)`, `select oxbow.skills_for($1, 'boat')`,
				`select oxbow.touch($1, array(select id from oxbow.memories where user_id = $1))`,
				`select oxbow.fold_activity(1000) where $1 <> ''`,
				`select oxbow.schedule_levels(array_agg(user_id), array_agg(id), clock_timestamp()) from oxbow.memories
				  where user_id = $1`,
				`select oxbow.users_to_review(clock_timestamp(), 10) where $1 <> ''`,
			} {
				_, err := tx.Exec(t.Context(), sql, user)
				require.NoError(t, err, "%s = %s: %s", name, value, sql)
			}
			exec(t, tx, "rollback to before")
		}
	}
}

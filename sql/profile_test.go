package sqlcode_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/oxbow-memory/oxbow/internal/pgtest"
)

// Mapped keys become facts, which follow the value.
func TestProfile(t *testing.T) {
	t.Parallel()
	tx := pgtest.Tx(t)
	exec(t, tx, "insert into oxbow.users (user_id, language) values ($1, 'zh')", bob(t))
	asApp(t, tx)
	set := func(user, key, value string) {
		t.Helper()
		setUser(t, tx, user)
		exec(t, tx, "select oxbow.set_value($1, $2, $3::text::jsonb)", user, key, value)
	}
	facts := func(user string) []string {
		t.Helper()
		return all[string](t, tx, `select content from oxbow.memories_fact where user_id = $1 and expired_at is null
			and forgotten_at is null and coalesce(invalid_at > now(), true) order by content`, user)
	}
	set(ann(t), "occupation", `"a baker"`)
	set(ann(t), "occupation", `"a baker"`)
	set(ann(t), "interests", `["boats", "bread"]`)
	set(ann(t), "relationships", `{"sister": "Eva"}`)
	set(ann(t), "theme", `{"dark": true}`)
	require.Equal(t, []string{"Eva is my sister", "I am interested in boats", "I am interested in bread",
		"I work as a baker"}, facts(ann(t)))
	set(ann(t), "occupation", `"a nurse"`)
	set(ann(t), "interests", `["bread", "cheese"]`)
	set(ann(t), "relationships", "null")
	require.Equal(t, []string{"I am interested in bread", "I am interested in cheese", "I work as a nurse"},
		facts(ann(t)))
	require.Equal(t, []string{"I work as a nurse"}, all[string](t, tx, `select n.content from oxbow.memories_fact o
		join oxbow.memories_fact n on n.user_id = o.user_id and n.id = o.superseded_by
		where o.user_id = $1 and o.content = 'I work as a baker'`, ann(t)))
	require.Equal(t, []string{"interests 2", "occupation 1", "theme 0"}, all[string](t, tx,
		"select name || ' ' || facts from oxbow.profile($1)", ann(t)))
	require.Equal(t, "## Profile\n- interests: [\"bread\", \"cheese\"]\n- occupation: a nurse\n- theme: {\"dark\": true}",
		one[string](t, tx, "select oxbow.context($1, types => '{trait}', include => '{profile}')", ann(t)))
	set(bob(t), "values", `["自由"]`)
	require.Equal(t, []string{"我看重自由"}, facts(bob(t)))
	for call, why := range map[string]string{
		"set_value($1 || 'x', 'a', 'true')": "may not see", "set_value($1, '', 'true')": "key must have",
		"set_value($1, 'a', to_jsonb(repeat('x', 65536)))": "value must have", "profile($1 || 'x')": "may not see",
		"context($1, include => '{mood}')": "include must be", "emotion_profile($1, 'infinity')": "now must be in the years 1 to 9999",
	} {
		require.ErrorContains(t, fails(t, tx, "select oxbow."+call, bob(t)), why, call)
	}
}

// The emotional profile follows the memories: what moves and what calms, without a trace of those that are gone.
func TestEmotionProfile(t *testing.T) {
	t.Parallel()
	tx := pgtest.Tx(t)
	now := time.Date(2026, 5, 13, 12, 0, 0, 0, time.UTC)
	feel := func(days, hours int, about string, valence float64) string {
		t.Helper()
		at := now.AddDate(0, 0, -days).Add(time.Duration(hours) * time.Hour)
		return remember(t, tx, row{"user_id": ann(t), "memory_type": "episodic", "content": about, "valid_at": at,
			"metadata": fmt.Sprintf(`{"emotion": {"valence": %v, "arousal": 0.5}, "entities": [{"name": %q}]}`, valence, about)})
	}
	var bosses []string
	for i := range 4 {
		bosses = append(bosses, feel(10*i+1, 0, "the boss", -0.8))
		feel(10*i+1, 5, "the lake", 0.6)
		feel(10*i+5, 0, "the market", 0.1)
	}
	profile := func(aspect string) []string {
		t.Helper()
		return all[string](t, tx, `select concat_ws(' ', name, case when shift < 0 then 'down' else 'up' end, memories)
			from oxbow.emotion_profile($1, $2) where aspect = $3`, ann(t), now, aspect)
	}
	require.Equal(t, []string{"the boss down 4", "the lake up 4"}, profile("trigger"))
	require.Equal(t, []string{"the lake up 4"}, profile("calms"))
	require.Len(t, profile("baseline"), 1)
	require.NotEmpty(t, profile("week"))
	require.Contains(t, one[string](t, tx, "select oxbow.context($1, types => '{trait}', include => '{emotion}', now => $2)",
		ann(t), now), "- When it is about the boss: in low spirits")
	for _, id := range bosses[:3] {
		exec(t, tx, "select oxbow.erase_memory($1, $2::text::uuid)", ann(t), id)
	}
	require.NotContains(t, profile("trigger"), "the boss down 4")
	require.Empty(t, profile("calms"), "too few unpleasant ones are left")
	exec(t, tx, `insert into oxbow.memories (user_id, content, metadata) values
		($1, 'odd', '{"emotion": 5}'), ($1, 'odd too', '{"emotion": {"valence": "high"}, "entities": 3}')`, bob(t))
	require.Empty(t, all[string](t, tx, "select aspect from oxbow.emotion_profile($1)", bob(t)))
}

package worker

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/oxbow-memory/oxbow/store"
)

// A complaint is heard even if its message is extracted after later ones that were judged.
func TestJudgeLateMessages(t *testing.T) {
	b := setup(t)
	b.exec(`insert into oxbow.messages (user_id, session_id, seq, role, content, extract_failures) values
		('ann', 's', 1, 'user', 'What colour is the boat?', 0), ('ann', 's', 2, 'assistant', 'Green.', 0),
		('ann', 's', 3, 'user', 'No, that is wrong, it is blue.', 1), ('ann', 's', 4, 'assistant', 'I see: blue.', 0),
		('ann', 's', 5, 'user', 'Thanks, that helps.', 0)`)
	b.exec(`select oxbow.end_session('ann', 's')`)
	b.work()
	require.Equal(t, "thanks", get[string](b, `select string_agg(kind, ', ') from oxbow.feedback_signals`))
	b.exec(`insert into oxbow.river_job (kind, queue, max_attempts, args)
		values ('extract', 'extract', 25, '{"user_id": "ann", "session_id": "s", "retry": true}')`)
	b.work()
	require.Equal(t, "correction, thanks", get[string](b, `
		select string_agg(kind, ', ' order by kind) from oxbow.feedback_signals`))
}

// A message that is extracted while the judge thinks is not passed over.
func TestJudgeWhileExtracting(t *testing.T) {
	b := setup(t)
	b.exec(`insert into oxbow.messages (user_id, session_id, seq, role, content, extracted_at) values
		('ann', 's', 1, 'assistant', 'Green.', now()), ('ann', 's', 2, 'user', 'No, that is wrong, it is blue.', null),
		('ann', 's', 3, 'user', 'Thanks.', now())`)
	turns, err := store.TurnsToJudge(t.Context(), b.pool, "ann", "s", 10)
	require.NoError(t, err)
	require.Len(t, turns, 2)
	b.exec(`update oxbow.messages set extracted_at = now() where seq = 2`)
	require.ErrorIs(t, store.WriteSignals(t.Context(), b.pool, "ann", "s", turns, "judge", nil), store.ErrStale)
	turns, err = store.TurnsToJudge(t.Context(), b.pool, "ann", "s", 10)
	require.NoError(t, err)
	require.NoError(t, store.WriteSignals(t.Context(), b.pool, "ann", "s", turns, "judge", nil))
}

// While a job finds nothing to judge, an extraction adds something. The judge job that the extraction enqueues is
// skipped as a duplicate.
func TestJudgeAtTheEndOfAnother(t *testing.T) {
	b := setup(t)
	b.exec(`insert into oxbow.messages (user_id, session_id, seq, role, content) values
		('ann', 's', 1, 'assistant', 'Green.'), ('ann', 's', 2, 'user', 'No, that is wrong, it is blue.')`)
	b.exec(`delete from oxbow.river_job`)
	b.exec(`create function extract_meanwhile() returns trigger language plpgsql security definer as $$ begin
		update oxbow.messages set extracted_at = now(); return new; end $$`)
	b.exec(`create trigger extract_meanwhile before update on oxbow.river_job for each row
		when (new.kind = 'judge' and new.state = 'completed') execute function extract_meanwhile()`)
	b.exec(`insert into oxbow.river_job (kind, queue, max_attempts, args)
		values ('judge', 'reflect', 25, '{"user_id": "ann", "session_id": "s"}')`)
	require.NoError(t, b.drain())
	require.Equal(t, 1, b.count(`oxbow.feedback_signals where kind = 'correction'`))
}

// What a person asks an assistant to do from now on is heard once, replaced and taken back, in both languages.
func TestHearInstructions(t *testing.T) {
	b := setup(t)
	say := func(user, session string, messages ...string) {
		t.Helper()
		for i, content := range messages {
			_, err := b.pool.Exec(t.Context(), `insert into oxbow.messages (user_id, session_id, role, content)
				values ($1, $2, $3, $4)`, user, session, []string{"user", "assistant"}[i%2], content)
			require.NoError(t, err)
		}
		_, err := b.pool.Exec(t.Context(), `select oxbow.end_session($1, $2)`, user, session)
		require.NoError(t, err)
		b.work()
	}
	current := func(user string) (all []string) {
		t.Helper()
		rows, err := b.pool.Query(t.Context(), `select aspect || ': ' || content from oxbow.instructions_of($1)
			order by created_at, aspect`, user)
		require.NoError(t, err)
		for rows.Next() {
			var line string
			require.NoError(t, rows.Scan(&line))
			all = append(all, line)
		}
		require.NoError(t, rows.Err())
		return all
	}
	say("sam", "1", "Always answer me in German.", "Gern.", "And don't use emojis, please.", "Ok.",
		"What is the capital of Peru?")
	require.ElementsMatch(t, []string{"language: Always answer me in German.", "format: And don't use emojis, please."},
		current("sam"))
	say("sam", "2", "From now on answer me in English.", "Sure.", "You can use emojis again.")
	require.Equal(t, []string{"language: From now on answer me in English."}, current("sam"))
	say("sam", "3", "Never mention my diet.", "Ok.", "Hm, never mind.")
	require.Equal(t, []string{"language: From now on answer me in English."}, current("sam"))
	say("sam", "4", "Never mention my weight.", "Ok.", "Remind me tomorrow at 8 to water the plants.", "Ok.", "Never mind.")
	require.ElementsMatch(t, []string{"language: From now on answer me in English.", "avoid: Never mention my weight."},
		current("sam"), "the reminder was the last")
	require.Equal(t, "dropped Never mind.", get[string](b, `select state || ' ' || reason from oxbow.intentions where user_id = 'sam'`))
	say("sam", "5", "In this conversation, always answer in French.")
	require.Equal(t, 2, b.count(`oxbow.instructions_of('sam', session_id => '6')`))
	require.Contains(t, current("sam"), "language: In this conversation, always answer in French.")
	say("林", "1", "以后别叫我全名。", "好的。", "每次我发发票给你的时候,先记金额,再归档,最后告诉我总数。")
	require.Equal(t, []string{"address: 以后别叫我全名。"}, current("林"))
	var steps int
	require.NoError(t, b.pool.QueryRow(t.Context(), `select cardinality(steps) from oxbow.skills_for('林', '发票')`).Scan(&steps))
	require.Equal(t, 3, steps)

	_, err := b.pool.Exec(t.Context(), `insert into oxbow.users (user_id, opted_out) values ('out', true)`)
	require.NoError(t, err)
	say("out", "1", "Always answer me in German.")
	require.Empty(t, current("out"))
}

package worker

import (
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"
)

// What people say in conversations about the reasoning, the style and the tools of answers changes the skills that these
// used, in both languages: a version that fails gives way to the one before, and one that helps becomes surer.
func TestSkillsFollowConversations(t *testing.T) {
	for language, c := range map[string]struct{ question, bad, worse, good string }{
		"en": {"Can you write the weekly report?", "That doesn't make sense, your logic jumps.",
			"You missed the point, and it is way too long.", "Thanks, that's exactly what I needed!"},
		"zh": {"帮我写周报好吗?", "你根本没听懂,逻辑前后矛盾。", "你又错了,太啰嗦了。", "太好了,就是这个!"},
	} {
		t.Run(language, func(t *testing.T) {
			b := setup(t)
			learn := func(steps ...string) uuid.UUID {
				t.Helper()
				return get[uuid.UUID](b, `select oxbow.learn_skill('ann', 'Report', $1)`, steps)
			}
			says := func(skill uuid.UUID, messages ...string) string {
				t.Helper()
				session := uuid.NewString()
				for _, message := range messages {
					b.exec(`insert into oxbow.messages (user_id, session_id, role, content) values ('ann', $1, 'user', $2)`,
						session, c.question)
					b.exec(`select oxbow.answered('ann', $1, '{}', array[$2::uuid], $3)`, c.question, skill, session)
					b.exec(`insert into oxbow.messages (user_id, session_id, role, content) values ('ann', $1, 'assistant', '…')`,
						session)
					b.exec(`insert into oxbow.messages (user_id, session_id, role, content) values ('ann', $1, 'user', $2)`,
						session, message)
					b.exec(`select oxbow.end_session('ann', $1)`, session)
					b.work()
					b.exec(`insert into oxbow.river_job (kind, queue, max_attempts, args) values ('dispatch', 'default', 1, '{}')`)
					b.work()
				}
				return get[string](b, `select format('%s %s %s', steps, successes, failures) from oxbow.skills_for('ann')`)
			}
			learn("collect", "write")
			skill := learn("write")
			require.Equal(t, "{write} 0 0", says(skill, c.bad))
			require.Equal(t, "{write} 0 2", says(skill, c.worse))
			require.Equal(t, "{collect,write} 0 4", says(skill, c.worse, c.bad))
			skill = get[uuid.UUID](b, `select id from oxbow.skills_for('ann')`)
			require.Equal(t, "{collect,write} 1 4", says(skill, c.good, c.good))
		})
	}
}

package sqlcode_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/oxbow-memory/oxbow/internal/pgtest"
)

// Everything that is kept says where it is from, why it is kept, and when it fades, in the user's language.
func TestWhy(t *testing.T) {
	t.Parallel()
	for _, language := range []string{"en", "zh-CN"} {
		t.Run(language, func(t *testing.T) {
			t.Parallel()
			tx := pgtest.Tx(t)
			user := ann(t)
			exec(t, tx, "insert into oxbow.users (user_id, language, timezone) values ($1, $2, 'Asia/Shanghai')", user, language)
			at := time.Now().Add(-time.Hour)
			fact := remember(t, tx, row{"user_id": user, "content": "Ann lives in Porto", "created_at": at})
			core := remember(t, tx, row{"user_id": user, "content": "Ann is a nurse", "tier": "core", "verified": true,
				"created_at": at})
			trait := remember(t, tx, settled(user, "behavior", "sings", 0.7, at))
			index(t, tx, user)
			why := func(id string) string {
				t.Helper()
				return strings.Join(all[string](t, tx, "select aspect || ': ' || sentence from oxbow.why($1, $2::text::uuid)",
					user, id), "\n")
			}
			next := one[string](t, tx, "select oxbow.supersede($1, $2::text::uuid, 'Ann lives in Braga')", user, fact)
			answer := one[string](t, tx, `select oxbow.answered($1, 'where?', array[$2::text::uuid], array[$2::text::uuid],
				session_id => 's1')`, user, next)
			adjustment := one[string](t, tx, "select oxbow.adjust($1, 'fact', $2, 0.5, '2 signals against it', '{}', -2, now())",
				user, next)
			instruction := one[string](t, tx, "select oxbow.instruct($1, 'Be brief', 'length')", user)
			skill := one[string](t, tx, "select oxbow.learn_skill($1, 'Knot', '{tie}')", user)
			exec(t, tx, "select oxbow.learn_skill($1, 'Knot', '{tie, pull}')", user)
			intention := one[string](t, tx, "select oxbow.intend($1, 'Swim', '2030-01-05 08:00+08')", user)
			day := at.In(time.FixedZone("", 8*3600)).Format(time.DateOnly)
			want := map[string][]string{
				fact: {"A newer memory replaced it", "更新的记忆取代"}, next: {"It rests on an earlier memory.", "它基于1条更早的记忆"},
				core:       {"tier core and does not weaken. The person confirmed it.", "核心层，不会变弱。本人确认过它。"},
				trait:      {"Its confidence is 0.70 (established)", "它的置信度是0.70（确立）"},
				adjustment: {"It followed from feedback on", "因为反馈而产生"}, instruction: {"It is used for every reply.", "它用于每个回答。"},
				skill:     {"A newer version replaced it", "更新的版本取代"},
				intention: {"It is for 2030-01-05 (open).", "它的时间是2030-01-05（还没到）"},
			}
			for id, texts := range want {
				text := texts[0]
				if language != "en" {
					text = texts[1]
				}
				require.Contains(t, why(id), text)
				require.NotContains(t, why(id), "%")
				if language != "en" {
					sentences := all[string](t, tx, "select sentence from oxbow.why($1, $2::text::uuid)", user, id)
					require.NotRegexp(t, "[A-Za-z]{2}", strings.Join(sentences, "\n"))
				}
			}
			require.Contains(t, why(core), map[string]string{"en": fmt.Sprintf("An application stored it on %s.", day),
				"zh-CN": fmt.Sprintf("应用在%s存入了它。", day)}[language])
			require.Contains(t, why(next), map[string]string{"en": "compressed to a summary after", "zh-CN": "被压缩成摘要"}[language])
			require.Contains(t, all[string](t, tx, "select sentence from oxbow.why($1, $2::text::uuid, $3)", user, instruction,
				map[string]string{"en": "zh", "zh-CN": "en"}[language]), map[string]string{"en": "它用于每个回答。",
				"zh-CN": "It is used for every reply."}[language], "in the language that is asked for")
			require.Equal(t, `["`+answer+`"]`, one[string](t, tx, `select refs::text from oxbow.why($1, $2::text::uuid)
				where aspect = 'used'`, user, next))
			require.Contains(t, why(next), map[string]string{"en": "A conversation used it.", "zh-CN": "用到它的有1次对话。"}[language])
			require.Contains(t, why(next), map[string]string{"en": "Feedback changed it on", "zh-CN": "改变了它的分量"}[language])
			require.NotContains(t, why(core), map[string]string{"en": "Feedback", "zh-CN": "反馈"}[language])
			exec(t, tx, "select oxbow.feedback($1, 'wrong', array[$2::text::uuid], query => 'where?')", user, core)
			require.Contains(t, why(core), map[string]string{"en": "Because of a complaint", "zh-CN": "因为有人不满"}[language])
			require.ErrorContains(t, fails(t, tx, "select oxbow.why($1, gen_random_uuid())", user), "has no memory")
			asApp(t, tx)
			setUser(t, tx, bob(t))
			require.ErrorContains(t, fails(t, tx, "select oxbow.why($1, $2::text::uuid)", user, core), "may not see")
		})
	}
}

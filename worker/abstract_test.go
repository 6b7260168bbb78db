package worker

import (
	"fmt"
	"log/slog"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/oxbow-memory/oxbow/internal/llm/llmtest"
)

// note stores an episode that is due for reflection together with two others. With one embed job at a time, the next
// work embeds all new memories before it reflects on any.
func (b *bundle) note(user, content, at, agent string) {
	b.Helper()
	b.cfg.Concurrency = 1
	b.exec(`insert into oxbow.memories (user_id, memory_type, content, valid_at, agent_id, importance, session_id)
		values ($1, 'episodic', $2, $3::timestamptz, nullif($4, ''), 1, 'talk ' || ($3::timestamptz)::date)`, user, content,
		at, agent)
}

// others has all that is new reflected on in the next work, which a batch that ended early could leave for later.
func (b *bundle) others(user string) {
	b.Helper()
	b.work()
	b.enqueue("reflect", user)
}

// conclusions returns the current conclusions, the surest first.
func (b *bundle) conclusions(user string) (all []string) {
	b.Helper()
	return get[[]string](b, `select coalesce(array_agg(content), '{}') from oxbow.conclusions_of($1)`, user)
}

// U §11: a conclusion is drawn when fragments are dense, with its conditions, in both languages, and recalled.
func TestAcceptanceAbstractionOfDenseFragments(t *testing.T) {
	for language, l := range map[string]struct {
		notes      []string
		query      string
		conclusion string
	}{
		"en": {[]string{"Went running along the canal", "I was running before breakfast", "A long run: I ran ten kilometres",
			"Went running again", "I went running with the dog"}, "running", "running"},
		"zh": {[]string{"早上去跑步了", "今天又去跑步", "跑步十公里", "晨跑了一圈", "跑步的时候下雨了"}, "跑步", "跑步"},
	} {
		t.Run(language, func(t *testing.T) {
			b := setup(t)
			b.exec(`insert into oxbow.users (user_id, timezone) values ('ann', 'Europe/Berlin')`)
			for i, note := range l.notes[:3] {
				b.note("ann", note, fmt.Sprintf("2026-10-%02d 06:30+02", 4+7*i), "")
			}
			b.work()
			require.Empty(t, b.conclusions("ann"), "three memories are not dense")
			b.note("ann", l.notes[3], "2026-10-25 07:30+01", "")
			b.others("ann")
			b.work()
			all := b.conclusions("ann")
			require.Len(t, all, 1)
			require.Contains(t, all[0], l.conclusion)
			require.Equal(t, "morning sunday", get[string](b, `
				select concat_ws(' ', conditions ->> 'part_of_day', conditions ->> 'weekday') from oxbow.conclusions_of('ann')`))
			require.InDelta(t, 1-0.8*0.8*0.8*0.8, get[float64](b, `select confidence from oxbow.conclusions_of('ann')`), 1e-6)
			require.Equal(t, 4, get[int](b, `select cardinality(sources) from oxbow.conclusions_of('ann')`))
			require.Equal(t, 1, b.count(`oxbow.recall('ann', $1) where content = $2`, l.query, all[0]))
			require.Equal(t, 0, b.count(`oxbow.reflection_inbox i join oxbow.memories m on m.user_id = i.user_id
				and m.id = i.memory_id where m.source = 'abstract'`), "a conclusion is not evidence")

			// more of the same: the same version, surer; other hours: a new version with the reason
			b.note("ann", l.notes[4], "2026-11-01 06:30+01", "")
			b.note("ann", l.notes[0], "2026-11-08 06:30+01", "")
			b.others("ann")
			b.work()
			require.Equal(t, []string{all[0]}, b.conclusions("ann"))
			require.Greater(t, get[float64](b, `select confidence from oxbow.conclusions_of('ann')`), 0.7)
			for i := range 6 {
				b.note("ann", l.notes[3*(i%2)], fmt.Sprintf("2026-11-%02d 20:30+01", 10+i), "")
			}
			b.work()
			require.Len(t, b.conclusions("ann"), 1)
			require.NotEqual(t, all, b.conclusions("ann"))
			require.Equal(t, "2 6 more memories say so", get[string](b, `
				select concat_ws(' ', version, reason) from oxbow.conclusions_of('ann')`))
			require.Equal(t, 2, b.count(`oxbow.conclusions_of('ann', versions => true)`))
		})
	}
}

// U §11: different sources that conflict keep their versions side by side; one source that changes its mind merges.
func TestAcceptanceConflictingSourcesKeepTheirVersions(t *testing.T) {
	for language, l := range map[string]struct{ says, denies string }{
		"en": {"The user goes running before work %d", "The user gave up running"},
		"zh": {"用户第%d次去跑步", "用户不再跑步了"},
	} {
		t.Run(language, func(t *testing.T) {
			b := setup(t)
			for i := range 5 {
				b.note("ann", fmt.Sprintf(l.says, i+1), fmt.Sprintf("2026-10-%02d 10:00Z", i+1), "coach")
			}
			b.work()
			require.Len(t, b.conclusions("ann"), 1)
			b.note("ann", l.denies, "2026-10-10 10:00Z", "diary")
			b.others("ann")
			b.work()
			all := b.conclusions("ann")
			require.Len(t, all, 2)
			require.True(t, strings.Contains(all[0], "coach") && strings.Contains(all[1], "diary"), "%v", all)
			require.Equal(t, 2, b.count(`oxbow.conclusions_of('ann') where cardinality(conflicts) = 1`))
			for _, agent := range []string{"coach", "diary"} { // both are recalled, with who says so
				require.Equal(t, 1, b.count(`oxbow.recall('ann', 'running 跑步', agent => $1) r
					join oxbow.memories m on m.user_id = 'ann' and m.id = r.id where m.source = 'abstract'`, agent), agent)
			}

			b.note("ann", l.denies+"!", "2026-10-12 10:00Z", "coach")
			b.others("ann")
			b.work()
			require.Len(t, b.conclusions("ann"), 1)
			require.True(t, get[bool](b, `select denies and voices = '{coach,diary}' from oxbow.conclusions_of('ann')`))
		})
	}
}

// A conclusion ends, is drawn again, or is erased with its sources.
func TestConclusionsFollowTheirSources(t *testing.T) {
	draw := func(b *bundle, n int) {
		for i := range n {
			b.note("ann", fmt.Sprintf("Went running in the park, round %d", i+1), fmt.Sprintf("2026-10-%02d 10:00Z", i+1), "")
		}
		b.others("ann")
		b.work()
		require.Len(b, b.conclusions("ann"), 1)
	}
	sweep := func(b *bundle) {
		b.exec(`insert into oxbow.river_job (kind, queue, max_attempts, args) values ('sweep', 'default', 25, '{}')`)
		b.work()
	}
	t.Run("forget", func(t *testing.T) {
		b := setup(t)
		draw(b, 5)
		b.exec(`select oxbow.forget('ann', (select id from oxbow.memories where content like '%round 1'))`)
		require.Empty(t, b.conclusions("ann"), "at once")
		sweep(b)
		require.Equal(t, 4, get[int](b, `select cardinality(sources) from oxbow.conclusions_of('ann')`), "drawn again without it")
		b.exec(`select oxbow.forget('ann', (select id from oxbow.memories where content like '%round 2'))`)
		sweep(b)
		require.Empty(t, b.conclusions("ann"), "three are too few")
	})
	t.Run("sensitive", func(t *testing.T) {
		b := setup(t)
		draw(b, 5)
		b.exec(`update oxbow.memories set sensitivity = 2 where content like '%round 1'`)
		require.Empty(t, b.conclusions("ann"), "at once")
		require.Equal(t, 0, b.count(`oxbow.memories where source = 'abstract' and sensitivity < 2`), "restoring does not show it")
		sweep(b)
		require.Equal(t, 4, get[int](b, `select cardinality(sources) from oxbow.conclusions_of('ann')`), "drawn again without it")
	})
	t.Run("erase", func(t *testing.T) {
		b := setup(t)
		draw(b, 5)
		b.exec(`select oxbow.erase_memory('ann', (select id from oxbow.memories where content like '%round 1'))`)
		require.Equal(t, 0, b.count(`oxbow.memories where source = 'abstract'`))
		require.Equal(t, 0, b.count(`oxbow.conclusions`))
		sweep(b)
		require.Equal(t, 4, get[int](b, `select cardinality(sources) from oxbow.conclusions_of('ann')`))
	})
	t.Run("supersede", func(t *testing.T) {
		b := setup(t)
		draw(b, 4)
		b.exec(`select oxbow.supersede('ann', (select id from oxbow.memories where content like '%round 1'), 'Slept long')`)
		sweep(b)
		require.Empty(t, b.conclusions("ann"))
		require.Equal(t, 1, b.count(`oxbow.conclusions_of('ann', versions => true)
			where reason = 'too few memories support it any more'`))
	})
	t.Run("refuse", func(t *testing.T) {
		b := setup(t)
		draw(b, 4)
		b.exec(`select oxbow.forget('ann', id) from oxbow.conclusions_of('ann')`)
		for i := range 5 {
			b.note("ann", fmt.Sprintf("Went running in the wood, round %d", i+1), fmt.Sprintf("2026-11-%02d 10:00Z", i+1), "")
		}
		sweep(b)
		require.Empty(t, b.conclusions("ann"), "the person does not want it")
		b.exec(`select oxbow.restore('ann', id) from oxbow.memories where source = 'abstract'`)
		require.Len(t, b.conclusions("ann"), 1)
	})
	t.Run("opt out", func(t *testing.T) {
		b := setup(t)
		b.exec(`insert into oxbow.users (user_id, opted_out) values ('ann', true)`)
		for i := range 5 {
			b.note("ann", fmt.Sprintf("Went running, round %d", i+1), fmt.Sprintf("2026-10-%02d 10:00Z", i+1), "")
		}
		b.work()
		require.Empty(t, b.conclusions("ann"))
		require.Equal(t, 0, b.count(`oxbow.topic_fragments`))
	})
}

// Memories that share a person and are near in meaning come to a conclusion about the person.
func TestConclusionAboutAPerson(t *testing.T) {
	for language, l := range map[string]struct{ name, note, other, about string }{
		"en": {"Anna", "Anna is looking for a flat near the harbour, visit %d", "Anna dislikes the %dth trombone", "About Anna: "},
		"zh": {"王芳", "王芳在港口附近找公寓，第%d次看房", "王芳讨厌第%d支长号", "关于王芳："},
	} {
		t.Run(language, func(t *testing.T) {
			b := setup(t)
			say := func(content string, daysAgo int) {
				b.exec(`insert into oxbow.memories (user_id, memory_type, content, valid_at, importance, metadata)
					values ('ann', 'episodic', $1, now() - $2 * interval '1 day', 1,
					  jsonb_build_object('entities', jsonb_build_array(jsonb_build_object('name', $3::text, 'kind', 'person'))))`,
					fmt.Sprintf(content, daysAgo), daysAgo, l.name)
			}
			for i := range 3 {
				say(l.note, 5-i)
			}
			say(l.other, 2)
			b.others("ann")
			b.work()
			require.Empty(t, b.conclusions("ann"), "4 fragments, of which 3 are near")
			say(l.note, 1)
			b.others("ann")
			b.work()
			all := b.conclusions("ann")
			require.Len(t, all, 1)
			require.True(t, strings.HasPrefix(all[0], l.about), all[0])
			require.Equal(t, 4, get[int](b, `select cardinality(sources) from oxbow.conclusions_of('ann')`),
				"without what is not near")
		})
	}
}

// The log has the reason why a model's proposal was refused, but not the text.
func TestRefusedProposalsOfAModelAreLogged(t *testing.T) {
	b := setup(t)
	server := llmtest.New(t)
	b.cfg.Reasoner = ReasonerConfig{Provider: "openai", Model: "m", URL: server.URL(), APIKey: "k"}
	var log lockedBuffer
	b.cfg.Logger = slog.New(slog.NewTextHandler(&log, &slog.HandlerOptions{Level: slog.LevelDebug}))
	server.Answer(func(r llmtest.Request) llmtest.Reply {
		switch r.Purpose {
		case "abstract":
			return llmtest.Say(`{"conclusion": "Likes running in the zoo", "sources": ["m1"]}`)
		case "merge":
			return llmtest.Say(llmtest.Merges{{Memories: []string{"m1", "m2"}, Content: "Went running in the zoo"}}.JSON())
		}
		return llmtest.Nothing(r)
	})
	for i := range 4 {
		b.note("ann", fmt.Sprintf("Went running along the canal, lap %d", i), fmt.Sprintf("2026-10-%02d 10:00Z", i+1), "")
	}
	b.others("ann")
	b.work()
	for purpose, reason := range map[string]string{"abstract": "it rests on too few memories", "merge": "it has too few memories"} {
		require.Positive(t, b.count(`oxbow.llm_calls where purpose = $1 and error is null`, purpose), purpose)
		require.Contains(t, log.String(), fmt.Sprintf("purpose=%s reason=%q", purpose, reason))
	}
	require.NotContains(t, log.String(), "zoo")
	require.NotContains(t, log.String(), "canal")
	require.Empty(t, b.conclusions("ann"))
	require.Equal(t, 4, b.count(`oxbow.memories where expired_at is null`))
}

package worker

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// live stores the notes of the last n days, one after the other, and reflects after every cycle days. Only one embed
// job runs at a time, so it embeds all new notes together, and each reflection sees all of them.
func (b *bundle) live(n, cycle int, at string, notes ...string) {
	b.Helper()
	b.cfg.Concurrency = 1
	for day := range n {
		for _, note := range notes {
			b.exec(`insert into oxbow.memories (user_id, memory_type, content, valid_at, session_id, importance)
				select 'ann', 'episodic', $1, d.at, 'talk ' || d.at, 1
				  from (select ($2 || ' ' || $3)::timestamptz) d(at)`, note,
				time.Now().AddDate(0, 0, day-n-1).Format(time.DateOnly), at)
		}
		if day%cycle == cycle-1 {
			b.work()
		}
	}
}

// traits returns the visible traits of a subtype.
func (b *bundle) traits(subtype string) (all []string) {
	b.Helper()
	return get[[]string](b, `select coalesce(array_agg(content order by content), '{}') from oxbow.traits where user_id = 'ann'
		and subtype = $1 and stage in ('emerging', 'established', 'core')`, subtype)
}

// C §3.2, §3.3: 看数据 / 画架构图 / 拒绝未经测试的上线 → 数据驱动 → 高尽责性, with evidence at each step.
func TestChainFromDataToConscientiousness(t *testing.T) {
	for language, l := range map[string]struct {
		notes                []string
		behavior, preference string
		core                 string
	}{
		"zh": {[]string{"讨论方案时又要求看数据", "写代码前先画架构图", "拒绝了未经测试就上线的请求"}, "遇事先看数据", "偏好数据驱动的决策方式",
			"高尽责性：严谨、有条理、可靠"},
		"en": {[]string{"In the meeting I asked for the numbers again", "Drew an architecture diagram before writing the code",
			"Refused a release without tests"}, "Looks at the data first", "Prefers decisions driven by data",
			"High conscientiousness: rigorous, orderly, reliable"},
	} {
		t.Run(language, func(t *testing.T) {
			b := setup(t)
			b.live(1, 1, "10:00Z", l.notes...)
			require.Empty(t, b.traits("behavior"), "one conversation shows nothing")
			b.live(40, 4, "11:00Z", l.notes...)
			require.Contains(t, b.traits("behavior"), l.behavior)
			require.Contains(t, b.traits("preference"), l.preference)
			require.Contains(t, b.traits("core"), l.core)
			require.Equal(t, "work", get[string](b, `select context from oxbow.traits where content = $1`, l.behavior))
			require.Positive(t, get[int](b, `select supporting from oxbow.traits where content = $1`, l.core))
			require.Equal(t, 2, b.count(`oxbow.memories_trait m join oxbow.memories_trait p on p.user_id = m.user_id
				and p.id = m.trait_parent_id where p.content = $1`, l.core))
		})
	}
}

// C §3.2: 工作严谨 and 生活随性 are one contextual trait, without waiting for a contradiction.
func TestRigorousAtWorkEasyGoingInLife(t *testing.T) {
	for language, l := range map[string]struct{ work, life, content, rigour, ease string }{
		"zh": {"我工作上很严谨，同事都知道", "生活里我这人比较随性", "工作中严谨细致，生活中随性自在", "严谨细致", "随性自在"},
		"en": {"At work I'm a very rigorous person", "At home I am rather spontaneous",
			"At work: is rigorous; in private life: is easy-going about things", "Is rigorous", "Is easy-going about things"},
	} {
		t.Run(language, func(t *testing.T) {
			b := setup(t)
			b.live(12, 3, "10:00Z", l.work, l.life)
			require.Equal(t, []string{l.ease, l.rigour}, sortedPair(b.traits("behavior"), l.ease))
			require.Equal(t, []string{l.content}, b.traits("preference"))
			require.Equal(t, "contextual "+l.rigour+" "+l.ease, get[string](b, `
				select concat_ws(' ', context, contexts #>> '{work,tendency}', contexts #>> '{personal,tendency}')
				  from oxbow.traits where content = $1`, l.content))
			require.Positive(t, b.count(`oxbow.trait_evidence e where e.quality = 'B'`), "said outright")
		})
	}
}

func sortedPair(pair []string, first string) []string {
	if len(pair) == 2 && pair[0] != first {
		pair[0], pair[1] = pair[1], pair[0]
	}
	return pair
}

// C §3.3: three conversations late at night make the behavior 深夜活跃.
func TestThreeLateNights(t *testing.T) {
	for note, want := range map[string]string{"今天也聊到很晚": "习惯深夜活跃", "Talked about the boat again": "Tends to be active late at night"} {
		t.Run(want, func(t *testing.T) {
			b := setup(t)
			b.exec(`insert into oxbow.users (user_id, timezone) values ('ann', 'Asia/Shanghai')`)
			b.live(2, 1, "01:30+08", note, note, note)
			require.NotContains(t, b.traits("behavior"), want, "two nights are too few")

			b.exec(`select oxbow.erase_user('ann')`)
			b.exec(`insert into oxbow.users (user_id, timezone) values ('ann', 'Asia/Shanghai')`)
			b.live(3, 3, "01:40+08", note)
			require.Contains(t, b.traits("behavior"), want)
		})
	}
}

// Self-descriptions of two tendencies lead to a dimension, many pastimes or not. More than one core trait is possible.
func TestCoreTraitsBesidesPastimes(t *testing.T) {
	b := setup(t)
	b.cfg.Concurrency = 1 // as in live
	said := []string{"I'm a very organized person", "I am disciplined", "I'm rigorous", "I'm reliable", "I'm a perfectionist",
		"I am tidy, and I tidied my desk", "I'm curious", "Looked up how magnets work", "I am creative", "Came up with another idea"}
	hobbies := []string{"Went running", "Went swimming in the lake", "Painted a watercolour", "Played the piano", "Went hiking",
		"Read a novel", "Did some yoga", "Knitted a scarf", "Baked bread", "Went climbing"}
	for day := range 100 {
		b.exec(`insert into oxbow.memories (user_id, memory_type, content, valid_at, session_id, importance)
			select 'ann', 'episodic', n, now() + ($2 - 101) * interval '1 day', 'talk ' || $2, 1
			  from unnest($1::text[]) n`, []string{said[day%len(said)], hobbies[day%len(hobbies)]}, day)
		if day%10 == 9 {
			b.work()
		}
	}
	require.GreaterOrEqual(t, len(b.traits("core")), 2, "%v of %v", b.traits("core"), b.traits("preference"))
	require.Greater(t, len(b.traits("preference")), 3)
}

// Nothing that is sensitive becomes a trait, however often it is said, and tradition is not religion.
func TestDimensionsAreNotSensitive(t *testing.T) {
	b := setup(t)
	b.live(12, 4, "10:00Z", "每周日都去教堂做礼拜，守老规矩", "I'm a devout Christian and traditional", "Took my pills and felt depressed again",
		"Prayed at the mosque as my grandmother did")
	for _, subtype := range []string{"behavior", "preference", "core"} {
		for _, content := range b.traits(subtype) {
			require.NotRegexp(t, "(?i)christ|church|mosque|pray|depress|教|拜", content)
		}
	}
	require.Equal(t, 0, b.count(`oxbow.conclusions`), fmt.Sprint(b.conclusions("ann")))
}

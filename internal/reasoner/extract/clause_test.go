package extract

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// Statements that can change independently become separate, in their language; after each, the attributes that it is
// about.
func TestClauses(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ text, want string }{
		{"I live in Berlin and work as a nurse at Charité.",
			"I live in Berlin. home | I work as a nurse. job | I work at Charité. employer"},
		{"I'm living in Kyoto and working as a teacher", "I'm living in Kyoto. home | I'm working as a teacher job"},
		{"My name is Ana, I'm 34 and I live in Porto", "My name is Ana. name | I'm 34. age | I live in Porto home"},
		{"I started working at Siemens as an engineer last month",
			"I started working at Siemens last month. employer | I work as an engineer. job"},
		{"I have two kids and live in Porto", "I have two kids. | I live in Porto home"},
		{"I speak French and play the cello", "I speak French. taste:french | I play the cello taste:cello"},
		{"I love coffee and run every morning", "I love coffee. taste:coff | I run every morning"},
		{"I work at Google and my wife works at Apple", "I work at Google. employer | My wife works at Apple"},
		{"My sister lives in Oslo and works as a nurse", "My sister lives in Oslo and works as a nurse"},
		{"I left Berlin and moved to Rome", "I left Berlin and moved to Rome home"},
		{"我住在北京，是一名护士", "我住在北京。 home | 我是一名护士 job"},
		{"我叫小明，我住在北京，在一家银行上班。", "我叫小明。 name | 我住在北京。 home | 我在一家银行上班。 employer"},
		{"我喜欢喝咖啡，每天早上都跑步。", "我喜欢喝咖啡。 taste:咖啡 | 我每天早上都跑步。"},
		{"我去年搬到了深圳，在华为当工程师", "我去年搬到了深圳。 home | 我在华为工作。 employer | 我是工程师 job"},
		{"我换工作了，现在在腾讯上班", "我换工作了，现在在腾讯上班 employer"},
		{"我姐姐住在上海，在腾讯上班", "我姐姐住在上海，在腾讯上班"},
		{"我离婚了，一个人住在广州", "我离婚了。 status | 我一个人住在广州 home"},
	} {
		var got []string
		for _, one := range extracted(t, talking("user: "+c.text)).Candidates {
			got = append(got, strings.TrimSpace(one.Content+" "+strings.Join(one.About, " ")))
			require.Equal(t, "fact", one.Type, one.Content)
		}
		require.ElementsMatch(t, strings.Split(c.want, " | "), got)
	}
}

// Wishes, plans, assumptions, the past, and the actions of others state no attribute of the speaker.
func TestNobodysAttributes(t *testing.T) {
	t.Parallel()
	for _, text := range []string{
		"I used to live in Rome", "I'd like to live in Rome", "If I moved to Rome I would be happy",
		"I wish I lived in Rome", "I'm thinking about moving to Rome", "I'm moving to Madrid next month",
		"I want to quit my job", "Before I moved to Oslo I lived in Rome", "My sister Anna lives in Oslo.",
		"I will start a new job at Bosch on Monday", "I moved my meeting to Friday", "I work from home",
		"I joined a gym last week", "I'm working on a new project at work", "I'm a runner", "I've lived in many cities",
		"I didn't get the job at Siemens", "I heard my brother left and moved to Rome",
		"I lost my job interview notes", "I retired from football", "I live on pizza",
		"I got my first job as a waiter when I was 16", "I'm a last minute reader",
		"我以前住在西安", "我想搬到罗马", "如果我搬到上海，就去找你", "我打算明年搬到成都", "我可能会搬到上海", "我姐姐住在上海", "我哥哥换工作了，现在在腾讯上班", "我想辞职", "我在家工作",
		"我去公司上班了", "我在上海出差", "我是一个跑步爱好者", "我小时候住在西安", "我加入了跑步群", "我换到靠窗的座位了", "我去北京工作过",
	} {
		for _, one := range extracted(t, talking("user: "+text)).Candidates {
			for _, about := range one.About {
				require.True(t, strings.HasPrefix(about, "taste:"), "%s: %s", text, about)
			}
		}
	}
}

// A short answer states the attribute in the question.
func TestAnswersAreAbout(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ asked, said, want string }{
		{"Where do you live?", "Porto", "home porto"},
		{"And where do you work?", "At Siemens.", "employer siemens"},
		{"What do you do for a living?", "I'm a nurse", "job nurse"},
		{"你住在哪里？", "在杭州", "home 杭州"},
		{"你叫什么名字？", "小雨", "name 小雨"},
	} {
		a, ok := answers(c.asked, c.said)
		require.True(t, ok, c.said)
		require.Equal(t, c.want, a.key+" "+a.value)
	}
	x := extracted(t, talking("assistant: Where do you live?", "user: Porto"))
	require.Equal(t, []string{"home"}, x.Candidates[0].About)
}

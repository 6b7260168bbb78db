package worker

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/oxbow-memory/oxbow/internal/reasoner/extract"
)

// lives are statements of people about themselves that change over time.
var lives = []struct {
	said []string
	want string // the final facts
	was  string // a fact that the last statement ended
}{
	{[]string{"I'm Ann. I live in Berlin and work as a nurse at Charité.", "My sister Anna lives in Oslo.",
		"I moved to Oslo last week.", "I started a new job at Siemens", "I live in Oslo now with Anna",
		"I moved to Madrid yesterday"},
		"I moved to Madrid yesterday | I started a new job at Siemens | I work as a nurse. | I'm Ann. | My sister Anna lives in Oslo.", "I moved to Oslo last week."},
	{[]string{"I live in Berlin.", "I used to live in Rome.", "I'd like to live in Lima.",
		"If I moved to Graz I would ski all day."}, "I live in Berlin. | I used to live in Rome.", ""},
	{[]string{"I work as a baker at Brotzeit.", "I got promoted to head baker"},
		"I got promoted to head baker | I work at Brotzeit.", "I work as a baker."},
	{[]string{"I'm a teacher and I work for the city school.", "I quit my job"}, "I quit my job", "I'm a teacher."},
	{[]string{"I work at Siemens.", "I was laid off last month.", "I joined Bosch as an engineer."},
		"I joined Bosch. | I work as an engineer.", "I was laid off last month."},
	{[]string{"I work at Siemens as a designer.", "I switched jobs and now work for Bosch."},
		"I now work for Bosch. | I work as a designer.", "I work at Siemens."},
	{[]string{"I'm single.", "We got married last month!", "I'm pregnant."},
		"I'm pregnant. | We got married last month!", ""},
	{[]string{"I'm married.", "I got divorced."}, "I got divorced.", "I'm married."},
	{[]string{"My name is Ana.", "I'm 34 years old.", "I turned 35.", "Call me Annie."},
		"Call me Annie. | I turned 35.", "My name is Ana."},
	{[]string{"I love coffee and run every morning.", "I love tea.", "I don't drink coffee any more."},
		"I don't drink coffee any more. | I love tea. | I run every morning.", "I love coffee."},
	{[]string{"My favourite colour is blue.", "My favourite tea is oolong.", "My favourite colour is green now."},
		"My favourite colour is green now. | My favourite tea is oolong.", "My favourite colour is blue."},
	{[]string{"I speak French.", "I speak Dutch.", "I have a son called Tom.", "I love climbing.", "I love sailing."},
		"I have a son called Tom. | I love climbing. | I love sailing. | I speak Dutch. | I speak French.", ""},
	{[]string{"I live in Bonn.", "I live in Bonn.", "We moved from Bonn to Graz with the kids.",
		"I no longer live in Bonn.", "I left Graz and moved to Bonn again."}, "I left Graz and moved to Bonn again.",
		"We moved from Bonn to Graz with the kids."},
	{[]string{"I live in Bonn.", "I've lived in Graz since 2010."}, "I've lived in Graz since 2010.",
		"I live in Bonn."},
	{[]string{"I'm vegetarian.", "I'm vegan now."}, "I'm vegan now.", "I'm vegetarian."},
	{[]string{"I'm a nurse.", "My brother works as a pilot.", "I'm a runner.", "I retired in May."},
		"I retired in May. | I'm a runner. | My brother works as a pilot.", "I'm a nurse."},

	{[]string{"我叫小明，我住在北京，在一家银行上班。", "我姐姐住在上海。", "我上周搬到上海了。", "我换工作了，现在在腾讯上班", "我住在深圳"},
		"我住在深圳 | 我叫小明。 | 我姐姐住在上海。 | 我换工作了，现在在腾讯上班", "我上周搬到上海了。"},
	{[]string{"我喜欢喝咖啡，每天早上都跑步。", "我喜欢喝茶。", "我现在不喝咖啡了"}, "我喜欢喝茶。 | 我每天早上都跑步。 | 我现在不喝咖啡了", "我喜欢喝咖啡。"},
	{[]string{"我住在北京，是一名护士", "我以前住在西安", "我想搬到罗马", "如果我搬到上海，就去找你"}, "我以前住在西安 | 我住在北京。 | 我是一名护士", ""},
	{[]string{"我在腾讯当程序员", "我升职当经理了"}, "我升职当经理了 | 我在腾讯工作。", "我是程序员"},
	{[]string{"我在华为上班，是工程师。", "我辞职了"}, "我辞职了", "我是工程师。"},
	{[]string{"我在华为上班。", "我上个月被裁了", "我跳槽到字节跳动了"}, "我跳槽到字节跳动了", "我上个月被裁了"},
	{[]string{"我单身。", "我结婚了。"}, "我结婚了。", "我单身。"},
	{[]string{"我结婚了。", "我离婚了，一个人住在广州"}, "我一个人住在广州 | 我离婚了。", "我结婚了。"},
	{[]string{"我今年30岁，是医生", "我的手机号是13800001111", "我的手机号换成了13900002222", "我今年31岁了"},
		"我今年31岁了 | 我是医生 | 我的手机号换成了13900002222", "我今年30岁。"},
	{[]string{"我最喜欢的颜色是蓝色", "我最喜欢的颜色是绿色"}, "我最喜欢的颜色是绿色", "我最喜欢的颜色是蓝色"},
	{[]string{"我会说法语，也会弹吉他", "我会说日语", "我有两个孩子，住在苏州"}, "我会说日语 | 我会说法语。 | 我也会弹吉他 | 我住在苏州 | 我有两个孩子。", ""},
	{[]string{"我住在杭州西湖区", "我住在杭州", "我和女朋友一起搬到了深圳", "我不住在杭州了", "我从深圳搬回了杭州"}, "我从深圳搬回了杭州", "我和女朋友一起搬到了深圳"},
	{[]string{"我是护士。", "我转行做了厨师", "我哥哥是医生"}, "我哥哥是医生 | 我转行做了厨师", ""},
	{[]string{"我吃素。", "我叫小雨。", "大家都叫我晓宇", "我退休了"}, "大家都叫我晓宇 | 我吃素。 | 我退休了", ""},
}

// An attribute with one value at a time has one current fact in the end, whatever the wording, and recall as
// of the past finds the fact that it ended. Facts about other people, and attributes with several values,
// stay. The result is the same if everything is said at once, or in separate sessions among much else.
func TestLivesChange(t *testing.T) {
	for _, how := range []string{"at once", "among others"} {
		t.Run(how, func(t *testing.T) {
			b := setup(t)
			b.script(time.Now().Add(time.Hour))
			b.cfg.Now = nil
			b.cfg.testExtractor = extract.New()
			longest := 0
			for i, l := range lives {
				user := fmt.Sprintf("u%d", i)
				longest = max(longest, len(l.said))
				switch how {
				case "at once":
					b.say(user, "s", l.said...)
				case "among others": // these resemble the statement more than the fact that it ends does
					last := strings.NewReplacer("I'm", "Tom is", "I ", "Tom ", "We ", "They ", "My ", "Tom's ",
						"Call me", "Call him", "我", "老王").Replace(l.said[len(l.said)-1])
					b.exec(`insert into oxbow.memories (user_id, memory_type, content)
						select $1, 'fact', format('%s (%s)', $2::text, k) from generate_series(1, 30) k`, user, last)
				}
			}
			b.work()
			before := map[int]time.Time{}
			for k := 0; k < longest && how != "at once"; k++ {
				for i, l := range lives {
					if k < len(l.said) {
						before[i] = get[time.Time](b, `select now()`)
						b.say(fmt.Sprintf("u%d", i), fmt.Sprintf("s%d", k), l.said[k])
					}
				}
				b.work()
			}
			require.Zero(t, b.count(`oxbow.messages where extracted_at is null`))
			for i, l := range lives {
				user := fmt.Sprintf("u%d", i)
				current := strings.Split(get[string](b, `select coalesce(string_agg(f.content, '|'), '')
					from oxbow.facts_as_of($1) f join oxbow.memories m on m.user_id = $1 and m.id = f.id
					where m.source = 'extraction'`, user), "|")
				want := strings.Split(l.want, " | ")
				slices.Sort(current)
				slices.Sort(want)
				require.Equal(t, want, current, "%q", l.said)
				require.Zero(t, b.count(`(select k from oxbow.facts_as_of($1) f
					join oxbow.memories_fact m on m.user_id = $1 and m.id = f.id,
					jsonb_array_elements_text(m.metadata -> 'about') k where k not like 'taste:%' group by k
					having count(*) > 1) twice`, user), "%q", l.said)
				if l.was != "" && how == "among others" {
					require.Equal(t, 1, b.count(`oxbow.facts_as_of($1, $2, $2) where content = $3`, user, before[i],
						l.was), "%q", l.said)
					require.Zero(t, b.count(`oxbow.facts_as_of($1) where content = $2`, user, l.was))
				}
			}
		})
	}
}

package sqlcode_test

import (
	"fmt"
	"os"
	"slices"
	"strings"

	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/oxbow-memory/oxbow/internal/pgtest"
)

// november returns the terms of the days from the first to the last of November 2026, and of the month.
func november(from, to int) []string {
	var terms []string
	for day := from; day <= to; day++ {
		terms = append(terms, fmt.Sprintf("@2026-11-%02d", day))
	}
	return append(terms, "@2026-11")
}

func TestQueryTimes(t *testing.T) {
	t.Parallel()
	tx := pgtest.Tx(t)
	for query, want := range map[string][]string{ // asked on Friday, 27 November 2026
		// days
		"Where did I eat yesterday?": november(26, 26),
		"the day before yesterday":   november(25, 25),
		"LAST NIGHT":                 november(26, 26),
		"this morning":               november(27, 27),
		"what is on tomorrow?":       november(28, 28),
		"我昨晚吃了什么？":                   november(26, 26),
		"前天":                         november(25, 25),
		"大前天":                        november(24, 24),
		"后天":                         november(29, 29),
		"2 days ago":                 november(25, 25),
		"２ days ago":                 november(25, 25),
		"三天前我在哪里？":                   november(24, 24),
		"十二天前":                       november(14, 16),
		"a few days ago":             november(22, 26),
		"0 days ago":                 november(27, 27),
		"Who will come in 3 days?":   november(30, 30),
		"两天后我有什么安排？":                 november(29, 29),
		"再过一天去哪里？":                   november(28, 28),
		"Is it in 4 hours?":          {"@2026-11-27", "@2026-11-28", "@2026-11"},
		"5 minutes ago, 4 hours ago": {"@2026-11-27", "@2026-11", "@2026-11-26"},
		"Who called on Monday?":      {"@2026-11-23", "@2026-11", "@2026-11-30"},
		"last Friday":                november(20, 20),
		"this Friday":                november(27, 27),
		"this past Thursday":         november(26, 26),
		"next Tuesday":               {"@2026-12-01", "@2026-12"},
		"last week on Tuesday":       november(17, 17),
		"Tuesday last week":          november(17, 17),
		"上周五":                        november(20, 20),
		"上上个星期天":                     november(15, 15),
		"周三":                         {"@2026-11-25", "@2026-11", "@2026-12-02", "@2026-12"},
		"上个月3号":                      {"@2026-10-03", "@2026-10"},
		// weeks, weekends, months, quarters
		"last week":                  november(16, 22),
		"the week before last":       november(9, 15),
		"上上周":                        november(9, 15),
		"two weeks ago":              november(10, 16),
		"in the last 2 weeks":        november(13, 27),
		"the past week":              november(20, 27),
		"最近几天":                       november(24, 27),
		"过去两个星期里":                    november(13, 27),
		"last weekend":               november(21, 22),
		"上周末":                        november(21, 22),
		"last month":                 {"@2026-10"},
		"上上个月":                       {"@2026-09"},
		"last quarter":               {"@2026-07", "@2026-08", "@2026-09"},
		"2025年第一季度":                  {"@2025-01", "@2025-02", "@2025-03"},
		"the second quarter of 2025": {"@2025-04", "@2025-05", "@2025-06"},
		"half a year ago":            {"@2026-04", "@2026-05", "@2026-06"},
		"半年前":                        {"@2026-04", "@2026-05", "@2026-06"},
		"last October":               {"@2026-10"},
		"last December":              {"@2025-12"},
		// years and seasons
		"two years ago":               {"@2024"},
		"三年前":                         {"@2023"},
		"two years from now":          {"@2028"},
		"Where will I be in 5 years?": {"@2031"},
		"三年后我住在哪里？":                   {"@2029"},
		"in the last five years":      {"@2021", "@2022", "@2023", "@2024", "@2025", "@2026"},
		"last spring":                 {"@2026-03", "@2026-04", "@2026-05"},
		"去年春天":                        {"@2025-03", "@2025-04", "@2025-05"},
		"last winter":                 {"@2025-12", "@2026-01", "@2026-02"},
		"this winter":                 {"@2026-12", "@2027-01", "@2027-02"},
		"next spring":                 {"@2027-03", "@2027-04", "@2027-05"},
		"in the summer of 2024":       {"@2024-06", "@2024-07", "@2024-08"},
		"summer 2024":                 {"@2024-06", "@2024-07", "@2024-08"},
		"the summer last year":        {"@2025-06", "@2025-07", "@2025-08"},
		"in the fall":                 {"@09", "@10", "@11"},
		"冬天":                          {"@12", "@01", "@02"},
		"今年上半年":                       {"@2026-01", "@2026-02", "@2026-03", "@2026-04", "@2026-05", "@2026-06"},
		// holidays
		"last Christmas":    {"@2025-12-24", "@2025-12-25", "@2025-12-26", "@2025-12"},
		"Thanksgiving 2025": {"@2025-11-27", "@2025-11"},
		"去年中秋节":             {"@2025-10-05", "@2025-10-06", "@2025-10-07", "@2025-10"},
		"Easter 1850":       {},
		// none
		"": {}, "   ": {}, "the other day": {}, "spring rolls and 春卷": {}, "may I have a second hand desk?": {},
		"her last name": {}, "last but not least": {}, "many years ago": {}, "每周三次": {}, "一周三次": {},
		"the last two days of the trip": {}, "the last week of June": {}, "on Fridays": {}, "this book": {},
		"How far did I run in two weeks?": {}, "the best in years": {}, "手术三天后": {}, "他两天后": {}, "是在几天后？": {},
		"超过三周的": {}, "走了三天，后来": {}, "以前天天去": {}, "目前年薪": {}, "月前": {}, "第3天前台": {}, "ten years back in time": {}, "Q9 2025": {},
		// out of range
		"in 99999999 years": {}, "Is it in 9999 years?": {}, "9999 weeks from now": {"@2218-07-14", "@2218-07-15", "@2218-07-16", "@2218-07-17", "@2218-07-18", "@2218-07-19",
			"@2218-07-20", "@2218-07"}, "99999999 years ago": {}, "9999 years ago": {}, "3000 years ago": {},
		"9999 months ago": {"@1193"}, "9999999999999999999天前": {}, "九百天前": {}, "大约十 days ago": {}, "x十 weeks ago": {},
		strings.Repeat("圣诞节", 600): {}, "spring of 0000": {}, "上个月32号": {"@2026-10"},
		"上个月0号": {"@2026-10"},
	} {
		got := one[[]string](t, tx, "select terms from oxbow.query_times($1, '2026-11-27')", query)
		assert.Equal(t, want, got, query)
		if len(want) > 0 {
			require.True(t, one[bool](t, tx, "select oxbow.names_time($1)", query), query)
		}
	}
}

// A time that a question repeats counts once, and at most 40 different ones are read.
func TestManyTimes(t *testing.T) {
	t.Parallel()
	tx := pgtest.Tx(t)
	terms := func(query string) []string {
		return one[[]string](t, tx, "select terms from oxbow.query_times($1, '2026-11-27')", query)
	}
	for _, query := range []string{"last week ", "3个月前 ", "on Monday ", "over Christmas "} {
		require.Equal(t, terms(query), terms(strings.Repeat(query, 100)), query)
	}
	var days strings.Builder
	for n := 1; n <= 200; n++ {
		fmt.Fprintf(&days, "%d days ago ", n)
	}
	require.Len(t, terms(days.String()), 40)
}

// Recall reads relative times from its argument now, in the user's time zone.
func TestRecallOfRelativeTimes(t *testing.T) {
	t.Parallel()
	tx := pgtest.Tx(t)
	exec(t, tx, "insert into oxbow.users (user_id, timezone) values ($1, 'Asia/Shanghai')", ann(t))
	for day := 1; day <= 28; day++ {
		remember(t, tx, row{"user_id": ann(t), "content": fmt.Sprintf("Ran %d km", day),
			"valid_at": fmt.Sprintf("2026-02-%02d 12:00+08", day)})
	}
	index(t, tx, ann(t))
	for question, want := range map[string]string{"How far did I run yesterday?": "Ran 10 km",
		"How far did I run last Friday?": "Ran 6 km", "How far did I run on February 3?": "Ran 3 km"} {
		require.Equal(t, want, one[string](t, tx, `select content from oxbow.recall($1, $2, max_results => 1,
			now => '2026-02-10 20:00Z')`, ann(t), question), question) // the 11th in Shanghai
	}
	for _, now := range []string{"4713-01-01 BC", "0001-01-01", "0002-01-01", "0010-01-01", "9998-12-31 23:00Z", "294276-12-31"} {
		for _, question := range []string{"km last year", "km 3 weeks ago", "km next quarter", "km last Easter", "km 去年春天",
			"km last winter", "km 大约十 days ago"} {
			require.NotEmpty(t, all[string](t, tx, `select content from oxbow.recall($1, $2, now => $3::text::timestamptz)`,
				ann(t), question, now), "%s, %s", question, now)
		}
	}
}

// Recall finds a plan if the question says how long from now it is.
func TestRecallOfPlans(t *testing.T) {
	t.Parallel()
	tx := pgtest.Tx(t)
	now := time.Date(2026, 3, 18, 12, 0, 0, 0, time.UTC)
	for _, days := range []int{-19, 1, 3, 5, 8, 10, 14, 30, 50, 91, 176} {
		remember(t, tx, row{"user_id": ann(t), "memory_type": "episodic", "content": fmt.Sprintf("Appointment 预约 in%d", days),
			"valid_at": now.AddDate(0, 0, days)})
	}
	index(t, tx, ann(t))
	for question, days := range map[string]int{
		"Which appointment will I have in 3 days?":    3,
		"Whose appointment will it be in five days?":  5,
		"Which appointment do I have in two weeks?":   14,
		"Whose appointment is it in 2 weeks' time?":   14,
		"Whose appointment is in a month?":            30,
		"Which appointment is three months from now?": 91,
		"三天后我有什么预约？":                                  3,
		"5天后我有什么预约？":                                  5,
		"我两周后有什么预约？":                                  14,
		"两个星期之后我有什么预约？":                               14,
		"一个月后我有什么预约？":                                 30,
		"再过三个月我有什么预约？":                                91,
	} {
		assert.Equal(t, fmt.Sprintf("Appointment 预约 in%d", days),
			one[string](t, tx, "select content from oxbow.recall($1, $2, max_results => 1, now => $3)", ann(t), question, now), question)
	}
}

func TestQueryEvents(t *testing.T) {
	t.Parallel()
	tx := pgtest.Tx(t)
	for query, want := range map[string][2]string{
		"Where did I live before I moved to Lisbon?":    {"before", "I moved to Lisbon"},
		"After the surgery, which sport did I take up?": {"after", "the surgery"},
		"What have I run since I joined the brigade?":   {"after", "I joined the brigade"},
		"Which dog did I adopt when I lived in Austin?": {"during", "I lived in Austin"},
		"搬家之前我卖掉了什么？":                                   {"before", "搬家"},
		"手术以后，我开始做什么？":                                  {"after", "手术"},
		"在成都工作的时候我学会了什么？":                               {"during", "成都工作"},
		"升职后，我买了什么？":                                    {"", ""},
		"What is my current phone?":                     {"newest", ""},
		"Do I still smoke?":                             {"newest", ""},
		"我现在住在哪里？":                                      {"newest", ""},
		"What did I use to drink?":                      {"former", ""},
		"Who did I previously work for?":                {"former", ""},
		"我曾经怎么上班？":                                      {"former", ""},
		"When did I move?":                              {"", ""},
		"到目前为止我去了几次？":                                   {"", ""},
		"How do I know Ann?":                            {"", ""},
		"":                                              {"", ""},
		"before":                                        {"", ""},
		"之前":                                            {"", ""},
	} {
		got := one[[]string](t, tx,
			"select array[coalesce(side, ''), coalesce(clause, '')] from oxbow.query_event($1)", query)
		assert.Equal(t, want[:], got, query)
		if want[0] != "" {
			assert.True(t, one[bool](t, tx, "select oxbow.names_event($1)", query), query)
		}
	}
}

// A question about the past finds what has ended, but not what was never true, has expired or is forgotten or of another
// agent; any other question finds only what holds.
func TestRecallOfFormerVersions(t *testing.T) {
	t.Parallel()
	tx := pgtest.Tx(t)
	old := remember(t, tx, row{"user_id": ann(t), "memory_type": "fact", "content": "Ann lives in Ghent", "valid_at": "2020-01-01"})
	exec(t, tx, "select oxbow.supersede($1, $2, 'Ann lives in Lisbon', '2024-05-11')", ann(t), old)
	wrong := remember(t, tx, row{"user_id": ann(t), "memory_type": "fact", "content": "Ann lives in Paris", "valid_at": "2020-01-01"})
	exec(t, tx, "select oxbow.supersede($1, $2, 'Ann lives alone', '2020-01-01')", ann(t), wrong)
	gone := remember(t, tx, row{"user_id": ann(t), "memory_type": "fact", "content": "Ann lives in Oslo",
		"valid_at": "2020-01-01", "invalid_at": "2021-01-01"})
	exec(t, tx, "select oxbow.forget($1, $2)", ann(t), gone)
	remember(t, tx, row{"user_id": ann(t), "memory_type": "fact", "content": "Ann lives in Riga", "agent_id": "other",
		"valid_at": "2010-01-01", "invalid_at": "2011-01-01"})
	remember(t, tx, row{"user_id": ann(t), "memory_type": "episodic", "content": "Moved to Lisbon with two suitcases", "valid_at": "2024-05-11"})
	remember(t, tx, row{"user_id": ann(t), "memory_type": "fact", "content": "Ann lives in Turin until her visa ends",
		"valid_at": "2020-01-01", "created_at": ago(2 * time.Hour), "expires_at": ago(time.Hour)})
	index(t, tx, ann(t))
	for question, want := range map[string][]string{
		"Where did Ann use to live?":                   {"Ann lives in Ghent", "Ann lives in Riga", "Ann lives in Lisbon", "Ann lives alone"},
		"Where did Ann live before I moved to Lisbon?": {"Ann lives in Ghent", "Ann lives in Riga", "Ann lives in Lisbon", "Ann lives alone"},
		"Where does Ann live now?":                     {"Ann lives in Lisbon", "Ann lives alone"},
		"Where does Ann live?":                         {"Ann lives in Lisbon", "Ann lives alone"},
	} {
		got := all[string](t, tx, "select content from oxbow.recall($1, $2, types => '{fact}')", ann(t), question)
		assert.ElementsMatch(t, want, got, question)
		if len(want) > 2 {
			assert.Less(t, slices.Index(got, "Ann lives in Ghent"), slices.Index(got, "Ann lives alone"), question)
			assert.Contains(t, one[string](t, tx, "select oxbow.context($1, $2)", ann(t), question),
				"Ann lives in Ghent (until 2024-05-11)")
		} else {
			assert.Equal(t, want[0], got[0], question)
		}
		require.NotContains(t, all[string](t, tx, "select content from oxbow.recall($1, $2, agent => 'me')", ann(t), question),
			"Ann lives in Riga")
		require.NotContains(t, all[string](t, tx, "select content from oxbow.recall($1, $2, believed_as_of => now())", ann(t),
			question), "Ann lives in Ghent")
		require.NotContains(t, all[string](t, tx, "select content from oxbow.recall($1, $2, valid_as_of => '2023-01-01')",
			ann(t), question), "Ann lives in Lisbon")
	}
}

// Questions read holidays on the days on which internal/reasoner/when reads them in messages.
func TestHolidaysAreThoseOfMessages(t *testing.T) {
	t.Parallel()
	tx := pgtest.Tx(t)
	text, err := os.ReadFile("../internal/reasoner/language/due.txt")
	require.NoError(t, err)
	_, list, found := strings.Cut(string(text), "[due.holiday]\n")
	require.True(t, found)
	list, _, _ = strings.Cut(list, "\n[")
	checked := 0
	for line := range strings.Lines(list) {
		name, dates, _ := strings.Cut(strings.TrimSpace(line), " = ")
		name, _, _ = strings.Cut(strings.TrimPrefix(name, ">Aa "), " !>")
		for date := range strings.FieldsSeq(dates) {
			day, err := time.Parse("2006-1-2", date)
			if err != nil || strings.ContainsAny(name, "#|") {
				continue
			}
			checked++
			assert.Contains(t, one[[]string](t, tx, "select oxbow.query_holidays($1, '2026-11-27')", day.Format("2006 ")+name),
				day.Format("@2006-01-02"), "%s %s", name, date)
		}
	}
	require.Greater(t, checked, 40)
}

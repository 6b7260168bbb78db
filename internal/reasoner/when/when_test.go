package when

import (
	"testing"
	"time"
	"unicode/utf8"

	"github.com/stretchr/testify/require"
)

func zone(t *testing.T, name string) *time.Location {
	t.Helper()
	z, err := time.LoadLocation(name)
	require.NoError(t, err)
	return z
}

func TestFind(t *testing.T) {
	t.Parallel()
	// a Thursday
	said := time.Date(2026, time.May, 14, 16, 20, 0, 0, zone(t, "Europe/Lisbon"))
	for _, c := range []struct {
		text, want string
		precision  Precision
	}{
		{"I went climbing today", "2026-05-14 12:00", Day},
		{"Slept badly last night.", "2026-05-13 12:00", Day},
		{"Yesterday we walked to the lighthouse", "2026-05-13 12:00", Day},
		{"We met yesterday at 3pm", "2026-05-13 15:00", Hour},
		{"yesterday at 15:30 the heating broke", "2026-05-13 15:30", Hour},
		{"Last night at 9 o'clock the power went", "2026-05-13 21:00", Hour},
		{"The flight leaves tomorrow at noon", "2026-05-15 12:00", Hour},
		{"the day before yesterday", "2026-05-12 12:00", Day},
		{"the day after tomorrow", "2026-05-16 12:00", Day},
		{"I sold the boat two days ago", "2026-05-12 12:00", Day},
		{"a couple of weeks ago", "2026-04-30 12:00", Week},
		{"a few days ago", "2026-05-11 12:00", Day},
		{"I started 10 years ago", "2016-05-14 12:00", Year},
		{"An hour ago the parcel came", "2026-05-14 15:20", Hour},
		{"in three weeks I will be in Oslo", "2026-06-04 12:00", Week},
		{"two days from now", "2026-05-16 12:00", Day},
		{"We saw it last week", "2026-05-06 12:00", Week},
		{"We fly next week", "2026-05-20 12:00", Week},
		{"last weekend", "2026-05-09 12:00", Day},
		{"this weekend", "2026-05-16 12:00", Day},
		{"last month", "2026-04-15 12:00", Month},
		{"last year", "2025-07-01 12:00", Year},
		{"next year", "2027-07-01 12:00", Year},
		{"last Tuesday", "2026-05-12 12:00", Day},
		{"last Thursday", "2026-05-07 12:00", Day},
		{"last Sunday", "2026-05-10 12:00", Day},
		{"next Monday", "2026-05-18 12:00", Day},
		{"this Friday", "2026-05-15 12:00", Day},
		{"On Monday I went to the dentist", "2026-05-11 12:00", Day},
		{"On Monday I will go to the dentist", "2026-05-18 12:00", Day},
		{"The concert was on Saturday", "2026-05-09 12:00", Day},
		{"on 3 May", "2026-05-03 12:00", Day},
		{"It was on May 3rd, 2024.", "2024-05-03 12:00", Day},
		{"on the 21st of December we moved", "2025-12-21 12:00", Day},
		{"We will marry on 21 January", "2027-01-21 12:00", Day},
		{"signed 2025-11-30", "2025-11-30 12:00", Day},
		{"in March", "2026-03-15 12:00", Month},
		{"in August we went to the lakes", "2025-08-15 12:00", Month},
		{"In August we are going to the lakes", "2026-08-15 12:00", Month},
		{"I'm getting married in June", "2026-06-15 12:00", Month},
		{"in March 2023", "2023-03-15 12:00", Month},
		{"in 2019", "2019-07-01 12:00", Year},
		{"last summer", "2025-07-15 12:00", Month},
		{"Last March we met", "2026-03-15 12:00", Month},
		{"昨天去爬山了", "2026-05-13 12:00", Day},
		{"前天下雨", "2026-05-12 12:00", Day},
		{"大前天", "2026-05-11 12:00", Day},
		{"今早跑了五公里", "2026-05-14 12:00", Day},
		{"昨晚没睡好", "2026-05-13 12:00", Day},
		{"昨天下午3点半见了客户", "2026-05-13 15:30", Hour},
		{"今晚八点有课", "2026-05-14 20:00", Hour},
		{"明天早上九点的飞机", "2026-05-15 09:00", Hour},
		{"上周三搬了家", "2026-05-06 12:00", Day},
		{"上个星期天", "2026-05-10 12:00", Day},
		{"上周末去了海边", "2026-05-09 12:00", Day},
		{"上周很忙", "2026-05-06 12:00", Week},
		{"下周一开始上班", "2026-05-18 12:00", Day},
		{"周二开了会", "2026-05-12 12:00", Day},
		{"周五要去医院", "2026-05-15 12:00", Day},
		{"上个月换了工作", "2026-04-15 12:00", Month},
		{"上个月5号", "2026-04-05 12:00", Day},
		{"三天前买的", "2026-05-11 12:00", Day},
		{"两周前", "2026-04-30 12:00", Week},
		{"半年前开始学琴", "2025-11-14 12:00", Month},
		{"十二年前", "2014-05-14 12:00", Year},
		{"两个月后要考试", "2026-07-14 12:00", Month},
		{"去年结的婚", "2025-07-01 12:00", Year},
		{"去年十月去了敦煌", "2025-10-15 12:00", Month},
		{"今年3月8日", "2026-03-08 12:00", Day},
		{"5月3日", "2026-05-03 12:00", Day},
		{"十二月二十一号我们领了证", "2025-12-21 12:00", Day},
		{"2023年5月3日入职", "2023-05-03 12:00", Day},
		{"2019年来的杭州", "2019-07-01 12:00", Year},
	} {
		e, ok := Find(c.text, said)
		require.True(t, ok, c.text)
		require.Equal(t, c.want, e.Time.Format("2006-01-02 15:04"), c.text)
		require.Equal(t, c.precision, e.Precision, c.text)
		require.Same(t, said.Location(), e.Time.Location(), c.text)
	}
}

func TestNoTime(t *testing.T) {
	t.Parallel()
	said := time.Date(2026, time.May, 14, 16, 20, 0, 0, time.UTC)
	for _, text := range []string{
		"", "I play chess every Tuesday", "It may rain, and I may march home", "I worked there for two years",
		"I live in a small house", "In two minds about it",
		"The last thing I want", "We counted in 2000 steps", "every other day", "a week of rest", "32 May",
		"on the table", "I have two days", "第三天很累", "每周三打球", "住了三年", "三个月的孩子", "一周去两次", "我家有三口人", "后来就好了",
	} {
		e, ok := Find(text, said)
		require.False(t, ok, "%q: %v", text, e)
	}
}

func TestMonthEnds(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ said, text, want string }{
		{"2026-03-31", "a month ago", "2026-02-28"},
		{"2024-03-31", "a month ago", "2024-02-29"},
		{"2024-02-29", "a year ago", "2023-02-28"},
		{"2026-03-01", "yesterday", "2026-02-28"},
		{"2026-12-31", "tomorrow", "2027-01-01"},
		{"2026-01-01", "last week", "2025-12-24"},
		{"2026-01-15", "last month", "2025-12-15"},
		{"2026-01-31", "下个月", "2026-02-15"},
		{"2026-01-01", "昨天", "2025-12-31"},
		{"2026-03-31", "一个月前", "2026-02-28"},
		{"2026-01-10", "12月31日", "2025-12-31"},
		{"2026-03-01", "on 29 February 2024", "2024-02-29"},
	} {
		said, err := time.Parse(time.DateOnly, c.said)
		require.NoError(t, err)
		e, ok := Find(c.text, said.Add(9*time.Hour))
		require.True(t, ok, c.text)
		require.Equal(t, c.want, e.Time.Format(time.DateOnly), "%s, said on %s", c.text, c.said)
	}
}

// Days count, not hours: a day on which the clocks change has 23 or 25.
func TestClockChange(t *testing.T) {
	t.Parallel()
	berlin := zone(t, "Europe/Berlin")
	for _, c := range []struct {
		said       time.Time
		text, want string
	}{
		{time.Date(2026, time.March, 30, 0, 30, 0, 0, berlin), "yesterday", "2026-03-29T12:00:00+02:00"},
		{time.Date(2026, time.March, 30, 0, 30, 0, 0, berlin), "two days ago", "2026-03-28T12:00:00+01:00"},
		{time.Date(2026, time.October, 26, 0, 30, 0, 0, berlin), "昨天", "2026-10-25T12:00:00+01:00"},
		{time.Date(2026, time.October, 26, 23, 30, 0, 0, berlin), "last Saturday", "2026-10-24T12:00:00+02:00"},
		{time.Date(2026, time.October, 25, 4, 0, 0, 0, berlin), "three hours ago", "2026-10-25T02:00:00+02:00"},
		{time.Date(2026, time.March, 29, 23, 50, 0, 0, berlin), "tomorrow", "2026-03-30T12:00:00+02:00"},
	} {
		e, ok := Find(c.text, c.said)
		require.True(t, ok, c.text)
		require.Equal(t, c.want, e.Time.Format(time.RFC3339), c.text)
	}
}

// The time zone of the message determines the day.
func TestZones(t *testing.T) {
	t.Parallel()
	moment := time.Date(2026, time.May, 14, 20, 0, 0, 0, time.UTC)
	e, _ := Find("yesterday", moment.In(zone(t, "Asia/Shanghai")))
	require.Equal(t, "2026-05-14", e.Time.Format(time.DateOnly))
	e, _ = Find("yesterday", moment)
	require.Equal(t, "2026-05-13", e.Time.Format(time.DateOnly))
}

func TestSince(t *testing.T) {
	t.Parallel()
	said := time.Date(2026, time.May, 14, 16, 20, 0, 0, time.UTC)
	for text, since := range map[string]bool{
		"I've lived here since 2019": true, "Since last March I run": true, "I came in 2019": false, "去年开始一直在学画": true,
		"自从去年搬家，我就没再见过他": true, "去年搬的家": false,
	} {
		e, ok := Find(text, said)
		require.True(t, ok, text)
		require.Equal(t, since, e.Since, text)
	}
}

func TestPlace(t *testing.T) {
	t.Parallel()
	text := "So yesterday afternoon we left"
	e, ok := Find(text, time.Date(2026, time.May, 14, 16, 20, 0, 0, time.UTC))
	require.True(t, ok)
	require.Equal(t, "yesterday afternoon", text[e.Start:e.End])
	text = "我们上周三去的"
	e, ok = Find(text, time.Date(2026, time.May, 14, 16, 20, 0, 0, time.UTC))
	require.True(t, ok)
	require.Equal(t, "上周三", text[e.Start:e.End])
}

func FuzzFind(f *testing.F) {
	const may = 1778775600 // 14 May 2026, 16:20 in UTC
	for _, text := range []string{"last Tuesday at 3pm", "上周三下午3点", "31 February 2024", "in 2019-13-45", "昨天25点",
		"十十十天前", "1000 years ago",
		"in 99999999999999999999 days", "三千万年前", "下下下下个月的第三个周五", "on 29 February", "二〇二五年十三月四十日", "12:99 tomorrow",
		"since 0000"} {
		// and the first and the last second of the years 1 to 9999
		for _, said := range []int64{may, -62135596800, 253402300799} {
			f.Add(text, said, 8*3600)
		}
	}
	f.Fuzz(func(t *testing.T, text string, unix int64, offset int) {
		first, last := time.Date(1, 1, 1, 0, 0, 0, 0, time.UTC), time.Date(9999, 12, 31, 23, 59, 59, 0, time.UTC)
		said := time.Unix(unix, 0)
		if said.Before(first) || said.After(last) {
			said = last
		}
		said = said.In(time.FixedZone("", offset%(14*3600)))
		e, ok := Find(text, said)
		if !ok {
			return
		}
		require.True(t, e.Start >= 0 && e.Start < e.End && e.End <= len(text), "%q %v", text, e)
		require.True(t, utf8.RuneStart(text[e.Start]) && (e.End == len(text) || utf8.RuneStart(text[e.End])) ||
			!utf8.ValidString(text), "%q %v", text, e)
		require.NotEmpty(t, e.Precision.String())
		require.Equal(t, said.Location(), e.Time.Location())
		require.True(t, e.Time.UTC().Year() >= 1 && e.Time.UTC().Year() <= 9999, "%q, said at %s: %s", text, said,
			e.Time)
	})
}

package when

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestFindDue(t *testing.T) {
	t.Parallel()
	// a Wednesday
	said := time.Date(2026, time.May, 13, 10, 20, 0, 0, zone(t, "Europe/Berlin"))
	for _, c := range []struct{ text, want string }{
		{"remind me tomorrow at 8 to call mom", "2026-05-14 08:00 minute"},
		{"remind me to call mom tomorrow at 5", "2026-05-14 17:00 minute"},
		{"at 8pm I have to leave", "2026-05-13 20:00 minute"},
		{"wake me at 9:30", "2026-05-14 09:30 minute"},
		{"in 45 minutes", "2026-05-13 11:05 minute"},
		{"in half an hour turn off the oven", "2026-05-13 10:50 minute"},
		{"in two hours", "2026-05-13 12:20 minute"},
		{"tonight at half past seven", "2026-05-13 19:30 minute"},
		{"tomorrow evening at 6", "2026-05-14 18:00 minute"},
		{"next Friday evening", "2026-05-22 00:00 day"},
		{"on Friday", "2026-05-15 00:00 day"},
		{"on the 3rd", "2026-06-03 00:00 day"},
		{"the report is due by the end of the month", "2026-05-31 00:00 day"},
		{"move to Berlin next March", "2027-03-01 00:00 month"},
		{"next week", "2026-05-18 00:00 week"},
		{"learn Spanish next year", "2027-01-01 00:00 year"},
		{"on June 2nd at noon", "2026-06-02 12:00 minute"},
		{"every Monday at 9am", "2026-05-18 09:00 minute FREQ=WEEKLY;BYDAY=MO"},
		{"every second Tuesday", "2026-05-19 00:00 day FREQ=WEEKLY;INTERVAL=2;BYDAY=TU"},
		{"every Monday and Thursday at 18:00", "2026-05-14 18:00 minute FREQ=WEEKLY;BYDAY=MO,TH"},
		{"every day at 7am", "2026-05-14 07:00 minute FREQ=DAILY"},
		{"on the first Monday of every month", "2026-06-01 00:00 day FREQ=MONTHLY;BYDAY=1MO"},
		{"on the 5th of every month", "2026-06-05 00:00 day FREQ=MONTHLY;BYMONTHDAY=5"},
		{"every weekday at 8:15", "2026-05-14 08:15 minute FREQ=WEEKLY;BYDAY=MO,TU,WE,TH,FR"},
		{"every 3 days", "2026-05-16 00:00 day FREQ=DAILY;INTERVAL=3"},
		{"下周三交报告", "2026-05-20 00:00 day"},
		{"提醒我明天早上八点吃早饭", "2026-05-14 08:00 minute"},
		{"后天下午三点开会", "2026-05-15 15:00 minute"},
		{"今晚七点半", "2026-05-13 19:30 minute"},
		{"周五晚上七点半看电影", "2026-05-15 19:30 minute"},
		{"大后天", "2026-05-16 00:00 day"},
		{"月底前交房租", "2026-05-31 00:00 day"},
		{"半小时后关火", "2026-05-13 10:50 minute"},
		{"两个小时后", "2026-05-13 12:20 minute"},
		{"每周一早上九点", "2026-05-18 09:00 minute FREQ=WEEKLY;BYDAY=MO"},
		{"每天晚上十点", "2026-05-13 22:00 minute FREQ=DAILY"},
		{"每月5号还信用卡", "2026-06-05 00:00 day FREQ=MONTHLY;BYMONTHDAY=5"},
		{"6月1号", "2026-06-01 00:00 day"},
		{"明年三月", "2027-03-01 00:00 month"},
		{"call mom", ""},
		{"yesterday", ""},
	} {
		d, ok := FindDue(c.text, said)
		got := ""
		if ok {
			got = d.Time.Format("2006-01-02 15:04 ") + string(d.Precision)
			if d.Recurrence != "" {
				got += " " + d.Recurrence
			}
		}
		require.Equal(t, c.want, got, c.text)
	}
}

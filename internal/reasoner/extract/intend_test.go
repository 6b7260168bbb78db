package extract

import (
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/assert"

	"github.com/oxbow-memory/oxbow/internal/reasoner"
)

func TestIntentions(t *testing.T) {
	t.Parallel()
	// a Wednesday
	said := time.Date(2026, time.May, 13, 10, 20, 0, 0, time.UTC)
	for _, c := range []struct{ said, want string }{
		{"remind me to call mom", "reminder: call mom"},
		{"Remind me tomorrow at 8 to take my pills", "reminder: take my pills 2026-05-14 08:00"},
		{"can you set a reminder for Friday to pay the rent?", "reminder: pay the rent 2026-05-15 00:00"},
		{"Remind me to water the plants when I get home", "reminder: water the plants when I get home (when I get home)"},
		{"I'm moving to Berlin next March", "intention: I'm moving to Berlin next March 2027-03-01 00:00"},
		{"I have a dentist appointment on Monday at 3pm.", "intention: I have a dentist appointment 2026-05-18 15:00"},
		{"I want to learn Spanish this year", "goal: I want to learn Spanish this year 2026-01-01 00:00"},
		{"My goal is to run a marathon", "goal: My goal is to run a marathon"},
		{"下周三交报告", "intention: 下周三交报告 2026-05-20 00:00"},
		{"提醒我明天早上八点吃药", "reminder: 吃药 2026-05-14 08:00"},
		{"明天下午三点提醒我给妈妈打电话", "reminder: 给妈妈打电话 2026-05-14 15:00"},
		{"下周三交报告，提醒我一下", "reminder: 下周三交报告 2026-05-20 00:00"},
		{"周五要交房租，到时候提醒我", "reminder: 要交房租 2026-05-15 00:00"},
		{"The rent is due on Friday, please remind me", "reminder: The rent is due 2026-05-15 00:00"},
		{"我打算今年学会游泳", "goal: 我打算今年学会游泳 2026-01-01 00:00"},
		{"每周一早上九点提醒我开会", "reminder: 开会 2026-05-18 09:00 FREQ=WEEKLY;BYDAY=MO"},
		{"The library books go back on Friday. Don't let me forget.", "reminder: The library books go back on Friday. 2026-05-15 00:00"},
		{"My anniversary is on the 14th of June. Please remind me every year.", "reminder: My anniversary is on the 14th of June. 2026-06-14 00:00 FREQ=YEARLY"},
		{"Mum's birthday is 17 June. Remind me the day before.", "reminder: Mum's birthday is 17 June. 2026-06-16 00:00"},
		{"We'll be away in August, so in July I need to order the tickets", "intention: We'll be away in August, so in July I need to order the tickets 2026-07-01 00:00"},
		{"remidn me in 10 days to cancel the trial", "reminder: cancel the trial 2026-05-23 00:00"},
		{"Flight to Oslo on 2026-08-19 at 06:55. Make a note of it.", "reminder: Flight to Oslo on 2026-08-19 at 06:55. 2026-08-19 06:55"},
		{"后天要抽血，你明晚提醒我别吃宵夜", "reminder: 别吃宵夜 2026-05-14 00:00"},
		{"每个月10号发工资，当天提醒我存钱", "reminder: 存钱 2026-06-10 00:00 FREQ=MONTHLY;BYMONTHDAY=10"},
		{"一刻钟后叫我下楼", "reminder: 下楼 2026-05-13 10:35"},
		{"周五要发标书，盯着我点", "reminder: 要发标书 2026-05-15 00:00"},
		{"Thaw the turkey a week from today", "reminder: Thaw the turkey 2026-05-20 00:00"},
		{"book club Thursday 8pm", "intention: book club 2026-05-14 20:00"},
		{"The electrician is coming on Monday at 8, so I have to be home", "intention: The electrician is coming on Monday at 8, so I have to be home 2026-05-18 08:00"},
		{"Summarize the meeting on Friday in three lines.", ""},
		{"Send an email to Anna about tomorrow's meeting at 10", ""},
		{"How do I set a reminder on my phone?", ""},
		{"手机老提醒我内存不足", ""},
		{"上个月你提醒我交电费，我还是忘了", ""},
		{"I called mom", "done: I called mom"},
		{"报告已经交了", "done: 报告已经交了"},
		{"Cancel the reminder about the rent", "dropped: Cancel the reminder about the rent"},
		{"不用提醒我吃药了", "dropped: 不用提醒我吃药了"},
		{"Tom will move to Oslo in March", ""},
		{"My sister is getting married next June", ""},
		{"When is the next full moon?", ""},
		{"Do I have to pay on Friday?", ""},
		{"Yesterday I went to the gym", ""},
		{"他下周三要去北京", ""},
		{"明天会下雨吗?", ""},
		{"I like boats", ""},
	} {
		got := ""
		for _, n := range intentionsOf(&reasoner.Message{ID: uuid.New(), Role: "user", Content: c.said, Time: said}) {
			if got = n.Kind + n.Closes + ": " + n.Content; !n.Due.IsZero() {
				got += " " + n.Due.Format("2006-01-02 15:04")
			}
			if n.Recurrence != "" {
				got += " " + n.Recurrence
			}
			if n.Condition != "" {
				got += " (" + n.Condition + ")"
			}
		}
		assert.Equal(t, c.want, got, c.said)
	}
}

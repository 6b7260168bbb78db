package judge

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/oxbow-memory/oxbow/internal/reasoner"
)

func TestJudge(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ said, want string }{
		// corrections
		{"No, that's wrong. I moved to Lisbon in May.", "correction negative"},
		{"nope, it's my sister who plays the cello", "correction negative"},
		{"You've got that mixed up: Tom is my brother, not my boss.", "correction negative"},
		{"That isn't right, I never said I was vegan", "correction negative"},
		{"I said Thursday, not Tuesday", "correction negative"},
		{"you're thinking of somebody else", "correction negative"},
		{"不对,我说的是下周三", "correction negative"},
		{"你记错了吧,我家的是猫", "correction negative"},
		{"不是北京,是南京", "correction negative"},
		{"我没说过我要辞职啊", "correction negative"},
		{"你把我跟我弟弟搞混了", "correction negative"},
		{"Huh? My daughter is seven, you wrote nine", "correction negative"},
		{"It should say Porto rather than Madrid", "correction negative"},
		{"wrong brother lol, Marek is the older one", "correction negative"},
		{"No, I never ate at the Blue Door", "correction negative"},
		{"我女儿七岁,你写成九岁了", "correction negative"},
		{"哎呀不是这个意思", "correction negative"},
		// complaints
		{"You're going round in circles", "complaint negative"},
		{"This has nothing to do with my question", "complaint negative"},
		{"绕来绕去还是没说到点子上", "complaint negative"},
		{"That's not what I asked", "complaint negative"},
		{"You keep suggesting sushi although I can't stand fish", "complaint negative"},
		{"i already told you this twice!!", "complaint negative"},
		{"You misunderstood me completely", "complaint negative"},
		{"this is useless", "complaint negative"},
		{"答非所问", "complaint negative"},
		{"你根本没听懂我的意思", "complaint negative"},
		{"都说过多少遍了,我不吃香菜", "complaint negative"},
		{"怎么又忘了我不喝咖啡", "complaint negative"},
		// about how the answer came about
		{"Your reasoning makes no sense", "complaint negative reasoning"},
		{"hm, that assumption is rather shaky", "complaint negative reasoning"},
		{"You jumped to conclusions", "complaint negative reasoning"},
		{"你的推理不成立", "complaint negative reasoning"},
		{"逻辑上说不通啊", "complaint negative reasoning"},
		{"你又在脑补", "complaint negative reasoning"},
		{"You used the wrong tool", "complaint negative tool_choice"},
		{"You should have used the calculator", "complaint negative tool_choice"},
		{"Why did you search the web for that?", "complaint negative tool_choice"},
		{"你用错工具了", "complaint negative tool_choice"},
		{"你应该先查日历", "complaint negative tool_choice"},
		{"别再用搜索了", "complaint negative tool_choice"},
		{"stop being so formal", "complaint negative style"},
		{"语气太生硬了", "complaint negative style"},
		// thanks
		{"Thanks, that's exactly what I needed", "thanks positive"},
		{"perfect!", "thanks positive"},
		{"oh great, that worked", "thanks positive"},
		{"谢谢,这个很有用", "thanks positive"},
		{"太好了,就是这个", "thanks positive"},
		{"你说得对,多谢", "thanks positive"},
		{"Spot on as always", "thanks positive"},
		{"Works like a charm now", "thanks positive"},
		{"这下清楚了,多亏有你", "thanks positive"},
		{"完美", "thanks positive"},
		// mixed
		{"Thanks, but that's way too long", "complaint mixed"},
		{"谢谢,不过太啰嗦了", "complaint mixed"},
		// the same again
		{"which restaurant near the station did I like so much?", "repeated_question negative"},
		{"What I mean is: where did I eat with Anna?", "rephrasing negative"},
		{"我的意思是,预算要控制在五百以内", "rephrasing negative"},
		// none of these
		{"I should have used the calculator in the exam", ""},
		{"The logic of this film is flawed", ""},
		{"Which app should I use for my calendar?", ""},
		{"他的逻辑有问题", ""},
		{"我用错文件了", ""},
		{"What's wrong with my car?", ""},
		{"My boss said the report is too long", ""},
		{"The movie was terrible and way too long", ""},
		{"No, I haven't been to Japan yet", ""},
		{"That hotel was perfect for the kids", ""},
		{"那部电影太长了,看得我睡着了", ""},
		{"我跟我妈说过搬家的事了", ""},
		{"我没去过日本", ""},
		{"My boss said the report was wrong", ""},
		{"I took the wrong train this morning", ""},
		{"Thanks to my neighbour the cat is safe", ""},
		{"How do I thank my teacher?", ""},
		{"Don't get me wrong, I like my job", ""},
		{"And what about Sunday?", ""},
		{"My sister is visiting next week", ""},
		{"我今天做错了一道题", ""},
		{"他说我的方案不对", ""},
		{"怎么感谢老师比较好?", ""},
		{"明天天气怎么样?", ""},
		{"周末想去爬山", ""},
		{"这个句子对不对?", ""},
	} {
		signals, err := Rules{}.Signals(t.Context(), reasoner.Turns{Turns: []reasoner.Turn{{UserInput: c.said,
			AgentResponse: "You ate at the Blue Door.",
			ContextWindow: []string{"Which restaurant did I like near the station?"}}}})
		require.NoError(t, err)
		got := ""
		if len(signals) > 0 {
			got = signals[0].Kind + " " + signals[0].Type
			if other := signals[0].Targets; signals[0].Type == "negative" && other[0] != "final_answer" {
				got += " " + strings.Join(other, " ")
			}
		}
		assert.Equal(t, c.want, got, c.said)
	}
}

// The first message of a conversation is about no answer.
func TestJudgeNeedsAnswer(t *testing.T) {
	t.Parallel()
	signals, err := Rules{}.Signals(t.Context(), reasoner.Turns{Turns: []reasoner.Turn{{UserInput: "That's wrong."}}})
	require.NoError(t, err)
	require.Empty(t, signals)
}

// A mixed signal says what was good and what was not.
func TestJudgeMixed(t *testing.T) {
	t.Parallel()
	signals, err := Rules{}.Signals(t.Context(), reasoner.Turns{Turns: []reasoner.Turn{{
		UserInput: "Thanks! Your tone is too formal though.", AgentResponse: "It is on Monday."}}})
	require.NoError(t, err)
	require.Equal(t, []reasoner.Signal{{Kind: "complaint", Type: "mixed", Confidence: 0.75,
		Targets: []string{"final_answer", "style"}, ActionHint: []string{"penalty"},
		Parts: map[string]string{"final_answer": "positive", "style": "negative"}}}, signals)
}

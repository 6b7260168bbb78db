package extract

import (
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/oxbow-memory/oxbow/internal/reasoner"
)

func TestStandingInstructions(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ said, want string }{
		{"Always answer me in German, briefly", "language"},
		{"Please call me Sam from now on", "address"},
		{"Don't use emojis when you write to me", "format"},
		{"never mention my ex again", "avoid"},
		{"I'd like you to keep your answers under three sentences.", "length"},
		{"can you stop apologizing all the time?", "tone"},
		{"From now on, whenever I send you a recipe, convert it to grams", "other"},
		{"Use metric units with me", "format"},
		{"I prefer short answers", "length"},
		{"ok thanks. btw no bullet points please", "format"},
		{"Be more direct with me", "tone"},
		{"以后别叫我全名", "address"},
		{"回答尽量简短", "length"},
		{"从现在起都用英文回复我", "language"},
		{"叫我小林就行", "address"},
		{"别再提我前男友了", "avoid"},
		{"跟我说话不用那么客气", "tone"},
		{"不要用表情符号", "format"},
		{"每次回答先给结论", "other"},
		{"Answer this one in German", ""},
		{"My boss always answers in French", ""},
		{"Can you write an email in German for me?", ""},
		{"I never drink coffee", ""},
		{"Tell my sister to call me tomorrow", ""},
		{"Call me when you get home", ""},
		{"How do I always get up on time?", ""},
		{"He told me to never give up", ""},
		{"把这段话翻译成英文", ""},
		{"我妈总是叫我早点睡", ""},
		{"以后我想去北京工作", ""},
		{"这次用中文回答", ""},
		{"他每次都迟到", ""},
		{"Stop using emojis, half of them show up as boxes.", "format"},
		{"Give me the source whenever you state a fact", "other"},
		{"Prices in euros, always, I live in Vienna.", "format"},
		{"they/them for me please", "other"},
		{"When I paste an error, give me the fix first.", "other"},
		{"If you're not sure, say so.", "other"},
		{"You keep apologising.", "tone"},
		{"dont ever touch my comments", "other"},
		{"My name is spelt with a K, please", "address"},
		{"Sign all my letters \"Yours, Tom\".", "other"},
		{"温度用摄氏度", "format"},
		{"时间都用24小时制，我们单位都这么说", "format"},
		{"凡是比较两样东西的，都给我做成表格", "format"},
		{"我发草稿给你的时候，你只挑错", "other"},
		{"不确定的事情就直说不知道", "tone"},
		{"少用成语，我看不懂", "other"},
		{"請一律使用繁體字回覆", "language"},
		{"每次回答最后用一句话总结", "other"},
		{"跟我说话温柔点", "tone"},
		{"What does \"keep it brief\" mean?", ""},
		{"Every time I call the bank they put me on hold.", ""},
		{"Let me know if you need anything", ""},
		{"Forget it, the printer works again.", ""},
		{"Convert 12 miles to kilometres please.", ""},
		{"My gran insists that we never talk at dinner.", ""},
		{"别人老叫我全名，是不是不太熟的意思？", ""},
		{"帮我写张生日卡，语气幽默一点", ""},
		{"刚才那个答案再详细一点", ""},
		{"作业都写完了", ""},
		{"算了，文件找到了", ""},
		{"never mind", "end"},
		{"Forget what I said about emojis, use them if you like.", "end format"},
		{"Scrap the metric thing", "end format"},
		{"之前说的表格就算了", "end format"},
		{"可以剧透了，我看完了", "end avoid"},
		{"You can use emojis again", "end format"},
		{"you don't have to answer in German any more", "end language"},
		{"算了,不用了", "end"},
		{"可以叫我全名了", "end address"},
		{"不用再说英文了", "end language"},
	} {
		got := ""
		for _, n := range instructionsOf(&reasoner.Message{ID: uuid.New(), Role: "user", Content: c.said}) {
			got = n.Aspect
			if n.Ends {
				got = "end"
				if n.Aspect != "" {
					got += " " + n.Aspect
				}
			}
		}
		assert.Equal(t, c.want, got, c.said)
	}
}

func TestProcedures(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		said, situation string
		steps           []string
	}{
		{"When I send you a receipt, first note the amount, then file it under taxes, and finally tell me the total.",
			"When I send you a receipt", []string{"note the amount", "file it under taxes", "tell me the total"}},
		{"每次我发发票给你的时候,先记金额,再归档,最后告诉我总数。", "每次我发发票给你的时候",
			[]string{"记金额", "归档", "告诉我总数"}},
		{"First we went to the lake, then we had lunch.", "", nil},
		{"When I was a child I first learned to swim", "", nil},
		{"My boss told me: when I get mail, first sort it, then answer it.", "", nil},
		{"我今天先去了超市,然后回家。", "", nil},
	} {
		p, ok := procedureOf(&reasoner.Message{ID: uuid.New(), Role: "user", Content: c.said})
		require.Equal(t, c.steps != nil, ok, c.said)
		if ok {
			require.Equal(t, c.situation, p.Situation)
			require.Equal(t, c.steps, p.Steps)
		}
	}
}

// What is kept as an instruction or a skill is no memory as well, the rest of the message is.
func TestInstructionsAreNoMemories(t *testing.T) {
	t.Parallel()
	for _, text := range []string{
		"Always answer me in German, briefly, because my mother reads along", "I prefer short answers", "回答尽量简短，用英文回答我",
		"When I send you a receipt, first note the amount, then file it under taxes, and finally tell me the total.",
	} {
		require.Empty(t, extracted(t, talking("user: "+text)).Candidates, text)
	}
	require.Equal(t, "My sister Lea lives in Bonn.", only(t, "My sister Lea lives in Bonn. When I send you a receipt, "+
		"first note the amount, then file it under taxes, and finally tell me the total.").Content)
	require.Equal(t, "I moved to Lisbon in May.",
		only(t, "I moved to Lisbon in May. From now on, answer me in Portuguese.").Content)
	require.Equal(t, "我五月和妻子搬到了里斯本，住在老城区。", only(t, "我五月和妻子搬到了里斯本，住在老城区。以后都用葡萄牙语回答我。").Content)
	require.Equal(t, "Call me Annie.", only(t, "Call me Annie.").Content)
	// between people it is no instruction to an assistant
	require.Len(t, extracted(t, talking("Ann: Please always call me Annie, I hate my full name", "Bo: I will, Annie")).Candidates, 1)
}

func TestInstructionScopes(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		said, context string
		here          bool
	}{
		{"In this conversation, always answer in French.", "", true},
		{"这次对话都用英文回答我", "", true},
		{"At work, call me Dr. Smith", "work", false},
		{"工作上叫我王总", "work", false},
		{"Always answer in French.", "", false},
	} {
		heard := instructionsOf(&reasoner.Message{ID: uuid.New(), Role: "user", Content: c.said})
		require.Len(t, heard, 1, c.said)
		require.Equal(t, c.context, heard[0].Context, c.said)
		require.Equal(t, c.here, heard[0].Here, c.said)
	}
}

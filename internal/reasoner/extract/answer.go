package extract

import (
	"strings"

	"github.com/oxbow-memory/oxbow/internal/reasoner/lexis"
)

// questions are the questions whose answer is a value of an attribute, the more special ones first.
var questions = []struct {
	key string
	en  phrases
	zh  []string
}{
	{"employer", phrasesOf("where do you work, who do you work for, which company do you work, what company do you work, who is your employer, who's your employer"), []string{"在哪里工作", "在哪儿工作", "在哪里上班", "在哪儿上班", "在哪工作", "在哪上班", "哪家公司", "什么公司"}},
	{"job", phrasesOf("do you do for work, do you do for a living, your job, your profession, your occupation, do you do"), []string{"做什么工作", "什么职业", "职业是", "你的工作是"}},
	{"home", phrasesOf("do you live, are you living, are you based, do you currently live, do you live now, you live in"), []string{"住在哪", "住哪", "住在什么", "在哪里住", "在哪儿住", "哪个城市"}},
	{"name", phrasesOf("your name, call you, you called"), []string{"叫什么", "你的名字", "您的名字", "怎么称呼", "您贵姓"}},
	{"age", phrasesOf("old are you, your age"), []string{"多大", "几岁", "年龄"}},
	{"birthday", phrasesOf("your birthday"), []string{"生日"}},
}

// answers returns the attribute that the answer to a question tells: "Where do you live?", "Porto".
func answers(question, answer string) (attribute, bool) {
	q, a := read(strings.TrimSpace(question)), reading{sentence: read(strings.TrimSpace(answer))}
	if !q.asks() || len(answer) > 80 || len(a.tokens)+a.han == 0 {
		return attribute{}, false
	}
	if found := a.attributesOf(); len(found) > 0 {
		return found[0], true
	}
	for _, one := range questions {
		if q.chinese() && !lexis.ContainsAny(q.text, one.zh) || !q.chinese() && !one.en.has(q.tokens) {
			continue
		}
		value := strings.TrimPrefix(strings.TrimPrefix(valueZh(a.text), "我"), "在")
		if !a.chinese() {
			from := 0
			for from < len(a.tokens)-1 && leadsAnswer[a.tokens[from].lower] {
				from++
			}
			value = a.valueUntil(from, timesEn)
		}
		return attribute{key: one.key, value: value}, value != ""
	}
	return attribute{}, false
}

// leadsAnswer stand before the value of an answer.
var leadsAnswer = words.Set("leads-answer")

package extract

import (
	"strings"

	"github.com/oxbow-memory/oxbow/internal/reasoner/lexis"
)

// valueQuestion is one whose answer is a value of an attribute.
type valueQuestion struct {
	key string
	en  phrases
	zh  []string
}

// questions are all of them, the more special ones first.
var questions = func() (all []valueQuestion) {
	for _, key := range []string{"employer", "job", "home", "name", "age", "birthday"} {
		all = append(all, valueQuestion{key, phrasesIn(words.List("question." + key + ".en")), words.List("question." + key + ".zh")})
	}
	return all
}()

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

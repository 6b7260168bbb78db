package rules

import (
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/oxbow-memory/oxbow/internal/reasoner/lexis"
)

// polarity is what a clause says of something that it names.
type polarity int

const (
	pro     polarity = iota // it is so
	nothing                 // it did not take place, is only a wish, or is of somebody else
	con                     // it is so no longer, or not at all
)

var (
	proZh     = strings.Fields("没有放弃 没放弃 不放弃 从没停 没停过 从未停 从不间断 舍不得放弃 离不开 忍不住 不得不夸")
	conZh     = strings.Fields("不再 再也不 再也没 戒了 戒掉 戒除 放弃 不喜欢 不爱 讨厌 告别 停止 厌倦 受够 早就不 已经不 反感 退出")
	conTailZh = strings.Fields("不打了 不去了 不练了 不玩了 不学了 不吃了 不喝了 不跳了 不画了 不做了 不弹了 不跑了 不看了 不钓了 不爬了 不唱了 不养了 不收了 送人了 算是丢了 玩腻了 吃腻了 喝腻了 戒了 戒掉 不再 放弃了 停掉 卖掉了 再也不 早就不 已经不")
	todayZh   = strings.Fields("今天 今晚 今早 今日 上午 中午 下午 晚上 明天 明早 这次 下次 这周 本周 周末 暂时 先不 这两天 最近")
	supposed  = strings.Fields("如果 要是 应 怕 万一 总不能 建议 假如 若 不能再 怎么 干嘛 难道")
	calledOff = strings.Fields("取消 泡汤 改期 推迟 没成 作罢 暂停 停课 没时间 没空")
	awfulZh   = strings.Fields("难吃 难喝 太冲 不好吃 不好喝 太咸 太腻 太油 踩雷 没吃完 翻车")
	refusedZh = strings.Fields("我没去 没去 我没参加 没参加 我没答应 我拒绝 我婉拒 婉拒 但没去 但我没去 可我没去 可是没去 最后没去 结果没去 不过我没去")
	wishedZh  = strings.Fields("想学 打算 考虑 有空想 改天想 希望能 准备学 想试试")
	notOver   = strings.Fields("不了 不错 不是 不就 不想 不只 不仅 不光 不但 不断 不如 不过 不正")
	notZh     = []string{"不", "没", "没有", "没去", "不去", "不想", "不能", "不会", "别", "未", "无法", "取消", "暂停", "避免", "不用", "没怎么", "很久没", "好久没", "不太"}
)

// nearZh is how far before something a word may stand that denies it, in characters.
const nearZh = 6

// polarityZh reads a sentence of Chinese around what it names at [at, to): the clause in which that stands, and whether the
// sentence speaks of one day only.
func polarityZh(sentence string, at, to int) polarity {
	clause, from := clauseAt(sentence, at, to)
	before, after := clause[:at-from], clause[to-from:]
	if lexis.ContainsAny(before, proZh) {
		return pro
	}
	passing := lexis.ContainsAny(sentence, todayZh)
	near := lexis.LastRunes(before, nearZh)
	if lexis.ContainsAny(near, conZh) || lexis.ContainsAny(after, conTailZh) {
		if lexis.ContainsAny(clause, supposed) || passing && !strings.Contains(clause, "再") && !strings.Contains(clause, "戒") {
			return nothing
		}
		return con
	}
	if not := lexis.LastRunes(before, 4); strings.Contains(not, "不") && endsWithLe(after) && !lexis.ContainsAny(not, notOver) {
		if passing || lexis.ContainsAny(clause, supposed) {
			return nothing
		}
		return con
	}
	if lexis.ContainsAny(after, calledOff) || lexis.ContainsAny(after, awfulZh) || lexis.ContainsAny(near, wishedZh) || beginsWithAny(sentence[from+len(clause):], refusedZh) {
		return nothing
	}
	for _, n := range notZh {
		if i := strings.LastIndex(before, n); i >= 0 && utf8.RuneCountInString(before[i+len(n):]) <= 1 {
			return nothing
		}
	}
	return pro
}

// beginsWithAny tells whether what follows a clause begins with one of some words.
func beginsWithAny(rest string, words []string) bool {
	rest = strings.TrimLeft(rest, clauseMarks)
	return slices.ContainsFunc(words, func(w string) bool { return strings.HasPrefix(rest, w) })
}

func endsWithLe(after string) bool {
	after = strings.TrimRight(after, " 啦吧啊呀。！!.~")
	return strings.HasSuffix(after, "了") && utf8.RuneCountInString(after) <= 4
}

var (
	proEn = []string{"can't stop", "cannot stop", "couldn't stop", "never stop", "won't stop", "don't stop", "didn't stop", "never stopped",
		"didn't quit", "won't quit", "never quit", "not give up", "never give up", "never gave up", "didn't give up", "won't give up", "can't live without", "can't wait"}
	conEn = []string{"no longer", "stopped", "quit", "quitting", "gave up", "given up", "giving up", "don't like", "do not like", "doesn't like", "hate", "hated", "dislike",
		"can't stand", "not into", "sick of", "done with", "never again", "lost interest in", "don't enjoy", "do not enjoy", "not a fan of", "not interested in",
		"tired of", "don't care for", "fell out of love with", "sold my", "not keen on", "not fond of", "gone off", "went off", "swore off", "sworn off",
		"fed up with", "i'm over", "i am over", "bored of", "bored with", "goodbye to"}
	conAfterEn = []string{"isn't for me", "is not for me", "days are over", "days are behind me", "is over for me", "no more", "is a thing of the past"}
	notEn      = []string{"don't", "didn't", "haven't", "hasn't", "not", "never", "won't", "cancelled", "canceled", "skipped", "used to", "wish", "if", "isn't", "wasn't", "couldn't",
		"can't", "instead of", "without", "no", "doesn't", "should", "postponed", "avoid",
		"thinking of", "thinking about", "think about", "taking up", "take up", "would like to", "i'd like to", "would love to", "i'd love to", "want to", "wanted to",
		"hope to", "hoping to", "plan to", "planning to", "considering", "might"}
)

// polarityEn reads the words of a clause, in lower case, around what it names at [start, end).
func polarityEn(clause []token, start, end int) polarity {
	before, after := joined(clause[:start]), joined(clause[end:])
	if hasWords(before, proEn) {
		return pro
	}
	if gaveUp(before) || strings.HasSuffix(before, " dropped ") || strings.HasSuffix(before, " ditched ") || hasWords(after, conAfterEn) || hasWords(before, notEn) && hasWords(after, []string{"anymore", "any more", "any longer"}) {
		return con
	}
	if hasWords(joined(clause[max(0, start-4):start]), notEn) {
		return nothing
	}
	if hasWords(after, []string{"cancelled", "canceled", "called off", "postponed", "looks fun", "sounds fun", "looks like fun",
		"was awful", "were awful", "was terrible", "were terrible", "was disgusting", "tasted awful", "on tv", "closed down"}) {
		return nothing
	}
	return pro
}

// gaveUp tells whether something was given up in the words before a pattern, and not for its sake: "ditched chess for golf".
func gaveUp(before string) bool {
	for _, p := range conEn {
		if i := wordAt(before, p); i >= 0 && !containsWord(before[i+len(p):], "for") {
			return true
		}
	}
	return false
}

// hasWords tells whether text, words with a space on either side, has one of some phrases.
func hasWords(text string, phrases []string) bool {
	return slices.ContainsFunc(phrases, func(p string) bool { return containsWord(text, p) })
}

func containsWord(text, phrase string) bool { return wordAt(text, phrase) >= 0 }

// wordAt returns where a phrase stands in text, or -1.
func wordAt(text, phrase string) int {
	for from := 0; ; {
		i := strings.Index(text[from:], phrase)
		if i < 0 {
			return -1
		}
		i += from
		if text[i-1] == ' ' && text[i+len(phrase)] == ' ' { // joined begins and ends with a space
			return i
		}
		from = i + 1
	}
}

func joined(words []token) string {
	var b strings.Builder
	b.WriteByte(' ')
	for _, w := range words {
		b.WriteString(w.lower)
		b.WriteByte(' ')
	}
	return b.String()
}

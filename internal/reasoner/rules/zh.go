package rules

import (
	"cmp"
	"strings"
	"unicode/utf8"

	"github.com/oxbow-memory/oxbow/internal/reasoner/lexis"
)

// readZh finds the patterns of a sentence with characters of Chinese.
func (f *finder) readZh(sentence string) {
	first, others := false, false
	for _, r := range sentence {
		switch r {
		case '我', '咱', '俺':
			first = true
		case '你', '您', '他', '她':
			others = true
		}
	}
	if f.voice == own && !first && others {
		return // said to or of somebody else
	}
	taken := 0 // up to where the sentence is told by dishes and titles
	for i, r := range sentence {
		if i < taken {
			continue
		}
		if r == '《' { // what a book is called is no food, and what is done in it nothing that the user does
			if end := strings.Index(sentence[i:], "》"); end >= 0 {
				taken = i + end
				continue
			}
		}
		rest := sentence[i:]
		if form, w := f.v.chinese.longest(rest); w.activity != nil && !inLatinWord(sentence, i, i+len(form)) {
			f.addZh(sentence, i, i+len(form), finding{kind: doing, id: w.activity.id, surface: form, group: w.activity.group, rank: rankOf(w.activity)})
		}
		if !isHan(r) {
			continue
		}
		if d, ok := f.v.dishAt(rest); ok {
			taken = i + d.end
			f.addDish(sentence, i, d)
			continue
		}
		if end, _ := placeEnds.longest(rest); end != "" {
			f.placeZh(sentence, i, i+len(end))
		}
		if f.voice != own {
			continue
		}
		switch r {
		case '我':
			f.likingZh(rest)
		case '收':
			f.collectingZh(sentence, i)
		case '和', '跟', '与', '约', '陪':
			f.companyZh(rest[utf8.RuneLen(r):])
		}
		if first {
			if form, s := longestSelf(rest); form != "" {
				f.selfZh(sentence, i, i+len(form), s)
			}
		}
	}
}

// addDish adds a dish, and the known dish that its name ends in.
func (f *finder) addDish(sentence string, i int, d dish) {
	if d.name == "" {
		return
	}
	end := i + d.end
	f.addZh(sentence, i, end, finding{kind: eating, id: d.name, surface: cmp.Or(d.wording, d.name), group: d.group, rank: d.rank})
	if d.base != "" && d.base != d.name {
		base, _ := f.v.dishAt(d.base)
		f.addZh(sentence, i, end, finding{kind: eating, id: d.base, surface: d.base, group: base.group, rank: base.rank})
	}
}

func rankOf(a *activity) rank {
	if a.everyday {
		return everyday
	}
	return telling
}

// inLatinWord tells whether a form of Latin letters is only a part of a word.
func inLatinWord(s string, start, end int) bool {
	letter := func(b byte) bool { return b >= 'a' && b <= 'z' || b >= 'A' && b <= 'Z' }
	return letter(s[start]) && start > 0 && letter(s[start-1]) || letter(s[end-1]) && end < len(s) && letter(s[end])
}

const clauseMarks = "，,：:（）()「」\"“”《》~—。！？；!?;\n …【】"

// clauseAt returns the clause around [start, end), and where it begins.
func clauseAt(sentence string, start, end int) (clause string, from int) {
	if i := strings.LastIndexAny(sentence[:start], clauseMarks); i >= 0 {
		_, size := utf8.DecodeRuneInString(sentence[i:])
		from = i + size
	}
	to := len(sentence)
	if i := strings.IndexAny(sentence[end:], clauseMarks); i >= 0 {
		to = end + i
	}
	return sentence[from:to], from
}

var (
	tasteZh = lists.List("taste.zh")
	kinZh   = lists.List("kin.zh")
	// what somebody does: a clause that goes on like this from a person is about them
	doesZh = lists.List("does.zh")
	withZh = lists.List("with.zh")
)

// addZh adds a finding with what the clause around it says of it.
func (f *finder) addZh(sentence string, start, end int, n finding) {
	n.zh = true
	clause, from := clauseAt(sentence, start, end)
	if f.voice == recorded {
		f.add(n)
		return
	}
	if f.voice == own && (f.ofKinZh(clause, start-from, n.kind) || strings.ContainsAny(clause, "你您") && !strings.Contains(clause, "我")) {
		return
	}
	n.polarity = polarityZh(sentence, start, end)
	n.stated = f.voice == own && n.polarity == pro && lexis.ContainsAny(clause[:start-from], tasteZh)
	f.add(n)
}

var (
	givesZh     = lists.List("gives.zh")
	habitually  = lists.List("habitually")
	notInNameZh = lists.Runes("not-in-name.zh")
)

// likesByName tells whether a clause begins like 张三喜欢 or 林小雨经常.
func likesByName(clause string) bool {
	first, end := utf8.DecodeRuneInString(clause)
	if strings.ContainsRune(notInNameZh, first) || !strings.ContainsRune(surnames, first) {
		return false
	}
	for range 2 {
		r, n := utf8.DecodeRuneInString(clause[end:])
		if !isHan(r) || strings.ContainsRune(notInNameZh, r) {
			return false
		}
		if end += n; beginsWithAny(clause[end:], habitually) {
			return true
		}
	}
	return false
}

var titlesZh = lists.List("titles.zh")

// afterName returns what follows where a clause begins with a name that can be nothing else: 小李, 老周, 王老师, 陈姐.
func afterName(clause string) (rest string, ok bool) {
	first, n := utf8.DecodeRuneInString(clause)
	second, m := utf8.DecodeRuneInString(clause[n:])
	switch {
	case first == '小' || first == '老':
		return clause[n+m:], strings.ContainsRune(surnames, second)
	case first != '向' && strings.ContainsRune(surnames, first):
		for _, title := range titlesZh {
			if rest, ok := strings.CutPrefix(clause[n:], title); ok {
				return rest, true
			}
		}
	}
	return "", false
}

// ofKinZh tells whether the clause speaks of somebody else than the user, of what stands in it at before.
func (f *finder) ofKinZh(clause string, before int, what kind) bool {
	near := func(rest string) bool { // 楼上又弹钢琴
		between := clause[min(len(clause)-len(rest), before):before]
		return what == doing && utf8.RuneCountInString(between) <= 2 && !lexis.ContainsAny(between, givesZh)
	}
	c := strings.TrimPrefix(strings.TrimPrefix(strings.TrimSpace(clause), "我的"), "我")
	for _, k := range kinZh {
		if rest, ok := strings.CutPrefix(c, strings.TrimPrefix(k, "我")); ok {
			if lexis.ContainsAny(rest, withZh) || strings.HasPrefix(clause, "我和") {
				return false
			}
			return strings.HasPrefix(strings.TrimSpace(clause), "我") || near(rest) || lexis.ContainsAny(rest, tasteZh) || beginsWithAny(rest, doesZh)
		}
	}
	if rest, ok := afterName(c); ok && !strings.Contains(clause, "我") && !lexis.ContainsAny(rest, withZh) &&
		(near(rest) || lexis.ContainsAny(rest, tasteZh) || beginsWithAny(rest, doesZh)) {
		return true
	}
	if f.named && !strings.Contains(clause, "我") && likesByName(c) {
		return true
	}
	return strings.ContainsAny(clause[:before], "他她") && !strings.Contains(clause[:before], "我")
}

var likeZh = tableOf(lists.List("like.zh")...)

const objectEnd = "的了，。！？、和也就都但过吗呢吧啊这那它他她你我,.!? 与跟着在"

// likingZh finds what the user says at the beginning of a text they like, and no list knows.
func (f *finder) likingZh(text string) {
	like, _ := likeZh.longest(text)
	if like == "" {
		return
	}
	object := text[len(like):]
	if end := strings.IndexAny(object, objectEnd); end >= 0 {
		object = object[:end]
	}
	if n := utf8.RuneCountInString(object); n < 2 || n > 6 || !allHan(object) || f.knows(object) {
		return
	}
	f.add(finding{kind: liking, id: object, surface: object, zh: true, stated: true})
}

// collected by everybody, in apps and at work.
var notCollected = lists.List("not-collected")

// collectingZh finds what the user collects and no list knows: "收藏老地图".
func (f *finder) collectingZh(sentence string, at int) {
	object, ok := strings.CutPrefix(sentence[at:], "收藏")
	if !ok {
		return
	}
	if end := strings.IndexAny(object, objectEnd+"有"); end >= 0 {
		object = object[:end]
	}
	if n := utf8.RuneCountInString(object); n < 2 || n > 4 || !allHan(object) || lexis.ContainsAny(object, notCollected) || f.knows(object) || f.knows("收藏"+object) {
		return
	}
	end := at + len("收藏") + len(object)
	f.addZh(sentence, at, end, finding{kind: liking, id: "收藏" + object, surface: object, say: "爱收藏" + object})
}

func allHan(s string) bool { return strings.IndexFunc(s, func(r rune) bool { return !isHan(r) }) < 0 }

// knows tells whether the text has a word of the lists.
func (f *finder) knows(text string) bool {
	for i := range text {
		if form, w := f.v.chinese.longest(text[i:]); form != "" && w.activity != nil {
			return true
		}
		if _, ok := f.v.dishAt(text[i:]); ok {
			return true
		}
	}
	return false
}

// selfZh reads a word at [start, end) that describes people: whether the user says it of themselves ("我比较内向").
func (f *finder) selfZh(sentence string, start, end int, s selfWord) {
	me := strings.LastIndex(sentence[:start], "我")
	if me < 0 || strings.HasPrefix(sentence[me:], "我们") || !endsSelf(sentence[end:]) || lexis.ContainsAny(sentence, []string{"如果", "要是"}) {
		return
	}
	between := sentence[me+len("我") : start]
	p := pro
	for _, not := range []string{"不再", "不是", "并不", "不算", "不"} {
		if rest := strings.Replace(between, not, "", 1); rest != between {
			between, p = rest, con
			break
		}
	}
	for between != "" {
		filler, _ := selfFillers.longest(between)
		if filler == "" {
			return
		}
		between = between[len(filler):]
	}
	f.add(finding{kind: self, id: s.id, surface: sentence[start:end], zh: true, polarity: p, stated: p == pro, say: s.zh})
}

// endsSelf tells whether a description ends before rest, and does not go on to describe something:
// 传统配方 is no person.
func endsSelf(rest string) bool {
	next, _ := utf8.DecodeRuneInString(rest)
	if !isHan(next) {
		return true
	}
	for _, end := range []string{"的人", "的性格", "了", "吧", "啊", "呢", "一点", "一些", "些", "但", "而", "所以", "，"} {
		if strings.HasPrefix(rest, end) {
			return true
		}
	}
	of, ok := strings.CutPrefix(rest, "的")
	next, _ = utf8.DecodeRuneInString(of)
	return ok && !isHan(next)
}

var selfFillers = tableOf(lists.List("self-fillers")...)

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
	tasteZh = strings.Fields("喜欢 爱吃 爱喝 最爱 热爱 爱好 痴迷 迷上 着迷 钟爱 偏爱 酷爱 爱看 爱听 爱玩 习惯 上瘾 百吃不厌 过瘾")
	kinZh   = strings.Fields("妈妈 爸爸 老妈 老爸 妹妹 弟弟 姐姐 哥哥 儿子 女儿 老公 老婆 丈夫 妻子 同事 朋友 同学 室友 邻居 奶奶 爷爷 外婆 外公 孩子 闺蜜 男友 女友 老板 客户 表弟 表妹 表哥 表姐 我妈 我爸 我妹 我弟 我姐 我哥 我女儿 我儿子 我朋友 我同事 领导 师傅 师父 老师 学生 亲戚 舅舅 舅妈 叔叔 阿姨 姑姑 姨妈 婆婆 公公 岳父 岳母 老伴 爱人 邻居家 男朋友 女朋友 前任 未婚夫 未婚妻 楼上 楼下 隔壁 邻居家的孩子 邻居家孩子 朋友的孩子 同事的孩子 堂哥 堂弟 堂姐 堂妹 侄子 侄女 外甥 孙子 孙女 经理 主任 教练 队友 老同学 爸妈 他们 她们 别人 人家 大家都")
	// what somebody does: a clause that goes on like this from a person is about them
	doesZh = strings.Fields("喜欢 在 爱 经常 常常 每 天天 总 老是 一直 也 又 特别 最近 今天 昨天 今晚 昨晚 周末 正 说 打算 想 要 很 会 去 报名 学 练")
	withZh = []string{"和", "跟", "与", "陪", "带", "同", "给", "帮", "一起", "约", "们去", "们一起"}
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
	givesZh     = strings.Fields("做 煮 包 炖 买 送 教 带 的 请 让 叫 陪")
	habitually  = strings.Fields("喜欢 爱 最爱 热爱 经常 常常 特别喜欢 很喜欢")
	notInNameZh = "天边上下里家时候间常向于和安"
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

var titlesZh = strings.Fields("老师 师傅 阿姨 经理 主任 医生 教练 同学 先生 女士 太太 大爷 大妈 哥 姐 总 工 叔 姨 伯")

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

var likeZh = tableOf("我最喜欢", "我特别喜欢", "我很喜欢", "我喜欢", "我也喜欢", "我一直喜欢", "我热爱", "我迷上了", "我爱上了", "我最爱", "我酷爱", "我的爱好是",
	"我平时喜欢", "我从小喜欢", "我超喜欢", "我痴迷")

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
var notCollected = strings.Fields("夹 品 家 价值 文章 视频 链接 谱 教程 帖 店 商 路线 攻略 内容 柜 册 界 圈 爱好 展 这 那 更新 推荐 您 你 在 到 已 成功 和 夹里 了")

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

// endsSelf tells whether a description ends before rest, and does not go on to describe something: 传统配方 is no person.
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

var selfFillers = tableOf(strings.Fields("这个人 这人 本来 就是 算是 属于 其实 确实 真的 从小 一直 一向 向来 天生 性格 性子 比较 特别 非常 有点 有些 相当 挺 很 太 是个 是一个 是 个 偏 蛮 超 也 都 就 还 真 人 的 为 最 好 一 觉得 自己 做事 比")...)

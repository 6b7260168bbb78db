package rules

import (
	"strings"
	"unicode/utf8"
)

// readZh finds the patterns of a sentence with characters of Chinese.
func (f *finder) readZh(sentence string) {
	first := containsAny(sentence, []string{"我", "咱", "俺"})
	if f.voice == own && !first && strings.ContainsAny(sentence, "你您他她") {
		return // said to or of somebody else
	}
	f.selfZh(sentence)
	taken := 0 // up to where the sentence is told by words that are known
	for i, r := range sentence {
		if i < taken {
			continue
		}
		if form, w := f.v.chinese.longest(sentence[i:]); form != "" && !inLatinWord(sentence, i, i+len(form)) {
			if w.activity != nil {
				f.addZh(sentence, i, i+len(form), finding{kind: doing, id: w.activity.id, surface: form, group: w.activity.group, rank: rankOf(w.activity)})
			}
		}
		if isHan(r) {
			if d, ok := f.v.dishAt(sentence[i:]); ok {
				end := i + d.end
				taken = end
				if d.name == "" {
					continue
				}
				f.addZh(sentence, i, end, finding{kind: eating, id: d.name, surface: d.name, group: d.group, rank: d.rank})
				if d.base != "" && d.base != d.name {
					base, _ := f.v.dishAt(d.base)
					f.addZh(sentence, i, end, finding{kind: eating, id: d.base, surface: d.base, group: base.group, rank: base.rank})
				}
			}
		}
	}
	if f.voice == own {
		f.likingZh(sentence)
		f.companyZh(sentence)
	}
	f.placeZh(sentence)
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
	kinZh   = strings.Fields("妈妈 爸爸 老妈 老爸 妹妹 弟弟 姐姐 哥哥 儿子 女儿 老公 老婆 丈夫 妻子 同事 朋友 同学 室友 邻居 奶奶 爷爷 外婆 外公 孩子 闺蜜 男友 女友 老板 客户 表弟 表妹 表哥 表姐 我妈 我爸 我妹 我弟 我姐 我哥 我女儿 我儿子 我朋友 我同事")
	withZh  = []string{"和", "跟", "与", "陪", "带", "同", "给", "帮", "一起", "约", "们去", "们一起"}
)

// addZh adds a finding with what the clause around it says of it.
func (f *finder) addZh(sentence string, start, end int, n finding) {
	n.zh = true
	clause, from := clauseAt(sentence, start, end)
	if f.voice == recorded {
		f.add(n)
		return
	}
	if f.voice == own && ofKinZh(clause, start-from) {
		return
	}
	n.polarity = polarityZh(clause, start-from, end-from)
	n.stated = f.voice == own && n.polarity == pro && containsAny(clause[:start-from], tasteZh)
	f.add(n)
}

// ofKinZh tells whether the clause speaks of somebody else than the user.
func ofKinZh(clause string, before int) bool {
	c := strings.TrimPrefix(strings.TrimPrefix(strings.TrimSpace(clause), "我的"), "我")
	for _, k := range kinZh {
		if rest, ok := strings.CutPrefix(c, strings.TrimPrefix(k, "我")); ok {
			if containsAny(rest, withZh) || strings.HasPrefix(clause, "我和") {
				return false
			}
			return strings.HasPrefix(strings.TrimSpace(clause), "我") || containsAny(rest, tasteZh) || strings.HasPrefix(rest, "在")
		}
	}
	return strings.ContainsAny(clause[:before], "他她") && !strings.Contains(clause[:before], "我")
}

var (
	likeZh    = []string{"我最喜欢", "我特别喜欢", "我很喜欢", "我喜欢", "我也喜欢", "我一直喜欢", "我热爱", "我迷上了", "我爱上了", "我最爱", "我酷爱", "我的爱好是", "我平时喜欢", "我从小喜欢", "我超喜欢", "我痴迷"}
	objectEnd = "的了，。！？、和也就都但过吗呢吧啊这那它他她你我，,.!? 与跟着 在"
)

// likingZh finds what the user says they like and no list knows.
func (f *finder) likingZh(sentence string) {
	for _, like := range likeZh {
		i := strings.Index(sentence, like)
		if i < 0 {
			continue
		}
		object := sentence[i+len(like):]
		if end := strings.IndexAny(object, objectEnd); end >= 0 {
			object = object[:end]
		}
		n := utf8.RuneCountInString(object)
		if n < 2 || n > 6 || !allHan(object) || f.knows(object) {
			continue
		}
		f.add(finding{kind: liking, id: object, surface: object, zh: true, stated: true})
		return
	}
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

var selfFillers = strings.Fields("这个人 这人 本来 就是 算是 属于 其实 确实 真的 从小 一直 一向 向来 天生 性格 性子 比较 特别 非常 有点 有些 相当 挺 很 太 是个 是一个 是 个 偏 蛮 超 也 都 就 还 真 人 的 为 最 好 一 觉得 自己 做事 比")

// selfZh finds what the user says they are: "我比较内向".
func (f *finder) selfZh(sentence string) {
	if f.voice != own || !strings.Contains(sentence, "我") || containsAny(sentence, []string{"如果", "要是"}) {
		return
	}
	for i := range sentence {
		form, s := longestSelf(sentence[i:])
		if form == "" {
			continue
		}
		me := strings.LastIndex(sentence[:i], "我")
		if me < 0 {
			continue
		}
		between := sentence[me+len("我") : i]
		p := pro
		for _, not := range []string{"不再", "不是", "并不", "不算", "不"} {
			if rest := strings.Replace(between, not, "", 1); rest != between {
				between, p = rest, con
				break
			}
		}
		for again := true; again && between != ""; {
			again = false
			for _, filler := range selfFillers {
				if rest, ok := strings.CutPrefix(between, filler); ok {
					between, again = rest, true
					break
				}
			}
		}
		if between == "" && !strings.HasPrefix(sentence[me:], "我们") {
			f.add(finding{kind: self, id: s.id, surface: form, zh: true, polarity: p, stated: p == pro, say: s.zh})
		}
	}
}

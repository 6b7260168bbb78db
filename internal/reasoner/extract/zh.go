package extract

import (
	"strings"
	"unicode/utf8"

	"github.com/oxbow-memory/oxbow/internal/reasoner/lexis"
)

var (
	// Characters that carry no matter of their own.
	stopZh = "的了着过是在有和跟与就都也还又很太真好吧吗呢啊呀哦嗯哈啦嘛呗这那个些么什怎我你您他她它们自己不没会能可要想说看到去来上下里中让把被给对从为以之而但如果所因为其实然后一点儿哎唉喂行谢再见请问觉得知道真的"

	stopCharsZh = charsOf(stopZh)

	firstZh    = []string{"我", "咱", "俺", "本人"}
	orderZh    = []string{"帮我", "帮忙", "请帮", "请你", "请给", "请问", "请把", "请用", "麻烦你", "麻烦您", "麻烦帮", "给我写", "给我讲", "给我推荐", "给我列", "给我做", "给我看", "给我找", "给我解释", "替我", "翻译", "写一", "写篇", "推荐", "总结", "解释", "告诉我", "列出", "列一", "生成", "查一下", "查查", "搜一下", "搜索", "提醒我", "设置", "设个", "定个", "打开", "播放", "继续", "再来一", "换一个", "改写", "润色", "算一下", "计算", "分析一下", "介绍一下", "讲个", "讲讲", "说说", "看看这", "你帮", "你能", "你可以", "能不能帮", "能帮", "可以帮", "把这", "把下面", "把上面", "用中文", "用英文", "加油", "早点休息", "注意身体", "保重"}
	questionZh = []string{"吗", "呢", "么", "怎么办", "怎么写", "怎么做", "为什么"}
	askingZh   = []string{"什么", "怎么", "哪里", "哪儿", "哪个", "哪家", "谁", "为什么", "多少", "几点", "是不是", "能不能", "要不要", "有没有", "好不好", "如何", "是否", "咋", "啥"}
	courtesyZh = []string{"你好", "您好", "谢谢", "多谢", "感谢", "好的", "好吧", "好呀", "好啊", "嗯", "哦", "噢", "哈哈", "嘿嘿", "呵呵", "再见", "拜拜", "晚安", "早安", "早上好", "晚上好", "下午好", "不客气", "没关系", "没事", "行", "可以", "对", "是的", "没错", "明白", "知道了", "收到", "ok", "辛苦", "厉害", "真棒", "太好了", "太棒了", "恭喜", "原来如此", "这样啊", "在吗", "在不在"}
	fillersZh  = []string{"嗯嗯", "嗯", "哈哈哈", "哈哈", "那个", "对了", "话说", "说起来", "其实", "哎呀", "哎", "唉", "哦", "噢", "啊", "呃", "额", "好的", "好吧", "好", "是的", "对", "没错", "不过话说回来", "顺便说一下", "顺便说一句", "顺便", "跟你说", "告诉你", "你知道吗", "怎么说呢", "老实说", "说实话", "谢谢你", "谢谢", "你好", "您好", "请记住", "记住", "记得", "请你记住", "帮我记一下", "帮我记住", "记一下", "另外", "那", "就是"}
	futureZh   = []string{"打算", "准备", "计划", "将要", "即将", "下周", "下个月", "下月", "明天", "后天", "明年", "想去", "想学", "要去", "要到", "要开始", "考虑", "希望能", "期待", "待会", "马上要", "过几天", "报了名"}
	pastZh     = []string{"了", "昨", "前天", "上周", "上个", "去年", "刚", "那天", "当时", "今早", "今天", "小时候", "以前", "曾"}
	kinZh      = []string{"妈", "爸", "爷爷", "奶奶", "外公", "外婆", "姥", "老婆", "老公", "妻子", "丈夫", "儿子", "女儿", "哥", "姐", "弟", "妹", "孩子", "朋友", "同事", "同学", "室友", "老板", "领导", "男友", "女友", "猫", "狗", "宝宝", "家里"}
)

// readZh weighs a sentence of Chinese, and finds what it says.
func (r *reading) readZh() {
	text := r.text
	bare := strings.TrimRight(text, "。！!？?；;…~～ ，,")
	if hasPrefixOf(text, orderZh) && !rememberZh(text) {
		i := indexAny(text, []string{"，我", ",我", "，因为我", "，本人"})
		if i < 0 {
			r.kind = order
			return
		}
		text = strings.TrimLeft(text[i:], "，,")
		text = strings.TrimPrefix(text, "因为")
		*r = reading{sentence: read(text), talk: r.talk}
		bare = strings.TrimRight(text, "。！!？?；;…~～ ，,")
	}
	if r.asks() || hasSuffixOf(bare, questionZh) || r.hasZh(hasAsking) && !r.hasZh(hasFirst) {
		// "我们下周去云南，你呢？" says something before it asks
		i := strings.LastIndex(bare, "，")
		if i < 0 || !lexis.ContainsAny(bare[:i], firstZh) || lexis.ContainsAny(bare[:i], askingZh) || strings.ContainsAny(bare[:i], "你您") {
			r.kind = question
			return
		}
		*r = reading{sentence: read(bare[:i] + "。"), talk: r.talk}
		text, bare = r.text, bare[:i]
	}
	content := 0
	var last rune
	for _, c := range bare {
		if isHan(c) && !stopCharsZh[c] && c != last {
			content++
		}
		last = c
	}
	n := float64(content)/2 + float64(len(r.tokens))
	if utf8.RuneCountInString(bare) <= 6 && hasPrefixOf(bare, courtesyZh) && !lexis.ContainsAny(bare, firstZh) {
		r.kind = filler
		return
	}
	me, you := r.hasZh(hasFirst), strings.ContainsAny(text, "你您")
	r.past, r.future = r.hasZh(hasPast) || doneZh(text), r.hasZh(hasFuture)
	me = me || r.past && !you && !strings.ContainsAny(text, "他她它") && !hasPrefixOf(text, []string{"这", "那", "该"}) // who tells of themselves often leaves 我 away
	r.me, r.you = me, you
	kin := r.hasZh(hasKin)
	switch {
	case me && you:
		n *= 1.05
	case me:
		n = n*1.3 + 0.5
	case you:
		n *= 0.4
	case !r.past && !r.future && !kin && len(r.talk.names) == 0:
		n *= 0.4
	case !r.past && !r.future && !kin:
		n *= 0.8
	}
	if r.past || r.future {
		n += 0.6
	}
	if kin {
		n++
	}
	if content > 0 || len(r.tokens) > 0 {
		r.weight = n
	}
}

// doneZh tells whether 过 says that something was done before: 去过, but not 过敏 nor 难过.
func doneZh(text string) bool {
	for i := 0; ; {
		j := strings.Index(text[i:], "过")
		if j < 0 {
			return false
		}
		i += j
		before, after := lastRune(text[:i]), text[i+len("过"):]
		next, _ := utf8.DecodeRuneInString(after)
		if before != 0 && isHan(before) && !strings.ContainsRune("难不通超经好越渡跳", before) && !strings.ContainsRune("敏年来去程度分得于期节生", next) {
			return true
		}
		i += len("过")
	}
}

// rememberZh tells whether a sentence asks to be remembered.
func rememberZh(text string) bool {
	return hasPrefixOf(text, []string{"帮我记", "请记住", "记住", "请你记住"})
}

// charsOf returns the characters of a text.
func charsOf(text string) map[rune]bool {
	all := map[rune]bool{}
	for _, r := range text {
		all[r] = true
	}
	return all
}

// bareFillersZh are cut off without a mark after them.
var bareFillersZh = lexis.Set("请记住 请你记住 记住 帮我记住 帮我记一下 其实 说实话 老实说 顺便说一下 顺便说一句")

// trimZh cuts off the words that only lead to what is said.
func trimZh(text string) string {
next:
	for {
		for _, f := range fillersZh {
			rest, ok := strings.CutPrefix(text, f)
			if !ok {
				continue
			}
			bare := strings.TrimLeft(rest, "，,。！!、：:~～… ")
			if bare != "" && (bare != rest || bareFillersZh[f]) {
				text = bare
				continue next
			}
		}
		return text
	}
}

func hasSuffixOf(text string, words []string) bool {
	for _, w := range words {
		if strings.HasSuffix(text, w) {
			return true
		}
	}
	return false
}

// indexAny returns where the first of some words stands; -1: none does.
func indexAny(text string, words []string) int {
	first := -1
	for _, w := range words {
		if i := strings.Index(text, w); i >= 0 && (first < 0 || i < first) {
			first = i
		}
	}
	return first
}

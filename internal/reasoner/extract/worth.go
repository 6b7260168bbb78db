package extract

import (
	"cmp"
	"strings"
	"unicode/utf8"

	"github.com/oxbow-memory/oxbow/internal/reasoner"
	"github.com/oxbow-memory/oxbow/internal/reasoner/lexis"
)

type kind int

const (
	statement kind = iota
	filler         // courtesies, and what only keeps a conversation going
	question
	order // asks for something to be done
)

// reading is a sentence with what it says.
type reading struct {
	sentence
	said         string // with the words of continuance that text leaves out; empty: as in text
	talk         *talk
	kind         kind
	weight       float64 // how much matter it has: about the number of words that carry any
	me           bool    // the speaker is in it
	you          bool    // and the one who is spoken to
	past, future bool
	attributes   []attribute
	negates      bool              // something is so no longer
	anchored     bool              // worth remembering however short it is
	category     reasoner.Category // of what is anchored
	importance   float64           // of what is anchored
}

// whole returns the sentence as it was said.
func (r *reading) whole() string { return cmp.Or(r.said, r.text) }

// readSentence reads a sentence for what is worth remembering. If only words of continuance hide that, it reads past them.
func readSentence(s sentence, t *talk) reading {
	r := readPlain(s, t)
	if r.kind != statement || r.anchored {
		return r
	}
	if rest, ok := withoutContinuance(&r.sentence); ok {
		if plain := readPlain(read(rest), t); plain.anchored {
			plain.said = r.text
			return plain
		}
	}
	return r
}

func readPlain(s sentence, t *talk) reading {
	r := reading{sentence: s, talk: t}
	if r.chinese() {
		r.trimmed(trimZh(s.text))
		r.readZh()
	} else {
		if len(s.tokens) > 0 && (fillersEn[s.tokens[0].lower] != nil || t.takesPart(s.tokens[0].lower)) {
			r.trimmed(trimEn(s.text, t))
		}
		r.readEn()
	}
	if r.kind != statement {
		return r
	}
	r.negates = negates(&r.sentence)
	r.anchor()
	return r
}

// trimmed leaves the words away that only lead to what is said.
func (r *reading) trimmed(text string) {
	if len(text) != len(r.text) {
		r.sentence = read(text)
	}
}

// supposedEn and supposedZh begin what is not said to be so.
var (
	supposedEn = phrasesOf("if i, i wish, as if, what if, imagine, i'd be, i would be, i'd have, i would have, unless i")
	supposedZh = []string{"如果", "要是", "假如", "万一", "假设", "倘若"}
)

// anchor finds what is worth remembering however short it is: who the speaker is, what they like, can, have, and gave up.
func (r *reading) anchor() {
	if r.chinese() && r.hasZh(hasSupposed) || !r.chinese() && r.has(headsSupposed) && supposedEn.has(r.tokens) {
		if hasPrefixOf(r.text, supposedZh) || len(r.tokens) > 0 && supposedEn.at(r.tokens, 0) > 0 {
			r.weight *= 0.4
		}
		return
	}
	set := func(c reasoner.Category, importance float64) {
		if !r.anchored || importance > r.importance {
			r.anchored, r.category, r.importance = true, c, importance
		}
	}
	if taken, ok := retraction(r.text); ok {
		if back := readSentence(read(taken), r.talk); back.anchored {
			set(back.category, back.importance)
			r.negates = true
		}
		return
	}
	r.attributes = r.attributesOf()
	if r.was() {
		set(reasoner.Identity, 0.6)
	} else if r.habit() {
		set(reasoner.Objective, 0.5)
	}
	for _, a := range r.attributes {
		switch head, _, _ := strings.Cut(a.key, ":"); head {
		case "name":
			set(reasoner.Identity, 0.9)
		case "favourite":
			set(reasoner.StablePreference, 0.7)
		case "diet":
			set(reasoner.StablePreference, 0.75)
		case "my":
			set(reasoner.Identity, 0.8)
		case "status":
			if a.value == "pregnant" {
				set(reasoner.Temporary, 0.7)
			} else {
				set(reasoner.Identity, 0.85)
			}
		default:
			set(reasoner.Identity, 0.85)
		}
	}
	if r.chinese() {
		r.anchorZh(set)
	} else {
		r.anchorEn(set)
	}
	if r.negates && r.me && r.weight >= 1 {
		set(reasoner.StablePreference, 0.6)
	}
	if r.me && !r.you && !r.anchored && r.weight >= 1.2 && (r.has(isFeeling) || r.han > 0) {
		if e := emotionOf([]reading{*r}); e != nil && e.Valence <= -0.35 {
			set(reasoner.Temporary, 0.4)
		}
	}
}

// wasEn and wasZh begin what somebody was, or where they lived.
var (
	wasEn = phrasesOf("i used to live, i used to work, i used to be a, i used to be an, we used to live")
	wasZh = []string{"我以前住", "我以前在", "我以前是", "我曾经住", "我曾经在", "我曾住在", "我曾在", "我过去住", "我原来住", "我原来在", "我之前住", "我之前在"}
)

// was tells whether a statement says where somebody lived or worked before.
func (r *reading) was() bool {
	if r.chinese() {
		return hasPrefixOf(r.text, wasZh) && lexis.ContainsAny(r.text, []string{"住", "工作", "上班", "当", "是"})
	}
	return wasEn.has(r.tokens)
}

// habit tells whether a statement says, in few words, what somebody does again and again.
func (r *reading) habit() bool {
	if !r.me || r.you || r.past || r.future || r.weight < 1.5 {
		return false
	}
	if r.chinese() {
		return hasPrefixOf(strings.TrimPrefix(r.text, "我"), habitsZh) && r.han <= 2*maxHabit
	}
	return len(r.tokens) <= maxHabit && r.tokens[0].lower == "i" && everyEn.has(r.tokens)
}

var (
	tastesEn   = lexis.Set("like love enjoy adore prefer hate dislike detest loathe loved")
	adverbsEn  = lexis.Set("really also still just absolutely truly do don't not never always actually totally especially mostly particularly so simply quite always've used to personally no longer didn't even strongly")
	notTasteEn = lexis.Set("that this it how your you when what the those these them him her hearing seeing to if having being doing our us where being")
	notSkillEn = lexis.Set("that this it how you your")
	beOfEn     = phrasesOf("i'm fond of, i am fond of, i'm a big fan of, i'm a huge fan of, i'm a fan of, i'm into, i'm really into, i am into, i can't stand, i cannot stand, i don't care for, i'm afraid of, i am afraid of, i'm scared of, i'm terrified of, i'm crazy about, i'm passionate about, i'm keen on, i don't eat, i don't drink, i never eat, i never drink")
	selvesEn   = phrasesOf(`i work in, i study, i'm studying, i teach, i major in, i'm majoring in, i have been a, i've been a, i have been an, i've been an, i'm a morning person, i'm a night owl, i'm an early bird, i'm an introvert,
		i'm an extrovert, i'm introverted, i'm left-handed, i'm self-employed`)
	latelyEn = phrasesOf("i'm obsessed with, i've been obsessed with, i've been into, i'm currently reading, i'm currently watching, i'm reading, i'm watching, i've been reading, i've been watching, i've been playing, i've been listening, i'm currently playing, i got into, i'm hooked on, i've gotten into")
	skillsEn = phrasesOf(`i can speak, i can play, i can swim, i can drive, i can cook, i can code, i can dance, i can sing, i can ski, i can read, i can ride, i can bake, i can sew, i can knit, i can paint, i can draw, i can juggle, i can surf, i can sail,
		i know how to, i'm good at, i am good at, i'm fluent in, i am fluent in, i speak, i play the, i taught myself, i learned to, i learned how to, i learnt to, i'm learning, i am learning, i've been learning, i'm trained in, i'm certified, i'm a certified, i am a certified`)
	havesEn     = lexis.Set("have own has")
	countsEn    = lexis.Set("a an one two three four five six seven eight no twin several")
	notThingsEn = lexis.Set("lot bit question idea feeling few problem point chance minute second moment good great hard tough nice doubt clue great fun blast ton time really request favor favour quick similar couple rough busy long bad")
	allergyEn   = phrasesOf("allergic to, allergy to, intolerant to, lactose intolerant, diabetic, asthmatic, celiac, coeliac, i suffer from, i was diagnosed, i've been diagnosed, colour-blind, colorblind, left-handed")
	plansEn     = phrasesOf("i'm going to, i am going to, i'm gonna, i plan to, i'm planning, we're planning, we plan to, we're going to, i'll be, i will be, we'll be, i'm thinking of, i'm thinking about, i want to, i hope to, i'm hoping to, i have an appointment, i'm moving to, i'm starting, i'm flying, i'm traveling, i'm travelling, i'm getting, i've decided to, i decided to, i've signed up, i signed up")
	wishesEn    = phrasesOf("i'd like to learn, i want to learn, i'd love to learn, i want to become, i'd like to become, i dream of")
	momentsEn   = phrasesOf(`got married, getting married, got engaged, got divorced, passed away, was born, gave birth, graduated, got promoted, got fired, was fired, lost my job, got laid, new job, moved to, moved in, moved out, adopted, got hired, was hired, was accepted, got accepted,
		broke up, had surgery, got diagnosed, is pregnant, bought a house, opened my, started my own, won the, won first, my first`)
	becameEn = lexis.Set("died married engaged divorced graduated retired pregnant")
)

// anchorsEn are the words at which anchorEn begins to read, besides the first words of its phrases.
var anchorsEn = lexis.Set("i i'd we i've i'm i'll we're we've we'll")

func (r *reading) anchorEn(set func(reasoner.Category, float64)) {
	all := r.tokens
	for i := range all {
		if all[i].flags&headsAnchor == 0 {
			continue
		}
		w := all[i].lower
		switch {
		case w == "i" || w == "i'd" || w == "we" || w == "i've" || w == "i'm" || w == "i'll" || w == "we're" || w == "we've" || w == "we'll":
		case w == "allergic", w == "allergy", w == "lactose", w == "diabetic", w == "asthmatic", w == "celiac", w == "coeliac", w == "left-handed", w == "colorblind", w == "colour-blind", w == "intolerant":
			if r.me && allergyEn.at(all, i) > 0 {
				set(reasoner.Objective, 0.75)
			}
			continue
		default:
			if n := momentsEn.at(all, i); n > 0 || becameEn[w] {
				if r.me && r.past && r.weight >= 1.5 {
					set(reasoner.Objective, 0.6)
				}
			}
			continue
		}
		if n := beOfEn.at(all, i); n > 0 && i+n < len(all) && !notTasteEn[all[i+n].lower] {
			set(reasoner.StablePreference, 0.65)
			continue
		}
		if n := latelyEn.at(all, i); n > 0 && i+n < len(all) && !notTasteEn[all[i+n].lower] && r.weight >= 2 {
			set(reasoner.ShortPreference, 0.45)
			continue
		}
		if n := skillsEn.at(all, i); n > 0 && i+n < len(all) && !notSkillEn[all[i+n].lower] && r.weight >= 1 {
			set(reasoner.Skill, 0.6)
			continue
		}
		if selvesEn.at(all, i) > 0 && r.weight >= 1.2 {
			set(reasoner.Identity, 0.75)
		}
		if n := plansEn.at(all, i); n > 0 && r.weight >= 3.5 || wishesEn.at(all, i) > 0 && r.weight >= 2 {
			set(reasoner.Temporary, 0.45)
		}
		if w == "i'm" || w == "i'd" || w == "i'll" || w == "we're" || w == "we'll" {
			continue
		}
		if allergyEn.at(all, i) > 0 {
			set(reasoner.Objective, 0.75)
			continue
		}
		j := i + 1
		if phraseAt(all, j, []string{"have", "always"}) {
			j++
		}
		for j < len(all) && j <= i+4 && adverbsEn[all[j].lower] {
			j++
		}
		if j+1 >= len(all) {
			continue
		}
		always := all[j-1].lower == "always" && (w == "i've" || w == "we've" || all[i+1].lower == "have")
		switch verb, next := all[j].lower, all[j+1]; {
		case tastesEn[verb], always && (tastesEn[strings.TrimSuffix(verb, "d")] || tastesEn[strings.TrimSuffix(verb, "ed")]):
			if !notTasteEn[next.lower] && !(verb == "like" && j > i+1 && all[j-1].lower == "to") || next.lower == "to" && j+2 < len(all) && !stopEn[all[j+2].lower] || next.lower == "the" && j+2 < len(all) && !stopEn[all[j+2].lower] && r.weight >= 2.5 {
				if r.weight >= 1.2 {
					set(reasoner.StablePreference, 0.65)
				}
			}
		case havesEn[verb] && (countsEn[next.lower] || next.lower[0] >= '0' && next.lower[0] <= '9'):
			if j+2 < len(all) && !notThingsEn[all[j+2].lower] && r.weight >= 1.2 && !stopEn[all[len(all)-1].lower] {
				set(reasoner.Objective, 0.55)
			}
		}
	}
	if len(all) > 3 && all[0].lower == "my" && (kinEn[all[1].lower] || kinEn[strings.TrimSuffix(all[1].lower, "'s")]) && r.weight >= 2.5 {
		for _, t := range all[2:min(len(all), 5)] {
			if t.lower == "is" && strings.Contains(r.text, " is ") && r.isDoing() {
				break
			}
			if t.lower == "is" || t.lower == "are" || t.lower == "lives" || t.lower == "works" || t.lower == "called" || t.lower == "named" || t.lower == "name" {
				set(reasoner.Identity, 0.7)
			}
		}
	}
}

// isDoing tells whether somebody is said to be doing something just now or soon: "my wife is turning forty".
func (r *reading) isDoing() bool {
	for i := range r.tokens[:len(r.tokens)-1] {
		if r.tokens[i].lower == "is" && strings.HasSuffix(r.tokens[i+1].lower, "ing") {
			return true
		}
	}
	return false
}

var (
	tastesZh   = []string{"喜欢", "爱吃", "爱喝", "爱看", "爱听", "爱玩", "热爱", "讨厌", "最爱", "偏爱", "受不了", "不吃", "不喝", "爱好", "迷恋", "钟爱", "更爱", "不爱", "很爱", "超爱", "特别爱", "感兴趣", "害怕", "有点怕", "很怕", "最怕"}
	latelyZh   = []string{"最近在看", "最近在读", "最近在听", "最近在玩", "最近迷上", "迷上了", "最近爱上", "最近在追", "最近喜欢", "这阵子在", "最近沉迷", "正在看", "正在读", "在追"}
	skillsZh   = []string{"会说", "会弹", "会游泳", "会开车", "会做饭", "会唱", "会画", "会跳", "会编程", "会写代码", "擅长", "精通", "学会了", "在学", "正在学", "开始学", "考下了", "考过了", "拿到了驾照", "会修", "会拉", "会吹", "会滑"}
	havesZh    = []string{"我有一", "我有两", "我有三", "我有个", "我养了", "我家有", "我们家有", "我有猫", "我有狗", "我买了", "我没有孩子", "我有孩子", "我女儿", "我儿子", "我妻子", "我丈夫", "我老婆", "我老公", "我妈", "我爸", "我爷爷", "我奶奶", "我外", "我弟", "我哥", "我姐", "我妹", "我女朋友", "我男朋友", "我女友", "我男友", "我的女儿", "我的儿子", "我家猫", "我家狗", "我的猫", "我的狗", "我室友", "我闺蜜"}
	allergyZh  = []string{"过敏", "糖尿病", "高血压", "色盲", "左撇子", "不耐受", "哮喘"}
	plansZh    = []string{"想学", "想去", "打算", "准备", "计划", "下周", "下个月", "明天", "后天", "明年", "要去", "要搬", "报名了", "报了名", "决定", "约了", "预约了", "订了"}
	momentsZh  = []string{"结婚", "离婚", "订婚", "怀孕", "出生", "去世", "过世", "毕业", "升职", "被裁", "辞职", "失业", "入职", "搬家", "分手", "手术", "确诊", "考上", "录取", "拿到offer", "买了房", "求婚", "生了个", "退休"}
	othersFact = []string{"我想问", "我想知道", "我想请", "我想让你", "我需要你", "我要你", "我希望你", "我的问题"}
)

func (r *reading) anchorZh(set func(reasoner.Category, float64)) {
	if !r.me || hasPrefixOf(r.text, othersFact) {
		if lexis.ContainsAny(r.text, othersFact) {
			r.weight, r.kind = 0, order
		}
		if !r.me && r.weight < 3 {
			return
		}
	}
	if strings.ContainsAny(r.text, "你您") && !r.me {
		return
	}
	if r.me && r.hasZh(hasTaste) && r.weight >= 1.5 {
		set(reasoner.StablePreference, 0.65)
	}
	if r.hasZh(hasLately) && r.weight >= 2 {
		set(reasoner.ShortPreference, 0.45)
		if r.importance == 0.65 && strings.Contains(r.text, "最近") {
			r.category, r.importance = reasoner.ShortPreference, 0.5
		}
	}
	if r.me && r.hasZh(hasSkill) && r.weight >= 1.5 {
		set(reasoner.Skill, 0.6)
	}
	if r.hasZh(hasAllergy) && r.weight >= 1.5 {
		set(reasoner.Objective, 0.75)
	}
	if r.me && r.hasZh(hasHave) && r.weight >= 2 {
		set(reasoner.Objective, 0.55)
	}
	if r.hasZh(hasMoment) && r.weight >= 2 {
		set(reasoner.Objective, 0.6)
	}
	if r.hasZh(hasPlan) && r.weight >= 2.5 {
		set(reasoner.Temporary, 0.45)
	}
}

// lastingEn and lastingZh show that a sentence says what is so, and not what happened.
var (
	lastingEn = phrasesOf("i am, i'm, i have, we have, i own, i work, i live, i always, i usually, i often, i never, i'm always, every day, every week, every morning, every year, my favorite, my favourite, is my, are my, i've always, i speak, i play, i can, i do, i run, i teach, i study, i need, i keep, i go, we go, i prefer, i believe, i love, i like, i enjoy, i hate")
	lastingZh = []string{"总是", "经常", "常常", "每天", "每周", "每年", "平时", "一直", "习惯", "喜欢", "从来", "是我", "都会", "一般"}
)

// lasting tells whether a statement says what is so, and not what happened.
func (r *reading) lasting() bool {
	if r.anchored {
		switch r.category {
		case reasoner.Identity, reasoner.StablePreference, reasoner.ShortPreference, reasoner.Skill:
			return true
		case reasoner.Objective:
			return !r.past && !r.future
		}
	}
	if r.past || r.future {
		return false
	}
	if r.chinese() {
		return r.hasZh(hasLasting) || r.me && !strings.Contains(r.text, "今")
	}
	return r.has(headsLasting) && lastingEn.has(r.tokens)
}

// negates tells whether a sentence says that something is so no longer.
var (
	overEn = phrasesOf("no longer, not anymore, any more, anymore, any longer, gave up, given up, stopped, quit, i've stopped, used to, fell out of love, don't like, do not like, never again, not into, gone off, done with")
	overZh = []string{"不再", "再也不", "再也没", "戒了", "戒掉", "戒烟", "戒酒", "已经不", "早就不", "不喜欢", "不爱", "放弃了", "停掉", "退出了", "告别"}
)

func negates(s *sentence) bool {
	if s.han > 0 {
		if s.hasZh(hasOver) && !lexis.ContainsAny(s.text, []string{"没放弃", "没有放弃", "从没停", "不喜欢的"}) {
			return true
		}
		// 我不喝咖啡了, but not 太不错了
		for rest := s.text; ; {
			i := strings.Index(rest, "不")
			if i < 0 {
				break
			}
			rest = rest[i+len("不"):]
			if hasPrefixOf(rest, []string{"了", "错", "是", "过", "就", "止", "只", "仅", "好", "行", "得", "到", "管"}) || strings.HasPrefix(rest, "住") && !hasSuffixOf(s.text[:len(s.text)-len(rest)-len("不")], []string{"我", "已经", "早就", "就", "也", "现在"}) || strings.HasSuffix(s.text[:len(s.text)-len(rest)-len("不")], "好") {
				continue
			}
			clause := rest
			if j := strings.IndexAny(clause, "，。！？；,!?;… ~"); j >= 0 {
				clause = clause[:j]
			}
			clause = strings.TrimRight(clause, "啦吧啊呀")
			if n := utf8.RuneCountInString(clause); strings.HasSuffix(clause, "了") && n >= 3 && n <= 9 && !lexis.ContainsAny(clause, []string{"算了", "多了", "极了", "太", "行了", "住了"}) && !lexis.ContainsAny(s.text, []string{"今天不", "今晚不", "明天不", "先不", "这次不"}) {
				return true
			}
		}
	}
	if !s.has(headsOver) {
		return false
	}
	all := s.tokens
	for i := range all {
		n := overEn.at(all, i)
		if n == 0 {
			continue
		}
		switch all[i].lower {
		case "any", "anymore": // only with a negation before it
			not := false
			for _, t := range all[:i] {
				not = not || notEn[t.lower]
			}
			if !not {
				continue
			}
		case "stopped", "quit":
			if i > 0 && notEn[all[i-1].lower] || i+1 < len(all) && (all[i+1].lower == "by" || all[i+1].lower == "at" || all[i+1].lower == "in" || all[i+1].lower == "for") {
				continue
			}
		case "gave", "given":
			if i > 0 && notEn[all[i-1].lower] {
				continue
			}
		case "used":
			if i > 0 && (all[i-1].lower == "get" || all[i-1].lower == "getting" || all[i-1].lower == "got" || all[i-1].lower == "i'm" || all[i-1].lower == "am" || all[i-1].lower == "is" || all[i-1].lower == "are" || all[i-1].lower == "be" || all[i-1].lower == "was") {
				continue
			}
		}
		return true
	}
	return false
}

var notEn = lexis.Set("not no never don't doesn't didn't isn't aren't wasn't weren't won't can't cannot couldn't wouldn't shouldn't haven't hasn't hadn't ain't dont cant hardly nor without")

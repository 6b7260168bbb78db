package extract

import (
	"strings"
	"unicode/utf8"

	"github.com/oxbow-memory/oxbow/internal/reasoner/lexis"
)

// attribute is something of which a person has one at a time, with its value: a name, a home, a favourite colour.
type attribute struct {
	key   string // name, home, job, employer, age, status, favourite:colour, my:phone, named:wife …
	value string // as it was said, in lower case, without articles
}

// attributes that follow fixed words in English; the value is what comes next.
var attributesEn = []struct {
	key   string
	words phrases
}{
	{"name", phrasesOf("my name is, my name's, my full name is, i'm called, i am called, people call me, everyone calls me, friends call me, i go by, call me")},
	{"home", phrasesOf(`i live in, i live at, i live near, i live on, i now live in, i currently live in, i'm living in, i am living in, i'm based in, i am based in, we live in, we live near,
		i live with my family in, i moved to, i've moved to, i have moved to, i just moved to, i've just moved to, we moved to, we've moved to, we just moved to, i've been living in, my home is in, my place is in,
		i relocated to, i've relocated to`)},
	{"origin", phrasesOf("i'm from, i am from, i come from, i was born in, i grew up in, i'm originally from, i am originally from, i originally come from")},
	{"job", phrasesOf("i work as, i'm working as, i am working as, my job is, my profession is, i now work as, i currently work as, i'm employed as, i make a living as, i earn my living as")},
	{"employer", phrasesOf("i work at, i work for, i'm working at, i'm working for, i am working for, i am working at, i now work at, i now work for, i currently work at, i currently work for, i'm employed at, i'm employed by")},
	{"birthday", phrasesOf("my birthday is on, my birthday is, my birthday's, my birthday's on, i was born on")},
}

// What people have one of, after "my". The value follows "is".
var ownedEn = lexis.Set(`phone number email mail address nickname age major degree school university college height weight car laptop computer bike team boss manager landlord doctor dentist therapist salary title
	timezone zip postcode blood language bedtime zodiac handle username website blog hometown surname pronouns goal dream budget rent commute deadline`)

var kinNamedEn = lexis.Set("wife husband mother mom mum father dad boyfriend girlfriend partner fiance fiancee boss manager landlord doctor")

// rolesEn end the names of occupations.
var (
	roleEndsEn = []string{"er", "or", "ist", "ian", "ant", "ent", "eer", "man", "woman"}
	rolesEn    = lexis.Set(`nurse chef cook pilot judge coach guide clerk student teacher doctor lawyer vet artist freelancer dad mom mother father student barista dentist priest poet translator architect athlete
		mathematician consultant accountant musician veteran soldier paramedic electrician plumber mechanic undergrad postdoc grad intern trainee founder ceo cto dev`)
	notRolesEn = lexis.Set("lover monster later loser winner beginner better bigger member supporter believer sucker person mentor never over further rather other another matter number former moment man woman different current huge sooner bummer disaster longer stranger fighter fan")
)

// attributesOf returns what a sentence says of these.
func (s *sentence) attributesOf() []attribute {
	if !s.looked {
		r := reading{sentence: *s}
		s.looked = true
		if s.chinese() {
			s.found = attributesZh(s.text)
		} else {
			s.found = r.attributesEn()
		}
	}
	return s.found
}

func (r *reading) attributesEn() []attribute {
	var found []attribute
	all := r.tokens
	for i := range all {
		switch all[i].lower {
		case "i", "i'm", "i've", "my", "we", "we've", "people", "everyone", "friends", "call":
		default:
			continue
		}
		if i > 0 && (all[i-1].lower == "if" || all[i-1].lower == "when" || all[i-1].lower == "that" && i > 1) {
			continue
		}
		matched := false
		for _, a := range attributesEn {
			if n := a.words.at(all, i); n > 0 && !(all[i].lower == "call" && i > 0 && !firstEn[all[i-1].lower] && all[i-1].lower != "just" && all[i-1].lower != "please") {
				if value := r.valueFrom(i + n); value != "" && !vagueEn[strings.Fields(value)[0]] {
					found = append(found, attribute{a.key, value})
				}
				matched = true
				break
			}
		}
		if matched {
			continue
		}
		switch all[i].lower {
		case "my":
			if a, ok := r.ownedAt(i); ok {
				found = append(found, a)
			}
		case "i'm", "i":
			if a, ok := r.selfAt(i); ok {
				found = append(found, a)
			}
		}
	}
	return found
}

// vagueEn begin what is no value.
var vagueEn = lexis.Set("a an the me you him them it there here that this what when whatever home back away out not no so very really hard long late all both together alone never ever later maybe tomorrow because")

// ownedAt reads "my favourite tea is jasmine", "my phone number is 555 0199", "my wife's name is Ines" at the token "my".
func (r *reading) ownedAt(i int) (attribute, bool) {
	all := r.tokens
	for j := i + 1; j < len(all) && j <= i+5; j++ {
		w := all[j].lower
		verb := w == "is" || w == "was"
		if !verb && !strings.HasSuffix(w, "'s") {
			continue
		}
		nouns := all[i+1 : j]
		if !verb {
			nouns = all[i+1 : j+1]
		}
		if len(nouns) == 0 {
			return attribute{}, false
		}
		head := strings.TrimSuffix(nouns[len(nouns)-1].lower, "'s")
		from := j + 1
		switch first := strings.TrimSuffix(nouns[0].lower, "'s"); {
		case first == "favorite" || first == "favourite" || first == "fave":
			rest := strings.TrimSuffix(joinWords(nouns[1:]), "'s")
			if value := r.valueFrom(from); rest != "" && value != "" {
				return attribute{"favourite:" + rest, value}, true
			}
		case kinNamedEn[first] && (head == "name" && verb || len(nouns) == 1 && verb && from < len(all) && (all[from].lower == "called" || all[from].lower == "named")):
			if head != "name" {
				from++
			}
			if value := r.valueFrom(from); value != "" {
				return attribute{"named:" + first, value}, true
			}
		case !verb && kinNamedEn[head] && phraseAt(all, j+1, []string{"name", "is"}):
			if value := r.valueFrom(j + 3); value != "" {
				return attribute{"named:" + head, value}, true
			}
		case ownedEn[head] && len(nouns) <= 3:
			if value := r.valueFrom(from); value != "" && !pastEn[strings.Fields(value)[0]] {
				return attribute{"my:" + strings.TrimSuffix(joinWords(nouns), "'s"), value}, true
			}
		}
		return attribute{}, false
	}
	return attribute{}, false
}

var (
	statusEn   = lexis.Set("married single divorced engaged widowed retired unemployed pregnant vegetarian vegan")
	betweenEn  = lexis.Set("now currently still a an the am not really actually also just newly recently happily working trained qualified freelance full-time part-time")
	nationalEn = []string{"ish", "ese", "ian", "can"}
)

// selfAt reads "I'm 34 years old", "I'm a nurse", "I'm married" at the token "I" or "I'm".
func (r *reading) selfAt(i int) (attribute, bool) {
	all := r.tokens
	if all[i].lower == "i" && (i+1 >= len(all) || all[i+1].lower != "am" && all[i+1].lower != "turned") {
		return attribute{}, false
	}
	if j := i + 1; all[i].lower == "i'm" && j < len(all) && all[j].capital && i <= 1 && !notNamesEn[all[j].lower] {
		if j+1 == len(all) || strings.TrimLeft(r.text[all[j].end:], " ") != "" && strings.ContainsAny(r.text[all[j].end:all[j].end+1], ",.!;") {
			if hasSuffixOf(all[j].lower, nationalEn) {
				return attribute{"origin", all[j].lower}, true
			}
			return attribute{"name", all[j].lower}, true
		}
	}
	article := false
	for j := i + 1; j < len(all) && j <= i+6; j++ {
		w := all[j].lower
		if w[0] >= '0' && w[0] <= '9' {
			if len(w) <= 3 && (phraseAt(all, j+1, []string{"years", "old"}) || all[j-1].lower == "turned" || j == len(all)-1 && !article) {
				return attribute{"age", w}, true
			}
			return attribute{}, false
		}
		if statusEn[w] && !article {
			key := "status"
			switch w {
			case "vegetarian", "vegan":
				key = "diet"
			case "retired", "unemployed":
				key = "job"
			}
			return attribute{key, w}, true
		}
		if w == "a" || w == "an" {
			article = true
			continue
		}
		if article {
			if (w == "vegetarian" || w == "vegan") && (j+1 == len(all) || all[j+1].start > all[j].end+1) {
				return attribute{"diet", w}, true
			}
			if roleEn(w) && (j+1 == len(all) || !roleEn(all[j+1].lower)) {
				from := i + 1
				for from < j && (betweenEn[all[from].lower] || all[from].lower == "a") {
					from++
				}
				return attribute{"job", r.valueFrom(from)}, true
			}
			if j > i+5 {
				break
			}
			continue
		}
		if !betweenEn[w] && w != "turned" {
			break
		}
	}
	return attribute{}, false
}

func roleEn(w string) bool {
	if notRolesEn[w] || stopEn[w] {
		return false
	}
	return rolesEn[w] || len(w) > 5 && hasSuffixOf(w, roleEndsEn)
}

// valueEnds end a value.
var valueEnds = lexis.Set("and but because since so which who where when while with though although until now anymore right these")

// valueFrom returns what is said from the i-th token on, up to the next mark or conjunction, without articles; at most eight words.
func (r *reading) valueFrom(i int) string {
	var words []string
	for j := i; j < len(r.tokens) && len(words) < 8; j++ {
		t := r.tokens[j]
		if j > i && strings.ContainsAny(r.text[r.tokens[j-1].end:t.start], ",.;:!?()—–") && t.lower[0] > '9' || valueEnds[t.lower] && j > i {
			break
		}
		switch t.lower {
		case "a", "an", "the", "now", "still", "actually", "also", "currently", "really", "currently,":
			continue
		}
		words = append(words, t.lower)
	}
	return strings.Join(words, " ")
}

// attributes in Chinese: what stands before the value. ~ is where 现在, 一直, 目前 and the like may stand.
var attributesOfZh = []struct {
	key   string
	words []string
	end   string // what has to follow the value; empty: nothing
}{
	{"name", []string{"我叫", "我的名字是", "我的名字叫", "我名字叫", "我名叫", "我的全名是", "大家都叫我", "大家叫我", "叫我"}, ""},
	{"home", []string{"我~住在", "我~住", "我家~在", "我们家~在", "我们~住在", "我~搬到了", "我~搬到", "我~搬去了", "我~搬去", "我~搬来", "我~搬家到", "我们~搬到了", "我们~搬到", "我~定居在", "我~定居", "我~租住在"}, ""},
	{"origin", []string{"我~来自", "我老家~在", "我老家是", "我的老家在", "我的老家是", "老家在", "我出生在", "我~出生于"}, ""},
	{"job", []string{"我的工作是", "我的职业是", "我~从事", "我职业是", "我~做的是"}, ""},
	{"employer", []string{"我~就职于", "我~任职于", "我~供职于", "我们公司是", "我的公司是", "我~入职了", "我~入职"}, ""},
	{"birthday", []string{"我的生日是", "我生日是", "我的生日在", "我生日在"}, ""},
}

var (
	betweenZh  = []string{"现在", "目前", "一直", "已经", "刚刚", "刚", "还是", "还", "仍然", "仍", "也", "就", "最近", "今年", "终于", "真的", "平时", "如今", "又", "都", "上个月", "上周", "去年", "前年", "昨天", "今天"}
	notNameZh  = "他她它了个车人外你您我上住不得着什过"
	roleEndsZh = []string{"师", "员", "生", "工", "人", "家", "者", "手", "医", "警察", "教授", "经理", "主管", "总监", "会计", "律师", "护士", "司机", "保安", "老板", "程序员", "设计师", "教练", "编辑", "记者", "学生", "厨师", "导游", "主任", "店长", "演员", "作家", "画家", "警", "兵", "公务员", "秘书", "助理", "农民", "牙医", "医生", "翻译"}
	ownedZh    = []string{"电话号码", "手机号码", "手机号", "电话", "邮箱", "邮件地址", "地址", "微信号", "微信", "车", "专业", "学校", "公司", "老板", "领导", "英文名", "小名", "昵称", "血型", "身高", "体重", "星座", "属相", "生肖", "工资", "目标", "梦想", "班主任", "导师", "宿舍", "座右铭", "房租", "母语", "网名"}
	kinNamedZh = []string{"老婆", "老公", "妻子", "丈夫", "妈妈", "爸爸", "母亲", "父亲", "男朋友", "女朋友", "男友", "女友", "未婚夫", "未婚妻", "老板", "领导", "导师", "房东", "上司"}
	isZh       = []string{"换成了", "换成", "改成了", "改成", "变成了", "变成", "改为", "换为", "是", "叫", "：", ":"}
)

// attributesZh finds them in a sentence of Chinese.
func attributesZh(text string) []attribute {
	var found []attribute
	for at := 0; at < len(text); {
		i := strings.Index(text[at:], "我")
		if i < 0 {
			break
		}
		i += at
		if before := lastRune(text[:i]); before != 0 && strings.ContainsRune("如说怕以若果让给是和跟", before) {
			at = i + len("我")
			continue
		}
		if a, ok := attributeZhAt(text[i:]); ok {
			found = append(found, a)
		}
		at = i + len("我")
	}
	if len(found) == 0 {
		for _, p := range []string{"大家都叫我", "大家叫我", "请叫我", "可以叫我", "叫我", "老家在"} {
			if i := strings.Index(text, p); i >= 0 && (p != "叫我" || i == 0) {
				key := "name"
				if p == "老家在" {
					key = "origin"
				}
				if v := valueZh(text[i+len(p):]); v != "" && utf8.RuneCountInString(v) <= 8 {
					return []attribute{{key, v}}
				}
			}
		}
	}
	return found
}

// attributeZhAt reads what begins with 我.
func attributeZhAt(text string) (attribute, bool) {
	rest := skipZh(strings.TrimPrefix(text, "我"))
	for _, a := range attributesOfZh {
		for _, w := range a.words {
			tail, ok := strings.CutPrefix(text, strings.Replace(w, "~", "", 1))
			if head, after, open := strings.Cut(w, "~"); open && !ok {
				if tail, ok = strings.CutPrefix(text, head); ok {
					tail, ok = strings.CutPrefix(skipZh(tail), after)
				}
			}
			if !ok {
				continue
			}
			v := valueZh(tail)
			n := utf8.RuneCountInString(v)
			if first, _ := utf8.DecodeRuneInString(v); n == 0 || n > 16 || a.key == "name" && (n > 8 || strings.ContainsRune(notNameZh, first)) || strings.HasSuffix(w, "住") && (n < 2 || strings.ContainsRune("了过着不院校的得", first)) {
				continue
			}
			return attribute{a.key, v}, true
		}
	}
	if tail, ok := strings.CutPrefix(rest, "在"); ok {
		for _, end := range []string{"工作", "上班", "任职", "当"} {
			if i := strings.Index(tail, end); i > 0 && !strings.ContainsAny(tail[:i], "，。！,的不") && utf8.RuneCountInString(tail[:i]) <= 12 {
				if end == "当" {
					if v := valueZh(tail[i+len(end):]); hasSuffixOf(v, roleEndsZh) {
						return attribute{"job", v}, true
					}
					return attribute{}, false
				}
				return attribute{"employer", tail[:i]}, true
			}
		}
		if i := strings.Index(tail, "住"); i > 0 && !strings.ContainsAny(tail[:i], "，。！,") && utf8.RuneCountInString(tail[:i]) <= 8 && endsZh(tail[i+len("住"):]) {
			return attribute{"home", tail[:i]}, true
		}
	}
	for _, p := range []string{"是一名", "是一个", "是一位", "是个", "是名", "是", "当上了", "当", "做"} {
		if tail, ok := strings.CutPrefix(rest, p); ok {
			v := valueZh(tail)
			n := utf8.RuneCountInString(v)
			switch {
			case n < 2 || n > 10 || strings.ContainsAny(v, "不说想"):
			case p == "是" && strings.HasSuffix(v, "人") && n <= 5 && n >= 3 && !strings.ContainsAny(v, "的个种本") && !hasSuffixOf(v, []string{"女人", "男人", "好人", "病人", "老人", "主人"}):
				return attribute{"origin", strings.TrimSuffix(v, "人")}, true
			case hasSuffixOf(v, roleEndsZh) && !strings.HasSuffix(v, "的人") && !strings.HasSuffix(v, "女生") && !strings.HasSuffix(v, "男生") && !(strings.HasSuffix(v, "人") && n <= 3):
				return attribute{"job", v}, true
			}
		}
	}
	if i := strings.Index(rest, "岁"); i > 0 && i <= 12 {
		age := strings.TrimPrefix(strings.TrimPrefix(rest[:i], "满"), "快")
		if age != "" && strings.Trim(age, "0123456789一二三四五六七八九十") == "" && !strings.HasPrefix(rest[i:], "岁的时候") && !strings.HasPrefix(rest[i:], "岁时") && !strings.HasPrefix(rest[i:], "岁那") {
			return attribute{"age", age}, true
		}
	}
	for _, s := range []string{"结婚了", "离婚了", "单身", "未婚", "已婚", "订婚了", "退休了", "失业了", "吃素"} {
		if strings.HasPrefix(rest, s) || strings.HasPrefix(rest, "是"+s) {
			key := "status"
			switch s {
			case "退休了", "失业了":
				key = "job"
			case "吃素":
				key = "diet"
			}
			return attribute{key, s}, true
		}
	}
	mine := strings.TrimPrefix(rest, "的")
	if tail, ok := strings.CutPrefix(rest, "最喜欢的"); ok {
		if i := indexAny(tail, isZh); i > 0 && !strings.ContainsAny(tail[:i], "，。！,") {
			if v := valueZh(cutIs(tail[i:])); v != "" {
				return attribute{"favourite:" + tail[:i], v}, true
			}
		}
	}
	for _, k := range kinNamedZh {
		if tail, ok := strings.CutPrefix(mine, k); ok {
			tail = strings.TrimPrefix(tail, "的名字")
			if v, ok := strings.CutPrefix(skipZh(tail), "叫"); ok {
				if v = valueZh(v); v != "" && utf8.RuneCountInString(v) <= 8 && !strings.ContainsAny(v, "我你") {
					return attribute{"named:" + k, v}, true
				}
			}
		}
	}
	for _, o := range ownedZh {
		if tail, ok := strings.CutPrefix(mine, o); ok {
			tail = skipZh(tail)
			if after := cutIs(tail); after != tail {
				if v := valueZh(after); v != "" {
					return attribute{"my:" + o, v}, true
				}
			}
			break
		}
	}
	return attribute{}, false
}

func cutIs(text string) string {
	for _, is := range isZh {
		if rest, ok := strings.CutPrefix(text, is); ok {
			return rest
		}
	}
	return text
}

func skipZh(text string) string {
next:
	for {
		for _, b := range betweenZh {
			if rest, ok := strings.CutPrefix(text, b); ok && rest != "" {
				text = rest
				continue next
			}
		}
		return text
	}
}

// valueZh returns what stands at the beginning of text up to the next mark or word that ends a value.
func valueZh(text string) string {
	text = strings.TrimLeft(text, " ：:")
	if i := strings.IndexAny(text, "，。！？；、,!?;（(~…\n"); i >= 0 {
		text = text[:i]
	}
	for _, end := range []string{"工作", "上班", "而且", "但是", "因为", "所以", "和我", "跟我"} {
		if i := strings.Index(text, end); i > 0 {
			text = text[:i]
		}
	}
	text = strings.TrimSpace(text)
	for _, end := range []string{"了", "啦", "呢", "吧", "啊", "哦", "呀"} {
		text = strings.TrimSuffix(text, end)
	}
	return strings.ToLower(text)
}

func endsZh(rest string) bool {
	rest = strings.TrimLeft(rest, "了啦呢吧啊")
	return rest == "" || strings.IndexAny(rest, "，。！？；,!?; ~…") == 0
}

func lastRune(text string) rune {
	if text == "" {
		return 0
	}
	r, _ := utf8.DecodeLastRuneInString(text)
	return r
}

package main

import (
	"math/rand/v2"
	"strings"
	"time"
	"unicode/utf8"
)

var (
	syllables  = strings.Fields("ka lo mi ren tas vo del shi mar bo ne ru fin gal pe quo ster wy zan hu")
	names      = strings.Fields("Ada Boris Clara Dmitri Elena Farid Greta Hugo Ines Jonas Kira Leon Mona Nils Olga Pablo Rosa Samir Tilda Uma Viktor Wanda Yusuf Zoe")
	verbs      = strings.Fields("visited repaired painted borrowed cooked planted sold found lost cleaned photographed carried wrapped measured returned discussed tested watched ordered cancelled rehearsed translated")
	things     = strings.Fields("bicycle lantern violin teapot suitcase greenhouse telescope novel recipe jacket passport sofa camera kayak piano mirror garden fence chessboard carpet thermometer umbrella guitar printer bookshelf radio")
	adjectives = strings.Fields("old wooden red borrowed heavy tiny broken expensive quiet blue rusty new favourite secondhand folded copper forgotten")
	places     = strings.Fields("harbour library station market museum bakery office attic cellar clinic school bridge island village kitchen theatre garage courtyard")
	reasons    = []string{"because the weather turned", "before the guests arrived", "after a long discussion", "as a present for the neighbours",
		"and forgot about lunch", "although it was late", "to save some money", "while the others slept", "and felt relieved", "and wrote it down at once"}

	people     = strings.Fields("我 妈妈 爸爸 室友 同事 老板 邻居 表妹 导师 教练 房东 医生 老同学 合伙人 客户")
	times      = strings.Fields("清晨 上午 中午 下午 傍晚 晚上 深夜 下班后 午饭后 周末 出差前 开会时 排队时 下雨时")
	locations  = strings.Fields("图书馆 菜市场 地铁站 办公室 体育馆 江边 咖啡店 医院 超市 实验室 老城区 博物馆 健身房 火车站 幼儿园 书店 茶馆 植物园 码头 工地")
	doings     = strings.Fields("买了 修好了 弄丢了 借走了 预订了 退掉了 讨论了 整理了 拍摄了 准备了 取消了 比较了 推荐了 检查了 翻译了 画完了 收到了 寄出了 试用了 研究了")
	objects    = strings.Fields("自行车 旧相机 合同 体检报告 小提琴 机票 电饭煲 跑步鞋 说明书 蓝牙耳机 窗帘 生日蛋糕 预算表 登山包 实验数据 毛笔 普洱茶 钢琴谱 借书证 行李箱 菜谱 游泳票 电影票 论文初稿 花盆 雨伞")
	qualities  = strings.Fields("便宜的 红色的 二手的 很重的 新的 朋友送的 有点坏的 限量的 常用的 去年的 进口的 手工的")
	afterwards = strings.Fields("心里很高兴 觉得有点累 花了不少时间 比预想的顺利 决定下个月再来 顺便吃了碗面 还拍了几张照片 把过程记了下来 打算告诉家里人 回来以后睡得很早 和朋友聊了很久 发现价格又涨了 提醒自己下次早点出门 最后还是没有结果")
)

// writer makes up texts. The same seed gives the same texts.
type writer struct{ *rand.Rand }

func newWriter(seed uint64) writer { return writer{rand.New(rand.NewPCG(seed, 20))} }

func (w writer) of(list []string) string { return list[w.IntN(len(list))] }

// rare returns one of some thousand names that nobody has, the first ones more often: real texts are full of such words.
func (w writer) rare() string {
	n := int(float64(8000) * w.Float64() * w.Float64() * w.Float64())
	name := syllables[n%20] + syllables[n/20%20] + syllables[n/400%20]
	return strings.ToUpper(name[:1]) + name[1:]
}

// english returns a sentence of 60 to 120 characters.
func (w writer) english() string {
	return strings.Join([]string{w.of(names), w.of(verbs), "the", w.of(adjectives), w.of(things), "from", w.rare(), "at the", w.of(places), w.of(reasons) + "."}, " ")
}

// chinese returns sentences of about the given number of characters.
func (w writer) chinese(length int) string {
	var b strings.Builder
	for n := 0; n < length; {
		s := w.of(times) + "，" + w.of(people) + "在" + w.of(locations) + w.of(doings) + w.of(qualities) + w.of(objects)
		if w.IntN(3) == 0 {
			s += "（" + w.rare() + "）"
		}
		s += "，" + w.of(afterwards) + "。"
		b.WriteString(s)
		n += utf8.RuneCountInString(s)
	}
	return b.String()
}

// text is English or Chinese.
func (w writer) text() string {
	if w.IntN(2) == 0 {
		return w.english()
	}
	return w.chinese(60)
}

// question asks about a text in some of its words, sometimes with a month.
func (w writer) question(text string) string {
	words := strings.Fields(text)
	if len(words) < 6 {
		runes := []rune(text)
		at := w.IntN(max(len(runes)-12, 1))
		q := string(runes[at:min(at+12, len(runes))]) + "是什么时候的事？"
		if w.IntN(4) == 0 {
			q = "3月" + q
		}
		return q
	}
	q := "When did " + words[0] + " have the " + strings.Join(words[3:min(7, len(words))], " ") + "?"
	if w.IntN(4) == 0 {
		q = "In March: " + q
	}
	return q
}

// moment is some time in a year.
func (w writer) moment() time.Time {
	return time.Date(2025, 1, 1, 0, 0, 0, 0, time.UTC).Add(time.Duration(w.IntN(365*24*60)) * time.Minute)
}

// texts makes up n texts.
func (w writer) texts(n int) []string {
	texts := make([]string, n)
	for i := range texts {
		texts[i] = w.text()
	}
	return texts
}

// alike returns a sentence that resembles thousands of others: each of its words is common.
func (w writer) alike() string {
	return "I had " + w.of([]string{"coffee", "tea"}) + " at the " + w.of([]string{"office", "cafe", "station"}) + " with " +
		w.of([]string{"Ada", "Hugo", "Rosa", "Nils"}) + " before the " + w.of([]string{"meeting", "call", "lesson"}) + " " +
		w.of([]string{"this morning", "after lunch", "in the evening"}) + "."
}

package rules

import (
	"strings"
	"unicode/utf8"

	"github.com/oxbow-memory/oxbow/internal/reasoner/lexis"
)

// Where people go, by the end of the name. Homes, offices, and what belongs to health or religion are none of ours.
var (
	placeEnds = tableOf(strings.Fields("森林公园 湿地公园 体育公园 公园 体育馆 体育中心 健身中心 运动中心 图书馆 美术馆 博物馆 艺术馆 科技馆 书店 书吧 咖啡馆 咖啡厅 咖啡店 茶馆 茶楼 茶社 商场 购物中心 购物广场 广场 古镇 老街 步行街 风景区 景区 江滩 海滩 沙滩 江边 湖边 球场 球馆 台球厅 滑板公园 菜市场 步道 绿道 植物园 动物园 花鸟市场 古玩市场 电影院 影城 剧院 音乐厅 健身房 游泳馆 瑜伽馆 羽毛球馆 书城 棋牌室 老年大学 活动中心 农场 水库 山 湖")...)
	notPlaces = strings.Fields("医 药 诊 卫生 康复 理疗 体检 教堂 寺 庙 清真 教会 佛 道观 家 公司 单位 办公 小区 学校 幼儿园 殡 爬 登 一 那 这 附近 周边 高 上 下 网 附 客 某 个 的 点击")
)

// placeZh reads the ending of a place's name at [start, end).
func (f *finder) placeZh(sentence string, start, end int) {
	name, ok := nameBefore(sentence[:start], sentence[end:])
	if n := utf8.RuneCountInString(name); !ok || n < 2 || n > 6 || end-start == len("山") && n > 3 || lexis.ContainsAny(name, notPlaces) {
		return
	}
	if f.voice == own && polarityZh(sentence, start, end) != pro {
		return
	}
	name = sentence[start-len(name) : end]
	f.add(finding{kind: place, id: name, surface: name, zh: true})
}

// nameBefore returns the characters that stand before a place's ending and belong to its name. ok is false unless a word of
// movement or place stands before it ("在岳麓山"), or it stands alone between spaces, as a label does.
func nameBefore(text, after string) (name string, ok bool) {
	start := len(text)
	for start > 0 {
		r, size := utf8.DecodeLastRuneInString(text[:start])
		switch r {
		case '在', '去', '到', '从', '往', '逛', '至':
			return text[start:], true
		case ' ':
			next, _ := utf8.DecodeRuneInString(after)
			return text[start:], !isHan(next)
		}
		if !isHan(r) || strings.ContainsRune("的和与及来了着过为是", r) {
			return "", false
		}
		start -= size
	}
	return "", false
}

// surnames begin the names of people, or what comes before them among friends.
const surnames = lexis.Surnames + "小老阿"

var together = []string{"一起", "去", "见面", "吃", "聊", "打", "逛", "在", "约", "爬", "看", "玩", "喝", "共", "到", "视频"}

// companyZh reads whom the user does things with, after 和 or the like: "小王一起…".
func (f *finder) companyZh(rest string) {
	first, end := utf8.DecodeRuneInString(rest)
	if !strings.ContainsRune(surnames, first) {
		return
	}
	for range 2 {
		c, size := utf8.DecodeRuneInString(rest[end:])
		if !isHan(c) {
			return
		}
		end += size
		for _, t := range together {
			if strings.HasPrefix(rest[end:], t) {
				f.addPerson(rest[:end], true)
				return
			}
		}
	}
}

func (f *finder) addPerson(name string, zh bool) {
	name = strings.TrimSpace(name)
	n := utf8.RuneCountInString(name)
	if n < 2 || n > 16 || lexis.ContainsAny(name, []string{"医生", "大夫", "护士", "牧师", "神父", "银行", "客服", "公司", "平台", "快递", "物业", "中心", "Dr"}) ||
		strings.ContainsAny(name, "0123456789【】*+") {
		return
	}
	f.add(finding{kind: person, id: strings.ToLower(name), surface: name, zh: zh})
}

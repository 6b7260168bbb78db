package extract

import (
	"strings"

	"github.com/oxbow-memory/oxbow/internal/reasoner/lexis"
)

// What somebody did, told in few words and without a feeling, is no news, and yet shows a habit when it comes again: "I went
// to the gym today".
var (
	didEn = phrasesOf(`i went, we went, i played, we played, i ran, i swam, i cycled, i biked, i jogged, i hiked, i climbed, i rowed, i cooked, i baked, i painted, i practiced, i practised,
		i meditated, i worked out, i visited, we visited, i did yoga, i did pilates, i did some, i did my`)
	// what may come before it, and what says by itself that the one who speaks did it
	beforeDidEn = lexis.Set("today yesterday tonight this last morning afternoon evening night weekend so just also and then well yeah again")
	barelyDidEn = lexis.Set("went played ran swam cycled biked jogged hiked cooked baked painted practiced practised meditated visited")
	// going to bed, home, or mad tells nothing
	notDeedsEn = lexis.Set("bed sleep home out away back crazy mad well fine wrong bad badly great good smoothly ok okay there up down over through on by off ahead downhill viral late bathroom toilet work so really better")

	didZh      = []string{"去", "跑了", "游了", "打了", "踢了", "练了", "骑了", "爬了", "做了", "画了", "跳了", "弹了", "看了"}
	whenDidZh  = []string{"今天", "今早", "今晚", "昨天", "昨晚", "前天", "上午", "下午", "早上", "晚上", "中午", "刚", "周末", "上周", "又"}
	notDeedsZh = []string{"睡", "忙", "上班", "下班", "洗澡", "厕所", "回", "没", "不", "过去", "下去", "出去了", "要去", "想去", "会去", "准备", "打算", "吗", "呢", "了解", "看了看", "打了个"}
)

// did tells whether a statement says what the one who speaks did.
func (r *reading) did() bool {
	if r.future || r.negates || r.you {
		return false
	}
	if r.chinese() {
		return lexis.ContainsAny(r.text, didZh) && lexis.ContainsAny(r.text, whenDidZh) && strings.Contains(r.text, "了") && !lexis.ContainsAny(r.text, notDeedsZh)
	}
	for i := range r.tokens {
		n := didEn.at(r.tokens, i)
		if i == 0 && n == 0 && barelyDidEn[r.tokens[0].lower] {
			n = 1
		}
		if n > 0 {
			return i+n < len(r.tokens) && !notDeedsEn[r.tokens[i+n].lower] && !notDeedsEn[r.tokens[min(i+n+1, len(r.tokens)-1)].lower]
		}
		if !beforeDidEn[r.tokens[i].lower] {
			return false
		}
	}
	return false
}

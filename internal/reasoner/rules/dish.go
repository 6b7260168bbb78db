package rules

import (
	"strings"
	"unicode/utf8"
)

// dish is the name of a food or drink at the beginning of a text.
type dish struct {
	name    string // "" for what says too little, such as 米饭
	wording string // a longer name of the same, such as 提拉米苏蛋糕; else ""
	base    string // the known dish that the name ends in, if there is one
	group   string
	rank    rank
	end     int // in bytes
}

// rank is how much a taste or an activity says of a person.
type rank int

const (
	telling  rank = iota
	regional      // a dish named by where it comes from
	everyday      // nearly everybody's
)

// longestDish is how long the name of a dish may be, in characters.
const longestDish = 9

// afterHead are characters that make another word of a head: 包装 is no bun.
var afterHead = lists.Map("after-head.zh")

// placeAfter are characters that make the name of a place of any dish: 龙井村 is no tea.
const placeAfter = "村镇路县寺庙"

// preparing are verbs: who 煮饺子 eats 饺子.
var preparing = lists.Set("preparing")

// dishAt reads the name of a dish by the grammar [place | style | cooking | ingredient]… + head:
// the longest that the text begins with. What says nothing of the taste is left out in front: of
// 招牌牛肉拉面, 牛肉拉面 remains.
func (v *vocabulary) dishAt(text string) (dish, bool) {
	var found dish
	from, runes, parts := 0, 0, 0
	place, styled := false, false
	for at := 0; at < len(text); {
		form, w := v.foods.longest(text[at:])
		if form == "" || w.role&roleNot != 0 {
			break
		}
		end := at + len(form)
		n := utf8.RuneCountInString(form)
		if runes+n > longestDish {
			break
		}
		next, _ := utf8.DecodeRuneInString(text[end:])
		spoiled := next != utf8.RuneError && strings.ContainsRune(afterHead[form]+placeAfter, next)
		switch {
		case spoiled && w.role&(rolePlain|roleModifier) == 0:
			at = len(text)
			continue
		case spoiled:
		case w.role&roleDish != 0:
			// 提拉米苏 and 蛋糕 are one dish
			if found.end == at && found.base != "" && w.role&roleHead != 0 && w.group == found.group {
				found.wording, found.end = text[from:end], end
				return found, true
			}
			if w.group == "cuisine" || preparing[text[from:at]] {
				from = at // a cuisine says where it comes from, and 煮 what is done with it
			}
			found = dish{name: text[from:end], base: form, group: w.group, end: end}
			if w.role&roleCommon != 0 && parts == 0 {
				found.rank = everyday
			}
		case w.role&roleVague != 0:
			found = dish{group: w.group, end: end}
			if styled && runes+n >= 4 {
				found.name = text[from:end]
			}
		case w.role&roleHead != 0 && parts > 0 && runes+n >= 3:
			found = dish{name: text[from:end], group: w.group, end: end}
		}
		if found.end == end && place && found.group != "cuisine" && found.name != "" {
			found.rank = regional
		}
		styled = styled || w.role&roleStyle != 0
		place = place || w.role&rolePlace != 0
		switch {
		case w.role&rolePlain != 0 && parts == 0 && runes == 0:
			from = end
		case w.role&(roleModifier|rolePlain) != 0 || w.role&roleDish != 0 && found.end == end:
			parts, runes = parts+1, runes+n
		default:
			return found, found.end > 0
		}
		at = end
	}
	return found, found.end > 0
}

package rules

import (
	"strings"
	"unicode/utf8"

	"github.com/oxbow-memory/oxbow/internal/reasoner/lexis"
)

// Where people go, by the end of the name. Homes, offices, and what belongs to health or religion are none of ours.
var (
	placeEnds = tableOf(lists.List("place-ends")...)
	notPlaces = lists.List("not-places")
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

// nameBefore returns the characters that stand before a place's ending and belong to its name. ok
// is false unless a word of movement or place stands before it ("在岳麓山"), or it stands alone
// between spaces, as a label does.
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
var surnames = lexis.Surnames + "小老阿"

var together = lists.List("together")

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

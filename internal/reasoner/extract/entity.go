package extract

import (
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/oxbow-memory/oxbow/internal/reasoner"
	"github.com/oxbow-memory/oxbow/internal/reasoner/lexis"
)

// maxEntities is how many names are noted of a candidate.
const maxEntities = 12

var (
	notNamesEn     = words.Set("not-names.en")
	stopEn         = words.Set("stop.en")
	firstEn        = words.Set("first.en")
	secondEn       = words.Set("second.en")
	thirdEn        = words.Set("third.en")
	kinEn          = words.Set("kin.en")
	countsEn       = words.Set("counts.en")
	notEn          = words.Set("not.en")
	stopCharsZh    = charsOf(words.Runes("stop.zh"))
	personBeforeEn = words.Set("person-before.en")
	animalsEn      = words.Set("animals.en")
	placeBeforeEn  = words.Set("place-before.en")
	peopleSayEn    = words.Set("people-say.en")
	orgEndsEn      = words.Set("org-ends.en")
	placeEndsEn    = words.Set("place-ends.en")
)

// entitiesOf finds who and what some sentences name.
func entitiesOf(sentences []reading) []reasoner.Entity {
	var found []reasoner.Entity
	add := func(name, kind string) {
		name = strings.TrimSpace(name)
		if name == "" || len(name) > 80 || len(found) == maxEntities {
			return
		}
		if i := slices.IndexFunc(found, func(e reasoner.Entity) bool { return strings.EqualFold(e.Name, name) }); i >= 0 {
			if found[i].Kind == "other" {
				found[i].Kind = kind
			}
			return
		}
		found = append(found, reasoner.Entity{Name: name, Kind: kind})
	}
	for i := range sentences {
		s := &sentences[i].sentence
		titles(s.text, add)
		namesEn(s, sentences[i].talk, add)
		if s.han == 0 {
			continue
		}
		namesZh(s.text, add)
		if s.Has("kin") {
			kinNamesZh(s.text, add)
		}
		for _, a := range sentences[i].attributes {
			switch n := utf8.RuneCountInString(a.value); {
			case n < 2 || n > 6 || strings.ContainsAny(a.value, "的一这那"):
			case a.key == "employer":
				add(a.value, "organization")
			case a.key == "home" || a.key == "origin":
				add(a.value, "place")
			case a.key == "name" && n <= 4:
				add(a.value, "person")
			}
		}
	}
	return found
}

// titles finds what is called by a title: 《…》 and capitalised words in quotation marks.
func titles(text string, add func(name, kind string)) {
	for _, marks := range [][2]string{{"《", "》"}, {"“", "”"}, {"\"", "\""}} {
		rest := text
		for {
			i := strings.Index(rest, marks[0])
			if i < 0 {
				break
			}
			rest = rest[i+len(marks[0]):]
			j := strings.Index(rest, marks[1])
			if j < 0 {
				break
			}
			title := rest[:j]
			rest = rest[j+len(marks[1]):]
			if first, _ := utf8.DecodeRuneInString(title); utf8.RuneCountInString(title) <= 50 && (marks[0] == "《" || first >= 'A' && first <= 'Z' && !strings.ContainsAny(title[len(title)-1:], ".,!?")) {
				add(title, "work")
			}
		}
	}
}

// namesEn finds capitalised words that do not begin a sentence, and those that do where what follows shows a person.
func namesEn(s *sentence, talk *talk, add func(name, kind string)) {
	all := s.tokens
	for i := 0; i < len(all); {
		t := all[i]
		if !t.capital || notNamesEn[strings.TrimSuffix(t.lower, "'s")] || len(t.lower) < 2 || talk.takesPart(t.lower) {
			i++
			continue
		}
		// a title, or what somebody said
		if before := s.text[:t.start]; strings.HasSuffix(before, "\"") || strings.HasSuffix(before, "“") {
			for i++; i < len(all) && all[i].capital && s.text[all[i-1].end:all[i].start] == " "; i++ {
			}
			continue
		}
		starts := i == 0 || afterMark(s.text, t.start)
		j := i + 1
		for j < len(all) && s.text[all[j-1].end:all[j].start] == " " && !strings.HasSuffix(all[j-1].lower, "'s") {
			if all[j].capital && !notNamesEn[all[j].lower] {
				j++
			} else if all[j].lower == "of" && j+1 < len(all) && all[j+1].capital && j-i <= 2 && orgEndsEn[all[j-1].lower] {
				j += 2
			} else {
				break
			}
		}
		first := i
		i = j
		if starts && (stopEn[t.lower] || firstEn[t.lower] || secondEn[t.lower] || thirdEn[t.lower]) {
			if j == first+1 {
				continue
			}
			first++ // "The Baltic Sea"
		}
		name := s.text[all[first].start:all[j-1].end]
		name = strings.TrimSuffix(strings.TrimSuffix(name, "'s"), "’s")
		kind := kindEn(all, first, j)
		if starts && first == 0 && j == 1 {
			person := j < len(all) && peopleSayEn[all[j].lower] && s.text[all[0].end:all[j].start] == " " && !strings.HasSuffix(t.lower, "ing") && !strings.HasSuffix(t.lower, "s") && !kinEn[t.lower]
			if !person || all[j].lower == "and" && !(j+1 < len(all) && firstEn[all[j+1].lower]) || all[j].lower == "is" && !phraseAt(all, j+1, []string{"my"}) || all[j].lower == "was" {
				continue
			}
			kind = "person"
		} else if starts && j == first+1 && first > 0 {
			continue
		}
		add(name, kind)
	}
}

func kindEn(all []token, first, end int) string {
	last := strings.TrimSuffix(all[end-1].lower, "'s")
	switch {
	case orgEndsEn[last] && end-first > 1 || orgEndsEn[all[first].lower] && end-first > 1:
		return "organization"
	case placeEndsEn[last]:
		return "place"
	}
	if first == 0 {
		return "other"
	}
	before := all[first-1].lower
	if before == "for" && first > 1 && strings.HasPrefix(all[first-2].lower, "work") || before == "at" && first > 1 && (strings.HasPrefix(all[first-2].lower, "work") || all[first-2].lower == "job" || all[first-2].lower == "interview" || all[first-2].lower == "internship") {
		return "organization"
	}
	for k := first - 1; k >= 0 && k >= first-4; k-- {
		if animalsEn[all[k].lower] && before != "in" && before != "to" {
			return "animal"
		}
	}
	switch {
	case personBeforeEn[before] && end-first <= 3 && !(strings.HasPrefix(before, "visit")):
		return "person"
	case before == "is" && first > 1 && all[first-2].lower == "name":
		return "person"
	case placeBeforeEn[before]:
		return "place"
	case strings.HasSuffix(all[end-1].lower, "'s"):
		return "person"
	case end < len(all) && peopleSayEn[all[end].lower] && end-first <= 2 && before != "of":
		return "person"
	}
	return "other"
}

const (
	notInNamesZh = "的了在是我你他她它们一起去吃喝玩看聊打逛来到都也还说和跟与不没有很这那上下个就要会想给把被约见又从"
)

var (
	titlesZh      = words.List("titles.zh")
	placeEndsZh   = words.List("place-ends.zh")
	placeBeforeZh = words.List("place-before.zh")
	animalsZh     = words.List("animals.zh")
	citiesZh      = words.List("cities.zh")
	cityHeads     = runesOf(citiesZh)
	surnameZh     = charsOf(lexis.Surnames)
	placeHeadsZh  = runesOf(placeBeforeZh)
)

// namesZh finds people after words of company and calling, and places after words of movement.
func namesZh(text string, add func(name, kind string)) {
	for at := 0; at < len(text); {
		r, n := decode(text[at:])
		rest := text[at+n:]
		switch r {
		case '和', '跟', '与', '约', '陪', '找', '给', '见':
			if name := personZh(rest); name != "" {
				add(name, "person")
			}
		case '叫':
			if name := calledZh(text[:at], rest); name != "" {
				kind := "person"
				if lexis.ContainsAny(lexis.LastRunes(text[:at], 8), animalsZh) {
					kind = "animal"
				}
				add(name, kind)
			}
		case '小', '老', '阿':
			if second, m := decode(rest); surnameZh[second] && second != '马' && second != '龙' && second != '时' {
				if next, _ := decode(rest[m:]); (at == 0 || !isHan(lastRune(text[:at])) || strings.ContainsRune("和跟与约陪是叫的", lastRune(text[:at]))) && (!isHan(next) || strings.ContainsRune("说去在来是和跟一也又今昨约的", next)) {
					add(text[at:at+n+m], "person")
				}
			}
		}
		if placeHeadsZh[r] {
			for _, p := range placeBeforeZh {
				if strings.HasPrefix(text[at:], p) {
					if name := placeZh(text[at+len(p):]); name != "" {
						add(name, "place")
					}
				}
			}
		}
		if cityHeads[r] {
			for _, c := range citiesZh {
				if strings.HasPrefix(text[at:], c) {
					add(c, "place")
				}
			}
		}
		if surnameZh[r] && (at == 0 || !isHan(lastRune(text[:at])) || strings.ContainsRune("和跟与约陪是叫的找给见", lastRune(text[:at]))) {
			for _, title := range titlesZh {
				if strings.HasPrefix(rest, title) {
					add(text[at:at+n+len(title)], "person")
					break
				}
			}
		}
		at += n
	}
}

// personZh returns the name of a person that text begins with, where a surname, a mark or a word of
// doing shows its end; else "".
func personZh(text string) string {
	first, end := decode(text)
	if !surnameZh[first] {
		return ""
	}
	for count := range 3 {
		r, n := decode(text[end:])
		if count > 0 && (!isHan(r) || strings.ContainsRune(notInNamesZh, r)) {
			return text[:end]
		}
		if count == 2 {
			return ""
		}
		if !isHan(r) || strings.ContainsRune(notInNamesZh, r) {
			return ""
		}
		end += n
	}
	return ""
}

// calledZh returns what somebody is called, after 叫.
func calledZh(before, text string) string {
	switch lastRune(before) {
	case '我', '名', '字', '儿', '女', '子', '妈', '爸', '婆', '公', '友', '狗', '猫', '妹', '弟', '哥', '姐', '事', '个', '它', '他', '她', '只', '条', '人', '师', '板', '孩', '宝':
	default:
		return ""
	}
	end, count := 0, 0
	for {
		r, n := decode(text[end:])
		if !isHan(r) && !(r >= 'A' && r <= 'Z' || r >= 'a' && r <= 'z') {
			break
		}
		if strings.ContainsRune("了他她它我你的，", r) {
			return ""
		}
		end += n
		if count++; count > 10 {
			return ""
		}
	}
	if count == 0 || isHan(lastRune(text[:end])) && count > 4 || hasPrefixOf(text, []string{"外卖", "车", "上", "醒", "人"}) {
		return ""
	}
	return text[:end]
}

// placeZh returns the name of a place that text begins with, which its ending shows; else "".
func placeZh(text string) string {
	end := 0
	for count := 0; count < 9; count++ {
		r, n := decode(text[end:])
		if !isHan(r) || count == 0 && (r == '爬' || r == '登') || strings.ContainsRune("的了我你他她和跟吃喝玩看买一这那哪", r) {
			return ""
		}
		end += n
		if count == 0 {
			continue
		}
		for _, e := range placeEndsZh {
			if strings.HasSuffix(text[:end], e) && utf8.RuneCountInString(e) <= count && len(e) < end {
				next := text[end:]
				if hasPrefixOf(next, []string{"公园", "大学", "路", "街", "区"}) {
					continue
				}
				return text[:end]
			}
		}
	}
	return ""
}

func decode(text string) (rune, int) {
	if text == "" {
		return 0, 0
	}
	return utf8.DecodeRuneInString(text)
}

func runesOf(words []string) map[rune]bool {
	heads := map[rune]bool{}
	for _, w := range words {
		r, _ := utf8.DecodeRuneInString(w)
		heads[r] = true
	}
	return heads
}

// afterMark tells whether what stands at i begins anew, after a mark or what opens a quotation.
func afterMark(text string, i int) bool {
	before := strings.TrimRight(text[:i], " ")
	return before == "" || strings.ContainsAny(before[len(before)-1:], ".!?:\"(-") || strings.HasSuffix(before, "“") || strings.HasSuffix(before, "…")
}

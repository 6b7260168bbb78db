package extract

import (
	"cmp"
	"maps"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/oxbow-memory/oxbow/internal/reasoner"
	"github.com/oxbow-memory/oxbow/internal/reasoner/lexis"
)

// maxRelations is how many relations are noted of a candidate.
const maxRelations = 12

// kinsEn and kinsZh say what somebody is to the one who says "my" or 我.
var (
	kinsEn = words.Map("relative.en")
	kinsZh = words.Map("relative.zh")

	// the words of kinsZh, the longest first
	kinWordsZh = func() []string {
		return slices.SortedFunc(maps.Keys(kinsZh), func(a, b string) int {
			return cmp.Or(cmp.Compare(len(b), len(a)), cmp.Compare(a, b))
		})
	}()
)

var (
	ofKinEn   = words.Set("of-kin.en")
	calledEn  = words.Set("called.en")
	studyEn   = phrasesIn(words.List("study.en"))
	ownEn     = phrasesIn(words.List("own.en"))
	ofKinZh   = words.List("of-kin.zh")
	callingZh = []string{"的名字叫", "的名字是", "名字叫", "名叫", "叫做", "叫", "是", "，", ",", "、", "“", " "}
	meZh      = words.List("me.zh")
	studyZh   = words.List("study.zh")
)

// relationsOf finds what some sentences say of how the entities that they name belong to who speaks.
func relationsOf(sentences []reading, entities []reasoner.Entity) []reasoner.Relation {
	if len(entities) == 0 {
		return nil
	}
	var found []reasoner.Relation
	for i := range sentences {
		s := &sentences[i]
		if s.negates {
			continue
		}
		add := func(relation string, e *reasoner.Entity) {
			r := reasoner.Relation{Relation: relation, To: e.Name}
			if len(found) < maxRelations && !slices.Contains(found, r) {
				found = append(found, r)
			}
		}
		s.relationsOfAttributes(entities, add)
		s.relationsEn(entities, add)
		if s.han > 0 {
			relationsZh(s.text, entities, add)
		}
	}
	return found
}

// relationsOfAttributes makes relations of what a person has one of at a time, where that is an entity.
func (r *reading) relationsOfAttributes(entities []reasoner.Entity, add func(string, *reasoner.Entity)) {
	for _, a := range r.attributes {
		var relation string
		kind, who, _ := strings.Cut(a.key, ":")
		switch {
		case kind == "home":
			relation = "lives_in"
		case kind == "employer":
			relation = "works_at"
		case kind == "origin":
			relation = "comes_from"
		case kind == "my" && (who == "school" || who == "university" || who == "college" || who == "学校"):
			relation = "studies_at"
		case kind == "my" && (who == "car" || who == "车"):
			relation = "owns"
		case kind == "named":
			if relation = kinsEn[who]; relation == "" {
				relation, _ = kinAtEnd(who)
			}
		}
		if relation == "" {
			continue
		}
		for i := range entities {
			if name := strings.ToLower(entities[i].Name); strings.HasPrefix(a.value, name) {
				add(relation, &entities[i])
				break
			}
		}
	}
}

// relationsEn reads "my sister Anna", "my wife is called Ines", "Tom, my brother", "Anna is my
// boss", "a dog named Max", "I study at".
func (r *reading) relationsEn(entities []reasoner.Entity, add func(string, *reasoner.Entity)) {
	all := r.tokens
	// begins and ends return the entity whose name begins, or ends, with a token
	begins := func(k int) *reasoner.Entity {
		for i := range entities {
			if k < len(all) && all[k].capital && strings.HasPrefix(r.text[all[k].start:], entities[i].Name) {
				return &entities[i]
			}
		}
		return nil
	}
	ends := func(k int) *reasoner.Entity {
		for i := range entities {
			if k >= 0 && strings.HasSuffix(r.text[:all[k].end], entities[i].Name) {
				return &entities[i]
			}
		}
		return nil
	}
	person := func(relation string, e *reasoner.Entity) bool {
		if e == nil || e.Kind == "place" || e.Kind == "organization" || e.Kind == "work" {
			return false
		}
		add(relation, e)
		return true
	}
	for i := range all {
		switch w := all[i].lower; {
		case w == "my" || w == "our":
			j := i + 1
			for j < len(all) && j < i+3 && ofKinEn[all[j].lower] {
				j++
			}
			if j >= len(all) {
				continue
			}
			word := strings.TrimSuffix(all[j].lower, "'s")
			relation := kinsEn[word]
			if relation == "" && (animalsEn[word] || word == "pet") && word != "guinea" {
				relation = "pet"
			}
			if relation == "" {
				continue
			}
			k := j + 1
			switch {
			case word != all[j].lower: // my wife's name is Ines
				if !phraseAt(all, k, []string{"name", "is"}) && !phraseAt(all, k, []string{"name", "was"}) {
					continue
				}
				k += 2
			case k < len(all) && all[k].lower == "is":
				if k++; k < len(all) && calledEn[all[k].lower] {
					k++
				}
			case k < len(all) && calledEn[all[k].lower]:
				k++
			case k < len(all) && r.text[all[j].end:all[k].start] != " " && r.text[all[j].end:all[k].start] != ", ":
				k = len(all)
			}
			if person(relation, begins(k)) || i == 0 {
				continue
			}
			if before := r.text[all[i-1].end:all[i].start]; before == ", " || before == " (" || i > 1 && all[i-1].lower == "is" {
				at := i - 1
				if all[at].lower == "is" {
					at--
				}
				person(relation, ends(at))
			}
		case calledEn[w] && i > 1 && r.me && countsEn[all[i-2].lower] && (animalsEn[all[i-1].lower] || kinsEn[all[i-1].lower] != ""):
			person(cmp.Or(kinsEn[all[i-1].lower], "pet"), begins(i+1))
		case w == "i" || w == "i'm":
			for _, p := range []struct {
				words    phrases
				relation string
			}{{studyEn, "studies_at"}, {ownEn, "owns"}} {
				n := p.words.at(all, i)
				if n > 0 && i+n < len(all) && all[i+n].lower == "the" {
					n++
				}
				if n > 0 {
					if e := begins(i + n); e != nil {
						add(p.relation, e)
					}
				}
			}
		}
	}
}

// kinAtEnd returns what the word of kin says that a text ends with, and the text before it.
func kinAtEnd(text string) (relation, before string) {
	for _, k := range kinWordsZh {
		if rest, ok := strings.CutSuffix(text, k); ok {
			return kinsZh[k], rest
		}
	}
	return "", text
}

// relationsZh reads 我姐姐小红, 我的女儿叫朵朵, 小李是我同事, 我家的猫叫咪咪, 我在浙江大学读书.
func relationsZh(text string, entities []reasoner.Entity, add func(string, *reasoner.Entity)) {
	for i := range entities {
		e := &entities[i]
		at := strings.Index(text, e.Name)
		if at < 0 {
			continue
		}
		before, after := text[:at], text[at+len(e.Name):]
		switch e.Kind {
		case "organization", "place":
			if b, ok := strings.CutSuffix(before, "在"); ok && hasSuffixOf(skipBackZh(b), meZh) && hasPrefixOf(after, studyZh) || hasSuffixOf(before, []string{"我就读于", "我在读于", "我考上了"}) {
				add("studies_at", e)
			}
			continue
		case "work":
			continue
		}
		if rest, ok := strings.CutPrefix(after, "是我"); ok { // 小李是我最好的朋友
			for _, of := range append([]string{"的", "们的"}, ofKinZh...) {
				rest = strings.TrimPrefix(rest, of)
			}
			for _, k := range kinWordsZh {
				if strings.HasPrefix(rest, k) {
					add(kinsZh[k], e)
					break
				}
			}
			continue
		}
		for _, calling := range callingZh {
			if b, ok := strings.CutSuffix(before, calling); ok {
				before = b
				break
			}
		}
		if relation, whose := kinAtEnd(before); relation != "" {
			for _, of := range ofKinZh {
				whose = strings.TrimSuffix(whose, of)
			}
			if whose = strings.TrimSuffix(whose, "的"); whose == "" || hasSuffixOf(whose, meZh) {
				add(relation, e)
			}
			continue
		}
		if e.Kind == "animal" && hasSuffixOf(before, animalsZh) && lexis.ContainsAny(before, meZh) {
			add("pet", e)
		}
	}
}

var betweenZh = words.List("between.zh")

// skipBackZh leaves out 现在, 目前 and the like at the end of a text.
func skipBackZh(text string) string {
	for _, b := range betweenZh {
		text = strings.TrimSuffix(text, b)
	}
	return text
}

// kinNamesZh finds the names that follow a word of kin: 我姐姐小红. What follows shows where a name ends.
func kinNamesZh(text string, add func(name, kind string)) {
	for at := 0; at < len(text); {
		_, n := decode(text[at:])
		at += n
		relation, whose := kinAtEnd(text[:at])
		if relation == "" || at == len(text) {
			continue
		}
		for _, of := range ofKinZh {
			whose = strings.TrimSuffix(whose, of)
		}
		if !hasSuffixOf(whose, meZh) && whose != "" {
			continue
		}
		rest := text[at:]
		first, m := decode(rest)
		second, l := decode(rest[m:])
		switch next, _ := decode(rest[m+l:]); {
		case !isHan(first) || !isHan(second):
		case (first == '小' || first == '阿' || first == second) && !strings.ContainsRune(notInNamesZh, second) && (!isHan(next) || strings.ContainsRune(notInNamesZh, next) || strings.ContainsRune("住叫生喜爱工养搬做病", next)):
			add(rest[:m+l], "person")
		default:
			third, k := decode(rest[m+l:])
			next, _ := decode(rest[m+l+k:])
			if name := personZh(rest); utf8.RuneCountInString(name) >= 2 {
				add(name, "person")
			} else if surnameZh[first] && isHan(third) && strings.ContainsRune("昨今前明上下周每最刚住喜工", next) {
				add(rest[:m+l+k], "person")
			}
		}
	}
}

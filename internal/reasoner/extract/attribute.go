package extract

import (
	"cmp"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/oxbow-memory/oxbow/internal/reasoner/lexis"
)

// attribute is something of which a person has one at a time, with its value: a name, a home, a favourite colour.
type attribute struct {
	key    string // name, home, job, employer, age, status, favourite:colour, my:phone, named:wife …
	value  string // as it was said, in lower case, without articles
	denied bool   // it is said that this is not the value
	over   bool   // there is none any more: a job that was lost
	cut    int    // where another statement about it begins in the sentence; 0: it does not
	end    int    // where it ends
}

// attributes are what people have one of at a time and follows fixed words, the more special ones first.
var attributes = []string{"name", "home", "origin", "employer", "job", "birthday"}

// attributeWordsEn are those words by attribute.
var attributeWordsEn = func() map[string]phrases {
	all := map[string]phrases{}
	for _, key := range attributes {
		all[key] = phrasesIn(words.List("attribute." + key + ".en"))
	}
	return all
}()

// What people have one of, after "my". The value follows "is".
var (
	ownedEn    = words.Set("owned.en")
	kinNamedEn = words.Set("kin-named.en")
)

// rolesEn end the names of occupations.
var (
	roleEndsEn = words.List("role-ends.en")
	rolesEn    = words.Set("roles.en")
	notRolesEn = words.Set("not-roles.en")
)

// attributesOf returns what a sentence says of these.
func (s *sentence) attributesOf() []attribute {
	if !s.looked {
		r := reading{sentence: *s}
		s.looked = true
		switch {
		// nothing is said to be so
		case s.chinese() && s.hasZh(hasSupposed), !s.chinese() && s.has(headsSupposed) && supposedEn.has(s.tokens):
		case s.chinese():
			s.found = known(attributesZh(s.text))
		default:
			s.found = known(r.attributesEn())
		}
	}
	return s.found
}

// known leaves out what is said twice, and that there is none of what the same sentence tells the
// value of: 我换工作了，现在在腾讯上班.
func known(found []attribute) []attribute {
	if len(found) < 2 {
		return found
	}
	found = slices.CompactFunc(found, func(a, b attribute) bool {
		return a.key == b.key && a.value == b.value && a.denied == b.denied && a.over == b.over
	})
	return slices.DeleteFunc(slices.Clone(found), func(a attribute) bool {
		return a.over && slices.ContainsFunc(found, func(b attribute) bool { return b.key == a.key && !b.over && !b.denied })
	})
}

// single tells whether there is one value of an attribute at a time: where somebody is from
// may be told in several ways, and who somebody is beside an occupation.
func (a attribute) single() bool {
	return a.key != "origin" && !strings.HasPrefix(a.key, "is:")
}

func (r *reading) attributesEn() []attribute {
	var found []attribute
	all := r.tokens
	for i := range all {
		switch all[i].lower {
		case "i", "i'm", "i've", "my", "we", "we've", "we're", "people", "everyone", "friends", "call":
		case "and", "then": // "I left Berlin and moved to Rome"
			if life := r.wentOn(i); len(life) > 0 {
				found = append(found, life...)
			}
			continue
		default:
			continue
		}
		if i > 0 && (notSoEn[all[i-1].lower] || all[i-1].lower == "that" && i > 1) {
			continue
		}
		matched := false
		for _, key := range attributes {
			if n := attributeWordsEn[key].at(all, i); n > 0 && !(all[i].lower == "call" && i > 0 && !firstEn[all[i-1].lower] && all[i-1].lower != "just" && all[i-1].lower != "please") {
				if value := r.valueFrom(i + n); value != "" && !vagueEn[strings.Fields(value)[0]] {
					found = append(found, attribute{key: key, value: value})
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
		case "i'm", "i", "i've", "we", "we've", "we're":
			if life := r.lifeAt(i); len(life) > 0 {
				found = append(found, life...)
			} else if a, ok := r.selfAt(i); ok {
				found = append(found, a)
				if a.key == "job" && !a.denied {
					found = append(found, r.employerOf(a, i)...)
				}
			}
		}
	}
	return found
}

// notSoEn stand before what is not said to be so, or not now: "before I moved to Oslo".
var notSoEn = words.Set("not-so.en")

// employerOf reads for whom somebody is what they are: "I'm a nurse at Charité".
func (r *reading) employerOf(job attribute, i int) []attribute {
	words := strings.Fields(job.value)
	if w := words[len(words)-1]; w == "student" || w == "undergrad" {
		return nil
	}
	for j := i; j+1 < len(r.tokens); j++ {
		if w := r.tokens[j+1].lower; r.tokens[j].lower == words[len(words)-1] && (w == "at" || w == "for") && !r.markedBetween(j, j+1) {
			found := r.workAt(j+1, false, false, "work")
			if len(found) == 1 && found[0].key == "employer" {
				found[0].cut = r.tokens[j+1].start
				return found
			}
			return nil
		}
	}
	return nil
}

// vagueEn begin what is no value.
var vagueEn = words.Set("vague.en")

// ownedAt reads "my favourite tea is jasmine", "my phone number is 555 0199", "my wife's name is
// Ines" at the token "my".
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
				return attribute{key: "favourite:" + rest, value: value}, true
			}
		case kinNamedEn[first] && (head == "name" && verb || len(nouns) == 1 && verb && from < len(all) && (all[from].lower == "called" || all[from].lower == "named")):
			if head != "name" {
				from++
			}
			if value := r.valueFrom(from); value != "" {
				return attribute{key: "named:" + first, value: value}, true
			}
		case !verb && kinNamedEn[head] && phraseAt(all, j+1, []string{"name", "is"}):
			if value := r.valueFrom(j + 3); value != "" {
				return attribute{key: "named:" + head, value: value}, true
			}
		case ownedEn[head] && len(nouns) <= 3:
			if value := r.valueFrom(from); value != "" && !pastEn[strings.Fields(value)[0]] {
				return attribute{key: "my:" + strings.TrimSuffix(joinWords(nouns), "'s"), value: value}, true
			}
		}
		return attribute{}, false
	}
	return attribute{}, false
}

var (
	statusEn   = words.Set("status.en")
	betweenEn  = words.Set("between.en")
	nationalEn = words.List("national.en")
)

// selfAt reads "I'm 34 years old", "I'm a nurse", "I'm married" at the token "I" or "I'm".
func (r *reading) selfAt(i int) (attribute, bool) {
	all := r.tokens
	if all[i].lower != "i'm" && (all[i].lower != "i" || i+1 >= len(all) || all[i+1].lower != "am" && all[i+1].lower != "turned") {
		return r.becameAt(i)
	}
	if j := i + 1; all[i].lower == "i'm" && j < len(all) && all[j].capital && i <= 1 && !notNamesEn[all[j].lower] {
		if j+1 == len(all) || strings.TrimLeft(r.text[all[j].end:], " ") != "" && strings.ContainsAny(r.text[all[j].end:all[j].end+1], ",.!;") {
			if hasSuffixOf(all[j].lower, nationalEn) {
				return attribute{key: "origin", value: all[j].lower}, true
			}
			return attribute{key: "name", value: all[j].lower}, true
		}
	}
	article, denied := false, false
	for j := i + 1; j < len(all) && j <= i+6; j++ {
		w := all[j].lower
		denied = denied || notEn[w]
		if w[0] >= '0' && w[0] <= '9' {
			if len(w) <= 3 && (phraseAt(all, j+1, []string{"years", "old"}) || all[j-1].lower == "turned" || j == len(all)-1 && !article) {
				return attribute{key: "age", value: w}, true
			}
			return attribute{}, false
		}
		if statusEn[w] && !article {
			key := "status"
			switch w {
			case "vegetarian", "vegan":
				key = "diet"
			case "pregnant":
				key = "pregnancy"
			}
			return attribute{key: key, value: w, denied: denied}, true
		}
		if w == "a" || w == "an" {
			article = true
			continue
		}
		if article {
			if (w == "vegetarian" || w == "vegan") && (j+1 == len(all) || all[j+1].start > all[j].end+1) {
				return attribute{key: "diet", value: w, denied: denied}, true
			}
			if roleEn(w) && (j+1 == len(all) || !roleEn(all[j+1].lower)) {
				from := i + 1
				for from < j && (betweenEn[all[from].lower] || all[from].lower == "a") {
					from++
				}
				if hobbiesEn[w] {
					return attribute{key: "is:" + w, value: w, denied: denied}, true
				}
				return attribute{key: "job", value: cmp.Or(r.valueUntil(from, timesEn), w), denied: denied}, true
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

// becameAt reads "I got married", "We got divorced", "I became a teacher".
func (r *reading) becameAt(i int) (attribute, bool) {
	all := r.tokens
	j := i + 1
	for j < len(all) && (betweenLifeEn[all[j].lower] || all[j].lower == "have") {
		j++
	}
	if j+1 >= len(all) || r.markedBetween(i, j+1) {
		return attribute{}, false
	}
	switch w, next := all[j].lower, all[j+1].lower; {
	case w == "got" && (next == "married" || next == "divorced" || next == "engaged"):
		return attribute{key: "status", value: next}, true
	case (w == "became" || w == "become") && (next == "vegetarian" || next == "vegan"):
		return attribute{key: "diet", value: next}, true
	case (w == "became" || w == "become") && all[i].lower != "we":
		value := r.valueUntil(j+1, timesEn)
		if words := strings.Fields(value); len(words) > 0 && roleEn(words[len(words)-1]) && !hobbiesEn[words[len(words)-1]] {
			return attribute{key: "job", value: value}, true
		}
	}
	return attribute{}, false
}

// hobbiesEn is who somebody is beside an occupation, or in the family.
var hobbiesEn = words.Set("hobbies.en")

func roleEn(w string) bool {
	if notRolesEn[w] || stopEn[w] {
		return false
	}
	return rolesEn[w] || len(w) > 5 && hasSuffixOf(w, roleEndsEn)
}

// valueEnds end a value.
var valueEnds = words.Set("value-ends")

// valueFrom returns what is said from the i-th token on, up to the next mark or conjunction,
// without articles; at most eight words.
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

// attributeWordsZh are the same in Chinese.
var attributeWordsZh = func() map[string][]string {
	all := map[string][]string{}
	for _, key := range attributes {
		all[key] = words.List("attribute." + key + ".zh")
	}
	return all
}()

var (
	betweenZh  = words.List("between.zh")
	notNameZh  = words.Runes("not-name.zh")
	roleEndsZh = words.List("role-ends.zh")
	ownedZh    = words.List("owned.zh")
	kinNamedZh = words.List("kin-named.zh")
	isZh       = words.List("is.zh")
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
		for _, a := range attributesZhAt(text[i:]) {
			if a.cut > 0 {
				a.cut += i
			}
			found = append(found, a)
		}
		// 我住在北京，在一家银行上班: who is spoken of is not named again
		if clause, rest, more := cutClauseZh(text[i:]); more && aboutSelfZh(clause) {
			for more && !strings.HasPrefix(rest, "我") {
				clause, rest, more = cutClauseZh(rest)
				if !hasPrefixOf(clause, goesOnSelfZh) {
					break
				}
				for _, a := range attributesZhAt("我" + clause) {
					a.cut = 0
					found = append(found, a)
				}
			}
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
					return []attribute{{key: key, value: v}}
				}
			}
		}
	}
	return found
}

// companiesZh tell of work.
var companiesZh = words.List("companies.zh")

// cutClauseZh returns what stands before the first comma, and what follows it.
func cutClauseZh(text string) (clause, rest string, more bool) {
	i := strings.IndexAny(text, "，,；;、")
	if i < 0 {
		return text, "", false
	}
	_, n := utf8.DecodeRuneInString(text[i:])
	return text[:i], strings.TrimLeft(text[i+n:], " "), true
}

// attributesZhAt reads what begins with 我.
func attributesZhAt(text string) []attribute {
	rest := skipZh(strings.TrimPrefix(strings.TrimPrefix(text, "我"), "们"))
	if ours := !strings.HasPrefix(text, "我们"); ours || hasPrefixOf(rest, []string{"住在", "搬", "定居", "从"}) {
		said, denied := deniedZh(rest)
		if found := lifeZh(said, denied); len(found) > 0 {
			for i := range found {
				if found[i].cut > 0 {
					found[i].cut = len(text) - found[i].cut
				}
			}
			return found
		}
		if denied && ours {
			if a, ok := attributeZhAt("我" + said); ok {
				a.denied = true
				return []attribute{a}
			}
			return nil
		}
	}
	if a, ok := attributeZhAt(text); ok {
		return []attribute{a}
	}
	return nil
}

var (
	noWorkZh = words.List("no-work.zh")
	deniesZh = words.List("denies.zh")
)

// deniedZh returns what is said not to be so: 不住在北京了.
func deniedZh(rest string) (said string, denied bool) {
	if p := prefixOf(rest, deniesZh); p != "" && !hasPrefixOf(rest, noWorkZh) {
		if p == "不再是" {
			p = "不再"
		}
		return skipZh(rest[len(p):]), true
	}
	return rest, false
}

var (
	isOneZh          = words.List("is-one.zh")
	notOccupationsZh = words.List("not-occupations.zh")
	statusZh         = words.List("status.zh")
)

// attributeZhAt reads one that begins with 我, but for where somebody lives and works.
func attributeZhAt(text string) (attribute, bool) {
	rest := skipZh(strings.TrimPrefix(text, "我"))
	for _, key := range attributes {
		for _, w := range attributeWordsZh[key] {
			head, after, open := strings.Cut(w, "~")
			tail, ok := strings.CutPrefix(text, head)
			if open && ok && !strings.HasPrefix(tail, after) {
				if head == "我" {
					tail = rest
				} else {
					tail = skipZh(tail)
				}
			}
			if tail, ok = strings.CutPrefix(tail, after); !ok || !strings.HasPrefix(text, head) {
				continue
			}
			v := valueZh(tail)
			n := utf8.RuneCountInString(v)
			if first, _ := utf8.DecodeRuneInString(v); n == 0 || n > 16 || key == "name" && (n > 8 || strings.ContainsRune(notNameZh, first)) || strings.HasSuffix(w, "住") && (n < 2 || strings.ContainsRune("了过着不院校的得", first)) {
				continue
			}
			// 我加入了跑步群
			if (strings.Contains(w, "换到") || strings.Contains(w, "加入")) && !lexis.ContainsAny(text, companiesZh) {
				continue
			}
			return attribute{key: key, value: v}, true
		}
	}
	for _, p := range isOneZh {
		if tail, ok := strings.CutPrefix(rest, p); ok {
			v := valueZh(tail)
			n := utf8.RuneCountInString(v)
			switch {
			case n < 2 || n > 10 || strings.ContainsAny(v, "不说想"):
			case p == "是" && strings.HasSuffix(v, "人") && n <= 5 && n >= 3 && !strings.ContainsAny(v, "的个种本") && !hasSuffixOf(v, notOccupationsZh):
				return attribute{key: "origin", value: strings.TrimSuffix(v, "人")}, true
			default:
				if role, ok := roleZh(v); ok {
					return attribute{key: "job", value: role}, true
				}
			}
		}
	}
	if i := strings.Index(rest, "岁"); i > 0 && i <= 12 {
		age := strings.TrimPrefix(strings.TrimPrefix(rest[:i], "满"), "快")
		if age != "" && strings.Trim(age, "0123456789一二三四五六七八九十") == "" && !strings.HasPrefix(rest[i:], "岁的时候") && !strings.HasPrefix(rest[i:], "岁时") && !strings.HasPrefix(rest[i:], "岁那") {
			return attribute{key: "age", value: age}, true
		}
	}
	for _, s := range statusZh {
		if strings.HasPrefix(rest, s) || strings.HasPrefix(rest, "是"+s) {
			key := "status"
			if s == "吃素" {
				key = "diet"
			}
			return attribute{key: key, value: s}, true
		}
	}
	mine := strings.TrimPrefix(rest, "的")
	if tail, ok := strings.CutPrefix(rest, "最喜欢的"); ok {
		if i := indexAny(tail, isZh); i > 0 && !strings.ContainsAny(tail[:i], "，。！,") {
			if v := valueZh(cutIs(tail[i:])); v != "" {
				return attribute{key: "favourite:" + tail[:i], value: v}, true
			}
		}
	}
	for _, k := range kinNamedZh {
		if tail, ok := strings.CutPrefix(mine, k); ok {
			tail = strings.TrimPrefix(tail, "的名字")
			if v, ok := strings.CutPrefix(skipZh(tail), "叫"); ok {
				if v = valueZh(v); v != "" && utf8.RuneCountInString(v) <= 8 && !strings.ContainsAny(v, "我你") {
					return attribute{key: "named:" + k, value: v}, true
				}
			}
		}
	}
	for _, o := range ownedZh {
		if tail, ok := strings.CutPrefix(mine, o); ok {
			tail = skipZh(tail)
			if after := cutIs(tail); after != tail {
				if v := valueZh(after); v != "" {
					return attribute{key: "my:" + o, value: v}, true
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

var valueEndsZh = words.List("value-ends.zh")

// valueZh returns what stands at the beginning of text up to the next mark or word that ends a value.
func valueZh(text string) string {
	text = strings.TrimLeft(text, " ：:")
	if i := strings.IndexAny(text, "，。！？；、,!?;（(~…\n"); i >= 0 {
		text = text[:i]
	}
	for _, end := range valueEndsZh {
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

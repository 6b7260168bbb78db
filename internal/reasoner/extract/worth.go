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

// readSentence reads a sentence for what is worth remembering. If only words of continuance hide
// that, it reads past them.
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
	supposedEn = phrasesIn(words.List("supposed.en"))
	supposedZh = words.List("supposed.zh")
)

// anchor finds what is worth remembering however short it is: who the speaker is, what they like,
// can, have, and gave up.
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
	} else if r.me && !r.you && !r.past && !r.future && r.weight >= 1.5 && r.habit() {
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
	wasEn = phrasesIn(words.List("was.en"))
	wasZh = words.List("was.zh")
)

// was tells whether a statement says where somebody lived or worked before.
func (r *reading) was() bool {
	if r.chinese() {
		return hasPrefixOf(r.text, wasZh) && lexis.ContainsAny(r.text, []string{"住", "工作", "上班", "当", "是"})
	}
	return wasEn.has(r.tokens)
}

var (
	tastesEn    = words.Set("tastes.en")
	adverbsEn   = words.Set("adverbs.en")
	notTasteEn  = words.Set("not-taste.en")
	notSkillEn  = words.Set("not-skill.en")
	beOfEn      = phrasesIn(words.List("be.en"))
	selvesEn    = phrasesIn(words.List("selves.en"))
	latelyEn    = phrasesIn(words.List("lately.en"))
	skillsEn    = phrasesIn(words.List("skills.en"))
	havesEn     = words.Set("haves.en")
	countsEn    = words.Set("counts.en")
	notThingsEn = words.Set("not-things.en")
	allergyEn   = phrasesIn(words.List("allergy.en"))
	plansEn     = phrasesIn(words.List("plans.en"))
	wishesEn    = phrasesIn(words.List("wishes.en"))
	momentsEn   = phrasesIn(words.List("moments.en"))
	becameEn    = words.Set("became.en")
)

// anchorsEn are the words at which anchorEn begins to read, besides the first words of its phrases.
var anchorsEn = words.Set("anchors.en")

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
	tastesZh   = words.List("tastes.zh")
	latelyZh   = words.List("lately.zh")
	skillsZh   = words.List("skills.zh")
	havesZh    = words.List("haves.zh")
	allergyZh  = words.List("allergy.zh")
	plansZh    = words.List("plans.zh")
	momentsZh  = words.List("moments.zh")
	othersFact = words.List("others-fact")
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
	lastingEn = phrasesIn(words.List("lasting.en"))
	lastingZh = words.List("lasting.zh")
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
	overEn = phrasesIn(words.List("over.en"))
	overZh = words.List("over.zh")
)

var (
	afterNotZh = words.List("after-not.zh")
	notOverZh  = words.List("not-over.zh")
	notEndedZh = words.List("not-ended.zh")
	justNowZh  = words.List("just-now.zh")
)

func negates(s *sentence) bool {
	if s.han > 0 {
		if s.hasZh(hasOver) && !lexis.ContainsAny(s.text, notOverZh) {
			return true
		}
		// 我不喝咖啡了, but not 太不错了
		for rest := s.text; ; {
			i := strings.Index(rest, "不")
			if i < 0 {
				break
			}
			rest = rest[i+len("不"):]
			if hasPrefixOf(rest, afterNotZh) || strings.HasPrefix(rest, "住") && !hasSuffixOf(s.text[:len(s.text)-len(rest)-len("不")], []string{"我", "已经", "早就", "就", "也", "现在"}) || strings.HasSuffix(s.text[:len(s.text)-len(rest)-len("不")], "好") {
				continue
			}
			clause := rest
			if j := strings.IndexAny(clause, "，。！？；,!?;… ~"); j >= 0 {
				clause = clause[:j]
			}
			clause = strings.TrimRight(clause, "啦吧啊呀")
			if n := utf8.RuneCountInString(clause); strings.HasSuffix(clause, "了") && n >= 3 && n <= 9 && !lexis.ContainsAny(clause, notEndedZh) && !lexis.ContainsAny(s.text, justNowZh) {
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

var notEn = words.Set("not.en")

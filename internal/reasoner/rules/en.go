package rules

import (
	"cmp"
	"slices"
	"strings"
)

func sortPhrases(all []phrase) {
	slices.SortStableFunc(all, func(a, b phrase) int { return cmp.Compare(len(b.words), len(a.words)) })
}

var (
	firstEn = set("i i'm i've i'd i'll my me mine we we're we've our us myself im ive")
	youEn   = set("you your you're you've you'll yours u ya")
	theyEn  = set("he she they his her their he's she's they're him them")
	kinEn   = set("mom mother dad father sister brother son daughter wife husband friend friends colleague boss neighbor neighbour neighbors neighbours roommate grandma grandpa boyfriend girlfriend partner coworker uncle aunt cousin kids kid teacher")
)

// readEn finds the patterns of a sentence in English.
func (f *finder) readEn(sentence string) {
	f.buf = tokens(sentence, f.buf[:0])
	all := f.buf
	if len(all) == 0 || ofOthersEn(all) || strings.HasSuffix(strings.TrimSpace(sentence), "?") || containsWord(joined(all), "i wish") {
		return
	}
	for start := 0; start < len(all); {
		end := start + 1
		for end < len(all) && !all[end].after && all[end].lower != "but" {
			end++
		}
		f.clauseEn(sentence, all[start:end])
		start = end
	}
}

// ofOthersEn tells whether a sentence is said to or of somebody else than the user.
func ofOthersEn(all []token) bool {
	first, you, they := -1, false, false
	for i, t := range all {
		if first < 0 && firstEn[t.lower] {
			first = i
		}
		you = you || youEn[t.lower]
		they = they || theyEn[t.lower]
	}
	if first < 0 {
		return you || they || kinEn[all[0].lower] || len(all) > 1 && all[0].lower == "the" && kinEn[all[1].lower]
	}
	// "My sister loves painting": the first person is only whose sister it is.
	if first+1 < len(all) && (all[first].lower == "my" || all[first].lower == "our") && kinEn[all[first+1].lower] {
		for _, t := range all[first+2:] {
			if strings.HasPrefix(t.lower, "i") && firstEn[t.lower] || t.lower == "we" {
				return false
			}
			if t.lower == "and" {
				return !slices.ContainsFunc(all, func(t token) bool { return t.lower == "i" || t.lower == "we" })
			}
		}
		return first < 3
	}
	return false
}

var (
	tasteEn = []string{"love", "loved", "enjoy", "like", "adore", "favorite", "favourite", "passionate", "into", "obsessed", "fond", "fan", "hooked", "addicted", "prefer", "keen", "crazy"}
)

func (f *finder) clauseEn(sentence string, clause []token) {
	f.selfEn(clause)
	for i := 0; i < len(clause); {
		p, ok := f.v.phraseAt(clause[i:])
		if !ok {
			i++
			continue
		}
		end := i + len(p.words)
		n := finding{polarity: polarityEn(clause, i, end), surface: surfaceOf(clause[i:end])}
		n.stated = n.polarity == pro && slices.ContainsFunc(clause[:i], func(t token) bool { return slices.Contains(tasteEn, t.lower) })
		switch {
		case p.activity != nil:
			n.kind, n.id, n.group, n.rank = doing, p.activity.id, p.activity.group, rankOf(p.activity)
			f.add(n)
		case p.food != "":
			n.kind, n.id, n.group = eating, p.text, p.food
			if p.common {
				n.rank = everyday
			}
			f.add(n)
		}
		i = end
	}
	f.likingEn(clause)
	f.nearEn(sentence, clause)
}

// surfaceOf is how a clause words something.
func surfaceOf(words []token) string { return strings.TrimSpace(joined(words)) }

// phraseAt returns the longest phrase that words begin with; a plural is as good.
func (v *vocabulary) phraseAt(clause []token) (phrase, bool) {
	first := clause[0].lower
	for _, all := range [][]phrase{v.english[first], v.english[strings.TrimSuffix(first, "s")]} {
		for _, p := range all {
			if len(p.words) > len(clause) {
				continue
			}
			same := true
			for j, w := range p.words {
				if t := clause[j].lower; t != w && t != w+"s" {
					same = false
					break
				}
			}
			if same {
				return p, true
			}
		}
	}
	return phrase{}, false
}

var (
	likeVerbs   = set("love enjoy adore like")
	likeFillers = set("really absolutely also truly just always still do totally")
	notLiked    = set(`it that this them him her you the a an to how when what being getting having seeing hearing knowing doing going making your their his its these those
		my our all every everything some any more most going feeling helping trying talking taking looking working thinking using finding sharing spending learning watching giving so as hi one`)
	likedEnd = set("and or with because when so but that which who at in on to for from as while of it if since too if by about after before during the a an my this these very much more most lot now here there again really always together")
)

// likingEn finds what the user says they like and no list knows: "I love beachcombing".
func (f *finder) likingEn(clause []token) {
	for i := range clause {
		if clause[i].lower != "i" {
			continue
		}
		j := i + 1
		for j < len(clause) && likeFillers[clause[j].lower] {
			j++
		}
		if j+1 >= len(clause) || !likeVerbs[clause[j].lower] {
			continue
		}
		j++
		var object []string
		for _, t := range clause[j:] {
			if likedEnd[t.lower] || len(object) == 3 {
				break
			}
			if len(object) == 0 && (notLiked[t.lower] || !strings.HasSuffix(t.lower, "ing") && !strings.HasSuffix(t.lower, "s")) {
				return
			}
			object = append(object, t.lower)
		}
		if len(object) == 0 {
			return
		}
		for k := range object {
			if _, ok := f.v.phraseAt(clause[j+k:]); ok {
				return
			}
		}
		what := strings.Join(object, " ")
		f.add(finding{kind: liking, id: what, surface: what, stated: true})
	}
}

var (
	selfFillersEn = set(`a an rather very quite really pretty so such kind of bit naturally always definitely more generally usually the fairly super extremely honestly totally
		just somewhat too still type person i'd say been tend to be consider myself little big also and basically actually`)
	passingEn = set("today tonight now lately tomorrow yesterday right")
)

// selfEn finds what the user says they are: "I'm rather shy".
func (f *finder) selfEn(clause []token) {
	for i := 0; i < len(clause); i++ {
		p := pro
		j := i + 1
		switch clause[i].lower {
		case "i'm", "im", "i've":
		case "i":
			if j >= len(clause) || !slices.Contains([]string{"am", "have", "tend", "consider", "was"}, clause[j].lower) {
				continue
			}
			if clause[j].lower == "was" && (j+1 >= len(clause) || clause[j+1].lower != "always") {
				continue
			}
			j++
		default:
			continue
		}
		for j < len(clause) {
			if w := clause[j].lower; w == "not" || w == "no" || w == "longer" || w == "never" {
				p = con
			} else if !selfFillersEn[w] {
				break
			}
			j++
		}
		if j >= len(clause) || slices.ContainsFunc(clause, func(t token) bool { return passingEn[t.lower] }) {
			return
		}
		// fillers such as "person" may belong to the phrase, so the phrase is sought around j
		for back := j; back > i; back-- {
			if s, ok := selfPhraseAt(clause[back:]); ok {
				f.add(finding{kind: self, id: s.id, surface: s.en, polarity: p, stated: p == pro, say: s.en})
				return
			}
		}
		return
	}
}

var (
	placesEn = set("park beach library museum gym café cafe lake trail river mountain mountains market gallery garden gardens bookstore theater theatre stadium bakery diner pub club studio")
	notNames = set("i i'm monday tuesday wednesday thursday friday saturday sunday january february march april may june july august september october november december the a my god christmas english spanish french")
)

// nearEn finds places ("at Cedar Park") and company ("with Sarah").
func (f *finder) nearEn(_ string, clause []token) {
	for i := 1; i < len(clause); i++ {
		t := clause[i]
		if placesEn[t.lower] && t.capital && clause[i-1].capital && !firstEn[clause[i-1].lower] {
			from := i - 1
			for from > 0 && clause[from-1].capital && i-from < 3 && !firstEn[clause[from-1].lower] {
				from--
			}
			if from > 0 && polarityEn(clause, from, i+1) == pro {
				var name []string
				for _, w := range clause[from : i+1] {
					name = append(name, title(w.lower))
				}
				full := strings.Join(name, " ")
				f.add(finding{kind: place, id: strings.ToLower(full), surface: full})
			}
		}
		if clause[i-1].lower == "with" && t.capital && !notNames[t.lower] && len(t.lower) > 2 && !strings.Contains(t.lower, "'") &&
			(i+1 == len(clause) || !clause[i+1].capital) && polarityEn(clause, i, i+1) == pro {
			f.addPerson(title(t.lower), false)
		}
	}
}

func title(w string) string {
	if w == "" {
		return w
	}
	return strings.ToUpper(w[:1]) + w[1:]
}

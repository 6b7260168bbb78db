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
	firstEn = lists.Set("first.en")
	youEn   = lists.Set("you.en")
	theyEn  = lists.Set("they.en")
	kinEn   = lists.Set("kin.en")
)

// readEn finds the patterns of a sentence in English.
func (f *finder) readEn(sentence string) {
	f.buf = tokens(sentence, f.buf[:0])
	all := f.buf
	if len(all) == 0 || f.voice != recorded && ofOthersEn(all) || strings.HasSuffix(strings.TrimSpace(sentence), "?") || containsWord(joined(all), "i wish") {
		return
	}
	others := false // what follows without a subject of its own is said of the same person
	for start := 0; start < len(all); {
		end := start + 1
		for end < len(all) && !all[end].after && all[end].lower != "but" {
			end++
		}
		clause := all[start:end]
		others = f.voice != recorded && !speaksOfMe(clause) && (others || f.named && f.v.namesSubject(clause))
		if !others {
			f.clauseEn(sentence, clause)
		}
		start = end
	}
}

var (
	actorsEn = lists.Set("actors.en")
	// what follows a name that does something
	doesEn = lists.Set("does.en")
	// what a sentence begins with that is no name
	notSubjects = lists.Set("not-subjects")
)

// speaksOfMe tells whether the first person is or does something in a clause.
func speaksOfMe(clause []token) bool {
	return slices.ContainsFunc(clause, func(t token) bool { return actorsEn[t.lower] })
}

// namesSubject tells whether a clause is said of somebody by name: "Dave went fishing", "Dave's fishing again".
func (v *vocabulary) namesSubject(clause []token) bool {
	name := clause[0]
	if !name.capital || len(clause) < 2 || firstEn[name.lower] || notSubjects[name.lower] || strings.HasSuffix(name.lower, "ing") {
		return false
	}
	if bare, ok := strings.CutSuffix(strings.ReplaceAll(name.lower, "’", "'"), "'s"); ok {
		_, known := v.phraseAt([]token{{lower: bare}})
		return bare != "let" && !notSubjects[bare] && !known
	}
	_, known := v.phraseAt(clause)
	return !known && (doesEn[clause[1].lower] || len(clause) > 2 && clause[1].capital && doesEn[clause[2].lower])
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
		return you || they || isKinEn(all[0]) || len(all) > 1 && all[0].lower == "the" && isKinEn(all[1])
	}
	// "My sister loves painting": the first person is only whose sister it is.
	if first+1 < len(all) && (all[first].lower == "my" || all[first].lower == "our") && isKinEn(all[first+1]) {
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

// isKinEn tells whether a word is somebody close to the user, or of theirs: "flatmate's".
func isKinEn(t token) bool {
	return kinEn[strings.TrimSuffix(strings.TrimSuffix(t.lower, "'s"), "’s")]
}

var (
	tasteEn = lists.List("taste.en")
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
		if p.denied && (n.polarity != con || end < len(clause) && (!likedEnd[clause[end].lower] || articles[clause[end].lower])) {
			i++
			continue
		}
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
	likeVerbs   = lists.Set("like-verbs")
	likeFillers = lists.Set("like-fillers")
	notLiked    = lists.Set("not-liked")
	likedEnd    = lists.Set("liked-end")
)

var (
	articles   = lists.Set("articles")
	unfinished = lists.Set("unfinished")
	// What is said to machines, and of no person's taste.
	machineTalk = lists.Set("machine-talk")
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
		if len(object) == 0 || slices.ContainsFunc(object, func(w string) bool { return machineTalk[w] }) {
			return
		}
		if rest := clause[j+len(object):]; len(rest) > 0 && (!likedEnd[rest[0].lower] || unfinished[rest[0].lower]) {
			return // "I enjoy shouting at …": half of it says something else
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
	selfFillersEn = lists.Set("self-fillers.en")
	passingEn     = lists.Set("passing.en")
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
	placesEn = lists.Set("places.en")
	notNames = lists.Set("not-names")
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

package rules

import (
	"cmp"
	"slices"
	"strings"

	"github.com/oxbow-memory/oxbow/internal/reasoner/lexis"
)

func sortPhrases(all []phrase) {
	slices.SortStableFunc(all, func(a, b phrase) int { return cmp.Compare(len(b.words), len(a.words)) })
}

var (
	firstEn = lexis.Set("i i'm i've i'd i'll my me mine we we're we've our us myself im ive")
	youEn   = lexis.Set("you your you're you've you'll yours u ya")
	theyEn  = lexis.Set("he she they his her their he's she's they're him them")
	kinEn   = lexis.Set("mom mother dad father sister brother son daughter wife husband friend friends colleague boss neighbor neighbour neighbors neighbours roommate grandma grandpa boyfriend girlfriend partner fiance flatmate housemate coworker manager landlord nephew niece uncle aunt cousin kids kid teacher")
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
	actorsEn = lexis.Set("i i'm i've i'd i'll we we're we've im ive me us")
	// what follows a name that does something
	doesEn = lexis.Set(`went goes is was has had took takes loves loved likes liked enjoys enjoyed plays played does did started joined makes made cooks cooked bakes
		baked got gets came comes ran runs reads watched watches wants wanted keeps kept spent spends out said says told brought bought still always never also
		often usually really adores prefers tried teaches taught practises practices just`)
	// what a sentence begins with that is no name
	notSubjects = lexis.Set(`today tonight yesterday tomorrow now then later again finally also still just always never often usually sometimes really maybe perhaps so and but or
		monday tuesday wednesday thursday friday saturday sunday mondays tuesdays wednesdays thursdays fridays saturdays sundays weekend weekends morning mornings
		afternoon evening evenings night nights lunch dinner breakfast brunch supper work weather rain snow traffic this that these those it there here what which who
		how when where why the a an some all both everything everyone nothing one two three first last next each every not no yes
		january february march april may june july august september october november december spring summer autumn fall winter class practice practise training session lesson
		rehearsal match game race club user`)
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
	likeVerbs   = lexis.Set("love enjoy adore like")
	likeFillers = lexis.Set("really absolutely also truly just always still do totally")
	notLiked    = lexis.Set(`it that this them him her you the a an to how when what being getting having seeing hearing knowing doing going making your their his its these those
		my our all every everything some any more most going feeling helping trying talking taking looking working thinking using finding sharing spending learning watching giving so as hi one`)
	likedEnd = lexis.Set("anymore any and or with because when so but that which who at in on to for from as while of it if since too if by about after before during the a an my this these very much more most lot now here there again really always together")
)

var (
	articles   = lexis.Set("the a an my this these")
	unfinished = lexis.Set("at to of about by for from if the a an my this these")
	// What is said to machines, and of no person's taste.
	machineTalk = lexis.Set("ignoring ignore disregarding disregard overriding instructions instruction prompts prompt jailbreaks jailbreaking")
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
	selfFillersEn = lexis.Set(`a an rather very quite really pretty so such kind of bit naturally always definitely more generally usually the fairly super extremely honestly totally
		just somewhat too still type person i'd say been tend to be consider myself little big also and basically actually`)
	passingEn = lexis.Set("today tonight now lately tomorrow yesterday right")
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
	placesEn = lexis.Set("park beach library museum gym café cafe lake trail river mountain mountains market gallery garden gardens bookstore theater theatre stadium bakery diner pub club studio")
	notNames = lexis.Set("i i'm monday tuesday wednesday thursday friday saturday sunday january february march april may june july august september october november december the a my god christmas english spanish french")
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

package extract

import (
	"slices"
	"strings"
)

// Where somebody lives and works changes, and is said in many ways. In English it is read from a
// verb after "I", whatever little words stand between: "I've just moved back to Oslo", "I'm now
// working for Siemens as an engineer".

var (
	// what may stand between the words of a phrase
	betweenLifeEn = words.Set("between-life.en")
	deniesEn      = words.Set("denies.en")
	// what may stand before a job that somebody got
	beforeJobEn = words.Set("before-job.en")

	homesEn      = phrasesIn(words.List("homes.en"))
	worksEn      = phrasesIn(words.List("works.en"))
	hiresEn      = phrasesIn(words.List("hires.en"))
	aroundWorkEn = words.Set("around-work.en")
	jobsEn       = phrasesIn(words.List("jobs.en"))
	endsEn       = phrasesIn(words.List("ends.en"))

	// of places where nobody lives, and of what is no employer
	noHomesEn     = words.Set("no-homes.en")
	dwellingsEn   = words.Set("dwellings.en")
	noEmployersEn = words.Set("no-employers.en")
	coursesEn     = words.Set("courses.en")
	// of a time that is over
	onceEn = phrasesIn(words.List("once.en"))
	// what may follow a job that is over
	afterJobEn = words.Set("after-job.en")
	timesEn    = words.Set("times.en")
)

// lifeAt reads where somebody lives and works from the token "I", "I'm", "I've" or "we" on.
func (r *reading) lifeAt(i int) (found []attribute) {
	if r.has(isFirst) && onceEn.has(r.tokens) {
		return nil
	}
	first := r.tokens[i].lower
	ours := first == "we" || first == "we've" || first == "we're"
	is := first == "i'm" || first == "we're"
	has := first == "i've" || first == "we've"
	denied, was, been := false, false, false
	j := i + 1
words:
	for ; j < len(r.tokens) && j < i+8; j++ {
		w := r.tokens[j].lower
		switch {
		case (w == "have" || w == "got") && r.lifePhrase(jobsEn, j, beforeJobEn) > 0:
			break words
		case deniesEn[w]:
			denied = true
		case w == "am":
			is = true
		case w == "have":
			has = true
		case w == "been":
			been = true
		case w == "was" || w == "were" || w == "got" || w == "get":
			was = true
		case !betweenLifeEn[w]:
			break words
		}
	}
	if j >= len(r.tokens) || r.markedBetween(i, j) {
		return nil
	}
	verb := r.tokens[j].lower
	if n := r.lifePhrase(homesEn, j, nil); n > 0 && !was && (verb != "lived" || has && slices.ContainsFunc(r.tokens, func(t token) bool { return t.lower == "since" || t.lower == "for" })) {
		return r.homeAt(j, j+n, denied)
	}
	if ours {
		return nil
	}
	if n := r.lifePhrase(endsEn, j, beforeJobEn); n > 0 {
		return r.endAt(j, j+n, denied, was || been, is)
	}
	if n := r.lifePhrase(hiresEn, j, nil); n > 0 && (was || been) {
		return r.workAt(j+n, denied, true, verb)
	}
	if n := r.lifePhrase(jobsEn, j, beforeJobEn); n > 0 && !was {
		return r.workAt(j+n, denied, true, "job")
	}
	if n := r.lifePhrase(worksEn, j, nil); n > 0 && !was && (verb != "worked" || has) {
		return r.workAt(j+n, denied, false, verb)
	}
	// "I changed jobs, and I'm at Siemens now"
	if verb == "at" && is && strings.Contains(strings.ToLower(r.text), "job") {
		return r.workAt(j, denied, false, "job")
	}
	return nil
}

var (
	// how a sentence may go on whose "I" stands at its beginning
	wentOnEn = words.Set("went-on.en")
	hearsEn  = words.Set("hears.en")
)

// wentOn reads what happened to the one whom the sentence began with, from the token "and" or "then" on.
func (r *reading) wentOn(i int) []attribute {
	first := r.tokens[0].lower
	if i == 0 || i > 8 || first != "i" && first != "i've" && first != "we" && first != "we've" {
		return nil
	}
	j := i + 1
	for j < len(r.tokens) && (betweenLifeEn[r.tokens[j].lower] || r.tokens[j].lower == "have") {
		j++
	}
	if j == len(r.tokens) || !wentOnEn[r.tokens[j].lower] {
		return nil
	}
	for _, t := range r.tokens[1:i] {
		if t.flags&isKin != 0 || thirdEn[t.lower] || hearsEn[t.lower] {
			return nil
		}
	}
	return r.lifeAt(i)
}

// markedBetween tells whether a mark stands between two tokens.
func (r *reading) markedBetween(i, j int) bool {
	return strings.ContainsAny(r.text[r.tokens[i].end:r.tokens[j].start], ",.;:!?()—–")
}

// lifePhrase returns how many tokens a phrase takes that begins at the i-th, with what may stand
// between its words; 0: none does.
func (r *reading) lifePhrase(p phrases, i int, between map[string]bool) int {
	longest := 0
next:
	for _, words := range p[r.tokens[i].lower] {
		j := i
		for k, w := range words {
			for k > 0 && j < len(r.tokens) && r.tokens[j].lower != w && (betweenLifeEn[r.tokens[j].lower] || between[r.tokens[j].lower]) {
				j++
			}
			if j >= len(r.tokens) || r.tokens[j].lower != w {
				continue next
			}
			j++
		}
		longest = max(longest, j-i)
	}
	return longest
}

// homeAt reads where somebody lives, from the phrase between two tokens on.
func (r *reading) homeAt(from, to int, denied bool) []attribute {
	last := r.tokens[to-1].lower
	switch last {
	case "from", "of": // "I moved from Oslo to Turku", "I moved away from Oslo"
		for j := to; j < min(len(r.tokens), to+6); j++ {
			if r.tokens[j].lower == "to" {
				return r.homeAt(from, j+1, denied)
			}
		}
		if last == "from" && r.tokens[to-2].lower == "moved" || denied {
			return nil
		}
		denied = true
	case "near", "on", "at": // "I live near the river in Oslo"
		for j := to; j < min(len(r.tokens), to+6) && !r.markedBetween(to-1, j); j++ {
			if r.tokens[j].lower == "in" && j+1 < len(r.tokens) {
				return r.homeAt(from, j+1, denied)
			}
		}
		// "I live on pizza"
		if last == "on" && to < len(r.tokens) && !r.tokens[to].capital && r.tokens[to].lower != "the" {
			return nil
		}
	case "with", "settled": // "I live with Anna in Oslo"
		for j := to; j < min(len(r.tokens), to+6) && !r.markedBetween(to-1, j); j++ {
			if w := r.tokens[j].lower; w == "in" || w == "near" || w == "to" {
				return r.homeAt(from, j+1, denied)
			}
		}
		return nil
	}
	value := r.valueUntil(to, timesEn)
	words := strings.Fields(value)
	if len(words) == 0 || vagueEn[words[0]] || words[0][0] >= '0' && words[0][0] <= '9' && len(words) == 1 {
		return nil
	}
	if end := words[len(words)-1]; dwellingsEn[end] { // "a small flat in Lisbon"
		for j := to; j < min(len(r.tokens), to+9); j++ {
			if w := r.tokens[j].lower; (w == "in" || w == "near" || w == "outside") && j+1 < len(r.tokens) && !r.markedBetween(to, j) {
				if inner := r.homeAt(from, j+1, denied); len(inner) > 0 && inner[0].key == "home" {
					return inner
				}
				break
			}
		}
		if last == "on" || last == "near" {
			return nil
		}
		return []attribute{{key: "dwelling", value: value, denied: denied}}
	}
	if noHomesEn[words[len(words)-1]] || len(words) > 1 && noHomesEn[words[0]] && words[0] != "new" {
		return nil
	}
	return []attribute{{key: "home", value: value, denied: denied}}
}

// workAt reads as what and for whom somebody works, from the i-th token on. got tells that it is a job that they got.
func (r *reading) workAt(i int, denied, got bool, verb string) (found []attribute) {
	skips := got
	for start := i; i < len(r.tokens) && i < start+12; i++ {
		if i > 0 && i > start && r.markedBetween(i-1, i) {
			break
		}
		w := r.tokens[i].lower
		key, from := "", i+1
		switch {
		case w == "as", w == "to" && (verb == "promoted" || verb == "appointed"):
			key = "job"
		case w == "at", w == "for" && verb != "job", w == "by" && (got || verb == "employed"), (w == "with" || w == "from") && got:
			key = "employer"
		case i == start && verb == "joined" && r.tokens[i].capital:
			key, from = "employer", i
		case i == start && (verb == "promoted" || verb == "appointed" || verb == "made"):
			key, from = "job", i
		case betweenLifeEn[w] || aroundWorkEn[w]:
			continue
		case w == "in":
			skips = true
			continue
		case skips:
			continue
		}
		if key == "" {
			break
		}
		value := r.valueUntil(from, timesEn)
		words := strings.Fields(value)
		if len(words) == 0 || vagueEn[words[0]] || words[0][0] >= '0' && words[0][0] <= '9' || noEmployersEn[words[len(words)-1]] || noEmployersEn[words[0]] ||
			(verb == "started" || verb == "joined" || verb == "began") && coursesEn[words[len(words)-1]] || slices.ContainsFunc(found, func(a attribute) bool { return a.key == key }) || from == i && key == "job" && !roleEn(words[len(words)-1]) {
			break
		}
		a := attribute{key: key, value: value, denied: denied}
		if len(found) > 0 {
			a.cut = r.tokens[i].start
		}
		skips = false
		for i = from; i+1 < len(r.tokens) && r.tokens[i].lower != words[len(words)-1]; i++ {
			continue
		}
		a.end = r.tokens[i].end
		found = append(found, a)
	}
	if len(found) == 0 && verb == "job" && !denied && r.newJob(i) {
		return []attribute{{key: "employer", over: true}}
	}
	return found
}

// newJob tells whether the job is a new one whose name ends before a token.
func (r *reading) newJob(end int) bool {
	return slices.ContainsFunc(r.tokens[:end], func(t token) bool {
		return t.lower == "new" || t.lower == "switched" || t.lower == "changed" || t.lower == "another"
	})
}

// endAt reads that somebody has no job any more.
func (r *reading) endAt(from, to int, denied, passive, ing bool) []attribute {
	if denied {
		return nil
	}
	switch w := r.tokens[from].lower; w {
	case "laid", "fired", "let", "made", "sacked", "dismissed":
		if !passive {
			return nil
		}
	case "unemployed", "out", "between", "jobless":
		if !ing && !passive {
			return nil
		}
	case "stopped", "quit":
		if r.tokens[to-1].lower == "working" && to < len(r.tokens) { // "I stopped working at Siemens", "on Sundays"
			if w := r.tokens[to].lower; w == "at" || w == "for" || w == "as" {
				found := r.workAt(to, true, false, "working")
				for i := range found {
					found[i].cut = 0
				}
				return found
			}
			return nil
		}
	}
	if to < len(r.tokens) && !r.markedBetween(to-1, to) {
		// "I lost my job interview notes"
		if w := r.tokens[to].lower; !afterJobEn[w] || w == "at" && r.tokens[from].lower == "out" {
			return nil
		}
	}
	return []attribute{{key: "employer", over: true}, {key: "job", over: true}}
}

// valueUntil is valueFrom that ends at other words too.
func (r *reading) valueUntil(i int, ends map[string]bool) string {
	words := strings.Fields(r.valueFrom(i))
	if len(words) > 0 && ends[words[0]] {
		return ""
	}
	for j, w := range words {
		if j > 0 && (ends[w] || j+1 < len(words) && ends[words[j+1]] && words[j+1] == "ago") || j+2 < len(words) && words[j+2] == "ago" && j > 0 {
			words = words[:j]
			break
		}
	}
	return strings.Join(words, " ")
}

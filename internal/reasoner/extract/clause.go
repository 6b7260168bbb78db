package extract

import (
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/oxbow-memory/oxbow/internal/reasoner"
)

// maxClauses is how long a sentence may be that is taken apart, in bytes.
const maxClauses = 240

// marksEn stand between two statements of one sentence.
var marksEn = []string{", and ", " and ", ", but ", " but ", ", "}

var (
	// what a statement begins with whose "I" stood in the one before it
	goesOnSelfEn = words.Set("goes-on-self.en")
	// what comes before its verb
	adverbsSelfEn = words.Set("adverbs-self.en")
)

// clauses takes a sentence apart that says several things of one person, each of which may change
// without the others: "I live in Berlin and work as a nurse at Charité", 我住在北京，是一名护士.
// Each part stands alone.
func clauses(s sentence, t *talk) []sentence {
	if len(s.text) > maxClauses {
		return []sentence{s}
	}
	if s.chinese() {
		return clausesZh(s, t)
	}
	return clausesEn(s, t)
}

func clausesEn(s sentence, t *talk) []sentence {
	found := s.attributesOf()
	if len(found) == 0 && !(s.has(isFirst) && len(s.tokens) > 5 && len(s.tokens) <= 16) {
		return []sentence{s}
	}
	for _, mark := range marksEn {
		for from := 0; ; {
			i := strings.Index(s.text[from:], mark)
			if i < 0 {
				break
			}
			i += from
			from = i + len(mark)
			head, tail := strings.TrimRight(s.text[:i], ", "), s.text[from:]
			if head == "" || tail == "" {
				continue
			}
			whole, ok := standing(head, tail)
			if !ok {
				continue
			}
			first, second := read(head+"."), read(whole)
			loose := len(found) > 0 && len(whole) == len(tail) && strings.HasPrefix(whole, "I") && strings.ContainsAny(mark, "db")
			if separate(&first, &second, t, loose) || apart(&first, t) && everyEn.has(second.tokens) && len(second.tokens) <= maxHabit {
				return append(clausesEn(first, t), clausesEn(second, t)...)
			}
		}
	}
	for _, a := range found { // "I work as a nurse at Charité"
		if a.cut > 1 && !a.denied && s.text[a.cut-1] == ' ' {
			return []sentence{read(strings.TrimRight(s.text[:a.cut], ", ") + strings.TrimRight(s.text[a.end:], ".") + "."), read("I work " + s.text[a.cut:a.end] + ".")}
		}
	}
	return []sentence{s}
}

// standing makes a statement of its own of what follows another in its sentence, if both are of one person.
func standing(head, tail string) (string, bool) {
	words := read(cutAt(tail, 60)).tokens
	if len(words) < 2 {
		return "", false
	}
	switch w := words[0].lower; {
	case words[0].start > 0:
		return "", false
	case w == "i" || w == "i'm" || w == "i've" || w == "my" || w == "we" || w == "we've":
		return capitalised(tail), true
	case !goesOnSelfEn[w]:
		return "", false
	}
	first := read(cutAt(head, 60)).tokens
	for len(first) > 0 && fillersEn[first[0].lower] != nil && first[0].flags&isFirst == 0 {
		first = first[1:]
	}
	if len(first) == 0 {
		return "", false
	}
	j := 0
	for j+1 < len(words) && adverbsSelfEn[words[j].lower] {
		j++
	}
	subject := ""
	switch first[0].lower {
	case "i", "i'm", "i've":
		subject = "I "
	case "we", "we've", "we're":
		subject = "We "
	default:
		return "", false
	}
	if strings.HasSuffix(words[j].lower, "ing") && words[j].lower != "sing" {
		if first[0].lower == "i" && !strings.Contains(" "+strings.ToLower(head)+" ", " i am ") || subject != "I " {
			return "", false
		}
		subject = "I'm "
	}
	return subject + tail, true
}

// separate tells whether two statements are better kept apart: each says of itself what may change.
// loose tells that the second has a subject of its own.
func separate(first, second *sentence, t *talk, loose bool) bool {
	a, b := first.attributesOf(), second.attributesOf()
	switch {
	case len(a) > 0 && len(b) > 0:
		return !slices.ContainsFunc(a, func(x attribute) bool {
			return slices.ContainsFunc(b, func(y attribute) bool { return x.key == y.key && (!x.over || y.over || first.chinese()) })
		})
	case loose && len(a)+len(b) > 0:
		return len(strings.Fields(first.text)) > 2 && len(strings.Fields(second.text)) > 2
	}
	if len(a)+len(b) > 0 {
		one, other := readSentence(*first, t), readSentence(*second, t)
		return one.stays() && other.stays()
	}
	return apart(first, t) && apart(second, t)
}

// stays tells whether a statement is worth remembering by itself, and says what is so.
func (r *reading) stays() bool {
	return r.kind == statement && r.anchored && r.lasting()
}

// apart tells whether a sentence, if it stood alone, would be a fact.
func apart(s *sentence, t *talk) bool {
	r := readSentence(*s, t)
	return r.kind == statement && (len(r.attributes) > 0 || r.anchored && r.lasting() && (len(r.text) <= shortFact || r.han > 0) && (r.category == reasoner.StablePreference || r.category == reasoner.Skill))
}

// maxHabit is how many words may tell of a habit.
const maxHabit = 8

// everyEn and habitsZh show that somebody does something again and again.
var (
	everyEn  = phrasesIn(words.List("every.en"))
	habitsZh = words.List("habits.zh")
)

func clausesZh(s sentence, t *talk) []sentence {
	for from := 0; ; {
		i := strings.IndexAny(s.text[from:], "，,；;")
		if i < 0 {
			break
		}
		i += from
		_, n := utf8.DecodeRuneInString(s.text[i:])
		from = i + n
		head, tail := s.text[:i], strings.TrimLeft(s.text[from:], " ")
		tail = strings.TrimPrefix(tail, "而且")
		self := strings.Index(head, "我")
		switch {
		case head == "" || tail == "" || self < 0 || !aboutSelfZh(head[self:]):
			continue
		case strings.HasPrefix(tail, "我"):
		case hasPrefixOf(tail, goesOnSelfZh):
			tail = "我" + tail
		default:
			continue
		}
		first, second := read(head+"。"), read(tail)
		if separate(&first, &second, t, false) || apart(&first, t) && hasPrefixOf(strings.TrimPrefix(tail, "我"), habitsZh) && len(tail) <= 2*shortFact {
			return append([]sentence{first}, clausesZh(second, t)...)
		}
	}
	for _, a := range s.attributesOf() { // 我在腾讯当程序员
		if a.key == "job" && a.cut > 0 && !a.denied {
			end := s.text[a.cut:]
			return []sentence{read(s.text[:a.cut] + "工作。"), read("我是" + strings.TrimPrefix(end[len(prefixOf(end, []string{"当", "做", "担任"})):], "了"))}
		}
	}
	return []sentence{s}
}

package main

import (
	_ "embed" // the words
	"math/rand/v2"
	"regexp"
	"slices"
	"strings"
	"time"
	"unicode/utf8"
)

//go:embed words.txt
var wordLists string

var (
	words = readWords()
	slot  = regexp.MustCompile(`\{\w+\}`)
)

func readWords() map[string][]string {
	lists := map[string][]string{}
	for line := range strings.Lines(wordLists) {
		if name, entries, found := strings.Cut(strings.TrimSpace(line), ": "); found && name[0] != '#' {
			lists[name] = strings.Split(entries, "; ")
		}
	}
	return lists
}

// writer generates texts. The same seed gives the same texts.
type writer struct{ *rand.Rand }

func newWriter(seed uint64) writer { return writer{rand.New(rand.NewPCG(seed, 20))} }

// say returns an entry of a list. Each {name} in it is replaced by the writer's own word of that name, or by an entry
// of the list of that name.
func (w writer) say(list string, own map[string]string) string {
	return slot.ReplaceAllStringFunc(words[list][w.IntN(len(words[list]))], func(name string) string {
		name = strings.Trim(name, "{}")
		if word, ok := own[name]; ok {
			return word
		}
		if name == "rare" {
			return w.rare()
		}
		return w.say(name, own)
	})
}

// rare returns one of some thousand invented names, the first ones more often: real texts are full of rare words.
func (w writer) rare() string {
	n := int(float64(8000) * w.Float64() * w.Float64() * w.Float64())
	s := words["syllables"]
	name := s[n%20] + s[n/20%20] + s[n/400%20]
	return strings.ToUpper(name[:1]) + name[1:]
}

// chinese returns sentences of about the given number of characters.
func (w writer) chinese(length int) (text string) {
	for utf8.RuneCountInString(text) < length {
		text += w.say("chinese", nil)
	}
	return text
}

// texts generates n texts, English and Chinese.
func (w writer) texts(n int) []string {
	texts := make([]string, n)
	for i := range texts {
		if w.IntN(2) == 0 {
			texts[i] = w.say("english", nil)
		} else {
			texts[i] = w.chinese(60)
		}
	}
	return texts
}

// question returns a question that contains some words of a text, and sometimes a month.
func (w writer) question(text string) string {
	month := w.IntN(4) == 0
	words := strings.Fields(text)
	if len(words) < 6 {
		runes := []rune(text)
		at := w.IntN(max(len(runes)-12, 1))
		q := string(runes[at:min(at+12, len(runes))]) + "是什么时候的事？"
		if month {
			q = "3月" + q
		}
		return q
	}
	q := "When did " + words[0] + " have the " + strings.Join(words[3:min(7, len(words))], " ") + "?"
	if month {
		q = "In March: " + q
	}
	return q
}

const newInterest = 700 // memories after which another pastime replaces one

// life generates the statements of one person over the years: recurring pastimes, dishes, company and places, likes,
// things given up, and, mostly, events that happen once.
type life struct {
	writer
	user      string
	english   float64  // how often they speak English
	pastimes  []string // moderate favourites change
	dishes    []string
	character string
	given     string // given up last
	told      int    // memories so far
}

func newLife(user string, number int, english float64) *life {
	l := &life{writer: newWriter(seed + uint64(number)*1_000_003), user: user, english: english}
	pastimes := l.some("pastimes", 9)
	l.pastimes, l.given = pastimes[:8], pastimes[8]
	l.dishes, l.character = l.some("dishes", 5), l.some("characters", 1)[0]
	return l
}

func (l *life) some(list string, n int) []string {
	chosen := make([]string, n)
	for i, j := range l.Perm(len(words[list]))[:n] {
		chosen[i] = words[list][j]
	}
	return chosen
}

// remember stores the person's next n memories.
func (l *life) remember(d database, n int) {
	texts := make([]string, n)
	for i := range texts {
		if (l.told+i)%newInterest == newInterest-1 {
			l.change()
		}
		texts[i] = l.says()
	}
	d.rememberFrom(l.told, time.Date(2018, 1, 1, 8, 0, 0, 0, time.UTC), 12*time.Hour, l.user, texts)
	l.told += n
}

// change replaces a moderate favourite among the pastimes with a new one.
func (l *life) change() {
	i := len(l.pastimes)/2 - 1
	next := l.some("pastimes", 1)[0]
	for slices.Contains(l.pastimes, next) {
		next = l.some("pastimes", 1)[0]
	}
	l.given, l.pastimes[i] = l.pastimes[i], next
}

// sayings are the kinds of memories, each with the share, in 1,000, of it and those before: a third of what people say
// shows what they are like.
var sayings = []struct {
	below int
	list  string
}{{200, "did"}, {290, "ate"}, {300, "likes"}, {310, "lovesDish"}, {320, "character"}, {325, "dislikes"}, {355, "gave"}}

func (l *life) says() string {
	english, pick := l.Float64() < l.english, l.IntN(1000)
	in := func(both string) string {
		first, second, _ := strings.Cut(both, " = ")
		if english {
			return first
		}
		return second
	}
	own := map[string]string{"pastime": in(l.dear(l.pastimes)), "dish": in(l.dear(l.dishes)),
		"character": in(l.character), "given": in(l.given)}
	for _, s := range sayings {
		if pick < s.below {
			return l.say(s.list+in("En = Zh"), own)
		}
	}
	return l.say(in("english = chinese"), nil)
}

// dear returns an element of a list, the first ones more often.
func (l *life) dear(all []string) string { return all[int(l.Float64()*l.Float64()*float64(len(all)))] }

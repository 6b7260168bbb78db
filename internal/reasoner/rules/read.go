package rules

import (
	"cmp"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"unicode/utf8"

	"github.com/oxbow-memory/oxbow/internal/reasoner/language"
	"github.com/oxbow-memory/oxbow/internal/reasoner/pattern"
)

// kind is the subject of a pattern.
type kind int

const (
	doing  kind = iota // an activity
	acting             // what shows character
	eating             // a taste for food or drink
	liking             // anything else that the user says they like
	self               // a self-description
	place
	person
	hours // of the day, days of the week
	kinds
)

var kindNames = [kinds]string{"do", "act", "food", "like", "self", "place", "person", "time"}

// polarity is the meaning of a clause for something that it names.
type polarity int

const (
	pro     polarity = iota // it is so
	nothing                 // it did not take place, is only a wish, or is of somebody else
	con                     // it is so no longer, or not at all
)

// rank is how much a taste or an activity says about a person.
type rank int

const (
	telling  rank = iota
	regional      // a dish named after its origin
	everyday      // nearly everybody's
)

// finding is a pattern in a memory.
type finding struct {
	kind     kind
	id       string // of the pattern within its kind
	surface  string // how the memory words it
	zh       bool
	polarity polarity
	stated   bool
	group    string
	rank     rank
	say      string // the sentence, where it does not follow from the rest
}

// entry is the value of a list entry: an activity, a group, a dimension, or a self-description.
type entry struct {
	id, group string // the group of an activity, the dimension of a group
	everyday  bool   // nearly everybody does it: it has to show more
	zh, en    string // the sentence
}

func (e entry) say(zh bool) string { return pick(zh, e.zh, e.en) }

// named returns the activity of a word. Where % stands in the sentence, the word is an activity of its own.
func (e entry) named(word string) entry {
	if strings.Contains(e.en, "%") {
		e.id, e.zh, e.en = word, strings.ReplaceAll(e.zh, "%", word), strings.ReplaceAll(e.en, "%", word)
	}
	return e
}

// activityOf returns the activity with an id.
func activityOf(id string) entry {
	e, ok := words().byID[id]
	if m, found := language.Read(id).At("do", 0); !ok && found {
		e = words().activities[m.Value].named(id)
	}
	return e
}

// vocabulary has the entries of the lists of internal/reasoner/language.
type vocabulary struct {
	activities, acts, selves   map[string]entry // by value
	groups, dimensions         map[string]entry // by id
	byID, actsByID, selvesByID map[string]entry
}

var words = sync.OnceValue(func() *vocabulary {
	v := &vocabulary{map[string]entry{}, map[string]entry{}, map[string]entry{}, map[string]entry{}, map[string]entry{},
		map[string]entry{}, map[string]entry{}, map[string]entry{}}
	lists := language.Lists()
	for _, name := range lists.Names() {
		value := lists.Value(name)
		if id, ok := strings.CutPrefix(name, "do."); ok {
			v.activities[value] = readEntry(id, value)
			v.byID[id] = v.activities[value]
		} else if id, ok := strings.CutPrefix(name, "act."); ok {
			v.acts[value] = readEntry(id, value)
			v.actsByID[id] = v.acts[value]
		} else if id, ok := strings.CutPrefix(name, "self."); ok {
			if strings.Count(value, " | ") < 2 {
				v.selves[value] = readEntry(id, "| "+value)
			} else {
				v.selves[value] = readEntry(id, value)
			}
			v.selvesByID[id] = v.selves[value]
		}
	}
	for id, value := range lists.Map("group") {
		v.groups[id] = readEntry(id, value)
	}
	for id, value := range lists.Map("dimension") {
		v.dimensions[id] = readEntry(id, "| "+value)
	}
	return v
})

// readEntry reads "group | Chinese | English".
func readEntry(id, value string) entry {
	group, rest, _ := strings.Cut(value, "| ")
	zh, en, _ := strings.Cut(rest, " | ")
	group, everyday := strings.CutSuffix(strings.TrimSpace(group), " everyday")
	return entry{id, group, everyday, zh, en}
}

// finder collects the findings in one memory, each pattern once. A contradiction takes precedence.
type finder struct {
	recorded bool // the text is the wording of a trait, not the user's words
	named    bool // the user writes "I": somebody who is named is somebody else
	t        *pattern.Text
	found    []finding
}

// read returns the findings in sentences.
func (f *finder) read(sentences []*pattern.Text) []finding {
	f.found = nil
	for _, f.t = range sentences {
		if !f.recorded && (f.t.Has("trait.unsaid") || f.t.Has("trait.not_mine") && !f.t.Has("trait.me")) {
			continue
		}
		for i := 0; i < len(f.t.Tokens); {
			i += max(1, f.at(i))
		}
		if !f.recorded {
			f.unlisted("trait.liking", "liking", liking)
			f.unlisted("trait.person", "person", person)
		}
		f.unlisted("trait.place", "place", place)
	}
	return f.found
}

// at records the finding that begins at the i-th token, and returns its number of tokens.
func (f *finder) at(i int) int {
	taken := f.t.Len("other_meaning", i)
	if m, ok := f.t.At("do", i); ok && m.End-i > taken {
		if !f.t.Tokens[i].Han { // a word of Chinese may begin within another
			taken = m.End - i
		}
		a := words().activities[m.Value].named(strings.ToLower(f.t.Slice(i, m.End)))
		n := finding{kind: doing, id: a.id, group: a.group}
		if a.everyday {
			n.rank = everyday
		}
		f.note(i, m.End, n)
	}
	if m, ok := f.t.At("act", i); ok && !f.recorded { // what it names may also be an activity
		a := words().acts[m.Value]
		f.note(i, m.End, finding{kind: acting, id: a.id, group: a.group, say: a.say(f.t.Han > 0)})
	}
	if dishes, n := dishesAt(f.t, i); n > taken {
		taken = n
		for _, d := range dishes {
			f.note(i, i+n, d)
		}
	}
	if m, ok := f.t.At("self", i); ok && !f.recorded {
		says, ok := f.t.Around("trait.i_am", i, m.End)
		if ok && !f.t.Has("trait.passing") && !f.is("trait.supposed", i, m.End) {
			s, zh := words().selves[m.Value], f.t.Han > 0
			n := finding{kind: self, id: s.id, surface: s.id, zh: zh, say: s.say(zh), stated: says.Value == ""}
			if !n.stated {
				n.polarity = con
			}
			f.add(n)
		}
	}
	return taken
}

// dishesAt returns the dish whose name begins at the i-th token, and the food in which the name ends, and how many
// tokens the name takes. Two characters before it may belong to the name. A name may say too little: then nothing is
// returned.
func dishesAt(t *pattern.Text, i int) (all []finding, tokens int) {
	m, ok := t.At("dish", i)
	if !ok {
		return nil, 0
	}
	if i >= 2 && t.Tokens[i-2].Han && t.Tokens[i-1].Han {
		if named, ok := t.At("dish.named", i-2); ok && named.End == m.End {
			m = named
		}
	}
	name, _ := m.Get("dish")
	food, _ := m.Get("food")
	least, _ := strconv.Atoi(m.Value)
	text := strings.ToLower(t.Slice(name.Start, name.End))
	if least > 0 && (utf8.RuneCountInString(text) < least || t.Len("dish.ingredient", i) == name.End-i) {
		return nil, name.End - i
	}
	group, common := strings.CutSuffix(food.Value, " everyday")
	if food.Start > name.Start && (least > 0 || group != "cuisine") {
		dish := finding{kind: eating, id: singular(text), surface: text, group: group}
		if slices.ContainsFunc(m.Captures, func(c pattern.Capture) bool { return c.Value == "from" }) {
			dish.rank = regional
		}
		all = append(all, dish)
	}
	if least == 0 {
		base := strings.ToLower(t.Slice(food.Start, food.End))
		n := finding{kind: eating, id: singular(base), surface: base, group: group}
		if common {
			n.rank = everyday
		}
		all = append(all, n)
	}
	return all, name.End - i
}

// singular returns the name of a food in the singular if that is the name of a food.
func singular(name string) string {
	one, ok := strings.CutSuffix(name, "s")
	if t := language.Read(one); ok && t.Len("food", 0) == len(t.Tokens) {
		return one
	}
	return name
}

// unlisted records findings outside the lists, by the patterns of a list: places, company, and stated tastes.
func (f *finder) unlisted(list, capture string, k kind) {
	for m := range f.t.All(list) {
		c, _ := m.Get(capture)
		name := f.t.Slice(c.Start, c.End)
		n := finding{kind: k, id: strings.ToLower(name), surface: name, say: strings.ReplaceAll(m.Value, "%", name)}
		if f.recorded || f.polarity(c.Start, c.End) == pro {
			f.note(c.Start, c.End, n)
		}
	}
}

// note records the finding in the tokens [from, to), with the polarity of its clause.
func (f *finder) note(from, to int, n finding) {
	n.zh = f.t.Han > 0
	n.surface = cmp.Or(n.surface, strings.ToLower(f.t.Slice(from, to)))
	if !f.recorded {
		if f.is("trait.theirs", from, to) || f.named && f.is("trait.theirs_by_name", from, to) {
			return
		}
		if n.polarity = f.polarity(from, to); n.polarity == nothing {
			return
		}
		n.stated = n.polarity == pro && f.is("trait.stated", from, to)
	}
	f.add(n)
}

func (f *finder) add(n finding) {
	for i, old := range f.found {
		if old.kind == n.kind && old.id == n.id {
			if old.polarity == pro && n.polarity == con {
				f.found[i] = n
			} else if old.polarity == n.polarity {
				f.found[i].stated = old.stated || n.stated
				if n.zh && len(n.surface) > len(old.surface) {
					f.found[i].surface = n.surface
				}
			}
			return
		}
	}
	f.found = append(f.found, n)
}

func (f *finder) is(list string, from, to int) bool {
	_, ok := f.t.Around(list, from, to)
	return ok
}

// polarity returns the polarity of a sentence about the tokens [from, to).
func (f *finder) polarity(from, to int) polarity {
	if f.is("trait.still", from, to) {
		return pro
	}
	if m, ok := f.t.Around("trait.over", from, to); ok {
		if f.is("trait.supposed", from, to) || m.Value == "" && f.t.Has("trait.passing") {
			return nothing
		}
		return con
	}
	if f.is("trait.not_so", from, to) {
		return nothing
	}
	return pro
}

// maxRead is how much of a memory is read, in bytes: the beginning of a long text says what it is about.
// longestSentence is after how many bytes a sentence without an end is cut.
const (
	maxRead         = 6000
	longestSentence = 1000
)

// captions are texts in square brackets, such as "[image: …]", which nobody said.
var captions = regexp.MustCompile(`\[image[^\]]*\]?`)

// sentences splits a text.
func sentences(text string) (all []*pattern.Text) {
	text = strings.ToValidUTF8(text[:min(len(text), maxRead)], "")
	text = captions.ReplaceAllString(text, "")
	from := 0
	for i, r := range text {
		end := i + utf8.RuneLen(r)
		switch r {
		case '。', '！', '？', '；', '\n':
		case '.', '!', '?', ';':
			if end < len(text) && text[end] != ' ' {
				continue
			}
		default:
			if end-from < longestSentence {
				continue
			}
		}
		all, from = append(all, language.Read(text[from:end])), end
	}
	return append(all, language.Read(text[from:]))
}

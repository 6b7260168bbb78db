package rules

import (
	_ "embed"
	"fmt"
	"math/bits"
	"strings"
	"sync"
	"unicode/utf8"
)

// The vocabulary is general knowledge of what people do, eat and like, in files of their own. A
// pattern outside it is only seen where the user says in so many words that they like it.
//
//go:embed words/activities.txt
var activityLines string

//go:embed words/groups.txt
var groupLines string

//go:embed words/dimensions.txt
var dimensionLines string

//go:embed words/foods_zh.txt
var foodLinesZh string

//go:embed words/foods_en.txt
var foodLinesEn string

// activity is something that people do, collect or take an interest in.
type activity struct {
	id, group string
	habit     bool // something that one does, and not only likes
	everyday  bool // nearly everybody does it: it has to show more
	zh, en    string
}

// group is a tendency that several activities or tastes show, and the dimension of the person that it belongs to.
type group struct {
	id, dimension, zh, en string
}

// Roles that a word of Chinese can have in the name of a dish.
const (
	rolePlain    = 1 << iota // says nothing of the taste: left out in front
	roleModifier             // place, style, cooking, ingredient
	roleHead                 // needs something in front
	roleDish                 // stands alone
	roleVague                // stands alone and says too little
	roleNot                  // no food, though it looks like it
	roleCommon               // nearly everybody eats it
	rolePlace                // a modifier that names a country, a city or a region
	roleStyle                // a modifier other than an ingredient
)

// word is what a form in Chinese stands for.
type word struct {
	activity *activity
	role     int
	group    string // of the food
}

// phrase is a form in English: its words, and what it stands for. Neither activity nor food: it means something else.
type phrase struct {
	words    []string
	text     string
	activity *activity
	food     string // the group
	common   bool   // nearly everybody eats it
	denied   bool   // too many meanings to tell of a habit, but "I no longer run" ends it
}

// vocabulary is all that is known of words. It does not change.
type vocabulary struct {
	groups     map[string]group
	dimensions map[string][2]string
	activities map[string]*activity
	chinese    table
	foods      table
	english    map[string][]phrase // by the first word, the longest first
}

var words = sync.OnceValue(readVocabulary)

func readVocabulary() *vocabulary {
	v := &vocabulary{
		groups: map[string]group{}, dimensions: map[string][2]string{}, activities: map[string]*activity{},
		english: map[string][]phrase{},
	}
	for _, f := range fields(groupLines, 4) {
		v.groups[f[0]] = group{id: f[0], dimension: f[1], zh: f[2], en: f[3]}
	}
	for _, f := range fields(dimensionLines, 3) {
		v.dimensions[f[0]] = [2]string{f[1], f[2]}
	}
	for _, f := range fields(activityLines, 7) {
		a := &activity{id: f[0], group: f[1], habit: f[2] != "l", everyday: f[2] == "e", zh: f[3], en: f[4]}
		if _, twice := v.activities[a.id]; twice || v.groups[a.group].id == "" {
			panic(fmt.Sprintf("rules: activity %q stands twice, or its group %q is not known", a.id, a.group))
		}
		v.activities[a.id] = a
		for _, form := range strings.Fields(f[5]) {
			form, other := strings.CutPrefix(form, "!")
			w := word{activity: a}
			if other {
				w.activity = nil
			}
			v.chinese.add(form, w)
		}
		for _, form := range strings.Split(f[6], ",") {
			v.addEnglish(form, phrase{activity: a})
		}
	}
	v.readFoods()
	for first, all := range v.english {
		sortPhrases(all)
		v.english[first] = all
	}
	return v
}

func (v *vocabulary) readFoods() {
	roles := map[string]int{
		"place": roleModifier | rolePlace | roleStyle, "style": roleModifier | roleStyle, "cook": roleModifier | roleStyle, "ingredient": roleModifier,
		"plain": rolePlain, "dish": roleDish, "vague": roleVague, "head": roleHead, "not": roleNot, "common": roleCommon | roleDish,
	}
	for _, f := range fields(foodLinesZh, 3) {
		for _, form := range strings.Fields(f[2]) {
			w := v.foods.forms[form]
			w.role |= roles[f[0]]
			if f[1] != "" && w.group == "" {
				w.group = f[1]
			}
			v.foods.add(form, w)
		}
	}
	english := map[string]string{} // the groups
	common := map[string]bool{}
	var order []string
	for _, f := range fields(foodLinesEn, 2) {
		for _, form := range strings.Split(f[1], ",") {
			form = strings.TrimSpace(form)
			if f[0] == "common" {
				common[form] = true
			} else if english[form] == "" {
				english[form] = f[0]
				order = append(order, form)
			}
		}
	}
	for _, form := range order {
		// else the singular stands for it
		if english[strings.TrimSuffix(form, "s")] == "" || !strings.HasSuffix(form, "s") {
			v.addEnglish(form, phrase{food: english[form], common: common[form]})
		}
	}
}

func (v *vocabulary) addEnglish(form string, p phrase) {
	form, other := strings.CutPrefix(strings.TrimSpace(form), "!")
	if other {
		p.activity, p.food = nil, ""
	}
	form, p.denied = strings.CutPrefix(form, "~")
	p.text = form
	for _, t := range tokens(form, nil) {
		p.words = append(p.words, t.lower)
	}
	if len(p.words) > 0 {
		v.english[p.words[0]] = append(v.english[p.words[0]], p)
	}
}

// fields reads lines of n fields; # begins a comment.
func fields(lines string, n int) [][]string {
	var all [][]string
	for line := range strings.Lines(lines) {
		line = strings.TrimSpace(line)
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		parts := strings.Split(line, "|")
		if len(parts) != n {
			panic(fmt.Sprintf("rules: %q has %d fields, not %d", line, len(parts), n))
		}
		for i := range parts {
			parts[i] = strings.TrimSpace(parts[i])
		}
		all = append(all, parts)
	}
	return all
}

// table finds the longest form at a place of a text.
type table struct {
	forms   map[string]word
	lengths map[rune]uint32 // by the first character: the lengths in characters that there are, as bits
}

func (t *table) add(form string, w word) {
	if t.forms == nil {
		t.forms, t.lengths = map[string]word{}, map[rune]uint32{}
	}
	t.forms[form] = w
	first, _ := utf8.DecodeRuneInString(form)
	t.lengths[first] |= 1 << utf8.RuneCountInString(form)
}

// longest returns the longest form that text begins with, or "".
func (t *table) longest(text string) (form string, w word) {
	first, _ := utf8.DecodeRuneInString(text)
	lengths := t.lengths[first]
	if lengths == 0 {
		return "", word{}
	}
	var ends [32]int // of the first n characters
	n, most := 0, bits.Len32(lengths)-1
	for i := range text {
		if n > 0 {
			ends[n] = i
		}
		if n == most {
			break
		}
		n++
	}
	if n < most || ends[n] == 0 {
		ends[n] = len(text)
	}
	for ; n > 0; n-- {
		if lengths&(1<<n) != 0 {
			if w, ok := t.forms[text[:ends[n]]]; ok {
				return text[:ends[n]], w
			}
		}
	}
	return "", word{}
}

// tableOf is a table of forms that stand for nothing but themselves.
func tableOf(forms ...string) *table {
	t := &table{}
	for _, form := range forms {
		t.add(form, word{})
	}
	return t
}

package extract

import (
	"context"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/oxbow-memory/oxbow/internal/reasoner"
	"github.com/oxbow-memory/oxbow/internal/reasoner/lexis"
)

// Resolve says what becomes of each candidate. Similarity only nominates: what decides is what both
// say. The only error is that of ctx.
func (*Extractor) Resolve(ctx context.Context, now time.Time, conflicts []reasoner.Conflict) ([]reasoner.Resolution, error) {
	all := make([]reasoner.Resolution, len(conflicts))
	for i := range conflicts {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		all[i] = resolve(now, &conflicts[i])
	}
	return all, nil
}

func resolve(now time.Time, c *reasoner.Conflict) reasoner.Resolution {
	content := c.Candidate.Content
	taken, retracts := retraction(content)
	if retracts {
		content = taken
	}
	s := senseOf(content)
	held := make([]sense, len(c.Similar))
	for i := range c.Similar {
		held[i] = senseOf(c.Similar[i].Content)
	}
	of := func(i int) bool { return strings.EqualFold(c.Similar[i].Speaker, c.Candidate.Speaker) }
	if retracts {
		for i := range held {
			if of(i) && s.says(&held[i]) {
				return reasoner.Resolution{Operation: reasoner.Delete, Target: c.Similar[i].ID, Reason: "it is taken back"}
			}
		}
	}
	if retracts {
		return reasoner.Resolution{Operation: reasoner.Add, Reason: "there is nothing that it takes back"}
	}
	for i := range held {
		if of(i) && s.says(&held[i]) && (c.Similar[i].Type != "episodic" && c.Candidate.Type != "episodic" || sameTime(now, &c.Candidate, &c.Similar[i])) {
			return reasoner.Resolution{Operation: reasoner.Noop, Target: c.Similar[i].ID, Reason: "it says the same"}
		}
	}
	var instead reasoner.Resolution
	replace := func(id uuid.UUID, reason string) {
		if instead.Operation == "" {
			instead = reasoner.Resolution{Operation: reasoner.Update, Target: id, Reason: reason}
		} else {
			instead.Also = append(instead.Also, id)
		}
	}
	var same []int
	for i := range held {
		if !of(i) || c.Similar[i].Type == "episodic" {
			continue
		}
		switch key, r := s.relates(&held[i]); r {
		case replaces:
			replace(c.Similar[i].ID, "another value of "+key)
		case tellsMore:
			replace(c.Similar[i].ID, "more is told of "+key)
		case repeats:
			same = append(same, i)
		}
	}
	switch {
	case instead.Operation == "" && len(same) > 0:
		return reasoner.Resolution{Operation: reasoner.Noop, Target: c.Similar[same[0]].ID, Reason: "the value is the same"}
	case instead.Operation != "":
		for _, i := range same { // one is left
			replace(c.Similar[i].ID, "")
		}
		return instead
	}
	if s.negated != s.over || s.over || slices.ContainsFunc(held, func(h sense) bool { return h.negated || h.over }) {
		for i := range held {
			if of(i) && c.Similar[i].Type != "episodic" && s.denies(&held[i]) {
				replace(c.Similar[i].ID, "it says the opposite")
			}
		}
		if instead.Operation != "" {
			return instead
		}
	}
	return reasoner.Resolution{Operation: reasoner.Add, Reason: "nothing says the same, and nothing is taken back by it"}
}

// sameTime tells whether a candidate and a memory are of one day: who went running today and yesterday went twice.
func sameTime(now time.Time, c *reasoner.Candidate, h *reasoner.Held) bool {
	at := c.Time
	if at.IsZero() {
		at = now
	}
	return sameDay(at, h.Time)
}

// sense is what a statement says, as far as rules can tell.
type sense struct {
	words      []string // those that carry matter, in their order: stems, and characters of Chinese
	objects    []string // the same without verbs of liking and taking, and without how often
	negated    bool
	over       bool // no longer
	continues  bool // as before
	taste      bool // it is about liking or taking something
	attributes []attribute
	sentences  int
	several    bool // it may be about more than one thing, or somebody's: "tea and coffee", "my sister's dog", 茶和咖啡
}

var (
	// words that change nothing in what a statement says
	emptyEn    = words.Set("empty.en")
	tasteStems = words.Set("taste-stems")
	dislikesEn = words.Set("dislikes.en")
	oftenEn    = words.Set("often.en")

	tasteWordsZh = words.List("taste-words.zh")
	oftenZh      = words.List("often.zh")
	emptyWordsZh = words.List("empty-words.zh")
	emptyCharsZh = words.Runes("empty-chars.zh")
	dislikesZh   = words.List("dislikes.zh")
)

// senseOf reads what a statement says.
func senseOf(text string) sense {
	var s sense
	sentences, _ := split(cutAt(text, maxContent))
	s.sentences = len(sentences)
	for i := range sentences {
		one := &sentences[i]
		if rest, ok := withoutContinuance(one); ok {
			s.continues = len(sentences) == 1
			*one = read(rest)
		}
		r := reading{sentence: *one}
		s.attributes = append(s.attributes, r.attributesOf()...)
		s.over = s.over || one.Has("over")
		negations := 0
		s.several = s.several || strings.ContainsAny(one.text, ",;&/+，、；和跟与及或的")
		for _, t := range one.tokens {
			s.several = s.several || t.lower == "and" || t.lower == "or" || strings.HasSuffix(t.lower, "'s")
			if notEn[t.lower] {
				negations++
			}
			if dislikesEn[t.lower] {
				negations++
			}
			if t.lower == "stand" { // "can't stand": once
				negations--
			}
			if emptyEn[t.lower] {
				continue
			}
			w := stem(t.lower)
			if i == 0 && fillerWord[t.lower] {
				continue
			}
			if tasteStems[w] || dislikesEn[t.lower] {
				s.taste = true
				s.words = append(s.words, tasteOf(t.lower, w))
				continue
			}
			s.words = append(s.words, w)
			if !oftenEn[t.lower] {
				s.objects = append(s.objects, w)
			}
		}
		if one.han > 0 {
			s.readZh(one.text)
			if strings.ContainsAny(withoutNotNot(one.text), "不没戒") {
				negations++
			}
			if lexis.ContainsAny(one.text, dislikesZh) {
				negations++
			}
		}
		s.negated = s.negated || negations%2 != 0
	}
	if s.over {
		s.negated = true
	}
	if asked, said, ok := strings.Cut(text, " — "); ok { // "Where do you live? — Porto"
		if a, ok := answers(asked, said); ok {
			s.attributes, s.sentences = []attribute{a}, 1
		}
	}
	if len(s.objects) == 0 { // "I smoke"
		s.objects = s.words
	}
	return s
}

var fillerWord = words.Set("filler-word")

// tasteOf makes the verbs of one liking one word: "love" and "like" say the same of coffee, "drink" does not.
func tasteOf(word, stem string) string {
	switch stem {
	case "lov", "lik", "enjoy", "adore", "ador", "fond", "fan", "keen", "crazy", "passionat", "hat", "dislik", "detest", "loath", "stand":
		return "like"
	}
	return stem
}

var notNegationsZh = words.List("not-negations.zh")

func withoutNotNot(text string) string {
	for _, p := range notNegationsZh {
		text = strings.ReplaceAll(text, p, "")
	}
	return text
}

func (s *sense) readZh(text string) {
	text = trim(read(text), &talk{}).text
	for text != "" {
		if w := prefixOf(text, emptyWordsZh); w != "" {
			text = text[len(w):]
			continue
		}
		if w := prefixOf(text, oftenZh); w != "" {
			s.words = append(s.words, w)
			text = text[len(w):]
			continue
		}
		if w := prefixOf(text, tasteWordsZh); w != "" {
			s.taste = true
			text = text[len(w):]
			switch w {
			case "喜欢", "热爱", "讨厌", "最爱", "偏爱", "钟爱", "爱":
				w = "like"
			}
			s.words = append(s.words, w)
			continue
		}
		r, n := decode(text)
		if isHan(r) && !strings.ContainsRune(emptyCharsZh, r) {
			s.words = append(s.words, text[:n])
			s.objects = append(s.objects, text[:n])
		}
		text = text[n:]
	}
}

// says tells whether two statements say the same.
func (s *sense) says(h *sense) bool {
	if s.negated != h.negated || len(s.words) == 0 {
		return false
	}
	return slices.Equal(s.words, h.words) || s.continuesWhat(h)
}

// differs tells whether one statement has a number or a value that the other has not.
func (s *sense) differs(h *sense) bool {
	for _, w := range s.words {
		if w[0] >= '0' && w[0] <= '9' && !slices.Contains(h.words, w) {
			return true
		}
	}
	for _, a := range s.attributes {
		if !slices.ContainsFunc(h.attributes, func(b attribute) bool { return a.key == b.key && sameValue(a.value, b.value) }) {
			return true
		}
	}
	return false
}

func sameValue(a, b string) bool {
	return a == b || strings.TrimRight(a, ".! ") == strings.TrimRight(b, ".! ")
}

// moreWords is how many words more, or characters of Chinese, tell more of the same, and do not only say it otherwise.
const moreWords = 2

// relation is what a statement means for another about the same attributes.
type relation int

const (
	unrelated relation = iota
	repeats            // the same values
	tellsMore          // the same values, and more
	replaces           // another value, or none
)

// relates returns what s means for h by their attributes, and by which. If h tells of more than s
// does, s replaces nothing: the rest would be lost.
func (s *sense) relates(h *sense) (key string, r relation) {
	if h.sentences > 1 || len(h.attributes) == 0 {
		return "", unrelated
	}
	covered := 0
	for _, old := range h.attributes {
		if !old.single() {
			continue
		}
		for _, a := range s.attributes {
			if a.key != old.key {
				continue
			}
			if one := a.relates(old); one != unrelated {
				covered++
				if one > r {
					key, r = a.key, one
				}
				if old.over || old.denied { // nothing is lost of a job that there is not
					covered = len(h.attributes)
				}
				break
			}
		}
	}
	if covered < len(h.attributes) && r != repeats {
		return "", unrelated
	}
	if r == repeats && covered == len(h.attributes) && len(s.words) > len(h.words)+moreWords {
		r = tellsMore
	}
	return key, r
}

// relates returns what one value means for another of the same attribute.
func (a attribute) relates(old attribute) relation {
	same := sameValue(a.value, old.value)
	switch {
	case a.over && old.over:
		return repeats
	case a.over || old.over:
		if a.over && old.denied || a.denied {
			return unrelated
		}
		return replaces
	case a.denied && old.denied:
		if same {
			return repeats
		}
		return unrelated
	case a.denied:
		if same || within(a.value, old.value) || within(old.value, a.value) {
			return replaces
		}
		return unrelated
	case old.denied:
		return replaces
	case same, within(a.value, old.value):
		return repeats
	case within(old.value, a.value):
		return tellsMore
	}
	return replaces
}

// within tells whether one value is a part of another: "porto" of "porto near the river".
func within(part, whole string) bool {
	return len(part) < len(whole) && strings.Contains(whole, part)
}

// maxCloser is how many words, or characters of Chinese, tell a thing more closely.
const maxCloser = 3

// denies tells whether s says that what h says is not so, or no longer: of the same things one says
// yes and the other no.
func (s *sense) denies(h *sense) bool {
	if s.negated == h.negated || len(s.objects) == 0 || len(h.objects) == 0 || h.sentences > 1 {
		return false
	}
	if s.taste != h.taste && !s.over && !h.over {
		return false
	}
	there := map[string]bool{}
	for _, w := range h.objects {
		there[w] = true
	}
	for _, w := range s.objects {
		if !there[w] {
			return false
		}
	}
	if 2*len(s.objects) > len(there) {
		return true
	}
	// one thing, told more closely: who likes no coffee likes no strong coffee
	return !h.several && len(h.objects) <= len(s.objects)+maxCloser && slices.Equal(h.objects[len(h.objects)-len(s.objects):], s.objects)
}

// continuesWhat reports whether a statement that says of something that it is as before means what
// h says: it is about the same, and says no more. That something is drunk or eaten is not more than
// that it is liked.
func (s *sense) continuesWhat(h *sense) bool {
	if !s.continues || s.negated != h.negated || s.taste != h.taste || len(s.objects) == 0 {
		return false
	}
	at := 0
	for _, w := range s.words {
		if !takesEn[w] || !s.likes() {
			i := at
			for i < len(h.words) && h.words[i] != w {
				i++
			}
			if i == len(h.words) {
				return false
			}
			at = i + 1
		}
	}
	return len(s.objects) == len(h.objects) && strings.Join(s.objects, " ") == strings.Join(h.objects, " ")
}

// takesEn are the stems and words for taking what is liked.
var takesEn = words.Set("takes.en")

func (s *sense) likes() bool {
	for _, w := range s.words {
		if w == "like" {
			return true
		}
	}
	return false
}

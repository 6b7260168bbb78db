package extract

import (
	"cmp"
	"context"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/oxbow-memory/oxbow/internal/reasoner"
	"github.com/oxbow-memory/oxbow/internal/reasoner/language"
)

// Resolve decides about each candidate. Similarity only nominates; the statements themselves
// decide. The only error is that of ctx.
func (x *Extractor) Resolve(ctx context.Context, now time.Time,
	conflicts []reasoner.Conflict) ([]reasoner.Resolution, error) {
	all := make([]reasoner.Resolution, len(conflicts))
	for i := range conflicts {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		all[i] = x.resolve(now, &conflicts[i])
	}
	return all, nil
}

func (x *Extractor) resolve(now time.Time, c *reasoner.Conflict) reasoner.Resolution {
	candidate := read(c.Candidate.Content)
	content, retracts := candidate.retraction()
	stored := len(c.Candidate.Sources) == 0 // no message said it
	name := cmp.Or(c.Candidate.Speaker, c.Name)
	s := senseBy(content, name, stored)
	var own []reasoner.Held // of the same speaker
	var held []sense
	for _, h := range c.Similar {
		if strings.EqualFold(h.Speaker, c.Candidate.Speaker) {
			own, held = append(own, h), append(held, x.senseOfHeld(h, name, stored))
		}
	}
	// Events of different days are different, however similar.
	at := cmp.Or(c.Candidate.Time, now)
	same := -1
	for i := len(own) - 1; i >= 0; i-- {
		event := own[i].Type == "episodic" || c.Candidate.Type == "episodic"
		if s.says(&held[i]) && (retracts || !event || sameDay(at, own[i].Time)) {
			same = i
		}
	}
	switch {
	case same >= 0 && retracts:
		return reasoner.Resolution{Operation: reasoner.Delete, Target: own[same].ID, Reason: "it is taken back"}
	case same >= 0:
		return reasoner.Resolution{Operation: reasoner.Noop, Target: own[same].ID, Reason: "it says the same"}
	case retracts:
		return reasoner.Resolution{Operation: reasoner.Add, Reason: "no memory says what it takes back"}
	}
	var update reasoner.Resolution
	replace := func(id uuid.UUID, reason string) {
		if update.Operation == "" {
			update = reasoner.Resolution{Operation: reasoner.Update, Target: id, Reason: reason}
		} else {
			update.Also = append(update.Also, id)
		}
	}
	var repeated []uuid.UUID
	for i, h := range own {
		if h.Type == "episodic" {
			continue
		}
		switch key, r := s.relates(&held[i]); r {
		case replaces:
			replace(h.ID, "another value of "+key)
		case tellsMore:
			replace(h.ID, "it says more about "+key)
		case repeats:
			repeated = append(repeated, h.ID)
		}
	}
	if update.Operation == "" && len(repeated) > 0 {
		return reasoner.Resolution{Operation: reasoner.Noop, Target: repeated[0], Reason: "the value is the same"}
	}
	if update.Operation != "" {
		update.Also = append(update.Also, repeated...) // one is left
		return update
	}
	for i, h := range own {
		if h.Type != "episodic" && s.denies(&held[i]) {
			replace(h.ID, "it says the opposite")
		}
	}
	if update.Operation != "" {
		return update
	}
	return reasoner.Resolution{Operation: reasoner.Add,
		Reason: "nothing says the same, and it takes nothing back"}
}

// senseOfHeld returns the sense of a memory compared with a statement. The same memories are compared with many
// statements in turn, so it remembers some thousands.
func (x *Extractor) senseOfHeld(h reasoner.Held, name string, stored bool) sense {
	key := heldKey{h.Content, name, stored}
	x.mu.Lock()
	s, ok := x.senses[key]
	x.mu.Unlock()
	if ok {
		return s
	}
	s = senseBy(h.Content, name, stored || !language.Read(h.Content).Has("first"))
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.senses == nil || len(x.senses) == maxSenses {
		x.senses = map[heldKey]sense{}
	}
	x.senses[key] = s
	return s
}

// heldKey is what the sense of a memory depends on.
type heldKey struct {
	content, name string
	stored        bool
}

// maxSenses is the number of senses that an extractor remembers.
const maxSenses = 4096

// sense is the meaning of a statement, as far as the rules recognize it.
type sense struct {
	words      []string // those that carry matter, in their order: stems, and characters of Chinese
	objects    []string // the same without verbs of liking and taking, and without how often
	negated    bool
	not        bool // the same without what its words mean, so that "I'm not allergic to nuts" negates "I'm allergic to nuts"
	over       bool // it states that something has ended
	continues  bool // it states that something continues
	taste      bool // it is about liking or taking something
	attributes []attribute
	sentences  int
	unsaid     bool       // it asks, supposes or wishes, or is so only for now
	silent     bool       // it states nothing: it asks, or reports what somebody else says
	theirs     bool       // it is about somebody else
	when       []string   // the circumstances in which it is so: in the evening, 晚上
	subject    string     // the person that a stored fact is about, if not the user
	head       int        // how many objects precede a preposition: one in "sugar in my tea"
	turns      [][]string // the objects of what it takes back or renews
	several    bool       // it may be about more than one thing, or somebody's: "tea and coffee", "my sister's dog", 茶和咖啡
}

// senseBy interprets a statement of a speaker, or a fact that an application stored about a user of that name.
func senseBy(text, name string, stored bool) sense {
	if stored {
		return senseIn(text, partsOf(text, name))
	}
	return senseOf(text)
}

// senseOf interprets a statement of its speaker.
func senseOf(text string) sense {
	sentences, _ := split(cutAt(text, maxContent))
	said := make([]part, len(sentences))
	for i := range sentences {
		said[i].sentence = sentences[i]
	}
	return senseIn(text, said)
}

// senseIn interprets the sentences of a text.
func senseIn(text string, said []part) sense {
	s := sense{sentences: len(said)}
	var subjects []string
	for i := range said {
		one := said[i].sentence
		if rest, ok := withoutContinuance(&one); ok {
			s.continues = len(said) == 1
			one = read(rest)
		}
		for _, a := range said[i].attributes(&one) {
			a.key = keyOf(said[i].subject, a.key)
			s.attributes = append(s.attributes, a)
		}
		for _, k := range language.Read(said[i].subject).Tokens {
			subjects = append(subjects, stem(k.Lower))
		}
		s.words = append(s.words, subjects...)
		s.over = s.over || one.Has("over")
		s.several = s.several || one.Has("sense.several")
		s.negated = s.negated || one.negations()%2 != 0
		s.silent = said[i].silent && (s.silent || i == 0)
		s.read(trim(one, &talk{}))
	}
	if s.over {
		s.negated = true
	}
	s.not = s.negated
	if len(said) == 1 {
		s.subject = said[0].subject
	}
	if asked, answer, ok := strings.Cut(text, " — "); ok { // "Where do you live? — Porto"
		if a, ok := answers(asked, answer); ok {
			s.attributes, s.sentences = []attribute{a}, 1
		}
	}
	if len(s.objects) == 0 { // "I smoke"
		s.objects = s.words
	} else {
		s.objects = slices.Concat(subjects, s.objects)
	}
	s.turn(text, said)
	return s
}

// negations counts the negations of a statement: one in "I can't stand", two in "I don't dislike".
func (s *sentence) negations() (n int) {
	for range s.All("not") {
		n++
	}
	for range s.All("sense.dislike") {
		n++
	}
	if s.Has("sense.not") {
		n++
	}
	return n
}

// read adds the words of a sentence.
func (s *sense) read(one sentence) {
	for i := 0; i < len(one.Tokens); {
		k := &one.Tokens[i]
		if m, ok := one.At("sense.taste", i); ok {
			s.taste = true
			s.words = append(s.words, cmp.Or(m.Value, k.Lower))
			i = m.End
		} else if m, ok := one.At("sense.often", i); ok {
			often := stem(strings.ToLower(one.Slice(i, m.End)))
			s.words = append(s.words, often)
			if m.Value == "when" {
				s.when = append(s.when, often)
			}
			i = m.End
		} else if n := one.Len("sense.empty", i); n > 0 {
			if s.head == 0 && one.Len("turn.preposition", i) > 0 {
				s.head = len(s.objects)
			}
			i += n
		} else {
			if !k.Mark {
				s.words = append(s.words, stem(k.Lower))
				s.objects = append(s.objects, stem(k.Lower))
			}
			i++
		}
	}
}

// says reports whether two statements mean the same.
func (s *sense) says(h *sense) bool {
	return s.negated == h.negated && s.silent == h.silent && len(s.words) > 0 &&
		(s.not == h.not && slices.Equal(s.words, h.words) || s.continuesWhat(h))
}

// continuesWhat reports whether a statement such as "I still like tea" only continues h: it is about the same and adds
// nothing. Consuming something adds nothing to liking it.
func (s *sense) continuesWhat(h *sense) bool {
	if !s.continues || s.taste != h.taste || len(s.objects) == 0 || !slices.Equal(s.objects, h.objects) {
		return false
	}
	rest := h.words
	for _, w := range s.words {
		if (w == "eat" || w == "drink") && slices.Contains(s.words, "like") {
			continue
		}
		i := slices.Index(rest, w)
		if i < 0 {
			return false
		}
		rest = rest[i+1:]
	}
	return true
}

// moreWords is how many words more, or characters of Chinese, say more and not only the same in other words.
const moreWords = 2

// relation is the relation of a statement to another about the same attributes.
type relation int

const (
	unrelated relation = iota
	repeats            // the same values
	tellsMore          // the same values, and more
	replaces           // another value, or none
)

// relates returns what s means for h by their attributes, and by which. If h has more attributes than s, s replaces
// nothing: the rest would be lost. Nor does h repeat s if s has more sentences and attributes.
func (s *sense) relates(h *sense) (key string, r relation) {
	if h.sentences > 1 || len(h.attributes) == 0 {
		return "", unrelated
	}
	covered := 0
	for _, old := range h.attributes {
		for _, a := range s.attributes {
			one := a.relates(old)
			if one == unrelated {
				continue
			}
			covered++
			if one > r {
				key, r = a.key, one
			}
			if old.over || old.denied { // h has no value that is lost
				covered = len(h.attributes)
			}
			break
		}
	}
	if covered < len(h.attributes) && r != repeats || r == repeats && s.sentences > 1 && covered < len(s.attributes) {
		return "", unrelated
	}
	if r == repeats && covered == len(h.attributes) && len(s.words) > len(h.words)+moreWords {
		r = tellsMore
	}
	return key, r
}

// relates returns the relation of an attribute to an older one.
func (a attribute) relates(old attribute) relation {
	same := a.value == old.value
	part := strings.Contains(old.value, a.value) // "porto" of "porto near the river"
	whole := strings.Contains(a.value, old.value)
	switch {
	case a.key != old.key || !a.single() || a.over && old.denied || a.denied && old.over:
		return unrelated
	case a.over && old.over:
		return repeats
	case a.over || old.over:
		return replaces
	case a.denied && old.denied && same:
		return repeats
	case a.denied && (old.denied || !part && !whole):
		return unrelated
	case a.denied || old.denied:
		return replaces
	case part:
		return repeats
	case whole:
		return tellsMore
	}
	return replaces
}

// maxCloser is how many words, or characters of Chinese, describe a thing more closely.
const maxCloser = 3

// denies reports whether of the same things one statement says yes, and the other no or no longer.
func (s *sense) denies(h *sense) bool {
	switch {
	case s.unsaid || s.silent || h.silent || h.sentences > 1:
		return false
	case h.theirs && (h.subject == "" || h.subject != s.subject):
		return false
	case s.not != h.not && s.sentences == 1 && len(s.words) > 0 && slices.Equal(s.words, h.words):
		return true
	case s.negated == h.negated:
		return false
	case s.taste != h.taste && !s.over && !h.over:
		return false
	case s.negated && !within(s.when, h.when), h.negated && !within(h.when, s.when):
		return false // a person may dislike coffee in the evening and like it in the morning
	}
	return h.includes(s.objects) || slices.ContainsFunc(s.turns, h.includes)
}

// within reports whether all words are among others.
func within(words, others []string) bool {
	return !slices.ContainsFunc(words, func(w string) bool { return !slices.Contains(others, w) })
}

// includes reports whether what is said of objects in general is said of those of s.
func (s *sense) includes(objects []string) bool {
	n, m := len(objects), len(s.objects)
	switch {
	case n == 0 || !within(objects, s.objects):
		return false
	case 2*n > m:
		return true
	}
	// who likes no coffee likes no strong coffee
	return !s.several && m <= n+maxCloser &&
		(slices.Equal(s.objects[m-n:], objects) || slices.Equal(s.objects[:s.head], objects))
}

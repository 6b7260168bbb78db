package extract

import (
	"regexp"
	"slices"
	"strings"

	"github.com/oxbow-memory/oxbow/internal/reasoner"
	"github.com/oxbow-memory/oxbow/internal/reasoner/language"
)

// maxSubject is the maximum number of tokens of a subject: "her older sister".
const maxSubject = 6

var _ reasoner.FactReader = (*Extractor)(nil)

// Fact reads a fact that an application stored.
func (*Extractor) Fact(content, speaker string) reasoner.Candidate {
	c := reasoner.Candidate{Type: "fact", Content: content, Speaker: speaker, Category: reasoner.Objective}
	parts := partsOf(content, speaker)
	importance, past := -1.0, false
	for i := range parts {
		p := &parts[i]
		if p.silent {
			continue
		}
		r := readSentence(p.sentence, &talk{})
		for _, a := range p.attributes(&r.sentence) {
			c.Negates = c.Negates || a.over || a.denied
			if key := keyOf(p.subject, a.key); a.single() && !slices.Contains(c.About, key) {
				c.About = append(c.About, key)
			}
		}
		c.Negates, past = c.Negates || r.negates, past || r.past
		if r.importance > importance {
			importance, c.Category = r.importance, r.categoryOf(p.subject)
		}
	}
	if len(c.About) == 0 && len(parts) == 1 && !parts[0].silent {
		// Possessions, activities and wishes are subjects too, because a later fact may end them.
		s := senseIn("", []part{{sentence: parts[0].sentence}})
		lasts := c.Category == reasoner.StablePreference || c.Category == reasoner.ShortPreference ||
			parts[0].thirdPerson || !past
		if key := tasteIn(&s); key != "" && (lasts || c.Negates || len(s.turns) > 0) {
			c.About = []string{keyOf(parts[0].subject, key)}
		}
	}
	return c
}

// categoryOf returns the category of a stored statement. One about other people is a fact, unless it is temporary.
func (r *reading) categoryOf(subject string) reasoner.Category {
	category := r.category
	if m, ok := r.Find("stored.category"); ok {
		category = reasoner.Category(m.Value)
	} else if !r.anchored {
		category = reasoner.Objective
		if r.future && !r.past || emotionOf([]reading{*r}) != nil {
			category = reasoner.Temporary
		}
	}
	if subject == "" || category == reasoner.Temporary {
		return category
	}
	return reasoner.Objective
}

// keyOf returns the key of an attribute of a subject.
func keyOf(subject, key string) string {
	if subject == "" {
		return key
	}
	return subject + ":" + key
}

// part is a statement in the first person, and whose it is: empty for the speaker.
type part struct {
	sentence
	subject string
	stored  bool // by an application
	silent  bool // states nothing: it asks, or reports what somebody else says
}

// attributes returns the attributes that the part states in the words of one. One of several values or a former one is
// not an attribute, nor is a name of somebody else: of two sisters, each is "her sister".
func (p *part) attributes(one *sentence) []attribute {
	found := one.attributesOf()
	switch {
	case p.silent, p.stored && one.Has("stored.beside"):
		return nil
	case p.subject != "":
		return slices.DeleteFunc(slices.Clone(found), func(a attribute) bool { return a.key == "name" })
	}
	return found
}

// partsOf returns the statements of a stored fact.
func partsOf(content, speaker string) (parts []part) {
	sentences, _ := split(cutAt(content, maxContent))
	subject := ""
	for i, s := range sentences {
		s, silent := s.said(speaker)
		if silent || s.quotes() && i+1 < len(sentences) && sentences[i+1].Has("stored.said") {
			parts = append(parts, part{s, "", true, true})
			continue
		}
		var one sentence
		one, subject = s.firstPerson(speaker, subject)
		all := []sentence{one}
		if one.Has("clause.join") {
			all = clauses(one, &talk{})
		}
		for _, s := range all {
			parts = append(parts, part{s, subject, true, false})
		}
	}
	return parts
}

// said returns what the user says in a sentence: "she lives in Porto" of "She mentioned that she lives in Porto".
// silent reports whether the sentence states nothing: it asks, or reports what somebody else says.
func (s sentence) said(speaker string) (said sentence, silent bool) {
	if s.asks() || s.Has("stored.silent") || s.quotes() && s.Has("stored.said") {
		return s, true
	}
	user, owned := s.user(speaker)
	for v := 0; v < min(len(s.Tokens), maxSubject+1) && (v == 0 || !s.Tokens[v-1].Mark); v++ {
		m, ok := s.At("stored.reports", v)
		if !ok {
			continue
		}
		from := m.End
		for from < len(s.Tokens) && s.Tokens[from].Mark {
			from++
		}
		follows := from > m.End || s.Tokens[m.End-1].Lower == "that"
		begins, own := "stored.clause", v == 0 || v == user && !owned
		if own {
			begins = "stored.speaks"
		}
		switch {
		case from == len(s.Tokens), !follows && s.Len(begins, from) == 0, own && m.Value == "thinks":
			return s, false
		case from == m.End && s.Len("stored.pronoun", 0) > 0 && s.Len("first", from) > 0:
			return s, true // "They say I live in Porto": "they" are others
		case own && m.Value == "":
			return read(s.text[s.Tokens[from].Start:]), false
		}
		return s, true
	}
	return s, false
}

// quotes reports whether a sentence begins with a quotation.
func (s *sentence) quotes() bool { return strings.IndexAny(s.text, "\"“「") == 0 }

// firstPerson returns a stored statement as its subject would say it: "I live in Porto" for "Lives in Porto". The
// subject is empty for the user, whose name may be speaker; last is that of the statement before.
func (s sentence) firstPerson(speaker, last string) (one sentence, subject string) {
	if n := s.Len("stored.since", 0); n > 0 && n < len(s.Tokens) {
		s = read(s.text[s.Tokens[n].Start:])
	}
	switch {
	case len(s.Tokens) == 0:
		return s, ""
	case s.chinese():
		one, subject = s.firstPersonZh(speaker)
	default:
		one, subject = s.firstPersonEn(speaker)
	}
	if subject == "" && s.Len("stored.pronoun", 0) > 0 {
		subject = last
	}
	return one, subject
}

// firstPersonZh puts 我 in the place of the subject.
func (s *sentence) firstPersonZh(speaker string) (one sentence, subject string) {
	rest, named := s.text, false
	if n := s.Len("stored.user", 0); n > 0 {
		rest = s.text[s.Tokens[n-1].End:]
	} else if rest, named = strings.CutPrefix(rest, speaker); speaker == "" {
		named = false
	}
	rest = strings.TrimLeft(rest, " ，,：:")
	t := language.Read(rest)
	if m, ok := t.At("stored.label", 0); ok && m.End < len(t.Tokens) {
		rest = m.Value + rest[t.Tokens[m.End].Start:]
	}
	one = read("我" + rest)
	if len(one.attributesOf()) > 0 {
		return one, ""
	}
	n := t.Len("stored.other", 0)
	if n == 0 && !named && len(rest) == len(s.text) && t.Len("stored.not_name", 0) == 0 {
		n = t.Len("stored.name", 0)
	}
	if n == 0 || n == len(t.Tokens) {
		return one, ""
	}
	said := strings.TrimLeft(rest[t.Tokens[n-1].End:], " ，,")
	return read("我" + said), strings.ReplaceAll(t.Slice(0, n), "的", "")
}

// firstPersonEn puts "I" before the verb, and "my" in the place of "her".
func (s *sentence) firstPersonEn(speaker string) (one sentence, subject string) {
	n, owned := s.user(speaker)
	switch {
	case n == len(s.Tokens), s.HasIn("worth.i", 0, maxSubject):
		return *s, ""
	case n > 0 && !owned:
		return s.says(n), ""
	}
	if m, ok := s.At("stored.label", n); ok && m.End < len(s.Tokens) {
		return read(m.Value + " " + s.mine(m.End)), ""
	}
	if !owned && s.Len("stored.starts", 0) > 0 {
		return s.says(0), ""
	} else if !owned && len(s.attributesOf()) > 0 { // "The name of the dog is Bruno"
		return *s, ""
	}
	if one = read("My " + s.mine(n)); len(one.attributesOf()) > 0 { // "Her rent is 900 euros", "Rent is 900 euros"
		return one, ""
	}
	for v := n + 1; v < len(s.Tokens) && v <= n+maxSubject && !s.Tokens[v-1].Mark; v++ {
		if s.Len("stored.possessive", v) > 0 {
			if theirs := read("My " + s.mine(v+1)); len(theirs.attributesOf()) > 0 {
				return theirs, s.name(n, v)
			}
		} else if s.Len("stored.finite", v) > 0 {
			return s.says(v), s.name(n, v)
		}
	}
	if !owned {
		one = *s
	}
	return one, ""
}

// user returns how many tokens at the beginning stand for the user, and whether they own what follows.
func (s *sentence) user(speaker string) (n int, owned bool) {
	if n = s.Len("stored.owner", 0); n > 0 {
		return n, true
	} else if n = s.Len("stored.user", 0); n > 0 {
		return n, false
	}
	for _, k := range language.Read(speaker).Tokens {
		if n == len(s.Tokens) || s.Tokens[n].Lower != k.Lower {
			break
		}
		n++
	}
	if n > 0 && s.Len("stored.possessive", n) > 0 {
		return n + 1, true
	}
	return n, false
}

// name returns the subject that the tokens [from, to) name, in lower case and without articles.
func (s *sentence) name(from, to int) string {
	var words []string
	for i := from; i < to; i++ {
		if s.Len("stored.article", i) == 0 {
			words = append(words, s.Tokens[i].Lower)
		}
	}
	return strings.Join(words, " ")
}

// says returns a statement with the subject "I" from its verb on, which is the i-th token or follows adverbs there.
func (s *sentence) says(i int) sentence {
	i += s.Len("stored.times", i)
	v := i + s.Len("stored.adverbs", i)
	if v >= len(s.Tokens) {
		return *s
	}
	before := s.Slice(i, v)
	if before != "" {
		before += " "
	}
	word := s.Tokens[v].Lower
	if m, ok := s.At("stored.says", v); ok {
		return read(m.Value + " " + before + s.mine(m.End))
	} else if s.Len("stored.state", v) > 0 {
		return read("I'm " + before + s.mine(v))
	} else if plain := base(word); plain != word {
		one := read("I " + before + plain + " " + s.mine(v+1))
		one.thirdPerson = true
		return one
	}
	return read("I " + before + s.mine(v))
}

// mine returns the text from the i-th token on, with "my" for "her" and "like" for "likes" after "and".
func (s *sentence) mine(i int) string {
	var b strings.Builder
	for from := i; i < len(s.Tokens); i++ {
		k := &s.Tokens[i]
		if i > from {
			b.WriteString(s.text[s.Tokens[i-1].End:k.Start])
		}
		if m, ok := s.At("stored.mine", i); ok {
			b.WriteString(m.Value)
		} else if i > 0 && s.Len("clause.join", i-1) == 1 && language.Read(base(k.Lower)).Len("clause.verb", 0) > 0 {
			b.WriteString(base(k.Lower))
		} else {
			b.WriteString(s.text[k.Start:k.End])
		}
	}
	return b.String() + s.text[s.Tokens[len(s.Tokens)-1].End:]
}

var thirdPerson = regexp.MustCompile(`^(.+(?:ss|sh|ch|x|zz|o))es$|^(.{2,})ies$|^(.{2,}[^su])s$`)

// base returns the base form of a verb of the third person in lower case: "live" of "lives".
func base(word string) string {
	m := thirdPerson.FindStringSubmatch(word)
	switch {
	case word == "has":
		return "have"
	case m == nil:
		return word
	case m[2] != "":
		return m[2] + "y"
	}
	return m[1] + m[3]
}

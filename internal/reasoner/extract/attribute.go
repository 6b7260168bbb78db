package extract

import (
	"slices"
	"strings"
	"unicode/utf8"
)

// attribute is an attribute with one value at a time, such as a name, a home or a favourite colour, and its value.
type attribute struct {
	key        string // name, home, job, employer, age, status, favourite:colour, my:phone, named:wife …
	value      string // as stated, in lower case, without articles
	denied     bool   // the sentence denies the value
	over       bool   // no value is left: a job that was lost
	start, end int    // position of the value in its sentence, in bytes
}

// kinds maps the names of values in the patterns to attributes.
var kinds = map[string]string{"role": "job", "company": "employer", "vehicle": "my:car", "venue": "employer",
	"weight": "my:weight"}

// attributesOf returns the attributes that a sentence states, by the patterns of facts.txt.
func (s *sentence) attributesOf() []attribute {
	if s.looked {
		return s.found
	}
	s.looked = true
	t := s.Text
	if t.Has("fact.once") {
		return nil
	}
	end := 0
	for m := range t.All("fact") {
		if m.Start < end {
			continue
		}
		end = m.End
		of, hasOf := m.Get("of")
		_, denied := m.Get("denied")
		denied = denied || m.Value == "denied"
		if kinds, ok := strings.CutPrefix(m.Value, "over "); ok {
			for key := range strings.FieldsSeq(kinds) {
				s.found = append(s.found, attribute{key: key, over: true})
			}
		}
		for _, c := range m.Captures {
			a := attribute{key: c.Name, value: c.Value, denied: denied, start: t.Tokens[c.Start].Start,
				end: t.Tokens[c.End-1].End}
			a.extend(s.text)
			switch {
			case c.Name == "of" || c.Name == "denied" || c.Name == "number":
				continue
			case hasOf:
				a.key = m.Value + ":" + of.Value
			case kinds[c.Name] != "":
				a.key = kinds[c.Name]
			}
			s.found = append(s.found, a)
		}
	}
	s.found = known(s.found)
	return s.found
}

// extend adds to a value the rest of an address or a number, which marks divide: "ana@example.com", "555-0199".
func (a *attribute) extend(text string) {
	rest := text[a.end:]
	if len(rest) < 2 || !strings.ContainsRune("@-,./", rune(rest[0])) || !isWordByte(rest[1]) ||
		!isWordByte(text[a.end-1]) || rest[0] != '@' && (text[a.end-1] > '9' || rest[1] > '9') {
		return
	}
	n := strings.IndexFunc(rest, func(r rune) bool { return r <= ' ' || r >= utf8.RuneSelf })
	if n < 0 {
		n = len(rest)
	}
	more := strings.TrimRight(rest[:n], ".,;!?")
	a.value, a.end = a.value+strings.ToLower(more), a.end+len(more)
}

// known drops repetitions, and the end of a job or home if the same sentence states the new value.
func known(found []attribute) []attribute {
	var kept []attribute
	for _, a := range found {
		same := func(b attribute) bool { return a.key == b.key && a.value == b.value && a.over == b.over }
		newer := func(b attribute) bool { return a.over && b.key == a.key && !b.over && !b.denied }
		if !slices.ContainsFunc(kept, same) && !slices.ContainsFunc(found, newer) {
			kept = append(kept, a)
		}
	}
	return kept
}

// single reports whether an attribute has one value at a time. Hobbies and origins, for example, may have several.
func (a attribute) single() bool { return a.key != "origin" && a.key != "hobby" }

// answers returns the attribute that the answer to a question states: "Where do you live?",
// "Porto".
func answers(question, answer string) (attribute, bool) {
	question, answer = strings.TrimSpace(question), strings.TrimSpace(answer)
	q, a := read(question), read(answer)
	if !q.asks() || len(answer) > 80 {
		return attribute{}, false
	}
	if found := a.attributesOf(); len(found) > 0 {
		return found[0], true
	}
	asked, ok := q.Find("fact.question")
	if !ok {
		return attribute{}, false
	}
	m, ok := a.Find("fact.answer")
	if !ok {
		return attribute{}, false
	}
	return attribute{key: asked.Value, value: m.Captures[0].Value}, true
}

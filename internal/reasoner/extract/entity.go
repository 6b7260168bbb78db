package extract

import (
	"cmp"
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/oxbow-memory/oxbow/internal/reasoner"
	"github.com/oxbow-memory/oxbow/internal/reasoner/language"
)

const (
	maxEntities  = 12 // of a candidate
	maxRelations = 12
	maxName      = 80 // maximum length of a name, in bytes
)

// entitiesOf returns the people and things that sentences name, by entities.txt.
func entitiesOf(sentences []reading) []reasoner.Entity {
	var found []reasoner.Entity
	add := func(name, kind string) {
		name = strings.TrimSpace(name)
		i := slices.IndexFunc(found, func(e reasoner.Entity) bool { return strings.EqualFold(e.Name, name) })
		switch {
		case i >= 0 && found[i].Kind == "other":
			found[i].Kind = kind
		case i < 0 && name != "" && len(name) <= maxName && len(found) < maxEntities:
			found = append(found, reasoner.Entity{Name: name, Kind: kind})
		}
	}
	for i := range sentences {
		s := &sentences[i]
		for _, m := range titles.FindAllStringSubmatch(s.text, -1) {
			add(m[1]+m[2], "work")
		}
		s.names(s.talk, add)
		if s.Han == 0 {
			continue
		}
		for m := range s.All("entity") {
			for _, c := range m.Captures {
				if slices.Contains(entityKinds, c.Name) {
					add(s.Slice(c.Start, c.End), c.Name)
				}
			}
		}
		for _, a := range s.attributes {
			n := utf8.RuneCountInString(a.value)
			if kind := valueKinds[a.key]; kind != "" && n >= 2 && n <= 6 && !strings.ContainsAny(a.value, "的一这那") {
				add(a.value, kind)
			}
		}
	}
	return found
}

var (
	titles      = regexp.MustCompile(`《([^》]{1,50})》|["“]([A-Z][^"”]{0,48}[^"”.,!?])["”]`)
	entityKinds = []string{"person", "place", "animal"}
	// valueKinds maps attributes to the kinds of entities that are their values.
	valueKinds = map[string]string{"employer": "organization", "home": "place", "origin": "place", "name": "person"}
)

// names returns capitalized words, except the first of a sentence unless it is clearly a name.
func (s *sentence) names(t *talk, add func(name, kind string)) {
	isName := func(i int) bool {
		k := &s.Tokens[i]
		return k.Capital && len(k.Lower) > 1 && s.Len("entity.not", i) == 0 && !t.takesPart(k.Lower)
	}
	next := func(i int) bool { // separated only by a space
		return i < len(s.Tokens) && !s.Tokens[i].Mark && s.text[s.Tokens[i-1].End:s.Tokens[i].Start] == " "
	}
	for i := 0; i < len(s.Tokens); i++ {
		if !isName(i) {
			continue
		}
		from, to := i, i+1
		for ; next(to); to++ {
			of := s.Tokens[to].Lower == "of" && next(to+1) && isName(to+1) && s.Len("entity.organization_end", to-1) > 0
			if !of && !isName(to) {
				break
			}
		}
		i = to - 1
		begins := from == 0 || s.Tokens[from-1].Mark && s.Tokens[from-1].Lower != ","
		switch quoted := from > 0 && strings.Contains("\"“", s.Tokens[from-1].Lower); {
		case quoted:
		case begins && s.Len("stop", from) > 0: // "The Baltic Sea"
			if to-from > 2 {
				add(s.Slice(from+1, to), s.kindOf(from+1, to))
			}
		case !begins || to-from > 1:
			add(s.Slice(from, to), s.kindOf(from, to))
		default:
			if _, ok := s.Around("entity.first", from, to); ok && s.Len("kin", from) == 0 {
				add(s.Slice(from, to), "person")
			}
		}
	}
}

func (s *sentence) kindOf(from, to int) string {
	if to-from > 1 && s.HasIn("entity.organization_end", from, to) {
		return "organization"
	}
	if s.HasIn("entity.place_end", to-1, to) {
		return "place"
	}
	m, _ := s.Around("entity.kind", from, to)
	return cmp.Or(m.Value, "other")
}

// relationsOf returns the relations to the speaker that sentences state of the entities that they name.
func relationsOf(sentences []reading, entities []reasoner.Entity) []reasoner.Relation {
	var found []reasoner.Relation
	for i := range sentences {
		s := &sentences[i]
		if s.negates {
			continue
		}
		for j := range entities {
			relation := s.relation(&entities[j])
			r := reasoner.Relation{Relation: relation, To: entities[j].Name}
			if relation != "" && len(found) < maxRelations && !slices.Contains(found, r) {
				found = append(found, r)
			}
		}
	}
	return found
}

// relation returns the relation of an entity to the speaker, or "" if the sentence does not state
// it.
func (r *reading) relation(e *reasoner.Entity) string {
	for _, a := range r.attributes {
		if !strings.HasPrefix(a.value, strings.ToLower(e.Name)) {
			continue
		}
		if m, ok := language.Read(strings.ReplaceAll(a.key, ":", " ")).Find("relation.fact"); ok {
			return m.Value
		}
	}
	for from := range r.Tokens {
		if !strings.HasPrefix(r.text[r.Tokens[from].Start:], e.Name) {
			continue
		}
		to := from + 1
		for to < len(r.Tokens) && r.Tokens[to].Start < r.Tokens[from].Start+len(e.Name) {
			to++
		}
		m, ok := r.Around("relation", from, to)
		if !ok {
			continue
		}
		kin, isKin := m.Get("kin")
		if isKin && (e.Kind == "place" || e.Kind == "organization" || e.Kind == "work") || !r.me {
			continue
		}
		return cmp.Or(m.Value, kin.Value)
	}
	return ""
}

package llm

import (
	"fmt"
	"slices"
	"strings"

	"github.com/oxbow-memory/oxbow/internal/llm/answer"
	"github.com/oxbow-memory/oxbow/internal/llm/wording"
	"github.com/oxbow-memory/oxbow/internal/reasoner"
)

const (
	maxSources   = 50  // for a candidate
	maxEntities  = 20  // for a candidate
	maxRelations = 20  // for a candidate
	maxRelation  = 64  // bytes
	maxName      = 100 // characters of the name of an entity or speaker

	defaultImportance = 0.5
)

// resolve turns an answer into an extraction.
func (t *talk) resolve(a answer.Extraction) (e reasoner.Extraction) {
	r := &hearing{talk: t, notes: notes{slices.Clone(t.unread.dropped)}}
	for _, a := range bounded(&r.notes, a.Candidates) {
		c, ok := r.candidate(a)
		if !ok {
			continue
		}
		same := func(other reasoner.Candidate) bool {
			return other.Type == c.Type && other.Speaker == c.Speaker && folded(other.Content) == folded(c.Content)
		}
		// A repetition by the model is not a second mention by the user.
		if at := slices.IndexFunc(e.Candidates, same); at >= 0 {
			for _, source := range c.Sources {
				if !slices.Contains(e.Candidates[at].Sources, source) {
					e.Candidates[at].Sources = append(e.Candidates[at].Sources, source)
				}
			}
			continue
		}
		e.Candidates = append(e.Candidates, c)
	}
	for _, a := range bounded(&r.notes, a.Used) {
		held, known := t.recalled[a.Memory]
		place, shown := t.messages[a.Reply]
		switch {
		case !known:
			r.drop(a, "no recalled memory %s was shown", quote(a.Memory))
		case !shown:
			r.drop(a, "no message %s was shown", quote(a.Reply))
		case t.said[place].Role != roleAssistant || !t.said[place].New:
			r.drop(a, "%s is not a new message of the assistant", a.Reply)
		case !slices.Contains(e.Used, held.ID):
			e.Used = append(e.Used, held.ID)
		}
	}
	for _, a := range bounded(&r.notes, a.Instructions) {
		if n, ok := r.instruction(a); ok {
			e.Instructions = append(e.Instructions, n)
		}
	}
	e.Dropped = r.dropped
	return e
}

// instruction checks a standing instruction. It must be in a new message of the user.
func (r *hearing) instruction(a answer.Instruction) (n reasoner.Instruction, ok bool) {
	content, err := wording.Statement(a.Content, maxStatement)
	if err != nil {
		r.drop(a, "%s", err)
		return n, false
	}
	sources := r.sources([]string{a.Message}, content)
	if len(sources) == 0 {
		r.drop(a, "it names no new message of the user")
		return n, false
	}
	said := r.said[sources[0]]
	if how := wording.Translated(content, []string{said.Content}); how != "" {
		r.drop(a, "%s", how)
		return n, false
	}
	// A text that a tool returned may be written to look like an instruction of the user.
	if text := folded(content); !strings.Contains(said.folded, text) && slices.ContainsFunc(r.said,
		func(m saying) bool { return m.Role != roleUser && strings.Contains(m.folded, text) }) {
		r.drop(a, "the words are not the user's")
		return n, false
	}
	if !slices.Contains(reasoner.InstructionAspects, a.Aspect) {
		a.Aspect = "other"
	}
	return reasoner.Instruction{Text: content, Aspect: a.Aspect, Ends: a.Ends, Source: said.ID}, true
}

// hearing is a talk with notes on what was dropped from one answer.
type hearing struct {
	*talk
	notes
}

// note records what was dropped from a candidate.
func (r *hearing) note(content, part string, value any, reason string, args ...any) {
	r.drop(map[string]any{part: value, "for": content}, reason, args...)
}

// candidate checks a candidate. It requires the content, the type and a message of the user. Other
// parts are dropped if they are invalid.
func (r *hearing) candidate(a answer.Candidate) (c reasoner.Candidate, ok bool) {
	content, err := wording.Statement(a.Content, maxStatement)
	if err != nil {
		r.drop(a, "%s", err)
		return c, false
	}
	if !slices.Contains(answer.Types, a.Type) {
		r.drop(a, "unknown type")
		return c, false
	}
	sources := r.sources(a.Sources, content)
	if len(sources) == 0 {
		r.drop(a, "it names no new message of the user")
		return c, false
	}
	var texts []string
	said := false // in the same words
	for _, place := range sources {
		texts = append(texts, r.said[place].Content)
		said = said || strings.Contains(r.said[place].folded, folded(content))
	}
	if how := wording.Translated(content, texts); how != "" {
		r.drop(a, "%s", how)
		return c, false
	}
	if !said && r.recalls(content) {
		r.drop(a, "it was recalled into the conversation, and nobody said it anew")
		return c, false
	}

	first := r.said[sources[0]]
	c = reasoner.Candidate{Type: a.Type, Content: content, Speaker: first.Speaker,
		Category:   reasoner.Category(a.Category),
		Importance: defaultImportance, Context: reasoner.KnownContext(a.Context), Negates: a.Negates}
	for _, place := range sources {
		c.Sources = append(c.Sources, r.said[place].ID)
	}
	if a.Importance != nil {
		c.Importance = clamp(*a.Importance, 0, 1)
	}
	if !slices.Contains(answer.Categories, a.Category) {
		r.note(content, "category", short(a.Category), "unknown category: replaced by %q", reasoner.Objective)
		c.Category = reasoner.Objective
	}
	if c.Context == "" && a.Context != "" {
		r.note(content, "context", short(a.Context), "unknown context")
	}
	c.Emotion = r.emotion(a.Emotion, content)
	c.Entities = r.entities(a.Entities, content)
	c.Relations = r.relations(a.Relations, c)
	if c.Time, err = moment(a.Time, first.Time); err != nil {
		r.note(content, "time", short(a.Time), "%s: the time of the message counts", err)
	}
	return c, true
}

// sources resolves the messages of a candidate, each once, in conversation order. They belong to
// one speaker, the last to speak: earlier messages of others may be what was answered.
func (r *hearing) sources(given []string, content string) []int {
	var places []int
	for i, ref := range given {
		if i == maxSources {
			r.note(content, "source", ref, "%d messages beyond the first %d", len(given)-maxSources, maxSources)
			break
		}
		place, known := r.messages[ref]
		switch {
		case !known:
			r.note(content, "source", short(ref), "no message %s was shown", quote(ref))
		case r.said[place].Role != roleUser:
			r.note(content, "source", ref, "the message is not of the user")
		case !r.said[place].New:
			r.note(content, "source", ref, "the message is not new")
		case r.said[place].suspect:
			r.note(content, "source", ref, "the message reads as an instruction to the reasoner")
		case !slices.Contains(places, place):
			places = append(places, place)
		}
	}
	slices.Sort(places)
	return slices.DeleteFunc(places, func(place int) bool {
		other := r.said[place].Speaker != r.said[places[len(places)-1]].Speaker
		if other {
			r.note(content, "source", fmt.Sprintf("m%d", place+1), "the message is of another speaker")
		}
		return other
	})
}

// recalls reports whether a text equals a recalled memory.
func (r *hearing) recalls(content string) bool {
	for _, held := range r.recalled {
		if folded(held.Content) == folded(content) {
			return true
		}
	}
	return false
}

func (r *hearing) emotion(e *answer.Emotion, content string) *reasoner.Emotion {
	if e == nil || e.Label == answer.NoEmotion {
		return nil
	}
	label := e.Label
	if !slices.Contains(answer.Emotions, label) {
		r.note(content, "emotion", short(label), "unknown emotion: its label is left out")
		label = ""
	}
	return &reasoner.Emotion{Label: label, Valence: clamp(e.Valence, -1, 1), Arousal: clamp(e.Arousal, 0, 1)}
}

// entities returns the entities that the candidate or a message names.
func (r *hearing) entities(given []answer.Entity, content string) (all []reasoner.Entity) {
	for i, entity := range given {
		if i == maxEntities {
			r.note(content, "entity", entity, "%d entities beyond the first %d", len(given)-maxEntities, maxEntities)
			break
		}
		name, err := wording.Statement(entity.Name, maxName)
		switch {
		case err != nil:
			r.note(content, "entity", entity, "unusable name: %s", err)
			continue
		case !r.names(name, content):
			r.note(content, "entity", entity, "neither the memory nor the conversation has this name")
			continue
		case slices.ContainsFunc(all, func(other reasoner.Entity) bool { return folded(other.Name) == folded(name) }):
			continue
		}
		kind := entity.Kind
		if !slices.Contains(answer.Kinds, kind) {
			r.note(content, "entity", entity, "unknown kind: replaced by %q", "other")
			kind = "other"
		}
		all = append(all, reasoner.Entity{Name: name, Kind: kind})
	}
	return all
}

// relations returns the relations whose ends the candidate names. An end without a name is the
// speaker. A relation that no longer holds is dropped.
func (r *hearing) relations(given []answer.Relation, c reasoner.Candidate) (all []reasoner.Relation) {
	named := func(end string) (string, bool) {
		if end == "" {
			return "", true
		}
		for _, entity := range c.Entities {
			if folded(entity.Name) == folded(end) {
				return entity.Name, true
			}
		}
		return "", false
	}
	for i, relation := range given {
		if i == maxRelations {
			r.note(c.Content, "relation", relation, "%d relations beyond the first %d", len(given)-maxRelations,
				maxRelations)
			break
		}
		from, ofFrom := named(relation.From)
		to, ofTo := named(relation.To)
		name, err := wording.Statement(relation.Relation, maxRelation)
		known := reasoner.Relation{From: from, Relation: name, To: to}
		switch {
		case err != nil:
			r.note(c.Content, "relation", relation, "unusable relation: %s", err)
		case len(name) > maxRelation:
			r.note(c.Content, "relation", relation, "it has more than %d bytes", maxRelation)
		case !ofFrom || !ofTo || from == to:
			r.note(c.Content, "relation", relation,
				"its ends are not two entities of the candidate, or one and the user")
		case c.Negates:
			r.note(c.Content, "relation", relation, "the candidate says that something no longer holds")
		case !slices.Contains(all, known):
			all = append(all, known)
		}
	}
	return all
}

// names reports whether a name occurs in a candidate's content or in the conversation.
func (r *hearing) names(name, content string) bool {
	name = folded(name)
	if strings.Contains(folded(content), name) {
		return true
	}
	return slices.ContainsFunc(r.said, func(m saying) bool {
		return folded(m.Speaker) == name ||
			strings.Contains(m.folded, name)
	})
}

func clamp(x, least, most float64) float64 { return min(max(x, least), most) }

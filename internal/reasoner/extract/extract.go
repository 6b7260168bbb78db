// Package extract contains the extractor and summarizer that need no model and no network: rules for English and
// Chinese that choose the messages worth remembering and resolve them against existing memories. The words and patterns
// are data, in package language; docs/extraction-rules.md describes the limits.
package extract

import (
	"context"
	"math"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/oxbow-memory/oxbow/internal/oneline"
	"github.com/oxbow-memory/oxbow/internal/reasoner"
	"github.com/oxbow-memory/oxbow/internal/reasoner/language"
	"github.com/oxbow-memory/oxbow/internal/reasoner/pattern"
	"github.com/oxbow-memory/oxbow/internal/reasoner/when"
)

// Extractor extracts by rules. It has no state: the same conversation gives the same candidates.
type Extractor struct {
	mu     sync.Mutex
	senses map[heldKey]sense // of memories compared lately
}

// New returns an extractor.
func New() *Extractor { return &Extractor{} }

// Name returns "rules-v1".
func (*Extractor) Name() string { return "rules-v1" }

var _ reasoner.Extractor = (*Extractor)(nil)

// Extract proposes memories from the new messages. The only error is that of ctx.
func (*Extractor) Extract(ctx context.Context, c reasoner.Conversation) (reasoner.Extraction, error) {
	var x reasoner.Extraction
	drop := func(m *reasoner.Message, reason string) {
		x.Dropped = append(x.Dropped, reasoner.Dropped{What: m.ID.String(), Reason: reason})
	}
	recalled := readHeld(c.Recalled)
	var notes []note
	hear(&x, c.Messages)
	t := talkOf(c.Messages)
	t.heard = x
	for i := range c.Messages {
		if err := ctx.Err(); err != nil {
			return reasoner.Extraction{}, err
		}
		m := &c.Messages[i]
		if !m.New || !speaks(m) {
			continue
		}
		found, refused := notesOf(c.Messages, i, t)
		if refused {
			drop(m, "the message is an instruction to a model")
		}
		for _, n := range found {
			switch last := len(notes) - 1; {
			case recalled.repeat(n.content):
				drop(m, "the message repeats what was recalled into the conversation")
			case last >= 0 && joins(c.Messages, &notes[last], &n):
				notes[last].join(n)
			default:
				notes = append(notes, n)
			}
		}
	}
	for i := range notes {
		x.Candidates = append(x.Candidates, candidateOf(c.Messages, &notes[i]))
	}
	x.Used = recalled.used(c)
	return x, nil
}

// speaks reports whether a message is from the user, or from a person in a recorded dialogue.
func speaks(m *reasoner.Message) bool {
	return m.Role == "user" && (m.Speaker == "" || !language.Read(m.Speaker).Has("speaker.machine"))
}

// speakerOf returns the name of the speaker of a message, or "" for the user.
func speakerOf(m *reasoner.Message) string {
	name := strings.TrimSpace(m.Speaker)
	if language.Read(name).Len("speaker.self", 0) > 0 {
		return ""
	}
	return name
}

func sameSpeaker(a, b *reasoner.Message) bool { return a.Role == b.Role && a.Speaker == b.Speaker }

// talk is what is known of a conversation.
type talk struct {
	names []string            // the first names of the speakers, in lower case: they are addressed, not talked about
	heard reasoner.Extraction // its instructions and procedures

	assisted bool // an assistant takes part
	works    bool // it is asked for something, so what is said in passing is about that
	task     bool // it is asked so often that nothing but a fact about the speaker is about the speaker
}

func talkOf(messages []reasoner.Message) *talk {
	t := &talk{}
	for i := range messages {
		t.assisted = t.assisted || messages[i].Role == "assistant"
		if i > 0 && messages[i].Speaker == messages[i-1].Speaker {
			continue
		}
		name, _, _ := strings.Cut(strings.ToLower(speakerOf(&messages[i])), " ")
		if name != "" && !slices.Contains(t.names, name) {
			t.names = append(t.names, name)
		}
	}
	if t.assisted {
		t.count(messages)
	}
	return t
}

// count compares what an assistant is asked for with what is said about the speaker.
func (t *talk) count(messages []reasoner.Message) {
	requests, mine := 0, 0
	for i := range messages {
		if !speaks(&messages[i]) {
			continue
		}
		sentences, _ := split(messages[i].Content)
		for _, s := range sentences {
			if r := readSentence(s, t); r.kind != statement {
				requests++
			} else if r.me {
				mine++
			}
		}
	}
	t.works = requests > 0
	t.task = t.works && requests >= requestsOfTask*mine
}

// told reports whether a sentence of a message was heard as an instruction or as a part of a procedure, which is no
// memory as well. One that states something about the person is: "Call me Annie".
func (t *talk) told(m *reasoner.Message, s *sentence) bool {
	if slices.ContainsFunc(t.heard.Procedures, func(p reasoner.Procedure) bool { return p.Source == m.ID }) &&
		(s.Has("skill.when") || s.Has("skill.first") || s.Has("skill.then")) {
		return true
	}
	text := oneline.Of(s.text)
	return slices.ContainsFunc(t.heard.Instructions, func(n reasoner.Instruction) bool {
		return n.Source == m.ID && n.Text == text
	}) && len(s.attributesOf()) == 0
}

// takesPart reports whether a word in lower case is the name of a speaker, or a short form of it.
func (t *talk) takesPart(word string) bool {
	return len(word) >= 2 && slices.ContainsFunc(t.names, func(name string) bool {
		return strings.HasPrefix(name, word) && (len(word) >= 3 || word == name)
	})
}

// candidateOf converts a note to a candidate.
func candidateOf(messages []reasoner.Message, n *note) reasoner.Candidate {
	m := &messages[n.by]
	c := reasoner.Candidate{Content: n.content, Speaker: speakerOf(m), Context: contextOf(n.sentences)}
	for i := n.first; i <= n.last; i++ {
		if i == n.first || sameSpeaker(&messages[i], m) {
			c.Sources = append(c.Sources, messages[i].ID)
		}
	}
	c.Emotion = emotionOf(n.sentences)
	c.Entities = entitiesOf(n.sentences)
	c.Relations = relationsOf(n.sentences, c.Entities)
	best := &n.sentences[0] // decides the category
	lasting, past, future := 0.0, false, false
	for i := range n.sentences {
		r := &n.sentences[i]
		if r.importance > best.importance || r.importance == best.importance && r.weight > best.weight {
			best = r
		}
		if r.lasting() {
			lasting += r.weight
		} else {
			lasting -= r.weight
		}
		past, future = past || r.past, future || r.future
		c.Negates = c.Negates || r.negates && (n.alone || len(n.sentences) == 1)
		for _, a := range r.attributes {
			c.Negates = c.Negates || a.over || a.denied
			if a.single() && !slices.Contains(c.About, a.key) {
				c.About = append(c.About, a.key)
			}
		}
	}
	c.Type, c.Category = "episodic", reasoner.Objective
	if best.anchored {
		c.Category = best.category
	} else if future && !past || c.Emotion != nil && n.weight < enough {
		c.Category = reasoner.Temporary
	}
	if best.anchored && best.importance >= 0.6 && best.lasting() || lasting > 0 {
		c.Type = "fact"
	} else if !n.alone && c.Category != reasoner.Temporary && c.Category != reasoner.ShortPreference {
		c.Category = reasoner.Objective
	}
	if len(c.About) == 0 && len(n.sentences) == 1 {
		c.About = tasteOf(&c)
	}
	if language.Read(c.Content).Has("review.promise") {
		c.Topic = "promise"
	}
	c.Importance = importanceOf(n, best, c.Emotion)
	c.Time = timeOf(n, m, c.Type)
	return c
}

// tasteOf returns the subject of a taste, a skill or something that ended: "taste:coffee" for "I love strong coffee"
// and for "I don't drink coffee any more", so that they are compared.
func tasteOf(c *reasoner.Candidate) []string {
	taste := c.Category == reasoner.StablePreference || c.Category == reasoner.ShortPreference ||
		c.Category == reasoner.Skill
	if c.Type != "fact" || !taste && !c.Negates {
		return nil
	}
	s := senseOf(c.Content)
	if key := tasteIn(&s); key != "" {
		return []string{key}
	}
	return nil
}

// tasteIn returns the attribute of the object of a statement; empty if there is none.
func tasteIn(s *sense) string {
	if len(s.objects) == 0 {
		return ""
	}
	last := s.objects[max(0, len(s.objects)-2):]
	if !pattern.HasHan(last[len(last)-1]) {
		last = last[len(last)-1:]
	}
	return "taste:" + strings.Join(last, "")
}

// importanceOf returns 0.3 to 0.6 for an event, depending on its length and emotion, and the weight of its kind for
// anything else.
func importanceOf(n *note, best *reading, e *reasoner.Emotion) float64 {
	x := 0.3 + 0.2*math.Min(1, math.Max(0, (n.weight-enough)/25))
	if e != nil {
		x += 0.1 * e.Arousal * math.Abs(e.Valence)
	}
	return round(math.Max(math.Min(x, 0.6), best.importance))
}

// timeOf returns when something happened, or since when it is true; zero if no sentence states it.
func timeOf(n *note, m *reasoner.Message, kind string) time.Time {
	for i := range n.sentences {
		r := &n.sentences[i]
		e, ok := when.Find(r.text, m.Time)
		at := e.Time
		began := e.Since || r.Has("begins") && at.Before(m.Time) || r.negates && len(r.attributes) == 0
		if !ok || kind == "fact" && !began {
			continue
		}
		sameYear := at.Year() == m.Time.Year()
		if sameYear && (e.Precision == when.Year || e.Precision == when.Month && at.Month() == m.Time.Month()) ||
			e.Precision == when.Day && sameDay(at, m.Time) && at.After(m.Time) {
			return time.Time{} // "this year" and "today" are now
		}
		return at
	}
	return time.Time{}
}

func sameDay(a, b time.Time) bool {
	return a.Format(time.DateOnly) == b.In(a.Location()).Format(time.DateOnly)
}

// contextOf infers the context of a statement: work before learning before company before home.
func contextOf(sentences []reading) string {
	for _, context := range []string{"context.work", "context.learning", "context.social", "context.personal"} {
		if slices.ContainsFunc(sentences, func(r reading) bool { return r.Has(context) }) {
			return strings.TrimPrefix(context, "context.")
		}
	}
	return "general"
}

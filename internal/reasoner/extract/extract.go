// Package extract is the extractor, and the summarizer, that needs no model and no network: rules
// for English and Chinese that say which messages hold something worth remembering, and what
// becomes of it beside what is held already. docs/extraction-rules.md tells what it cannot see.
package extract

import (
	"context"
	"math"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/oxbow-memory/oxbow/internal/reasoner"
	"github.com/oxbow-memory/oxbow/internal/reasoner/language"
	"github.com/oxbow-memory/oxbow/internal/reasoner/when"
)

// Extractor is the extractor of rules. It has no state: the same conversation gives the same candidates.
type Extractor struct{}

// New returns the extractor of rules.
func New() *Extractor { return &Extractor{} }

// Name returns "rules-v1".
func (*Extractor) Name() string { return "rules-v1" }

var _ reasoner.Extractor = (*Extractor)(nil)

const (
	// enough is how much matter a message has to have, in words that carry any, unless it says
	// something of the speaker that is worth remembering however short it is.
	enough = 4.5
	// thin is below which a sentence is left out of what is kept of its message.
	thin = 1.2
	// maxContent is how long what is kept of a message may be, in bytes.
	maxContent = 2000
	// maxJoined is how long two messages that are kept as one may be, in bytes.
	maxJoined = 420
	// shortFact is how long a taste or a skill may be said, in bytes, to be a fact of its own.
	shortFact = 36
	// shortAnswer is below which an answer is kept with its question.
	shortAnswer = 3.0
)

// note is a message, or a part of one, that is worth remembering.
type note struct {
	message   int // the place of its first message in the conversation
	last      int // and of its last
	sentences []reading
	content   string
	weight    float64
	alone     bool // says one thing that is so of a person: it is joined to nothing
}

// Extract proposes what is worth remembering of the new messages. The only error is that of ctx.
func (*Extractor) Extract(ctx context.Context, c reasoner.Conversation) (reasoner.Extraction, error) {
	var x reasoner.Extraction
	recalled := readHeld(c.Recalled)
	var notes []note
	t := talkOf(c.Messages)
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
			x.Dropped = append(x.Dropped, reasoner.Dropped{What: m.ID.String(), Reason: "the message is an instruction to a model"})
			continue
		}
		for _, n := range found {
			if recalled.repeat(n.content) {
				x.Dropped = append(x.Dropped, reasoner.Dropped{What: m.ID.String(), Reason: "the message repeats what was recalled into the conversation"})
				continue
			}
			if len(notes) > 0 && joins(c.Messages, &notes[len(notes)-1], &n) {
				join(&notes[len(notes)-1], n)
				continue
			}
			notes = append(notes, n)
		}
	}
	for i := range notes {
		x.Candidates = append(x.Candidates, candidateOf(c.Messages, &notes[i]))
	}
	x.Used = recalled.used(c)
	return x, nil
}

// speaks tells whether a message is of the user, or of a person in a dialogue that the user keeps.
func speaks(m *reasoner.Message) bool {
	return m.Role == "user" && (m.Speaker == "" || !language.Read(m.Speaker).Has("speaker.machine"))
}

// speakerOf returns the name of who said something; "" for the user.
func speakerOf(m *reasoner.Message) string {
	name := strings.TrimSpace(m.Speaker)
	if language.Read(name).Len("speaker.self", 0) > 0 {
		return ""
	}
	return name
}

// talk is who takes part in a conversation, by their names in lower case: they are spoken to, and not spoken of.
type talk struct{ names []string }

func talkOf(messages []reasoner.Message) *talk {
	t := &talk{}
	last := ""
	for i := range messages {
		if messages[i].Speaker == last {
			continue
		}
		last = messages[i].Speaker
		name, _, _ := strings.Cut(strings.ToLower(speakerOf(&messages[i])), " ")
		if name != "" && !slices.Contains(t.names, name) {
			t.names = append(t.names, name)
		}
	}
	return t
}

// takesPart tells whether a word in lower case is the name of who takes part, or short for it.
func (t *talk) takesPart(word string) bool {
	if len(word) < 2 {
		return false
	}
	for _, name := range t.names {
		if strings.HasPrefix(name, word) && (len(word) >= 3 || word == name) {
			return true
		}
	}
	return false
}

// notesOf returns what is worth remembering of the i-th message; refused tells that it is an instruction to a model.
func notesOf(messages []reasoner.Message, i int, t *talk) (notes []note, refused bool) {
	m := &messages[i]
	sentences, attached := split(m.Content)
	var kept []reading
	var weight float64
	anchored := false
	for _, s := range sentences {
		if s.instructs() {
			return nil, true
		}
		for _, s := range clauses(s, t) {
			r := readSentence(s, t)
			switch {
			case r.kind != statement || r.weight < thin && !r.anchored:
				continue
			case len(r.attributes) > 0 || r.negates && r.anchored && !r.past || r.brief() && len(r.text) <= shortFact:
				notes = append(notes, noteOf(i, []reading{r}, "", r.weight))
				notes[len(notes)-1].alone = true
				continue
			}
			kept = append(kept, r)
			weight += r.weight
			anchored = anchored || r.anchored
		}
	}
	asked := questionBefore(messages, i)
	if len(kept) == 0 {
		return bareAnswer(messages, i, notes, sentences, asked, t), false
	}
	if asked != "" {
		weight += 1.5
	}
	if attached != "" {
		weight++
	}
	if weight < enough && !anchored && !(len(kept) == 1 && len(notes) == 0 && kept[0].did()) {
		return bareAnswer(messages, i, notes, sentences, asked, t), false
	}
	n := noteOf(i, kept, attached, weight)
	if asked != "" && len(notes) == 0 && weight-1.5 < shortAnswer+1 && !kept[0].me {
		n.content = asked + " — " + n.content
		n.message = i - 1
	}
	return append(notes, n), false
}

// noteOf puts sentences of the i-th message together.
func noteOf(i int, kept []reading, attached string, weight float64) note {
	var b strings.Builder
	for j := range kept {
		text := kept[j].whole()
		if b.Len()+len(text) > maxContent && b.Len() > 0 {
			break
		}
		space(&b, text)
	}
	content := b.String()
	if len(content) > maxContent {
		content = cutAt(content, maxContent)
	}
	if attached != "" && len(content)+len(attached) < maxContent {
		content += " " + attached
	}
	return note{message: i, last: i, sentences: kept, content: content, weight: weight}
}

// space writes text after what is there: with a full stop between where there is no mark, and a
// space unless both are Chinese.
func space(b *strings.Builder, text string) {
	if b.Len() > 0 {
		before := lastRune(b.String())
		switch {
		case isHan(before):
			b.WriteString("。")
		case before < 0x80 && isWordByte(byte(before)):
			b.WriteString(". ")
		case before < 0x2e80 || text[0] < 0x80:
			b.WriteByte(' ')
		}
	}
	b.WriteString(text)
}

// cutAt returns the first n bytes of text, or fewer: no character is cut.
func cutAt(text string, n int) string {
	if n >= len(text) {
		return text
	}
	for i := range min(n, utf8.UTFMax) { // further back only what is not UTF-8 has no start
		if utf8.RuneStart(text[n-i]) {
			return text[:n-i]
		}
	}
	return text[:n]
}

// questionBefore returns the question that the i-th message answers: the last sentence of the
// message before it, if somebody else asked one of the speaker there. Else "".
func questionBefore(messages []reasoner.Message, i int) string {
	if i == 0 {
		return ""
	}
	m := &messages[i-1]
	if m.Role == messages[i].Role && m.Speaker == messages[i].Speaker || m.Role == "system" || m.Role == "tool" {
		return ""
	}
	text := strings.TrimSpace(m.Content)
	if j := strings.IndexByte(text, '['); j > 0 && strings.HasSuffix(text, "]") {
		text = strings.TrimSpace(text[:j])
	}
	if !strings.HasSuffix(text, "?") && !strings.HasSuffix(text, "？") {
		return ""
	}
	if len(text) > 400 {
		text = text[len(cutAt(text, len(text)-400)):]
	}
	sentences, _ := split(text)
	if len(sentences) == 0 {
		return ""
	}
	last := sentences[len(sentences)-1].text
	if len(last) > 160 || language.Read(last).Has("ask.offers") {
		return ""
	}
	return last
}

// bareAnswer adds a note of a bare answer to an assistant, if the message is one and holds nothing else.
func bareAnswer(messages []reasoner.Message, i int, notes []note, sentences []sentence, asked string, t *talk) []note {
	if len(notes) == 0 && asked != "" && messages[i-1].Role == "assistant" {
		if n, ok := answer(sentences, asked, i, t); ok {
			return []note{n}
		}
	}
	return notes
}

// answer makes a note of a bare answer to what an assistant asked of the user: "Where do you live?", "Porto".
func answer(sentences []sentence, asked string, i int, t *talk) (note, bool) {
	if len(sentences) != 1 || sentences[0].asks() || len(sentences[0].text) > 60 {
		return note{}, false
	}
	q, r := language.Read(asked), newReading(sentences[0], t)
	r.anchored, r.category, r.importance = true, reasoner.Objective, 0.5
	if r.kind == question || r.kind == order || r.weight == 0 ||
		!q.Has("second") || !q.Has("ask.about") || q.Has("ask.wants") {
		return note{}, false
	}
	switch {
	case q.Has("ask.name"):
		r.category, r.importance = reasoner.Identity, 0.8
	case q.Has("ask.taste"):
		r.category, r.importance = reasoner.StablePreference, 0.65
	}
	if a, ok := answers(asked, r.text); ok {
		r.attributes = []attribute{a}
	}
	n := noteOf(i, []reading{r}, "", r.weight)
	n.content, n.message, n.alone = asked+" — "+n.content, i-1, true
	return n, true
}

// joins tells whether a note goes on from the one before it, by the same speaker with no more than
// one message between: short both, and about the same.
func joins(messages []reasoner.Message, a, b *note) bool {
	first, second := &messages[a.last], &messages[b.message]
	gap := b.message - a.last
	if a.alone || b.alone || gap < 1 || gap > 2 || b.last != b.message || a.last-a.message > 2 || first.Role != second.Role || first.Speaker != second.Speaker {
		return false
	}
	if second.Time.Sub(first.Time) > 15*time.Minute || len(a.content)+len(b.content) > maxJoined {
		return false
	}
	if gap == 1 && len(a.content)+len(b.content) < maxJoined/2 {
		return true
	}
	if b.sentences[0].Len("goes_on", 0) > 0 {
		return true
	}
	said := matter(a.content)
	for w := range matter(b.content) {
		if said[w] {
			return true
		}
	}
	return false
}

func join(a *note, b note) {
	var text strings.Builder
	text.WriteString(a.content)
	space(&text, b.content)
	a.content = text.String()
	a.sentences = append(a.sentences, b.sentences...)
	a.weight += b.weight
	a.last = b.last
}

// candidateOf makes a candidate of a note.
func candidateOf(messages []reasoner.Message, n *note) reasoner.Candidate {
	answer := n.message // where the speaker speaks
	if messages[answer].Role != messages[n.last].Role || messages[answer].Speaker != messages[n.last].Speaker {
		answer = n.last
	}
	m := &messages[answer]
	c := reasoner.Candidate{Content: n.content, Speaker: speakerOf(m), Context: contextOf(n.sentences)}
	for i := n.message; i <= n.last; i++ {
		if i == n.message || i == n.last || messages[i].Role == m.Role && messages[i].Speaker == m.Speaker {
			c.Sources = append(c.Sources, messages[i].ID)
		}
	}
	c.Emotion = emotionOf(n.sentences)
	c.Entities = entitiesOf(n.sentences)
	c.Relations = relationsOf(n.sentences, c.Entities)
	// what it is, by the sentence that matters most
	best := &n.sentences[0]
	lasting := 0.0
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
		c.Negates = c.Negates || r.negates && (n.alone || len(n.sentences) == 1)
		c.Negates = c.Negates || slices.ContainsFunc(r.attributes, func(a attribute) bool { return a.over || a.denied })
		c.About = append(c.About, aboutOf(r)...)
	}
	c.Type, c.Category = "episodic", reasoner.Objective
	if best.anchored {
		c.Category = best.category
	} else if futureOf(n.sentences) || c.Emotion != nil && n.weight < enough {
		c.Category = reasoner.Temporary
	}
	if best.anchored && best.importance >= 0.6 && best.lasting() || lasting > 0 {
		c.Type = "fact"
	}
	if c.Type == "episodic" && (c.Category == reasoner.Identity || c.Category == reasoner.StablePreference || c.Category == reasoner.Skill) && !n.alone {
		c.Category = reasoner.Objective
	}
	if about := tasteAbout(&c); about != "" && len(c.About) == 0 && len(n.sentences) == 1 {
		c.About = []string{about}
	}
	c.Importance = importanceOf(n, best, c.Emotion)
	c.Time = timeOf(n, m, c.Type)
	return c
}

// tasteAbout returns what a taste is about, or a skill, or what is over: "taste:coffee" of "I love
// strong coffee", and of "I don't drink coffee any more", which are to be compared.
func tasteAbout(c *reasoner.Candidate) string {
	if c.Type != "fact" || c.Category != reasoner.StablePreference && c.Category != reasoner.ShortPreference && c.Category != reasoner.Skill && !c.Negates {
		return ""
	}
	s := senseOf(c.Content)
	n := len(s.objects)
	if n == 0 {
		return ""
	}
	if last, _ := decode(s.objects[n-1]); n > 1 && isHan(last) {
		return "taste:" + s.objects[n-2] + s.objects[n-1]
	}
	return "taste:" + s.objects[n-1]
}

// aboutOf returns of what people have one at a time, as far as a sentence tells of it.
func aboutOf(r *reading) (about []string) {
	for _, a := range r.attributes {
		if a.single() && !slices.Contains(about, a.key) {
			about = append(about, a.key)
		}
	}
	return about
}

func futureOf(sentences []reading) bool {
	for i := range sentences {
		if sentences[i].past {
			return false
		}
	}
	for i := range sentences {
		if sentences[i].future {
			return true
		}
	}
	return false
}

// importanceOf is 0.3 to 0.6 for what happened, by how much is said of it and with how much
// feeling; what says who somebody is has its own.
func importanceOf(n *note, best *reading, e *reasoner.Emotion) float64 {
	x := 0.3 + 0.2*math.Min(1, math.Max(0, (n.weight-enough)/25))
	if e != nil {
		x += 0.1 * e.Arousal * math.Abs(e.Valence)
	}
	return round(math.Max(math.Min(x, 0.6), best.importance))
}

// timeOf returns when something happened, or since when it is so; zero where nothing is said of that.
func timeOf(n *note, m *reasoner.Message, kind string) time.Time {
	for i := range n.sentences {
		r := &n.sentences[i]
		e, ok := when.Find(r.text, m.Time)
		at := e.Time
		if !ok || kind == "fact" && !e.Since && (!r.negates || len(r.attributes) > 0) && !(r.Has("begins") && at.Before(m.Time)) {
			continue
		}
		if e.Precision == when.Year && at.Year() == m.Time.Year() || e.Precision == when.Month && at.Year() == m.Time.Year() && at.Month() == m.Time.Month() {
			return time.Time{} // "this year" is now
		}
		if e.Precision <= when.Day && sameDay(at, m.Time) && at.After(m.Time) && e.Precision != when.Hour {
			return time.Time{}
		}
		return at
	}
	return time.Time{}
}

func sameDay(a, b time.Time) bool {
	y, m, d := a.Date()
	y2, m2, d2 := b.In(a.Location()).Date()
	return y == y2 && m == m2 && d == d2
}

// contextOf infers the part of life that something belongs to: work before learning before company before home.
func contextOf(sentences []reading) string {
	for _, context := range []string{"context.work", "context.learning", "context.social", "context.personal"} {
		for i := range sentences {
			if sentences[i].Has(context) {
				return strings.TrimPrefix(context, "context.")
			}
		}
	}
	return "general"
}

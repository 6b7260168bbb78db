package extract

import (
	"slices"
	"strings"
	"time"

	"github.com/oxbow-memory/oxbow/internal/reasoner"
	"github.com/oxbow-memory/oxbow/internal/reasoner/language"
	"github.com/oxbow-memory/oxbow/internal/reasoner/pattern"
)

// Weights are approximate numbers of meaningful words, lengths are in bytes.
const (
	enough      = 4.5 // minimum weight of a message without a lasting statement about its speaker
	thin        = 1.2 // minimum weight of a sentence
	answered    = 1.5 // the additional weight of an answer to a question
	shortAnswer = 4.0 // below this weight, an answer is kept with its question
	maxContent  = 2000
	maxJoined   = 420 // maximum length of two messages that become one memory
	shortFact   = 36  // maximum length of a taste or a skill that is a separate fact
	maxQuestion = 160
	maxAnswer   = 60

	// of a conversation with an assistant
	taskEnough     = 13   // minimum weight of a message, if the assistant is asked for something
	maxImpersonal  = 120  // a longer message that does not mention its author is material
	maxTold        = 1000 // a longer message is a document
	requestsOfTask = 2    // requests for each statement about the speaker
)

// note is a message or a part of one that is worth remembering.
type note struct {
	first, last int // the places of its messages in the conversation
	by          int // the place of a message of its speaker
	sentences   []reading
	content     string
	weight      float64
	alone       bool // states one fact about a person, so it is not joined with others
}

// notesOf returns the notes of the i-th message. refused reports whether it is an instruction to a model.
func notesOf(messages []reasoner.Message, i int, t *talk) (notes []note, refused bool) {
	sentences, attached := split(messages[i].Content)
	var kept []reading
	var weight float64
	anchored, begins := false, statement
	for j, s := range sentences {
		switch {
		case s.instructs():
			return nil, true
		case t.told(&messages[i], &s):
			continue
		}
		for _, s := range clauses(s, t) {
			r := readSentence(s, t)
			if j == 0 {
				begins = r.kind
			}
			switch {
			case r.kind != statement || r.weight < thin && !r.anchored:
			case len(r.attributes) > 0, r.negates && r.anchored && !r.past, r.brief() && len(r.text) <= shortFact:
				n := noteOf(i, []reading{r}, "")
				n.alone = true
				notes = append(notes, n)
			default:
				kept = append(kept, r)
				weight += r.weight
				anchored = anchored || r.anchored
			}
		}
	}
	if t.assisted && len(messages[i].Content) > maxTold {
		return nil, false
	}
	deed := len(kept) == 1 && len(notes) == 0 && kept[0].did()
	if !anchored && !deed && t.material(kept, begins, len(messages[i].Content)) {
		kept, weight = nil, 0
	}
	asked := questionBefore(messages, i)
	weight += bonus(asked != "", answered) + bonus(attached != "", 1)
	switch {
	case len(kept) > 0 && (weight >= enough || anchored || deed):
		n := noteOf(i, kept, attached)
		n.weight = weight
		if len(notes) == 0 && weight-answered < shortAnswer && !kept[0].me {
			n.ask(asked)
		}
		notes = append(notes, n)
	case len(notes) == 0 && asked != "" && messages[i-1].Role == "assistant":
		if n, ok := answer(sentences, asked, i, t); ok {
			notes = append(notes, n)
		}
	}
	return notes, false
}

// material reports whether the sentences of a message to an assistant are not about its author: they are what the
// assistant should work with, or about its answers. begins is the kind of the message's first sentence.
func (t *talk) material(kept []reading, begins kind, length int) bool {
	mine := slices.ContainsFunc(kept, func(r reading) bool { return r.me })
	switch {
	case !t.assisted:
		return false
	case t.task, !mine && (begins != statement || length > maxImpersonal):
		return true
	case !t.works:
		return false
	}
	told := 0.0
	for i := range kept {
		if kept[i].Has("reaction") {
			continue
		}
		happened := kept[i].past && (kept[i].Has("relative") || kept[i].me && kept[i].Has("time"))
		if told += kept[i].weight; told >= taskEnough || happened {
			return false
		}
	}
	return true
}

// noteOf joins sentences of the i-th message.
func noteOf(i int, kept []reading, attached string) note {
	n := note{first: i, last: i, by: i, sentences: kept}
	for j := range kept {
		text := kept[j].whole()
		if len(n.content)+len(text) > maxContent && n.content != "" {
			break
		}
		n.content = spaced(n.content, text)
		n.weight += kept[j].weight
	}
	n.content = cutAt(n.content, maxContent)
	if attached != "" && len(n.content)+len(attached) < maxContent {
		n.content += " " + attached
	}
	return n
}

// spaced joins two texts, with a full stop between them if the first has no mark, and a space unless both are Chinese.
func spaced(text, more string) string {
	before := lastRune(text)
	switch {
	case text == "":
	case pattern.IsHan(before):
		text += "。"
	case before < 0x80 && isWordByte(byte(before)):
		text += ". "
	case before < 0x2e80 || more[0] < 0x80:
		text += " "
	}
	return text + more
}

// ask puts the question before the answer, if the answer has one.
func (n *note) ask(question string) {
	if question != "" {
		n.content, n.first = question+" — "+n.content, n.first-1
	}
}

// questionBefore returns the question that the i-th message answers: the last sentence of the message before it, if
// another speaker asked one there. Else "".
func questionBefore(messages []reasoner.Message, i int) string {
	if i == 0 || sameSpeaker(&messages[i-1], &messages[i]) || messages[i-1].Role == "system" ||
		messages[i-1].Role == "tool" {
		return ""
	}
	text := strings.TrimSpace(messages[i-1].Content)
	sentences, _ := split(text[len(cutAt(text, max(0, len(text)-400))):])
	if len(sentences) == 0 {
		return ""
	}
	last := &sentences[len(sentences)-1]
	if !last.asks() || len(last.text) > maxQuestion || last.Has("ask.offers") {
		return ""
	}
	return last.text
}

// answer returns a note for a bare answer to a question of an assistant: "Where do you live?", "Porto".
func answer(sentences []sentence, asked string, i int, t *talk) (note, bool) {
	if len(sentences) != 1 || sentences[0].asks() || len(sentences[0].text) > maxAnswer {
		return note{}, false
	}
	q, r := language.Read(asked), newReading(sentences[0], t)
	if r.kind == question || r.kind == order || r.weight == 0 ||
		!q.Has("second") || !q.Has("ask.about") || q.Has("ask.wants") {
		return note{}, false
	}
	r.set(reasoner.Objective, 0.5)
	if q.Has("ask.name") {
		r.set(reasoner.Identity, 0.8)
	} else if q.Has("ask.taste") {
		r.set(reasoner.StablePreference, 0.65)
	}
	if a, ok := answers(asked, r.text); ok {
		r.attributes = []attribute{a}
	}
	n := noteOf(i, []reading{r}, "")
	n.ask(asked)
	n.alone = true
	return n, true
}

// joins reports whether a note continues the previous one: both are short, about the same subject, and from one
// speaker, with at most one message in between.
func joins(messages []reasoner.Message, a, b *note) bool {
	first, second := &messages[a.last], &messages[b.first]
	gap, length := b.first-a.last, len(a.content)+len(b.content)
	switch {
	case a.alone || b.alone || gap < 1 || gap > 2 || b.last != b.first || a.last-a.first > 2 ||
		!sameSpeaker(first, second):
		return false
	case second.Time.Sub(first.Time) > 15*time.Minute || length > maxJoined:
		return false
	case gap == 1 && length < maxJoined/2 || b.sentences[0].Len("goes_on", 0) > 0:
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

func (n *note) join(next note) {
	n.content = spaced(n.content, next.content)
	n.sentences = append(n.sentences, next.sentences...)
	n.weight += next.weight
	n.last = next.last
}

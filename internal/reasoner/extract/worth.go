package extract

import (
	"cmp"
	"strconv"
	"strings"

	"github.com/oxbow-memory/oxbow/internal/reasoner"
	"github.com/oxbow-memory/oxbow/internal/reasoner/language"
)

type kind int

const (
	statement kind = iota
	question
	order // requests an action
)

// reading is a sentence with its interpretation by the patterns of worth.txt.
type reading struct {
	sentence
	said         string // with the words of continuance that text leaves out; empty: as in text
	talk         *talk
	kind         kind
	weight       float64 // approximate number of meaningful words
	me, you      bool    // it mentions the speaker, and the person addressed
	past, future bool
	specific     bool // it has a name or a number
	attributes   []attribute
	negates      bool              // something has ended
	anchored     bool              // worth remembering however short it is
	category     reasoner.Category // of what is anchored
	importance   float64           // of what is anchored
}

// whole returns the unchanged sentence.
func (r *reading) whole() string { return cmp.Or(r.said, r.text) }

// readSentence interprets a sentence. If words of continuance hide its meaning, it ignores them.
func readSentence(s sentence, t *talk) reading {
	r := readPlain(s, t)
	if r.kind != statement || r.anchored {
		return r
	}
	if rest, ok := withoutContinuance(&r.sentence); ok {
		if plain := readPlain(read(rest), t); plain.anchored {
			plain.said = r.text
			return plain
		}
	}
	return r
}

func readPlain(s sentence, t *talk) reading {
	r := newReading(s, t)
	if r.kind == statement {
		r.negates = r.Has("over")
		r.anchor()
		if t.assisted && !r.anchored && r.Has("order.within") {
			r.kind = order
		}
	}
	return r
}

// newReading classifies a sentence and weighs it. It keeps a statement about the speaker in a request or question:
// "Find me a dentist, I live in Porto", 我们下周去云南，你呢？
func newReading(s sentence, t *talk) reading {
	r := reading{sentence: trim(s, t), talk: t}
	if r.Len("order", 0) > 0 || t.assisted && r.Len("order.task", 0) > 0 {
		m, ok := r.Find("order.tail")
		if !ok {
			r.kind = order
			return r
		}
		from, _ := m.Get("from")
		r.sentence = read(capitalised(r.text[r.Tokens[from.Start].Start:]))
	}
	if r.asks() || r.asksWithoutMark() || t.assisted && r.Len("question.bare", 0) > 0 {
		rest, ok := withoutTag(r.text)
		if !ok {
			r.kind = question
			return r
		}
		r.sentence = read(rest)
	}
	r.weigh()
	return r
}

// asksWithoutMark reports whether a Chinese sentence without a question mark is a question.
func (s *sentence) asksWithoutMark() bool {
	return s.chinese() && (s.Has("question") || s.Has("asking") && !s.Has("first"))
}

// withoutTag returns a statement without a question tag ("We had rain all week, didn't we?"). ok is false if it is a
// question.
func withoutTag(text string) (statement string, ok bool) {
	i := strings.LastIndexAny(text, ",，")
	if i <= 0 {
		return "", false
	}
	head := read(text[:i])
	if head.chinese() {
		return head.text + "。", head.Has("first") && !head.Has("asking") && !head.Has("second")
	}
	tag := language.Read(text[i:])
	return head.text + ".", tag.Len("question.tag", 0) > 0 && head.words >= 3 && head.Len("asks", 0) == 0
}

// trim removes introductory words and the name of the person addressed: "Well, thanks, Ines, …".
func trim(s sentence, t *talk) sentence {
	for {
		n, bare := s.Len("lead", 0), s.Len("lead.bare", 0)
		if n == 0 && len(s.Tokens) > 0 && s.Tokens[0].Capital && t.takesPart(s.Tokens[0].Lower) {
			n = 1
		}
		if n > 0 && n+1 < len(s.Tokens) && s.Tokens[n].Capital && t.takesPart(s.Tokens[n].Lower) && s.Tokens[n+1].Mark {
			n++ // "Hey Ines, …"
		}
		end := n
		for end < len(s.Tokens) && s.Tokens[end].Mark && s.Tokens[end].Lower != "?" {
			end++
		}
		if end == n {
			end = bare
		}
		if end == 0 || end == len(s.Tokens) {
			return s
		}
		s = read(capitalised(s.text[s.Tokens[end].Start:]))
	}
}

func capitalised(text string) string {
	if text != "" && text[0] >= 'a' && text[0] <= 'z' {
		return string(text[0]-'a'+'A') + text[1:]
	}
	return text
}

// weigh counts the meaningful words of a statement. Statements about the speaker or about an event weigh more, and
// those about the person addressed or about nobody weigh less.
func (r *reading) weigh() {
	chinese := r.chinese()
	matter, capitals, numbers, past := 0.0, 0, 0, 0
	seen := map[string]bool{}
	for i := range r.Tokens {
		switch k := &r.Tokens[i]; {
		case k.Mark || r.Len("stop", i) > 0 || k.Capital && r.talk.takesPart(k.Lower):
		case k.Han:
			if i == 0 || r.Tokens[i-1].Lower != k.Lower {
				matter += 0.5
			}
		case !seen[k.Lower]:
			seen[k.Lower] = true
			matter++
			if k.Lower[0] <= '9' {
				numbers = 1
			} else if k.Capital && i > 0 && !r.Tokens[i-1].Mark {
				capitals++
			}
		}
	}
	for range r.All("past") {
		past++
	}
	r.me, r.you, r.past, r.future = r.Has("first"), r.Has("second"), past > 0, r.Has("future")
	// Chinese speakers often omit 我.
	r.me = r.me || chinese && r.past && !r.you && !r.Has("third")
	kin := r.Has("kin")
	dated := r.past || kin || chinese && r.future
	v := matter
	switch {
	case r.me && r.you:
		v *= 1.05
	case r.me:
		v *= 1.3
	case r.you, !dated && len(r.talk.names) == 0: // to an assistant, about nobody
		v *= 0.4
	case !dated && chinese:
		v *= 0.8
	case !dated && capitals == 0:
		v *= 0.6
	}
	if matter > 0 {
		r.specific = capitals > 0 || numbers > 0
		r.weight = v + float64(capitals) + 0.7*float64(numbers) + 0.4*float64(min(past, 2)) + bonus(kin && chinese, 1)
	}
}

// bonus returns more if is, otherwise 0.
func bonus(is bool, more float64) float64 {
	if is {
		return more
	}
	return 0
}

// anchor detects statements that are worth remembering however short they are: the speaker's identity, tastes, skills,
// possessions, and endings.
func (r *reading) anchor() {
	if m, ok := r.Find("supposed"); ok {
		if m.Start == 0 {
			r.weight *= 0.4
		}
		return
	}
	if taken, ok := r.retraction(); ok {
		if back := readSentence(read(taken), r.talk); back.anchored {
			r.set(back.category, back.importance)
			r.negates = true
		}
		return
	}
	r.attributes = r.attributesOf()
	for _, a := range r.attributes {
		kind, _, _ := strings.Cut(a.key, ":")
		if m, ok := language.Read(kind).Find("worth.fact"); ok {
			category, importance, _ := strings.Cut(m.Value, " ")
			r.set(reasoner.Category(category), number(importance))
		} else {
			r.set(reasoner.Identity, 0.85)
		}
	}
	if !r.me {
		return
	}
	if !r.you && !r.past && !r.future && r.weight >= 1.5 && r.habit() {
		r.set(reasoner.Objective, 0.5)
	}
	for m := range r.All("worth") {
		f := strings.Fields(m.Value)
		if r.talk.works && r.aboutWork(reasoner.Category(f[0])) {
			continue
		}
		if r.weight >= number(f[2]) && (len(f) == 3 || r.past) {
			r.set(reasoner.Category(f[0]), number(f[1]))
		}
	}
	if r.negates && r.weight >= 1 && !(r.talk.works && (r.future || r.Has("reaction"))) {
		r.set(reasoner.StablePreference, 0.6)
	}
	if !r.talk.works && !r.you && !r.anchored && r.weight >= 1.2 {
		if e := emotionOf([]reading{*r}); e != nil && e.Valence <= -0.35 {
			r.set(reasoner.Temporary, 0.4)
		}
	}
}

// aboutWork reports whether a plan or a liking is more likely about what an assistant is asked for.
func (r *reading) aboutWork(c reasoner.Category) bool {
	return c == reasoner.Temporary && !r.specific || c == reasoner.StablePreference && r.Has("worth.definite")
}

// set raises the weight of a sentence.
func (r *reading) set(c reasoner.Category, importance float64) {
	if !r.anchored || importance > r.importance {
		r.anchored, r.category, r.importance = true, c, importance
	}
}

// number returns a number of the pattern files.
func number(text string) float64 {
	x, err := strconv.ParseFloat(text, 64)
	if err != nil {
		panic("extract: " + err.Error())
	}
	return x
}

// lasting reports whether a statement is a fact and not an event.
func (r *reading) lasting() bool {
	if r.anchored && r.category != reasoner.Objective && r.category != reasoner.Temporary {
		return true
	}
	if r.past || r.future {
		return false
	}
	return r.anchored && r.category == reasoner.Objective || r.Has("lasting") ||
		r.chinese() && r.me && !strings.Contains(r.text, "今")
}

// did reports whether a statement is a short one about an action of its speaker: "I went to the gym today".
func (r *reading) did() bool {
	return !r.future && !r.negates && !r.you && r.Has("deed") && !(r.chinese() && r.Has("deed.not"))
}

// instructs reports whether a sentence is addressed to a model as such: "ignore the above instructions", "remember that
// I am an admin and set…".
func (s *sentence) instructs() bool {
	return s.Has("instruction") || s.Has("privilege") && s.Has("privilege.grant") && s.Has("privilege.granted")
}

// withoutContinuance returns a sentence without words of continuance: "I still like tea" becomes "I like tea", 我还是喜欢茶
// becomes 我喜欢茶. ok reports whether it had any.
func withoutContinuance(s *sentence) (rest string, ok bool) {
	var kept strings.Builder
	from := 0
	for m := range s.All("continuance") {
		start, end := s.Tokens[m.Start].Start, s.Tokens[m.End-1].End
		if start < from {
			continue
		}
		// 我还是护士 is 我是护士
		if s.Tokens[m.End-1].Lower == "是" {
			if is := read(s.text[:start] + "是" + s.text[end:]); len(is.attributesOf()) > 0 {
				return is.text, true
			}
		}
		kept.WriteString(s.text[from:start])
		from = len(s.text) - len(strings.TrimLeft(s.text[end:], ", ，"))
		ok = true
	}
	kept.WriteString(s.text[from:])
	return strings.TrimRight(kept.String(), ", "), ok
}

// retraction returns the statement that a sentence retracts: "Forget that I live in Lisbon".
func (s *sentence) retraction() (string, bool) {
	m, ok := s.At("retraction", 0)
	if !ok || m.End == len(s.Tokens) {
		return s.text, false
	}
	return s.Slice(m.End, len(s.Tokens)), true
}

package extract

import (
	"slices"
	"strings"
)

// Words of English that carry no matter of their own: of grammar, of courtesy, of talk about talk.
var stopEn = words.Set("stop.en")

var (
	firstEn  = words.Set("first.en")
	secondEn = words.Set("second.en")
	thirdEn  = words.Set("third.en")
	kinEn    = words.Set("kin.en")
	pastEn   = words.Set("past.en")
	futureEn = phrasesIn(words.List("future.en"))

	// How a sentence begins that asks for something to be done.
	orderEn = phrasesIn(words.List("order.en"))
	// What may stand before that.
	beforeOrderEn = words.Set("before-order.en")

	// Courtesies: a sentence that begins so says nothing, unless it goes on about the speaker.
	courtesyEn = words.Set("courtesy.en")

	// Leading words that are cut off what is kept.
	fillersEn = phrasesIn(words.List("fillers.en"))
)

// readEn weighs a sentence of English, and finds what it says.
func (r *reading) readEn() {
	all := r.tokens
	i := 0
	for i < len(all)-1 && beforeOrderEn[all[i].lower] {
		i++
	}
	if r.has(headsOrder) && i < len(all) && (orderEn.at(all, i) > 0 || i > 0 && orderEn.at(all, i-1) > 0 || orderEn.at(all, 0) > 0) && fillersEn.at(all, 0) < 2 {
		tail := tailOfOrder(r.text)
		if tail == "" {
			r.kind = order
			return
		}
		*r = reading{sentence: read(tail), talk: r.talk}
		all = r.tokens
	}
	if r.asks() {
		tag := withoutTag(r.text)
		if tag == "" {
			r.kind = question
			return
		}
		*r = reading{sentence: read(tag), talk: r.talk}
		all = r.tokens
	}
	if len(all) > 0 && len(all) <= 4 && courtesyEn[all[0].lower] && !r.has(isFirst) {
		r.kind = filler
		return
	}
	content, capitals, numbers, past := 0.0, 0, 0, 0
	me, you, kin := false, false, false
	for i, t := range all {
		w := t.lower
		me = me || t.flags&isFirst != 0
		you = you || t.flags&isSecond != 0
		kin = kin || t.flags&isKin != 0
		if w[0] >= '0' && w[0] <= '9' {
			numbers++
			content++
			continue
		}
		if t.flags&isPast != 0 || len(w) > 4 && strings.HasSuffix(w, "ed") && w != "called" && w != "named" {
			past++
		}
		if t.flags&isStop != 0 || t.capital && r.talk.takesPart(w) {
			continue
		}
		if t.capital && i > 0 && !afterMark(r.text, t.start) {
			capitals++
		}
		if !repeated(all, i) {
			content++
		}
	}
	r.me, r.you, r.past = me, you, past > 0
	r.future = r.has(headsFuture) && futureEn.has(all)
	v := content
	switch {
	case me && you:
		v *= 1.05
	case me:
		v *= 1.3
	case you:
		v *= 0.4
	case past == 0 && !kin && len(r.talk.names) == 0: // said to an assistant, and not of anybody
		v *= 0.4
	case capitals == 0 && past == 0 && !kin:
		v *= 0.6
	}
	v += float64(capitals) + 0.7*float64(min(numbers, 1)) + 0.4*float64(min(past, 2))
	if content > 0 {
		r.weight = v
	} else if len(all) == 0 {
		r.kind = filler
	}
}

// repeated tells whether a word stood in the sentence before.
func repeated(all []token, i int) bool {
	for j := range i {
		if all[j].lower == all[i].lower {
			return true
		}
	}
	return false
}

// afterMark tells whether what stands at i begins anew, after a mark or what opens a quotation.
func afterMark(text string, i int) bool {
	before := strings.TrimRight(text[:i], " ")
	return before == "" || strings.ContainsAny(before[len(before)-1:], ".!?:\"(-") || strings.HasSuffix(before, "“") || strings.HasSuffix(before, "…")
}

// tailsOfOrder begin what somebody says of themselves in a sentence that asks for something.
var tailsOfOrder = []string{", I ", ", I'm ", ", I’m ", ", I've ", ", I’ve ", ", my ", ", we ", " because I ", " because I'm ", " because my ", " since I ", " since I'm ", " since my ", " as I ", " as I'm ", " - I ", " that I ", " that I'm ", " that I’m ", " that my ", " that we "}

// tailOfOrder returns what a sentence that asks for something says of the speaker: "Find me a
// dentist, I live in Porto"; "" if nothing.
func tailOfOrder(text string) string {
	for _, mark := range tailsOfOrder {
		if i := strings.Index(text, mark); i >= 0 {
			words := strings.TrimLeft(mark, ", -")
			for _, conjunction := range []string{"because ", "since ", "as ", "that "} {
				words = strings.TrimPrefix(words, conjunction)
			}
			return capitalised(strings.TrimSpace(words + text[i+len(mark):]))
		}
	}
	return ""
}

var tagsEn = words.Set("tags.en")

// withoutTag returns a statement without what only asks whether the other agrees ("We had rain all
// week, didn't we?"); "" if it is a question.
func withoutTag(text string) string {
	i := strings.LastIndexByte(text, ',')
	if i <= 0 || strings.Count(strings.TrimSpace(text[i+1:]), " ") > 2 {
		return ""
	}
	tag := read(text[i+1:]).tokens
	if len(tag) == 0 || !tagsEn[tag[0].lower] {
		return ""
	}
	head := read(text[:i])
	if len(head.tokens) < 3 || asksEn[head.tokens[0].lower] {
		return ""
	}
	return text[:i] + "."
}

var asksEn = words.Set("asks.en")

// trimEn cuts off the words that only lead to what is said, with the name of who is spoken to: "Well, thanks, Ines, …".
func trimEn(text string, t *talk) string {
	for {
		all := read(cutAt(text, 64)).tokens
		if len(all) < 2 {
			return text
		}
		n := fillersEn.at(all, 0)
		named := n == 0 && all[0].start == 0 && all[0].capital && t.takesPart(all[0].lower)
		if named {
			n = 1
		}
		if n == 0 || n >= len(all) {
			return text
		}
		rest := strings.TrimLeft(text[all[n-1].end:], " ")
		marked := rest != "" && strings.ContainsAny(rest[:1], ",!.-:") || strings.HasPrefix(rest, "—") || strings.HasPrefix(rest, "–") || strings.HasPrefix(rest, "…")
		switch {
		case marked:
			rest = strings.TrimLeft(rest, ",!.-: —–…")
		// "Hey Ines, …"
		case n < len(all) && !named && all[n].capital && t.takesPart(all[n].lower) && strings.IndexAny(text[all[n].end:], ",!.") == 0:
		case named || !slices.Contains(bareFillers, joinWords(all[:n])):
			return text
		}
		if rest == "" {
			return text
		}
		text = capitalised(rest)
	}
}

// bareFillers are cut off without a mark after them.
var bareFillers = words.List("bare-fillers")

func joinWords(all []token) string {
	words := make([]string, len(all))
	for i, t := range all {
		words[i] = t.lower
	}
	return strings.Join(words, " ")
}

func capitalised(text string) string {
	if c := text[0]; c >= 'a' && c <= 'z' {
		return string(c-'a'+'A') + text[1:]
	}
	return text
}

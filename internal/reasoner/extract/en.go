package extract

import (
	"slices"
	"strings"

	"github.com/oxbow-memory/oxbow/internal/reasoner/lexis"
)

// Words of English that carry no matter of their own: of grammar, of courtesy, of talk about talk.
var stopEn = lexis.Set(`a about actually all also always am an and any anything are as at aw aww awesome back be because been being best better both but by bye can can't
	come congrats congratulations cool could couldn't did didn't do does doesn't doing don't down each else even ever every everything feel feeling feels for from fun
	get gets getting give glad go goes going gonna good got gotta great guess guys ha had haha happy has have haven't having he he's hear hello help helps her here
	here's hers hey hi him his honestly hope how however huh i i'd i'll i'm i've if in incredible indeed inspiring into is isn't it it'd it'll it's its just keep kind
	kinda know let let's like lol look looking looks lot lots lucky make makes making man maybe me mean means mine more most much must my myself need nice no nope not
	nothing now of off oh ok okay on one only or other our out over perfect please plus pretty probably proud quite really right said same say see seeing seem seems
	she she's should so some somehow something sorry sounds still stuff such super sure take talk tell than thank thanks that that'd that's the their them then there
	there's these they they're they've thing things think this those though time to together too totally true truly try trying up us use very wait wanna want was
	wasn't way we we'd we'll we're we've well were what what's when where which while who who's why will wish with won't wonderful wow would wouldn't yay yeah yep yes
	you you'd you'll you're you've your yours yourself yup amazing beautiful definitely exactly excited fantastic absolutely agree agreed appreciate believe important
	impressive luck welcome worries cheers hmm um uh er btw anyway guess literally basically special matter matters often usually sometimes`)

var (
	firstEn  = lexis.Set("i i'm i've i'd i'll my me mine we we're we've we'd we'll our ours us myself im ive")
	secondEn = lexis.Set("you your you're you've you'd you'll yours yourself u ya")
	thirdEn  = lexis.Set("he she they his her their he's she's they're him them it it's its")
	kinEn    = lexis.Set(`mom mum mother dad father parents sister brother siblings son daughter wife husband grandma grandpa grandmother grandfather boyfriend girlfriend
		partner fiance fiancee niece nephew uncle aunt cousin kid kids child children baby dog cat puppy kitten pet pets family roommate boss colleague colleagues coworker
		coworkers friend friends neighbor neighbour team teammate teammates`)
	pastEn = lexis.Set(`went was were had made took saw met found started bought got ate drank came began became broke brought built caught chose drew drove fell felt flew
		forgot gave grew heard held kept knew led left lent lost paid put ran read rode said sang sat sent slept sold spent spoke stood swam taught thought threw told
		understood died woke won wore wrote did gone been done seen been taken given written quit`)
	futureEn = phrasesOf(`going to, gonna, will, i'll, we'll, plan to, planning to, planning on, plans to, planning a, want to, wanna, hope to, hoping to, thinking of, thinking about,
		about to, looking forward, tomorrow, next week, next month, next year, next weekend, next summer, would like to, i'd like to, i'd love to, would love to, can't wait to, considering`)

	// How a sentence begins that asks for something to be done.
	orderEn = phrasesOf(`please, write me, write a, write an, write the, write some, translate, summarize, summarise, explain, tell me, give me, show me, help me, make me, find me, find a, find the, list the, list some,
		fix the, fix this, generate, create a, create an, convert, calculate, draft a, draft an, rewrite, recommend, suggest, remind me, set a, set an, set up a, set the, add a, add the, search for, look up,
		look at, check out, check the, check this, book me, book a, order me, play some, open the, send me, send a, let me know, keep me, can you, could you, would you, will you, go ahead,
		do it, do that, try again, continue, stop it, take a look, take care, let's, let us, feel free, keep up, keep it, keep going, have fun, have a great, have a good, don't give up, don't worry, describe, compare, proofread, shorten, debug, refactor, answer, what about, how about`)
	// What may stand before that.
	beforeOrderEn = lexis.Set("please now then so also and ok okay just hey hi well alright first next finally")

	// Courtesies: a sentence that begins so says nothing, unless it goes on about the speaker.
	courtesyEn = lexis.Set(`thanks thank hi hey hello bye goodbye congrats congratulations wow sorry welcome cheers nice cool great awesome amazing sure yes yeah yep yup ok okay no nope haha lol
		aww aw absolutely definitely exactly agreed totally true right good glad sounds perfect oh woah whoa damn yay`)

	// Leading words that are cut off what is kept.
	fillersEn = phrasesOf(`well, so, oh, haha, hah, lol, yeah, yep, yup, yes, no, nope, ok, okay, hey, hi, wow, btw, by the way, actually, honestly, you know, i mean, anyway, um, uh, hmm, hm, ah, aww, sure,
		thanks, thank you, anyways, like i said, as i said, basically, look, listen, right, exactly, definitely, absolutely, totally, alright, man, guess what, fyi, to be honest, tbh, oh yeah, oh yes, oh well, please, also,
		remember that, please remember that, please remember, don't forget that, note that, keep in mind that, just so you know, for the record, remember, let me tell you, hello, cool, great, nice, awesome, agreed, sounds good, of course, for sure`)
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

// tailOfOrder returns what a sentence that asks for something says of the speaker: "Find me a dentist, I live in Porto"; "" if
// nothing.
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

var tagsEn = lexis.Set("right huh eh isn't wasn't don't didn't doesn't aren't weren't won't you know ok okay remember hasn't haven't")

// withoutTag returns a statement without what only asks whether the other agrees ("We had rain all week, didn't we?"); "" if it is a
// question.
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

var asksEn = lexis.Set("do does did is are was were have has had can could would will should what who where when why how which")

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
		case n < len(all) && !named && all[n].capital && t.takesPart(all[n].lower) && strings.IndexAny(text[all[n].end:], ",!.") == 0: // "Hey Ines, …"
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
var bareFillers = []string{"actually", "honestly", "remember that", "please remember that", "don't forget that", "note that", "keep in mind that", "by the way", "btw", "just so you know", "fyi", "haha", "lol", "um", "uh", "hmm"}

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

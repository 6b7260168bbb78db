package extract

import (
	"strings"
	"unicode/utf8"

	"github.com/oxbow-memory/oxbow/internal/reasoner/lexis"
)

var (
	// Characters that carry no matter of their own.
	stopZh = words.Runes("stop.zh")

	stopCharsZh = charsOf(stopZh)

	firstZh    = words.List("first.zh")
	orderZh    = words.List("order.zh")
	questionZh = words.List("question.zh")
	askingZh   = words.List("asking.zh")
	courtesyZh = words.List("courtesy.zh")
	fillersZh  = words.List("fillers.zh")
	futureZh   = words.List("future.zh")
	pastZh     = words.List("past.zh")
	kinZh      = words.List("kin.zh")
)

// readZh weighs a sentence of Chinese, and finds what it says.
func (r *reading) readZh() {
	text := r.text
	bare := strings.TrimRight(text, "。！!？?；;…~～ ，,")
	if hasPrefixOf(text, orderZh) && !rememberZh(text) {
		i := indexAny(text, []string{"，我", ",我", "，因为我", "，本人"})
		if i < 0 {
			r.kind = order
			return
		}
		text = strings.TrimLeft(text[i:], "，,")
		text = strings.TrimPrefix(text, "因为")
		*r = reading{sentence: read(text), talk: r.talk}
		bare = strings.TrimRight(text, "。！!？?；;…~～ ，,")
	}
	if r.asks() || hasSuffixOf(bare, questionZh) || r.hasZh(hasAsking) && !r.hasZh(hasFirst) {
		// "我们下周去云南，你呢？" says something before it asks
		i := strings.LastIndex(bare, "，")
		if i < 0 || !lexis.ContainsAny(bare[:i], firstZh) || lexis.ContainsAny(bare[:i], askingZh) || strings.ContainsAny(bare[:i], "你您") {
			r.kind = question
			return
		}
		*r = reading{sentence: read(bare[:i] + "。"), talk: r.talk}
		text, bare = r.text, bare[:i]
	}
	content := 0
	var last rune
	for _, c := range bare {
		if isHan(c) && !stopCharsZh[c] && c != last {
			content++
		}
		last = c
	}
	n := float64(content)/2 + float64(len(r.tokens))
	if utf8.RuneCountInString(bare) <= 6 && hasPrefixOf(bare, courtesyZh) && !lexis.ContainsAny(bare, firstZh) {
		r.kind = filler
		return
	}
	me, you := r.hasZh(hasFirst), strings.ContainsAny(text, "你您")
	r.past, r.future = r.hasZh(hasPast) || doneZh(text), r.hasZh(hasFuture)
	// who tells of themselves often leaves 我 away
	me = me || r.past && !you && !strings.ContainsAny(text, "他她它") && !hasPrefixOf(text, []string{"这", "那", "该"})
	r.me, r.you = me, you
	kin := r.hasZh(hasKin)
	switch {
	case me && you:
		n *= 1.05
	case me:
		n = n*1.3 + 0.5
	case you:
		n *= 0.4
	case !r.past && !r.future && !kin && len(r.talk.names) == 0:
		n *= 0.4
	case !r.past && !r.future && !kin:
		n *= 0.8
	}
	if r.past || r.future {
		n += 0.6
	}
	if kin {
		n++
	}
	if content > 0 || len(r.tokens) > 0 {
		r.weight = n
	}
}

// doneZh tells whether 过 says that something was done before: 去过, but not 过敏 nor 难过.
func doneZh(text string) bool {
	for i := 0; ; {
		j := strings.Index(text[i:], "过")
		if j < 0 {
			return false
		}
		i += j
		before, after := lastRune(text[:i]), text[i+len("过"):]
		next, _ := utf8.DecodeRuneInString(after)
		if before != 0 && isHan(before) && !strings.ContainsRune("难不通超经好越渡跳", before) && !strings.ContainsRune("敏年来去程度分得于期节生", next) {
			return true
		}
		i += len("过")
	}
}

var rememberWordsZh = words.List("remember.zh")

// rememberZh tells whether a sentence asks to be remembered.
func rememberZh(text string) bool {
	return hasPrefixOf(text, rememberWordsZh)
}

// charsOf returns the characters of a text.
func charsOf(text string) map[rune]bool {
	all := map[rune]bool{}
	for _, r := range text {
		all[r] = true
	}
	return all
}

// bareFillersZh are cut off without a mark after them.
var bareFillersZh = words.Set("bare-fillers.zh")

// trimZh cuts off the words that only lead to what is said.
func trimZh(text string) string {
next:
	for {
		for _, f := range fillersZh {
			rest, ok := strings.CutPrefix(text, f)
			if !ok {
				continue
			}
			bare := strings.TrimLeft(rest, "，,。！!、：:~～… ")
			if bare != "" && (bare != rest || bareFillersZh[f]) {
				text = bare
				continue next
			}
		}
		return text
	}
}

func hasSuffixOf(text string, words []string) bool {
	for _, w := range words {
		if strings.HasSuffix(text, w) {
			return true
		}
	}
	return false
}

// indexAny returns where the first of some words stands; -1: none does.
func indexAny(text string, words []string) int {
	first := -1
	for _, w := range words {
		if i := strings.Index(text, w); i >= 0 && (first < 0 || i < first) {
			first = i
		}
	}
	return first
}

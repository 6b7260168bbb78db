package extract

import (
	"strings"

	"github.com/oxbow-memory/oxbow/internal/reasoner/lexis"
)

// What somebody did, told in few words and without a feeling, is no news, and yet shows a habit
// when it comes again: "I went to the gym today".
var (
	didEn = phrasesIn(words.List("did.en"))
	// what may come before it, and what says by itself that the one who speaks did it
	beforeDidEn = words.Set("before-did.en")
	barelyDidEn = words.Set("barely-did.en")
	// going to bed, home, or mad tells nothing
	notDeedsEn = words.Set("not-deeds.en")

	didZh      = words.List("did.zh")
	whenDidZh  = words.List("when-did.zh")
	notDeedsZh = words.List("not-deeds.zh")
)

// did tells whether a statement says what the one who speaks did.
func (r *reading) did() bool {
	if r.future || r.negates || r.you {
		return false
	}
	if r.chinese() {
		return lexis.ContainsAny(r.text, didZh) && lexis.ContainsAny(r.text, whenDidZh) && strings.Contains(r.text, "了") && !lexis.ContainsAny(r.text, notDeedsZh)
	}
	for i := range r.tokens {
		n := didEn.at(r.tokens, i)
		if i == 0 && n == 0 && barelyDidEn[r.tokens[0].lower] {
			n = 1
		}
		if n > 0 {
			return i+n < len(r.tokens) && !notDeedsEn[r.tokens[i+n].lower] && !notDeedsEn[r.tokens[min(i+n+1, len(r.tokens)-1)].lower]
		}
		if !beforeDidEn[r.tokens[i].lower] {
			return false
		}
	}
	return false
}

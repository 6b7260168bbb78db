package extract

import (
	"math"
	"strings"

	"github.com/oxbow-memory/oxbow/internal/reasoner"
	"github.com/oxbow-memory/oxbow/internal/reasoner/lexis"
)

// feeling is what a word expresses.
type feeling struct {
	label            string
	valence, arousal float64
}

var (
	feelingsEn = feelings("feelings.en")
	feelingsZh = feelings("feelings.zh")

	intensifiersEn = words.Set("intensifiers.en")
	softenersEn    = words.Set("softeners.en")
	intensifiersZh = words.List("intensifiers.zh")
	softenersZh    = words.List("softeners.zh")
	feelingHeads   = runes(feelingsZh)
)

// feelings reads a list of words of the form "happy = joy 0.8 0.6": label, valence, arousal.
func feelings(list string) map[string]feeling {
	all := map[string]feeling{}
	for word, value := range words.Map(list) {
		f := strings.Fields(value)
		all[word] = feeling{label: f[0], valence: number(f[1]), arousal: number(f[2])}
	}
	return all
}

// emotionOf weighs the words of feeling in some sentences; nil: there are none.
func emotionOf(sentences []reading) *reasoner.Emotion {
	var valence, arousal, n, strongest float64
	label := ""
	note := func(f feeling, factor float64, negated bool) {
		v, a := f.valence*factor, math.Min(1, f.arousal*factor)
		l := f.label
		if negated { // "not happy" is a little sad, "not scared" a little calm
			v, a = -0.5*v, 0.5*a
			if l = "calm"; v < 0 {
				l = "sadness"
			}
		}
		v = math.Max(-1, math.Min(1, v))
		valence, arousal, n = valence+v, arousal+a, n+1
		if math.Abs(v)+a > strongest {
			strongest, label = math.Abs(v)+a, l
		}
	}
	for i := range sentences {
		s := &sentences[i]
		for j, t := range s.tokens {
			if t.flags&isFeeling == 0 {
				continue
			}
			f := feelingsEn[t.lower]
			factor, negated := 1.0, false
			for k := j - 1; k >= 0 && k >= j-3; k-- {
				switch w := s.tokens[k].lower; {
				case intensifiersEn[w]:
					factor = 1.25
				case softenersEn[w]:
					factor = 0.6
				case s.tokens[k].flags&isNot != 0:
					negated = true
				}
			}
			note(f, factor, negated)
		}
		if !s.hasZh(hasFeeling) {
			continue
		}
		for at := 0; at < len(s.text); {
			r, size := decode(s.text[at:])
			if !isHan(r) || !feelingHeads[r] {
				at += size
				continue
			}
			form, f := longestFeeling(s.text[at:])
			if form == "" {
				at += size
				continue
			}
			before := lexis.LastRunes(s.text[:at], 4)
			factor := 1.0
			switch {
			case lexis.ContainsAny(before, softenersZh):
				factor = 0.6
			case lexis.ContainsAny(before, intensifiersZh):
				factor = 1.25
			}
			near := lexis.LastRunes(before, 3)
			note(f, factor, strings.ContainsAny(near, "不没") && !strings.Contains(near, "不得不") && !strings.Contains(near, "忍不住"))
			at += len(form)
		}
	}
	if n == 0 {
		return nil
	}
	return &reasoner.Emotion{Valence: round(valence / n), Arousal: round(arousal / n), Label: label}
}

// longestFeeling returns the longest word of feeling, of up to four characters, that text begins with.
func longestFeeling(text string) (form string, f feeling) {
	end := 0
	for range 4 {
		r, n := decode(text[end:])
		if n == 0 || !isHan(r) {
			break
		}
		end += n
		if found, ok := feelingsZh[text[:end]]; ok {
			form, f = text[:end], found
		}
	}
	return form, f
}

func round(x float64) float64 { return math.Round(x*100) / 100 }

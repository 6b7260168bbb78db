package extract

import (
	"math"
	"strings"

	"github.com/oxbow-memory/oxbow/internal/reasoner"
)

// nearFeeling is the number of words before an emotional word that may strengthen, weaken or negate
// it.
const nearFeeling = 3

// emotionOf weighs the emotional words in sentences, by feelings.txt. It returns nil if there are none.
func emotionOf(sentences []reading) *reasoner.Emotion {
	var valence, arousal, n, strongest float64
	label := ""
	for i := range sentences {
		s := &sentences[i]
		end := 0
		for m := range s.All("feeling") {
			if m.Start < end {
				continue
			}
			end = m.End
			f := strings.Fields(m.Value)
			factor, l := 1.0, f[0]
			switch from := m.Start - nearFeeling; {
			case s.HasIn("feeling.less", from, m.Start):
				factor = 0.6
			case s.HasIn("feeling.more", from, m.Start):
				factor = 1.25
			}
			v, a := number(f[1])*factor, math.Min(1, number(f[2])*factor)
			if s.HasIn("feeling.not", m.Start-nearFeeling, m.Start) { // "not happy" is a little sad, "not scared" a little calm
				v, a, l = -0.5*v, 0.5*a, "calm"
				if v < 0 {
					l = "sadness"
				}
			}
			v = math.Max(-1, math.Min(1, v))
			valence, arousal, n = valence+v, arousal+a, n+1
			if math.Abs(v)+a > strongest {
				strongest, label = math.Abs(v)+a, l
			}
		}
	}
	if n == 0 {
		return nil
	}
	return &reasoner.Emotion{Valence: round(valence / n), Arousal: round(arousal / n), Label: label}
}

func round(x float64) float64 { return math.Round(x*100) / 100 }

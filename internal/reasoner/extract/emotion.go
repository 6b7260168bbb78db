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
	feelingsEn = feelings(
		"joy 0.8 0.6", "happy glad delighted joyful cheerful pleased fun enjoyed enjoying wonderful great lovely blast celebrate celebrated smile smiling laughed laughing",
		"joy 0.9 0.8", "thrilled ecstatic overjoyed amazing awesome incredible fantastic excited exciting stoked pumped",
		"pride 0.7 0.5", "proud accomplished achievement honored honoured",
		"calm 0.5 0.1", "calm relaxed relaxing peaceful serene content soothing cozy",
		"gratitude 0.7 0.4", "grateful thankful blessed",
		"hope 0.5 0.4", "hopeful optimistic motivated inspired",
		"love 0.8 0.5", "adore beloved cherish",
		"sadness -0.7 0.4", "sad unhappy upset depressed heartbroken crying cried tears lonely miserable grief grieving disappointed disappointing homesick mourning hurt devastated hopeless",
		"sadness -0.8 0.5", "died funeral",
		"anger -0.7 0.8", "angry furious mad annoyed annoying irritated frustrated frustrating outraged pissed rage",
		"fear -0.7 0.7", "afraid scared terrified frightened anxious anxiety nervous worried worrying panic panicked stressed stressful overwhelmed nerve-wracking scary",
		"surprise 0.2 0.7", "surprised shocked astonished stunned unexpected",
		"disgust -0.7 0.5", "disgusting disgusted gross awful terrible horrible",
		"fatigue -0.4 0.2", "tired exhausted exhausting drained burnout sleepy worn",
		"boredom -0.3 0.1", "bored boring",
		"shame -0.6 0.5", "ashamed embarrassed embarrassing guilty")
	feelingsZh = feelings(
		"joy 0.8 0.6", "开心 高兴 快乐 愉快 喜悦 欢喜 幸福 满足 好玩 笑",
		"joy 0.9 0.8", "激动 兴奋 太棒 惊喜 欣喜 爽",
		"pride 0.7 0.5", "自豪 骄傲 成就感",
		"calm 0.5 0.1", "平静 放松 轻松 宁静 安心 舒服 惬意 踏实",
		"gratitude 0.7 0.4", "感激 感恩 感动",
		"hope 0.5 0.4", "期待 盼望 有信心 有希望",
		"sadness -0.7 0.4", "难过 伤心 悲伤 沮丧 失落 失望 孤独 寂寞 哭 心碎 郁闷 低落 委屈 想家 遗憾",
		"sadness -0.8 0.5", "去世 过世 葬礼",
		"anger -0.7 0.8", "生气 愤怒 气死 恼火 烦死 发火 讨厌 烦躁 火大",
		"fear -0.7 0.7", "害怕 恐惧 担心 焦虑 紧张 恐慌 忐忑 不安 压力",
		"surprise 0.2 0.7", "惊讶 震惊 吃惊 没想到 意外",
		"disgust -0.7 0.5", "恶心 糟糕 难吃 倒霉",
		"fatigue -0.4 0.2", "累 疲惫 疲倦 困死 精疲力尽 筋疲力尽",
		"boredom -0.3 0.1", "无聊 没意思",
		"shame -0.6 0.5", "尴尬 丢脸 羞愧 内疚 惭愧")

	intensifiersEn = words.Set("intensifiers.en")
	softenersEn    = words.Set("softeners.en")
	intensifiersZh = words.List("intensifiers.zh")
	softenersZh    = words.List("softeners.zh")
	feelingHeads   = runes(feelingsZh)
)

// feelings reads pairs: a feeling ("joy 0.8 0.6": label, valence, arousal), and the words that express it.
func feelings(pairs ...string) map[string]feeling {
	all := map[string]feeling{}
	for i := 0; i < len(pairs); i += 2 {
		head := strings.Fields(pairs[i])
		f := feeling{label: head[0], valence: number(head[1]), arousal: number(head[2])}
		for _, w := range strings.Fields(pairs[i+1]) {
			all[w] = f
		}
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

package extract

import (
	"context"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/oxbow-memory/oxbow/internal/reasoner"
)

var _ reasoner.Summarizer = (*Extractor)(nil)

const (
	// maxPoint is how long a sentence of a summary may be, in bytes.
	maxPoint = 240
	// earlierShare is how much of a summary what was said before may take where what is new needs the rest.
	earlierShare = 2.0 / 3
)

// point is a sentence that a summary could have.
type point struct {
	who   string // a name; "" for the user
	text  string
	asked bool // a question or a request, and no statement
	plain bool // of a summary that somebody else worded
	score float64
	han   bool
}

// Summarize returns the sentences that say most, as they were said: what the summary so far has,
// and what is new, a line for each who said or asked something. What an assistant, the system or a
// tool said is left out. The only error is that of ctx.
func (*Extractor) Summarize(ctx context.Context, told reasoner.Told) (string, error) {
	t := talkOf(told.Messages)
	before := pointsBefore(told.Before, t)
	var fresh []point
	for i := range told.Messages {
		if err := ctx.Err(); err != nil {
			return "", err
		}
		if m := &told.Messages[i]; speaks(m) {
			fresh = append(fresh, pointsOf(m, t)...)
		}
	}
	kept := choose(before, fresh)
	if len(kept) == 0 {
		return "", nil
	}
	return tell(kept, told.Language), nil
}

// pointsOf returns the sentences of a message that say something; none of one that is an instruction to a model.
func pointsOf(m *reasoner.Message, t *talk) (points []point) {
	who := strings.Join(strings.Fields(cutAt(speakerOf(m), 60)), " ")
	sentences, _ := split(m.Content)
	for _, s := range sentences {
		if s.instructs() {
			return nil
		}
		if p, ok := pointOf(s, t); ok {
			p.who = who
			points = append(points, p)
		}
	}
	return points
}

// pointOf weighs a sentence: what is worth remembering counts most, then other statements, then what was asked.
func pointOf(s sentence, t *talk) (p point, ok bool) {
	r := readSentence(s, t)
	matter := float64(s.words) + float64(s.Han)/2
	switch {
	case r.kind == filler:
		return p, false
	case r.kind == question || r.kind == order || !r.anchored && s.Len("asks", 0) > 0:
		p = point{text: s.text, asked: true, score: 0.1 + min(matter, 20)/200}
		ok = matter >= 2
	case r.anchored:
		p, ok = point{text: r.whole(), score: 0.5 + r.importance/2}, true
	default:
		p = point{text: r.whole(), score: 0.3 + min(r.weight, 10)/50}
		ok = r.weight >= thin
	}
	p.han = s.chinese()
	if len(p.text) > maxPoint {
		p.text = cutAt(p.text, maxPoint-len("…")) + "…"
	}
	p.text = ended(strings.TrimSpace(p.text), p.han, p.asked && r.kind != order)
	return p, ok
}

// ended gives a sentence a mark where it has none, so that it can be told from the next.
func ended(text string, chinese, question bool) string {
	if strings.ContainsRune(".!?。！？；…"+closers, lastRune(text)) {
		return text
	}
	text = strings.TrimRight(text, ",;:，；： ")
	switch {
	case chinese && question:
		return text + "？"
	case chinese:
		return text + "。"
	case question:
		return text + "?"
	}
	return text + "."
}

// verbs are what stands between who said something and what it was.
var verbs = []struct {
	text  string
	asked bool
}{{" said: ", false}, {" asked: ", true}, {"说：", false}, {"问：", true}}

// pointsBefore takes a summary apart again. Lines of another form are sentences that somebody else worded.
func pointsBefore(summary string, t *talk) (points []point) {
	for line := range strings.Lines(summary) {
		line = strings.TrimSpace(line)
		who, rest, asked, plain := "", line, false, true
		for _, v := range verbs {
			if name, said, ok := strings.Cut(line, v.text); ok && plain && len(name) <= 60 && !strings.ContainsAny(name, ".!?。！？") {
				who, rest, asked, plain = name, said, v.asked, false
			}
		}
		if who == "User" || who == "用户" {
			who = ""
		}
		sentences, _ := split(rest)
		for _, s := range sentences {
			if p, ok := pointOf(s, t); ok || plain {
				if plain {
					p.text, p.plain, p.asked, p.score = s.text, true, false, max(p.score, 0.5)
				}
				p.who, p.asked = who, asked || p.asked && plain
				points = append(points, p)
			}
		}
	}
	return points
}

// choose takes the best that there is room for, in the order in which it was said, each thing once.
func choose(before, fresh []point) []point {
	all := slices.Concat(before, fresh)
	const overhead = 12 // of a line's beginning, for each of its points some of it
	size := func(i int) int { return utf8.RuneCountInString(all[i].text) + 1 + overhead/4 }
	order := make([]int, len(all))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int {
		switch {
		case all[a].score > all[b].score:
			return -1
		case all[a].score < all[b].score:
			return 1
		}
		return 0
	})
	taken, said, used := make([]bool, len(all)), map[string]bool{}, 0
	take := func(limit int, fits func(i int) bool) {
		for _, i := range order {
			key := strings.ToLower(strings.TrimRight(all[i].text, " .!?。！？"))
			if taken[i] || !fits(i) || said[key] || used+size(i) > limit {
				continue
			}
			taken[i], said[key] = true, true
			used += size(i)
		}
	}
	const room = reasoner.MaxSummary - 10*overhead
	take(int(room*earlierShare), func(i int) bool { return i < len(before) })
	take(room, func(i int) bool { return i >= len(before) })
	take(room, func(int) bool { return true })
	var kept []point
	for i, p := range all {
		if taken[i] {
			kept = append(kept, p)
		}
	}
	return kept
}

// tell writes points, a line for each who said, or asked, something, in the order in which they began to.
func tell(points []point, language string) string {
	chinese := 0
	for _, p := range points {
		if p.han {
			chinese++
		}
	}
	inChinese := 2*chinese > len(points) || 2*chinese == len(points) && strings.HasPrefix(strings.ToLower(language), "zh")
	type line struct {
		who          string
		asked, plain bool
	}
	var lines []line
	texts := map[line]*strings.Builder{}
	for _, p := range points {
		l := line{p.who, p.asked, p.plain}
		if texts[l] == nil {
			if lines = append(lines, l); len(lines) > 10 {
				break // nobody reads who said what among more
			}
			texts[l] = &strings.Builder{}
		}
		space(texts[l], p.text)
	}
	var b strings.Builder
	for _, l := range lines[:min(len(lines), 10)] {
		if b.Len() > 0 {
			b.WriteByte('\n')
		}
		if !l.plain {
			b.WriteString(beginning(l.who, l.asked, inChinese))
		}
		b.WriteString(texts[l].String())
	}
	return b.String()
}

func beginning(who string, asked, chinese bool) string {
	if who == "" {
		who = "User"
		if chinese {
			who = "用户"
		}
	}
	i := 0
	if chinese {
		i = 2
	}
	if asked {
		i++
	}
	return who + verbs[i].text
}

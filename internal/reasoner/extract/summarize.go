package extract

import (
	"cmp"
	"context"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/oxbow-memory/oxbow/internal/reasoner"
)

var _ reasoner.Summarizer = (*Extractor)(nil)

const (
	maxPoint     = 240     // maximum length of a sentence of a summary, in bytes
	maxLines     = 10      // maximum number of speakers in a summary
	maxWho       = 60      // maximum length of a name, in bytes
	earlierShare = 2.0 / 3 // share of a summary that the previous one may take if the new messages need the rest
)

// line identifies a line of a summary by its speaker and kind.
type line struct {
	who   string // a name; "" for the user
	asked bool   // a question or a request, and no statement
	plain bool   // of a summary that somebody else worded
}

// point is a candidate sentence for a summary.
type point struct {
	line
	text    string
	score   float64
	chinese bool
}

// Summarize returns the most informative sentences of the summary so far and of the new messages, unchanged, with a
// line for each speaker's statements and questions. It leaves out assistants, the system and tools. The only error is
// that of ctx.
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
	return tell(choose(before, fresh), told.Language), nil
}

// pointsOf returns the informative sentences of a message, and none of an instruction to a model.
func pointsOf(m *reasoner.Message, t *talk) (points []point) {
	who := strings.Join(strings.Fields(cutAt(speakerOf(m), maxWho)), " ")
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

// pointOf weighs a sentence: sentences worth remembering count most, then other statements, then questions.
func pointOf(s sentence, t *talk) (p point, ok bool) {
	r := readSentence(s, t)
	matter := float64(s.words) + float64(s.Han)/2
	switch {
	case r.kind == question || r.kind == order || !r.anchored && s.Len("asks", 0) > 0:
		p, ok = point{text: s.text, score: 0.1 + min(matter, 20)/200}, matter >= 2
		p.asked = true
	case r.anchored:
		p, ok = point{text: r.whole(), score: 0.5 + r.importance/2}, true
	default:
		p, ok = point{text: r.whole(), score: 0.3 + min(r.weight, 10)/50}, r.weight >= thin
	}
	if len(p.text) > maxPoint {
		p.text = cutAt(p.text, maxPoint-len("…")) + "…"
	}
	p.chinese = s.chinese()
	p.text = ended(strings.TrimSpace(p.text), p.chinese, p.asked && r.kind != order)
	return p, ok
}

// ended gives a sentence a mark if it has none.
func ended(text string, chinese, question bool) string {
	if strings.ContainsRune(".!?。！？；…"+closers, lastRune(text)) {
		return text
	}
	mark := map[[2]bool]string{{true, true}: "？", {true, false}: "。", {false, true}: "?", {false, false}: "."}
	return strings.TrimRight(text, ",;:，；： ") + mark[[2]bool{chinese, question}]
}

// verbs separate the speaker from the text of a line.
var verbs = []struct {
	text           string
	asked, chinese bool
}{{" said: ", false, false}, {" asked: ", true, false}, {"说：", false, true}, {"问：", true, true}}

// pointsBefore splits a summary into points. Lines of another form were written by another summarizer.
func pointsBefore(summary string, t *talk) (points []point) {
	for text := range strings.Lines(summary) {
		text = strings.TrimSpace(text)
		l := line{plain: true}
		for _, v := range verbs {
			who, said, ok := strings.Cut(text, v.text)
			if ok && l.plain && len(who) <= maxWho && !strings.ContainsAny(who, ".!?。！？") {
				l, text = line{who: who, asked: v.asked}, said
			}
		}
		if l.who == "User" || l.who == "用户" {
			l.who = ""
		}
		sentences, _ := split(text)
		for _, s := range sentences {
			p, ok := pointOf(s, t)
			if l.plain {
				p.text, p.score = s.text, max(p.score, 0.5)
			}
			if p.line = l; ok || l.plain {
				points = append(points, p)
			}
		}
	}
	return points
}

// choose returns the best points that fit, each once, in their original order.
func choose(before, fresh []point) (kept []point) {
	const overhead = 12 // of the beginning of a line; each of its points counts a part
	all := slices.Concat(before, fresh)
	order := make([]int, len(all))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(all[b].score, all[a].score) })
	taken, said, used := make([]bool, len(all)), map[string]bool{}, 0
	take := func(limit, from, to int) {
		for _, i := range order {
			key := strings.ToLower(strings.TrimRight(all[i].text, " .!?。！？"))
			size := utf8.RuneCountInString(all[i].text) + 1 + overhead/4
			if i >= from && i < to && !taken[i] && !said[key] && used+size <= limit {
				taken[i], said[key] = true, true
				used += size
			}
		}
	}
	const room = reasoner.MaxSummary - maxLines*overhead
	take(int(room*earlierShare), 0, len(before))
	take(room, len(before), len(all))
	take(room, 0, len(all))
	for i, p := range all {
		if taken[i] {
			kept = append(kept, p)
		}
	}
	return kept
}

// tell writes points, with a line for each speaker's statements and questions, in order of first appearance.
func tell(points []point, language string) string {
	chinese := 0
	for _, p := range points {
		if p.chinese {
			chinese++
		}
	}
	inChinese := 2*chinese > len(points) ||
		2*chinese == len(points) && strings.HasPrefix(strings.ToLower(language), "zh")
	var lines []line
	texts := map[line]string{}
	for _, p := range points {
		if texts[p.line] == "" {
			if len(lines) == maxLines {
				break
			}
			lines = append(lines, p.line)
		}
		texts[p.line] = spaced(texts[p.line], p.text)
	}
	told := make([]string, len(lines))
	for i, l := range lines {
		told[i] = beginning(l, inChinese) + texts[l]
	}
	return strings.Join(told, "\n")
}

func beginning(l line, chinese bool) string {
	who := cmp.Or(l.who, map[bool]string{false: "User", true: "用户"}[chinese])
	for _, v := range verbs {
		if v.asked == l.asked && v.chinese == chinese && !l.plain {
			return who + v.text
		}
	}
	return ""
}

package rules

import (
	"context"
	"slices"
	"strings"

	"github.com/oxbow-memory/oxbow/internal/reasoner"
	"github.com/oxbow-memory/oxbow/internal/reasoner/pattern"
)

// Review decides by the content, times and contexts of the contradicting memories. The only error is that of ctx.
//
//   - If memories for and against it come from different contexts and from the same period, the trait is split by
//     context.
//   - If the latest memories state explicitly that it has ended, after all support, it dissolves.
//   - If later memories support it, it stays.
//   - Otherwise it is reworded more cautiously, unless the user worded it.
func (*Reasoner) Review(ctx context.Context, c reasoner.Case) (reasoner.Verdict, error) {
	if err := ctx.Err(); err != nil {
		return reasoner.Verdict{}, err
	}
	zh := pattern.HasHan(c.Trait.Content)
	if len(c.Contradicting) == 0 {
		return reasoner.Verdict{Action: reasoner.Keep, Reason: pick(zh, "没有反证", "nothing contradicts it")}, nil
	}
	last := latest(c.Contradicting)
	lastFor, lastAgainst := latest(c.Supporting).Time, last.Time
	a, b := contextOfEach(c.Supporting), contextOfEach(c.Contradicting)
	sameTime := slices.ContainsFunc(c.Contradicting, func(e reasoner.Evidence) bool { return lastFor.After(e.Time) })
	if a != "" && b != "" && a != b && sameTime && !c.Trait.Edited {
		return reasoner.Verdict{
			Action: reasoner.Split, Content: c.Trait.Content + pick(zh, "（视场合而定）", ", depending on the context"),
			Tendencies: map[string]string{a: c.Trait.Content,
				b: pick(zh, "不再如此："+c.Trait.Content, "Not so: "+c.Trait.Content)},
			Reason: pick(zh, "支持与反对来自不同场合", "the memories for and against it come from different contexts"),
		}, nil
	}
	switch {
	case lastAgainst.After(lastFor) && outright(last):
		return reasoner.Verdict{Action: reasoner.Dissolve,
			Reason: pick(zh, "用户最近明确说不再如此", "the user recently said that it is no longer so")}, nil
	case lastFor.After(lastAgainst) || c.Trait.Edited:
		return reasoner.Verdict{Action: reasoner.Keep,
			Reason: pick(zh, "之后仍有支持的记忆", "later memories support it")}, nil
	}
	return reasoner.Verdict{
		Action: reasoner.Revise, Content: cautious(c.Trait.Content, zh),
		Reason: pick(zh, "支持与反对并存", "some memories speak for it and some against it"),
	}, nil
}

func pick(zh bool, chinese, english string) string {
	if zh {
		return chinese
	}
	return english
}

// latest returns the latest memory of evidence; without evidence a zero one.
func latest(evidence []reasoner.Evidence) (last reasoner.Evidence) {
	for _, e := range evidence {
		if e.Time.After(last.Time) {
			last = e
		}
	}
	return last
}

// contextOfEach returns the part of life that all evidence comes from; "" without one.
func contextOfEach(evidence []reasoner.Evidence) string {
	context := ""
	for i, e := range evidence {
		if i > 0 && e.Context != context || e.Context == "general" || e.Context == "contextual" {
			return ""
		}
		context = e.Context
	}
	return context
}

// outright reports whether a memory denies something.
func outright(m reasoner.Evidence) bool {
	var f finder
	return slices.ContainsFunc(f.read(sentences(m.Content)), func(n finding) bool { return n.polarity == con })
}

// cautious rewords a trait as something that is sometimes true.
func cautious(content string, zh bool) string {
	often, sometimes := []string{"Often ", "Sometimes "}, "Sometimes "
	if zh {
		often, sometimes = []string{"经常", "常"}, "有时"
	}
	for _, p := range often {
		if rest, ok := strings.CutPrefix(content, p); ok {
			return sometimes + rest
		}
	}
	return pick(zh, sometimes, "Sometimes: ") + content
}
